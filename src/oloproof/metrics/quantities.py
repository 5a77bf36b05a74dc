"""Quantities: what a case cost in steps, calls, time, tokens or money, or the least that it must have cost.

Counts are of the recorded steps. Latency, tokens and cost are sums over the steps *that should carry the value*: where
one step of a kind carries it, every step of that kind in the same trajectory should. So a recorder that measures its
tool calls and says nothing of its messages is complete; one that measured three calls of four is not.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from decimal import Decimal
from math import isfinite
from typing import Final, Literal, assert_never

from oloproof.model.project import QuantitySource
from oloproof.model.reading import Reading
from oloproof.model.tally import Amount, AtLeast
from oloproof.model.trajectory import Step, StepKind

UNITS: Mapping[QuantitySource, str] = {
    "agent_steps": "steps",
    "agent_tool_calls": "calls",
    "latency_ms": "ms",
    "tokens": "tokens",
    "cost_usd": "USD",
}


_NOTHING: Final = AtLeast(0)
_LARGEST: Final = sys.float_info.max
_LARGEST_COUNT: Final = 2**53
"""Up to here every integer is a double of its own; quantities are stored and compared as doubles."""


def observe(source: QuantitySource, reading: Reading | None) -> Amount:
    """The value of ``source`` for a case, in the unit of :data:`UNITS`; ``reading`` None: no trajectory was recorded.

    :class:`AtLeast` where there is no trajectory or it is truncated, where no step carries the value, or where a step
    that should carry it lacks it; its floor is what the recorded steps add up to. A sum that no double holds is at
    least the largest one.
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
    total = _total(recorded)
    if total is None:
        return _LARGEST, False
    return total, bool(carrying) and carrying.isdisjoint(lacking)


def _total(values: Sequence[float]) -> float | None:
    """The sum of the decimals as they were recorded: three steps at 0.1 cost 0.3, and meet a limit of 0.3. None where
    it is larger than any double."""
    if all(isinstance(value, int) for value in values):
        counted = int(sum(values))
        if counted <= _LARGEST_COUNT:
            return counted
        return float(counted) if counted <= _LARGEST else None
    total = float(sum(value if isinstance(value, int) else Decimal(repr(value)) for value in values))
    return total if isfinite(total) else None
