"""Two runs over the same cases: how far their pass rates differ, and whether the new one breaks what worked.

Of n pairs let b be fixed (only the candidate passes) and c broken (only the baseline passes); the difference of the two
pass rates is D = (b − c) / n. The score interval (Tango 1998) holds every x that the pairs do not contradict: the
statistic z(x) = (b − c − n x) / √V(x), whose variance V is taken where D is exactly x, falls in x, and the bounds are
where it is ±z. With the likeliest share q of broken pairs under D = x, the larger root of 2n q² + B q + C = 0 for
B = −b − c + (2n − b + c) x and C = −c x (1 − x), the variance is V = n (2q + x (1 − x)) (Tango 1998, Statistics in
Medicine 17:891). With no variance to go wrong at b = c = 0 it keeps to its level where Wald's interval has width 0.

A pair with a verdict missing is filled in at its worst for the lower bound (candidate fails, baseline passes) and at
its best for the upper one. Both bounds grow with every single case that turns for the better (checked for all tables of
up to 40 pairs), so they enclose those of every way to fill in what is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import comb
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from oloproof.stats import binomial, quantile
from oloproof.stats.counts import State, at_most_failures
from oloproof.stats.level import z
from oloproof.stats.quantile import QuantileInterval, Sorted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Real = TypeVar("Real", float, "NDArray[np.float64]")

# A width of 2 halved so often is far below the rounding error of a bound.
_HALVINGS = 60

# From here on importing numpy costs less than it saves.
_LARGE_BATCH = 1000

# Beyond so many discordant pairs whole numbers have too many digits.
_LARGE_COUNT = 5000

_HALF = Fraction(1, 2)


class Pairs(NamedTuple):
    """How many cases had which verdicts in both runs; where one is missing, the name says the other one.

    ``fixed`` fails in the baseline and passes in the candidate, ``broken`` the reverse. ``now_`` is the candidate's
    verdict with the baseline's missing, ``was_`` the baseline's with the candidate's missing.
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

    @property
    def n(self) -> int:
        """All pairs, those with a verdict missing included."""
        return sum(self)

    def worst(self) -> Pairs:
        """What is missing filled in against the candidate."""
        return Pairs(
            both_pass=self.both_pass + self.now_pass,
            fixed=self.fixed,
            broken=self.broken + self.was_pass + self.now_fail + self.both_missing,
            both_fail=self.both_fail + self.was_fail,
        )

    def best(self) -> Pairs:
        """What is missing filled in for the candidate."""
        return Pairs(
            both_pass=self.both_pass + self.was_pass,
            fixed=self.fixed + self.was_fail + self.now_pass + self.both_missing,
            broken=self.broken,
            both_fail=self.both_fail + self.now_fail,
        )


class McNemar(NamedTuple):
    """p-values of "the two runs pass equally often", two-sided and against "the candidate is worse"."""

    exact: float
    mid_p: float
    worse_exact: float
    worse_mid_p: float


class Sample(NamedTuple):
    """The values of one run, both sorted upwards: those known, and the least that each unknown one can be."""

    observed: Sorted
    floors: Sorted = ()


class QuantileDifference(NamedTuple):
    """Both quantiles at the level (1 + level) / 2, and the bounds of candidate − baseline; None where there is none."""

    candidate: QuantileInterval
    baseline: QuantileInterval
    lower: float | None
    upper: float | None


def interval(pairs: Pairs, *, level: float = 0.95) -> tuple[float, float]:
    """The lower and upper bound of the candidate's pass rate minus the baseline's, in [−1, 1] by Tango's score.

    (−1, 1) where there is no pair. Swapping the runs gives the mirror image. One end alone is a one-sided bound at the
    level (1 + level) / 2. Raises ValueError unless 0 < level < 1.
    """
    worst, best, half_width = pairs.worst(), pairs.best(), z(level)
    return (
        _lower(float(worst.fixed), float(worst.broken), n=float(pairs.n), half_width=half_width),
        -_lower(float(best.broken), float(best.fixed), n=float(pairs.n), half_width=half_width),
    )


def intervals(batch: Sequence[Pairs], *, level: float = 0.95) -> list[tuple[float, float]]:
    """:func:`interval` of each table, with numpy where they are many."""
    if len(batch) < _LARGE_BATCH:
        return [interval(pairs, level=level) for pairs in batch]
    import numpy as np

    n = np.array([pairs.n for pairs in batch], dtype=np.float64)
    worst = np.array([pairs.worst() for pairs in batch], dtype=np.float64)
    best = np.array([pairs.best() for pairs in batch], dtype=np.float64)
    lower = _lower(worst[:, 1], worst[:, 2], n=n, half_width=z(level))
    upper = -_lower(best[:, 2], best[:, 1], n=n, half_width=z(level))
    return list(zip(lower.tolist(), upper.tolist(), strict=True))


def margin(x: Real, *, fixed: Real, broken: Real, n: Real, half_width: float) -> Real:
    """b − c − n x − z √V(x): positive where the lower bound lies above x, negative where it lies below.

    For numbers and for numpy arrays; it decides a rule on the bound without computing the bound. ``half_width`` is z.
    """
    return _margins(fixed, broken, n=n, half_width=half_width)(x)


