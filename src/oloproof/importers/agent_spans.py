"""Spans of agents, models and tools as a framework's own tracing has them.

A format makes :class:`Span` values of what its files hold, and :func:`tree` puts each below the one in which it
happened; :mod:`~oloproof.importers.agent_telling` tells them as steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, Literal

from msgspec import UNSET, Struct, UnsetType, field

from oloproof.importers.builder import Builder
from oloproof.importers.foreign import object_of, total_of
from oloproof.model.values import Json

MOST_LEVELS: Final = 100
TRANSFERS: Final = ("transfer_to_", "transfer_back_to_")

LOSSES: Final[Mapping[str, str]] = {
    "system_messages": "system prompts: they are no step of the agent",
    "repeated_spans": "spans that are there several times: counted once",
    "spans_too_deep": f"spans that are nested in more than {MOST_LEVELS} agents and tools: left out, as if cut off",
}
"""Every kind of loss that spans have in common, and what it means."""


class Ran(Struct, frozen=True):
    """What came of a call that was run where the model runs: the result (UNSET: not recorded), the error ("": none)."""

    result: Json | UnsetType = UNSET
    error: str = ""


class Asked(Struct, frozen=True):
    """A call as the model asked for it; ``arguments`` as it wrote them. ``free``: they are text by design. ``ran``: the
    call was run before the answer came (None: it is still to be run)."""

    name: str
    call_id: str
    arguments: Json
    free: bool = False
    ran: Ran | None = None

    def read(self, builder: Builder) -> Json:
        """The arguments as a call has them."""
        return self.arguments if self.free else builder.arguments(self.arguments)


class Answer(Struct, frozen=True):
    """What a model answered: its text (None: none) and the calls that it asked for. ``cut_off``: it had more to say.
    ``unknown``: so many items are of no known kind."""

    content: Json
    asked: Sequence[Asked] = ()
    cut_off: bool = False
    unknown: int = 0


class Span(Struct, kw_only=True):
    """A span. Times are in milliseconds, None where they are not recorded.

    ``kind``: ``aside`` is what checks a run from outside (a guardrail); ``group`` is nothing by itself. ``name`` is the
    tool, the agent, or who is handed to. ``arguments`` None and ``result`` UNSET: not recorded. ``answer`` None: the
    model's answer was not recorded. ``heard`` are the messages that the model was given. ``hands_to`` is the agent that
    a tool's result gives control to, where the name of the tool does not say it.
    """

    id: str
    parent: str
    kind: Literal["agent", "aside", "group", "handoff", "model", "tool"]
    name: str = ""
    agent: str = ""
    order: Any = ""
    start: float | None = None
    end: float | None = None
    call_id: str = ""
    arguments: Json = None
    result: Json | UnsetType = UNSET
    error: str = ""
    answer: Answer | None = None
    heard: Sequence[Json] = ()
    tokens: int | None = None
    told: Json = None
    hands_to: str = ""
    below: list[Span] = field(default_factory=list)

    @property
    def latency_ms(self) -> float | None:
        if self.start is None or self.end is None or self.end < self.start:
            return None
        return self.end - self.start


def tree(spans: Iterable[Span], builder: Builder) -> list[Span]:
    """The spans that are below no other, with all others in their ``below``, in order. Of two with one id the later is
    taken; a parent that is not there, or a circle of parents, is none."""
    known: dict[str, Span] = {}
    for span in spans:
        if span.id in known:
            builder.losses["repeated_spans"] += 1
            if (known[span.id].kind, known[span.id].name) != (span.kind, span.name):
                builder.lack()  # two spans have one id, of which one is lost
        known[span.id] = span
    ordered = sorted(known.values(), key=lambda span: span.order)
    roots = []
    for span in ordered:
        parent = known.get(span.parent)
        if parent is None:
            roots.append(span)
        else:
            parent.below.append(span)
    reached = {span.id for root in roots for span in _all(root)}
    for span in ordered:
        if span.id not in reached:  # its parents go round in a circle, which is cut above it
            known[span.parent].below.remove(span)
            roots.append(span)
            reached |= {each.id for each in _all(span)}
    return roots


def _all(root: Span) -> Iterator[Span]:
    """A span and all that are below it."""
    waiting = [root]
    while waiting:
        span = waiting.pop()
        yield span
        waiting.extend(span.below)


def outer_errors(roots: Sequence[Span]) -> Iterator[str]:
    """The errors of agents that are not used as a tool."""
    waiting = list(reversed(roots))
    while waiting:
        span = waiting.pop()
        if span.kind == "agent" and span.error:
            yield span.error
        if span.kind not in ("tool", "aside"):
            waiting.extend(reversed(span.below))


def flat(spans: Sequence[Span]) -> list[Span]:
    """The spans in order, with what is below groups and models in their place."""
    found = []
    waiting = list(reversed(spans))
    while waiting:
        span = waiting.pop()
        if span.kind != "group":
            found.append(span)
        if span.kind in ("group", "model", "handoff"):
            waiting.extend(reversed(span.below))
    return found


def total_tokens(usage: Json) -> int | None:
    """The tokens of an answer, by what its provider calls them."""
    known = object_of(usage)
    for pair in (("input_tokens", "output_tokens"), ("prompt_tokens", "completion_tokens"), ("total_tokens",)):
        total = total_of(known.get(key) for key in pair)
        if total is not None:
            return total
    return None


def milliseconds(moment: Json) -> float | None:
    """A time in ISO 8601 (in UTC, where it does not say) as milliseconds since 1970; None for anything else."""
    if not isinstance(moment, str):
        return None
    try:
        read = datetime.fromisoformat(moment)
        return (read if read.tzinfo is not None else read.replace(tzinfo=UTC)).timestamp() * 1000
    except (ValueError, OverflowError):
        return None


def receiver_of(tool: str) -> str:
    """The agent that a tool hands control to, by its name; "" for any other tool."""
    return next((tool.removeprefix(prefix) for prefix in TRANSFERS if tool.startswith(prefix)), "")
