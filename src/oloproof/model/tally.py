"""Counts that add: of verdicts, of trials, of pairs, of a quantity's values. Rates and intervals are derived from them,
so that slices, shards and retries merge for free.
"""

from __future__ import annotations

from collections import Counter

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


CaseTrials = tuple[int, int, int]
"""How many trials of a case passed, failed and are missing."""


class Clusters(Struct, frozen=True):
    """Cases of which some were tried more than once, or belong together: counts of clusters, each independent.

    ``counted`` holds the cases of a cluster, and how many clusters have just such cases; without a ``cluster:`` every
    case is its own. Cases to which the criterion does not apply are in none.
    """

    counted: tuple[tuple[tuple[CaseTrials, ...], int], ...] = ()

    @property
    def trials(self) -> Tally:
        """The trials of all cases."""
        passed, failed, missing = (
            sum(count * sum(case[word] for case in members) for members, count in self.counted) for word in range(3)
        )
        return Tally(passed, failed, missing)

    @property
    def independent(self) -> int:
        """How many clusters there are."""
        return sum(count for _, count in self.counted)

    @property
    def related(self) -> bool:
        """Whether cases belong together."""
        return self.independent < self.cases

    def known(self, least: int) -> int:
        """How many cases have at least ``least`` trials that passed or failed."""
        return sum(
            count * sum(passed + failed >= least for passed, failed, _ in members) for members, count in self.counted
        )

    @property
    def cases(self) -> int:
        return sum(count * len(members) for members, count in self.counted)

    def __add__(self, other: Clusters) -> Clusters:
        """Both, no cluster of the one being a cluster of the other."""
        counts: Counter[tuple[CaseTrials, ...]] = Counter()
        for members, count in self.counted + other.counted:
            counts[members] += count
        return Clusters(tuple(sorted(counts.items())))


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
    nothing is known has the floor 0, since no quantity here is negative. Every case is in one of the two.
    """

    observed: tuple[tuple[float, int], ...] = ()
    floors: tuple[tuple[float, int], ...] = ()

    @property
    def observed_count(self) -> int:
        return sum(count for _, count in self.observed)

    @property
    def missing_count(self) -> int:
        return sum(count for _, count in self.floors)

    @property
    def n(self) -> int:
        return self.observed_count + self.missing_count

    def __add__(self, other: Distribution) -> Distribution:
        return Distribution(_merged(self.observed, other.observed), _merged(self.floors, other.floors))


def _merged(a: tuple[tuple[float, int], ...], b: tuple[tuple[float, int], ...]) -> tuple[tuple[float, int], ...]:
    counts: Counter[float] = Counter()
    for value, count in a + b:
        counts[value] += count
    return tuple(sorted(counts.items()))