def _margins(fixed: Real, broken: Real, *, n: Real, half_width: float) -> Callable[[Real], Real]:
    """:func:`margin` of one x after the other."""
    least, rise, curve = fixed - broken, 2 * n - fixed + broken, 8 * n * broken

    def at(x: Real) -> Real:
        rest = 1 - x
        slope = rise * x - fixed - broken
        # Neither root is of a negative number, except by rounding where it is 0.
        root: Real = abs(slope * slope + curve * x * rest) ** 0.5
        variance = (root - slope) / 2 + n * x * rest
        deviation: Real = abs(variance) ** 0.5
        return least - n * x - half_width * deviation

    return at


def mcnemar(pairs: Pairs) -> McNemar:
    """The test of McNemar (1947), exact and with mid-p (Fagerland, Lydersen & Laake 2013, supplement, eq. 1 and 2).

    Under the hypothesis the broken ones among b + c discordant pairs follow Binomial(b + c, ½). A two-sided p-value is
    1 where b = c. What is missing is filled in so that p is largest: every fill shows at least as much. For display.
    """
    best = pairs.best()
    closest = _closest_to_even(pairs)
    fewer, discordant = min(closest), sum(closest)
    below, at = _even(fewer, discordant)
    return McNemar(
        exact=min(1.0, 2 * below),
        mid_p=min(1.0, 2 * below - at),
        worse_exact=_even(best.fixed, best.fixed + best.broken)[0],
        worse_mid_p=worse_mid_p(pairs),
    )


def worse_mid_p(pairs: Pairs) -> float:
    """The one-sided mid-p of :func:`mcnemar` against "the candidate is worse", by itself."""
    best = pairs.best()
    below, at = _even(best.fixed, best.fixed + best.broken)
    return below - at / 2


def smallest_worse_mid_p(discordant: int) -> float:
    """The least mid-p against "worse" that so many discordant pairs can have: all of them broken, (½)^(n + 1)."""
    return 0.5 ** (discordant + 1)


def could_be_new(pairs: Pairs) -> int:
    """How many pairs with a verdict missing could turn out broken."""
    return pairs.was_pass + pairs.now_fail + pairs.both_missing


def at_most_new_failures(pairs: Pairs, *, max_new_failures: int) -> State:
    """Whether at most so many cases are broken, by what every fill of the missing verdicts agrees on.

    A statement about these two runs; INSUFFICIENT_EVIDENCE where there is no pair.
    """
    open_ = could_be_new(pairs)
    return at_most_failures(pairs.n - pairs.broken - open_, pairs.broken, open_, max_failures=max_new_failures)


def quantile_difference(candidate: Sample, baseline: Sample, *, q: Fraction, level: float = 0.95) -> QuantileDifference:
    """The q-quantile of the candidate minus that of the baseline, between [L_c − U_b, U_c − L_b].

    Each quantile's interval is at the level (1 + level) / 2, so that both hold at once with at least ``level``
    (Bonferroni), however the two values of a case hang together: conservative. Raises ValueError unless 0 < q < 1 and
    0 < level < 1.
    """
    each = float((1 + Fraction(str(level))) / 2)
    now = quantile.interval(candidate.observed, candidate.floors, q=q, level=each)
    was = quantile.interval(baseline.observed, baseline.floors, q=q, level=each)
    return QuantileDifference(now, was, _minus(now.lower, was.upper), _minus(now.upper, was.lower))


def _lower(fixed: Real, broken: Real, *, n: Real, half_width: float) -> Real:
    """The largest x in [−1, 1] below which the pairs contradict every difference, by halving; −1 where n is 0."""
    margin_at = _margins(fixed, broken, n=n, half_width=half_width)
    step = 2.0
    bound = 0 * n - 1.0
    for _ in range(_HALVINGS):
        step /= 2
        bound = bound + step * (margin_at(bound + step) > 0)
    return bound


def _closest_to_even(pairs: Pairs) -> tuple[int, int]:
    """Fixed and broken pairs in the fill whose difference is nearest to none: each missing pair moves it by one."""
    worst, best = pairs.worst(), pairs.best()
    if worst.fixed > worst.broken:
        return worst.fixed, worst.broken
    if best.fixed < best.broken:
        return best.fixed, best.broken
    even = max(pairs.fixed, pairs.broken)
    return even, even


def _even(k: int, n: int) -> tuple[float, float]:
    """P(X ≤ k) and P(X = k) for X ~ Binomial(n, ½) and 0 ≤ k ≤ n, in whole numbers until the end, which take minutes
    where n is in the millions: from some n on, by the ratios of neighbouring masses.

    The tail is summed from the largest term down to where the rest is lost in it. Half of the outcomes are mirror
    images of the others, so the longer tail is what the shorter one leaves.
    """
    if n > _LARGE_COUNT:
        return binomial.cdf(k, n=n, p=_HALF), binomial.between(k, k, n=n, p=_HALF)
    at = comb(n, k)
    if 2 * k < n:
        return _summed(at, k, n), at / (1 << n)
    return 1.0 - _summed(at * (n - k) // (k + 1), n - k - 1, n), at / (1 << n)


def _summed(term: int, k: int, n: int) -> float:
    """The outcomes of up to k, of which ``term`` are k exactly, as a share of all 2^n."""
    total = term
    while term << 64 > total:
        term, k = term * k // (n - k + 1), k - 1
        total += term
    return total / (1 << n)


def _minus(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one - other
