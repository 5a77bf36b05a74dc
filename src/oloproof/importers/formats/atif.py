"""Harbor's ATIF, versions 1.0 to 1.8: one trajectory a file, results in the step that called.

There is no error flag, no success and no end. A result may not say which call of its step it answers. Steps that were
copied from an earlier part of a continued trajectory are not told again; what a sub-agent did stands inside the call
that started it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import UNSET

from oloproof.errors import Problem
from oloproof.importers import codes
from oloproof.importers.builder import Builder
from oloproof.importers.documents import Document, each_document
from oloproof.importers.foreign import joined_text, list_of, object_of, text_id, total_of, without_nulls
from oloproof.importers.format import Confidence, Importer, Item, Run
from oloproof.importers.head import Head
from oloproof.importers.pairing import Call
from oloproof.importers.source import Source
from oloproof.model.values import Json

VERSION: Final = "ATIF-v"
MOST_NESTED: Final = 20

LOSSES: Final[Mapping[str, str]] = {
    "system_messages": "system prompts: they are no step of the agent",
    "copied_steps": "steps that were copied from an earlier part: counted there",
    "reasoning": "the model's reasoning: it is no step",
    "unread_parts": "parts of messages that are no text",
    "unlinked_subagents": "sub-agents that are not in the file, or that no call started: left out, and truncated",
    "continued_elsewhere": "trajectories that go on in another file: truncated here",
}

Fields = dict[str, Any]


def sniff(head: Head) -> Confidence | None:
    match head.value:
        case {"schema_version": str(version)} if version.startswith(VERSION):
            return Confidence.CERTAIN
        case _:
            return None


def read(sources: Sequence[Source]) -> Iterator[Item]:
    """Files of one trajectory each (or JSON Lines of them), named by their ``session_id``."""
    yield from each_document(sources, _told)


def _told(document: Document, file: str) -> Iterator[Item]:
    match document.value:
        case {"steps": list()} as whole:
            yield _run(whole, file, document.line)
        case _:
            yield Problem(codes.NOT_OF_THE_FORMAT, "no trajectory: it has no steps", file=file, line=document.line)


def _run(whole: Fields, file: str, line: int) -> Run:
    builder = Builder()
    subagents = {
        text_id(each.get("trajectory_id")): each for each in map(object_of, list_of(whole.get("subagent_trajectories")))
    }
    name = text_id(object_of(whole.get("agent")).get("name")) or None
    _Teller(builder, subagents).tell(whole, None, name if subagents else None)
    builder.losses["unlinked_subagents"] += len(subagents)
    goes_on = whole.get("continued_trajectory_ref") is not None
    is_part = goes_on or builder.losses["unlinked_subagents"] > 0
    builder.losses["continued_elsewhere"] += goes_on
    opening = [object_of(step) for step in whole["steps"] if object_of(step).get("source") == "user"]
    agent = object_of(whole.get("agent"))
    facts = {"agent": agent.get("name"), "model": agent.get("model_name"), "metrics": whole.get("final_metrics")}
    return Run(
        file=file,
        line=line,
        case=text_id(whole.get("session_id")) or None,
        output=builder.output,
        trajectory=builder.trajectory(truncated=is_part, errors_recorded=False),
        input=joined_text(opening[0].get("message")) if opening else UNSET,
        metadata=without_nulls(facts),
        of_case=(),
        losses=builder.losses,
        unanswered=len(builder.unanswered),
        origin=whole,
    )


class _Teller:
    """Tells a trajectory and, inside their calls, those of its sub-agents; each of these once."""

    def __init__(self, builder: Builder, subagents: dict[str, Fields]) -> None:
        self._builder = builder
        self._subagents = subagents

    def tell(self, whole: Fields, inside: Call | None, agent: str | None, *, depth: int = 0) -> None:
        """Every step that is the trajectory's own."""
        builder = self._builder
        for step in map(object_of, list_of(whole.get("steps"))):
            calls: list[Call] = []
            if step.get("is_copied_context"):
                builder.losses["copied_steps"] += 1
                continue
            source, message = step.get("source"), self._text(step.get("message"))
            if source == "agent":
                calls = self._answer(step, message, inside, agent)
            elif source == "system":
                builder.losses["system_messages"] += 1
            else:
                builder.losses["unknown_kinds"] += source != "user" or bool(step.get("tool_calls"))
                builder.hear({"role": text_id(source) or "user", "content": message}, inside=inside)
            for result in map(object_of, list_of(object_of(step.get("observation")).get("results"))):
                self._result(result, calls, inside, agent, depth)

    def _answer(self, step: Fields, message: Json, inside: Call | None, agent: str | None) -> list[Call]:
        builder = self._builder
        builder.turn()
        builder.losses["reasoning"] += bool(step.get("reasoning_content"))
        tokens, cost = _spent(object_of(step.get("metrics")))
        asked = [object_of(call) for call in list_of(step.get("tool_calls"))]
        if message or not asked:
            said = {"role": "assistant", "content": message}
            builder.say(said, agent=agent, inside=inside, tokens=tokens, cost_usd=cost)
            tokens, cost = (None if tokens is None else 0), (None if cost is None else 0.0)
        calls = []
        for call in asked:
            calls.append(
                builder.call(
                    text_id(call.get("function_name")),
                    builder.arguments(call.get("arguments")),
                    call_id=text_id(call.get("tool_call_id")),
                    parallel=len(asked) > 1,
                    agent=agent,
                    inside=inside,
                    tokens=tokens,
                    cost_usd=cost,
                )
            )
            tokens, cost = (None if tokens is None else 0), (None if cost is None else 0.0)
        return calls

    def _result(
        self, result: Fields, calls: Sequence[Call], inside: Call | None, agent: str | None, depth: int
    ) -> None:
        builder = self._builder
        call_id = text_id(result.get("source_call_id"))
        mine = next((call for call in calls if not call.answered and (not call_id or call.call_id == call_id)), None)
        for reference in map(object_of, list_of(result.get("subagent_trajectory_ref"))):
            subagent = self._subagents.pop(text_id(reference.get("trajectory_id")), None)
            if subagent is None or mine is None or depth >= MOST_NESTED:
                builder.losses["unlinked_subagents"] += 1
            else:
                name = text_id(object_of(subagent.get("agent")).get("name")) or "subagent"
                self.tell(subagent, mine, name if agent else None, depth=depth + 1)
        content = self._text(result.get("content"))
        if calls:
            builder.result(content, call=mine, call_id=call_id, inside=inside)
        else:  # the environment's word on an answer that called nothing
            builder.hear({"role": "user", "content": content}, kind="observation", inside=inside)

    def _text(self, content: Json) -> Json:
        if not isinstance(content, list):
            return content
        texts = [part for part in content if object_of(part).get("type") == "text"]
        self._builder.losses["unread_parts"] += len(content) - len(texts)
        return joined_text(texts) if texts else ""


def _spent(metrics: Fields) -> tuple[int | None, float | None]:
    """The tokens of an answer, prompt included, and its cost."""
    tokens = total_of(metrics.get(key) for key in ("prompt_tokens", "completion_tokens"))
    return tokens, metrics.get("cost_usd")


IMPORTER: Final = Importer(
    name="atif",
    about="Harbor ATIF trajectories, versions 1.0 to 1.8",
    sniff=sniff,
    read=read,
    losses=LOSSES,
)
