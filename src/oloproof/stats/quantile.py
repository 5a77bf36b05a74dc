"""Intervals for a quantile from order statistics, with missing values at both ends.

Of n independent values, the number B that lie below the q-quantile ξ follows Binomial(n, q) when values are continuous,
so the r-th smallest exceeds ξ with probability P(B < r) and the s-th falls short of it with P(B ≥ s) (Conover,
*Practical Nonparametric Statistics*, §3.2). Taking the largest r and the smallest s that keep each at most
(1 − level) / 2 gives an interval that holds for any distribution, ties included, where it is conservative.

A missing value counts among the n. For the lower end it stands at its floor, the least that it can be, and for the
upper end at +∞. Each order statistic grows with each value, so these ends bracket those of every way to fill them in.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from math import ceil, inf
from typing import NamedTuple, Protocol

from oloproof.stats import binomial
from oloproof.stats.level import tail


class QuantileInterval(NamedTuple):
    """An estimate (None where nothing was observed) and its bounds (None where there is no bound).

    The estimate is over the observed values alone. Where floors are high it can lie below ``lower``: the values that
    were not seen to the end are then known to be larger than those that were.
    """

    estimate: float | None
    lower: float | None
    upper: float | None


class Sorted(Protocol):
    """Values that are sorted upwards: those of a list, or :class:`Counted`."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> float: ...


class Counted:
    """The values of sorted (value, count) pairs, each as often as it occurs, without a list of all of them."""

    def __init__(self, counts: Sequence[tuple[float, int]]) -> None:
        self._values = [value for value, _ in counts]
        self._ends = list(accumulate(count for _, count in counts))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __getitem__(self, index: int, /) -> float:
        """From 0. Raises IndexError where there is no such value."""
        if index < 0:
            raise IndexError(index)
        return self._values[bisect_right(self._ends, index)]


def interval(observed: Sorted, floors: Sorted, *, q: Fraction, level: float = 0.95) -> QuantileInterval:
    """The q-quantile of the values of which ``observed`` are known and one in ``floors`` each is at least so large.

    Both are sorted upwards; a floor of −∞ says nothing. The estimate is the order statistic of rank ⌈q · observed⌉
    (the inverse of the empirical distribution function). Raises ValueError unless 0 < q < 1 and 0 < level < 1.
    """
    n = len(observed) + len(floors)
    r, s = ranks(n, q=q, level=level)
    lower = _smallest(r, observed, floors) if r > 0 else -inf
    return QuantileInterval(
        estimate=observed[ceil(q * len(observed)) - 1] if observed else None,
        lower=lower if lower > -inf else None,
        upper=observed[s - 1] if s <= len(observed) else None,
    )


def _smallest(rank: int, one: Sorted, other: Sorted) -> float:
    """The value of this rank, from 1, of both together: found by how many of those up to it are of the one."""
    fewest, most = max(0, rank - len(other)), min(rank, len(one))
    counts = range(fewest, most)
    mine = fewest + bisect_left(counts, True, key=lambda count: one[count] >= other[rank - count - 1])
    return max(([one[mine - 1]] if mine else []) + ([other[rank - mine - 1]] if rank > mine else []))


@lru_cache(maxsize=1024)
def ranks(n: int, *, q: Fraction, level: float) -> tuple[int, int]:
    """The ranks r and s, from 1, of the order statistics that bound the q-quantile of n values.

    r = 0 means that there is no lower bound, s = n + 1 that there is no upper one.
    """
    if not 0 < q < 1:
        raise ValueError(f"a quantile lies between 0 and 1, it cannot be {q}")
    outside = tail(level)
    return binomial.tail_size(outside, n=n, p=q), n + 1 - binomial.tail_size(outside, n=n, p=1 - q)


def turns(n: int, *, q: Fraction, level: float = 0.95) -> tuple[int | None, int | None]:
    """Where "the q-quantile is at most x" turns, in how many of n values are known to be at most x: it holds from the
    first number on, and does not up to the second; None where no number shows it."""
    if n == 0:
        return None, None
    r, s = ranks(n, q=q, level=level)
    return s if s <= n else None, r - 1 if r else None


def needed_for_upper_bound(q: Fraction, *, missing: int, level: float = 0.95) -> int:
    """The smallest n, the ``missing`` among them, for which the q-quantile has an upper bound.

    With none missing this is Wilks's (1941) sample size for a tolerance limit.
    """

    def bounded(n: int) -> bool:
        return ranks(n, q=q, level=level)[1] <= n - missing

    enough = missing + 1
    while not bounded(enough):
        enough *= 2
    return bisect_left(range(enough), True, key=bounded)
