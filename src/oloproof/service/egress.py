"""What may leave: a policy is asked once for the answer of a run, before any of it is sent."""

from __future__ import annotations

from typing import Any, Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from oloproof.runtime import AgentRunResult, Egress, RunContext
from oloproof.runtime.faults import ends_the_task

WITHHELD: Final = "The answer was withheld by policy."


class Allow(Struct, frozen=True):
    """The answer may leave as it is."""


class Deny(Struct, frozen=True):
    """The answer must not leave; ``notice`` is sent instead."""

    notice: str = WITHHELD


class Transform(Struct, frozen=True):
    """``text`` is sent in the place of the answer."""

    text: str


EgressDecision = Allow | Deny | Transform


class EgressPolicy(Protocol):
    """What governs answers."""

    async def egress_text(self, ctx: RunContext, text: str) -> EgressDecision:
        """Whether this answer may go to this tenant and principal. An exception denies it."""


async def asked(policy: EgressPolicy | None, ctx: RunContext, text: str) -> EgressDecision:
    """The policy's decision; no policy allows. What is no decision, or an exception, denies."""
    if policy is None:
        return Allow()
    try:
        decision: Any = await policy.egress_text(ctx, text)
    except BaseException as error:
        if ends_the_task(error):
            raise
        return Deny()  # closed: nobody knows what it would have said
    return decision if isinstance(decision, Allow | Deny | Transform) else Deny()


def text_under(decision: EgressDecision, text: str | None) -> str | None:
    """The text of the answer as it may leave."""
    match decision:
        case Allow():
            return text
        case Deny(notice):
            return notice
        case Transform(instead):
            return instead


def result_under(decision: EgressDecision, result: AgentRunResult) -> AgentRunResult:
    """The result as it may leave, in keeping with the answer that was sent.

    Thoughts are a model's own words that nobody has looked at: where the answer did not pass, they stay behind too. A
    citation of what the sent answer does not name is none.
    """
    match decision:
        case Allow():
            return result
        case Deny(notice):
            kept: dict[str, Any] = {"final_answer": notice, "citations": (), "chunk_refs": (), "egress": Egress.DENIED}
        case Transform(text):
            cited = tuple(name for name in result.citations if f"[{name}]" in text)
            chunks = tuple(ref for ref in result.chunk_refs if ref.chunk_id in cited)
            kept = {"final_answer": text, "citations": cited, "chunk_refs": chunks, "egress": Egress.TRANSFORMED}
    return replace(result, steps=tuple(replace(step, thought="") for step in result.steps), **kept)
