"""Quantities: what a case cost in steps, calls, time, tokens or money, or the least that it must have cost.

Counts are of the recorded steps. Latency, tokens and cost are sums over the steps that should carry the value
(:mod:`oloproof.model.quantity`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, assert_never

from oloproof.model.project import QuantitySource
from oloproof.model.quantity import LARGEST, StepQuantity, carried, total
from oloproof.model.reading import Reading
from oloproof.model.tally import Amount, AtLeast, Distribution
from oloproof.model.trajectory import Step

UNITS: Mapping[QuantitySource, str] = {
    "agent_decisions": "decisions",
    "agent_steps": "steps",
    "agent_tool_calls": "calls",
    "latency_ms": "ms",
    "tokens": "tokens",
    "cost_usd": "USD",
}

_NOTHING: Final = AtLeast(0)

_DECIDED: Final = frozenset({"tool_call", "handoff", "decision", "final"})
"""The steps by which an agent decides what is done next."""


def observe(source: QuantitySource, reading: Reading | None) -> Amount:
    """The value of ``source`` for a case, in the unit of :data:`UNITS`; ``reading`` None: no trajectory was recorded.

    :class:`AtLeast` where there is no trajectory or it is truncated, where no step carries the value, or where a step
    that should carry it lacks it; its floor is what the recorded steps add up to. A sum that no double holds is at
    least the largest one.
    """
    if reading is None:
        return _NOTHING
    match source:
        case "agent_decisions":
            value: float = sum(step.kind in _DECIDED for step in reading.steps)
            complete = True
        case "agent_steps":
            value = len(reading.steps)
            complete = True
        case "agent_tool_calls":
            value = len(reading.calls)
            complete = True
        case "latency_ms" | "tokens" | "cost_usd":
            value, complete = _sum(source, reading.steps)
        case _:
            assert_never(source)
    return value if complete and not reading.truncated else AtLeast(value)


def _sum(source: StepQuantity, steps: Sequence[Step]) -> tuple[float, bool]:
    """The sum of what is recorded, and whether it is all of it."""
    recorded, complete = carried(source, steps)
    summed = total(recorded)
    return (LARGEST, False) if summed is None else (summed, bool(complete))


def distribution(counted: Iterable[tuple[Amount, int]]) -> Distribution:
    """How often each value occurs, and each floor, of amounts with how many cases had them."""
    observed: Counter[float] = Counter()
    floors: Counter[float] = Counter()
    for amount, count in counted:
        if isinstance(amount, AtLeast):
            floors[amount.floor] += count
        else:
            observed[amount] += count
    return Distribution(tuple(sorted(observed.items())), tuple(sorted(floors.items())))
