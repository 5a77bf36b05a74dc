"""Quantities: what a case cost in steps, calls, time, tokens or money, or the least that it must have cost.

Counts are of the recorded steps. Latency, tokens and cost are sums over the steps *that should carry the value*: where
one step of a kind carries it, every step of that kind in the same trajectory should. So a recorder that measures its
tool calls and says nothing of its messages is complete; one that measured three calls of four is not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Literal, assert_never

from msgspec import Struct

from oloproof.model.project import QuantitySource
from oloproof.model.reading import Reading
from oloproof.model.trajectory import Step, StepKind

UNITS: Mapping[QuantitySource, str] = {
    "agent_steps": "steps",
    "agent_tool_calls": "calls",
    "latency_ms": "ms",
    "tokens": "tokens",
    "cost_usd": "USD",
}


class AtLeast(Struct, frozen=True, gc=False):
    """A value that the record does not settle; it is known to be ``floor`` or more (0: nothing is known)."""

    floor: float


Observation = float | AtLeast

_NOTHING = AtLeast(0)


def observe(source: QuantitySource, reading: Reading | None) -> Observation:
    """The value of ``source`` for a case, in the unit of :data:`UNITS`; ``reading`` None: no trajectory was recorded.

    :class:`AtLeast` where there is no trajectory or it is truncated, where no step carries the value, or where a step
    that should carry it lacks it; its floor is what the recorded steps add up to.
    """
    if reading is None:
        return _NOTHING
    match source:
        case "agent_steps":
            value: float = len(reading.steps)
            complete = True
        case "agent_tool_calls":
            value = len(reading.calls)
            complete = True
        case "latency_ms" | "tokens" | "cost_usd":
            value, complete = _sum(source, reading.steps)
        case _:
            assert_never(source)
    return value if complete and not reading.truncated else AtLeast(value)


def _sum(source: Literal["latency_ms", "tokens", "cost_usd"], steps: Sequence[Step]) -> tuple[float, bool]:
    """The sum of what is recorded, and whether no step that should carry the value lacks it."""
    recorded: list[float] = []
    carrying: set[StepKind] = set()
    lacking: set[StepKind] = set()
    for step in steps:
        value: float | None = getattr(step, source)
        if value is None:
            lacking.add(step.kind)
        else:
            carrying.add(step.kind)
            recorded.append(value)
    return _total(recorded), bool(carrying) and carrying.isdisjoint(lacking)


def _total(values: Sequence[float]) -> float:
    """The sum of the decimals as they were recorded: three steps at 0.1 cost 0.3, and meet a limit of 0.3."""
    if all(isinstance(value, int) for value in values):
        return sum(values)
    return float(sum(Decimal(repr(value)) for value in values))
