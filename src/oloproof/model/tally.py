"""Counts, and what is counted: rates, distributions, slices. Counts are stored; rates and intervals are derived.

Tallies and distributions add, so slices, shards and retries merge for free.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import chain, repeat

from msgspec import Struct


class Tally(Struct, frozen=True, gc=False):
    """How many cases passed, failed, are missing (they apply, the record cannot say) and are excluded."""

    passed: int = 0
    failed: int = 0
    missing: int = 0
    excluded: int = 0

    @property
    def observed(self) -> int:
        """Cases with a known verdict."""
        return self.passed + self.failed

    @property
    def n(self) -> int:
        """The denominator: every case to which the criterion applies, observed or not."""
        return self.passed + self.failed + self.missing

    @property
    def estimate(self) -> float | None:
        """passed / observed, None when nothing was observed."""
        return self.passed / self.observed if self.observed else None

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.passed + other.passed,
            self.failed + other.failed,
            self.missing + other.missing,
            self.excluded + other.excluded,
        )


class Distribution(Struct, frozen=True, gc=False):
    """Values of a quantity over cases, as sorted (value, count) pairs.

    ``floors`` are the cases whose value is unknown but is at least the floor (a truncated count); a case about which
    nothing is known has the floor 0, since no quantity here is negative. ``excluded`` cases are in neither.
    """

    observed: tuple[tuple[float, int], ...] = ()
    floors: tuple[tuple[float, int], ...] = ()
    excluded: int = 0

    @property
    def observed_count(self) -> int:
        return sum(count for _, count in self.observed)

    @property
    def missing_count(self) -> int:
        return sum(count for _, count in self.floors)

    @property
    def n(self) -> int:
        return self.observed_count + self.missing_count

    @property
    def observed_values(self) -> list[float]:
        """Every observed value as often as it occurs, sorted."""
        return _expanded(self.observed)

    @property
    def floor_values(self) -> list[float]:
        """Every floor likewise."""
        return _expanded(self.floors)

    def __add__(self, other: Distribution) -> Distribution:
        return Distribution(
            _merged(self.observed, other.observed),
            _merged(self.floors, other.floors),
            self.excluded + other.excluded,
        )


def _merged(a: tuple[tuple[float, int], ...], b: tuple[tuple[float, int], ...]) -> tuple[tuple[float, int], ...]:
    counts: Counter[float] = Counter()
    for value, count in a + b:
        counts[value] += count
    return tuple(sorted(counts.items()))


def _expanded(counted: tuple[tuple[float, int], ...]) -> list[float]:
    return list(chain.from_iterable(repeat(value, count) for value, count in counted))


class Rate(Struct, frozen=True, tag="rate", tag_field="kind"):
    """A criterion over a group of cases."""

    id: str
    tally: Tally


class Quantile(Struct, frozen=True, tag="quantile", tag_field="kind"):
    """A quantile of a quantity over a group of cases. ``quantile`` is the decimal as written ("0.95")."""

    id: str
    source: str
    quantile: str
    unit: str
    distribution: Distribution

    @property
    def q(self) -> Fraction:
        return Fraction(self.quantile)


Metric = Rate | Quantile

UNPLACED = "(unplaced)"
NONE = "(none)"
OTHERS = "(others)"


class SliceGroup(Struct, frozen=True):
    """The cases of one value of one slice. ``support`` counts them. ``metrics`` is empty for ``(others)``."""

    slice: str
    value: str
    support: int
    metrics: tuple[Metric, ...]


class Measured(Struct, frozen=True):
    """Everything that was counted in a run: ``metrics`` over all cases, ``slices`` over groups of them."""

    cases: int
    metrics: tuple[Metric, ...]
    slices: tuple[SliceGroup, ...] = ()
    min_slice_support: int = 5
