"""What steps carry of a quantity (time, tokens, money): which of them should say it, which do not, and the sum.

Where one step of a kind carries the value, every step of that kind among those asked about should. So a recorder that
measures its tool calls and says nothing of its messages is complete; one that measured three calls of four is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from math import isfinite
from sys import float_info
from typing import Final, Literal

from oloproof.model.trajectory import Step, StepKind

StepQuantity = Literal["latency_ms", "tokens", "cost_usd"]

LARGEST: Final = float_info.max
_LARGEST_COUNT: Final = 2**53
"""Up to here every integer is a double of its own; quantities are stored and compared as doubles."""


def carried(source: StepQuantity, steps: Iterable[Step]) -> tuple[list[float], bool | None]:
    """The recorded values, and whether no step that should carry one lacks it (None: no step carries any)."""
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
    return recorded, carrying.isdisjoint(lacking) if carrying else None


def total(values: Sequence[float]) -> float | None:
    """The sum of the decimals as they were recorded: three steps at 0.1 cost 0.3, and meet a limit of 0.3. None where
    it is larger than any double."""
    if all(isinstance(value, int) for value in values):
        counted = int(sum(values))
        if counted <= _LARGEST_COUNT:
            return counted
        return float(counted) if counted <= LARGEST else None
    summed = float(sum(value if isinstance(value, int) else Decimal(repr(value)) for value in values))
    return summed if isfinite(summed) else None
