"""The two sides on which a case may lie, and how many lie there in words."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Final, Literal

from oloproof.model.decision import IntervalThreshold

Side = Literal["passes", "failures"]

OTHER: Final[dict[Side, Side]] = {"passes": "failures", "failures": "passes"}

_ONE: Final = {"passes": "pass", "failures": "failure"}


def sides_of(rule: IntervalThreshold) -> list[tuple[Side, Fraction]]:
    """What a rule on a rate wants at least so large a share of. A rate of at most t is a share of failures of at least
    1 − t."""
    sides: list[tuple[Side, Fraction]] = []
    if rule.min is not None:
        sides.append(("passes", Fraction(rule.min)))
    if rule.max is not None:
        sides.append(("failures", 1 - Fraction(rule.max)))
    return sides


def amount(written: str) -> str:
    """A bound on a quantity, as it is written but for its thousands."""
    return f"{Decimal(written):,}"


def so_many(count: int, what: str) -> str:
    """``1 pass``, ``2 failures``; other words stand behind any number as they are."""
    return f"{count:,} {_ONE.get(what, what) if count == 1 else what}"
