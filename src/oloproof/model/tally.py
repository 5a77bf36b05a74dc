"""Counts, and what is counted: rates, distributions, slices. Counts are stored; rates and intervals are derived.

Tallies and distributions add, so slices, shards and retries merge for free.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from fractions import Fraction
from itertools import chain, repeat

from msgspec import UNSET, Struct, UnsetType

from oloproof.model.values import Json


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


class PairTable(Struct, frozen=True, gc=False):
    """How many pairs had which verdicts; where one is missing, the name says the other.

    ``fixed`` fails in the baseline and passes in the candidate, ``broken`` the reverse. ``now_pass`` passes in the
    candidate with the baseline's verdict missing, ``was_pass`` the reverse, and so on. ``excluded`` pairs are in no
    denominator.
    """

    both_pass: int = 0
    fixed: int = 0
    broken: int = 0
    both_fail: int = 0
    now_pass: int = 0
    now_fail: int = 0
    was_pass: int = 0
    was_fail: int = 0
    both_missing: int = 0
    excluded: int = 0

    @property
    def missing(self) -> int:
        """Pairs of which one verdict or both are missing."""
        return self.now_pass + self.now_fail + self.was_pass + self.was_fail + self.both_missing

    @property
    def n(self) -> int:
        """All pairs but the excluded ones."""
        return self.both_pass + self.fixed + self.broken + self.both_fail + self.missing

    @property
    def difference(self) -> float | None:
        """The candidate's pass rate minus the baseline's over the pairs with both verdicts; None without any."""
        known = self.n - self.missing
        return (self.fixed - self.broken) / known if known else None

    @property
    def cells(self) -> tuple[int, ...]:
        """The nine counts in their order, without the excluded pairs."""
        return (
            self.both_pass,
            self.fixed,
            self.broken,
            self.both_fail,
            self.now_pass,
            self.now_fail,
            self.was_pass,
            self.was_fail,
            self.both_missing,
        )


class AtLeast(Struct, frozen=True, gc=False):
    """A quantity that the record does not settle; it is known to be ``floor`` or more (0: nothing is known)."""

    floor: float


Amount = float | AtLeast


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

MIN_SLICE_SUPPORT = 5
"""Below this many cases a slice shows counts and no interval, where the project does not say otherwise."""

UNPLACED = "(unplaced)"
NONE = "(none)"
OTHERS = "(others)"
RESERVED = frozenset({NONE, OTHERS, UNPLACED})
_SCALAR = re.compile(r"true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")


def value_text(value: Json | UnsetType) -> str:
    """A JSON value as the value of a slice: strings as they are, numbers that are equal alike, the rest as JSON.

    UNSET is ``(none)``. A string that reads like one of the report's own rows, or like another JSON value (``1``,
    ``true``), is in quotes, so that no agent and no dataset can put a case there.
    """
    if isinstance(value, str):
        return json.dumps(value) if value in RESERVED or _reads_like_json(value) else value
    if value is UNSET:
        return NONE
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def _reads_like_json(text: str) -> bool:
    if text[:1] not in ('"', "[", "{"):
        return _SCALAR.fullmatch(text) is not None
    try:
        json.loads(text)
    except RecursionError:
        return True
    except ValueError:
        return False
    return True


class SliceGroup(Struct, frozen=True):
    """The cases of one value of one slice. ``support`` counts them. ``metrics`` is empty for ``(others)``."""

    slice: str
    value: str
    support: int
    metrics: tuple[Metric, ...]


class ErrorGroup(Struct, frozen=True, kw_only=True):
    """Attempts that went wrong alike.

    ``kind`` is ``system_error``, ``timeout`` or ``evaluator_error``; ``message`` is the first line of what was said,
    None for all further messages of the kind, of which only the attempts are counted. ``first`` names the first case,
    ``trial`` its attempt.
    """

    kind: str
    message: str | None
    cases: int
    first: str
    trial: int = 1


class Measured(Struct, frozen=True):
    """Everything that was counted in a run: ``metrics`` over all cases, ``slices`` over groups of them, and what went
    wrong."""

    cases: int
    metrics: tuple[Metric, ...]
    slices: tuple[SliceGroup, ...] = ()
    min_slice_support: int = MIN_SLICE_SUPPORT
    errors: tuple[ErrorGroup, ...] = ()
