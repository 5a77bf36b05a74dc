"""Intervals for a pass rate of which some cases are missing.

Let n cases apply, of which k passed, f failed and m are missing. Had nothing been missing, the number of passes K would
lie in k … k + m. Both methods give bounds that grow with the number of passes, so low(k, n) ≤ low(K, n) and
high(K, n) ≤ high(k + m, n): the interval [low(k, n), high(k + m, n)] covers the true rate at least as often as the
method promises, *whatever* decided which cases went missing. For the same reason a case of which it is unknown whether
it applies may be counted as missing.

A bound of a rate is one minus the opposite bound of the rate of failure, high(k + m, n) = 1 − low(f, n), so each method
is one function.
"""

from __future__ import annotations

from math import sqrt
from typing import Literal, assert_never

from oloproof.stats.level import tail, z

Method = Literal["wilson", "exact"]


def interval(
    passed: int, failed: int, missing: int, *, method: Method = "wilson", level: float = 0.95
) -> tuple[float, float]:
    """The lower and upper bound of the pass rate, as shares; (0, 1) where no case applies.

    ``wilson`` is the score interval (Wilson 1927; Newcombe 1998, method 3), whose coverage is ``level`` on average;
    ``exact`` that of Clopper & Pearson (1934), whose coverage is at least ``level`` for every rate. The lower bound is
    exactly 0 where nothing passed, the upper exactly 1 where nothing failed. One end alone is a one-sided bound at the
    level (1 + level) / 2. Counts are not negative. Raises ValueError unless 0 < level < 1.
    """
    n = passed + failed + missing
    if n == 0:
        return 0.0, 1.0
    match method:
        case "wilson":
            low = _wilson_low
        case "exact":
            low = _exact_low
        case _:
            assert_never(method)
    return low(passed, n=n, level=level), 1.0 - low(failed, n=n, level=level)


def _wilson_low(k: int, *, n: int, level: float) -> float:
    """The smaller root of the score equation, as the product of both roots, k² / (n (n + z²)), over the larger one.

    The usual form subtracts two nearly equal numbers and leaves ±1e-17 where the bound is 0.
    """
    half_width = z(level)
    return (k * k / n) / (k + half_width**2 / 2 + half_width * sqrt(k * (n - k) / n + half_width**2 / 4))


def _exact_low(k: int, *, n: int, level: float) -> float:
    """The rate at which k passes or more have the probability ``tail(level)``: a quantile of Beta(k, n − k + 1)."""
    if k == 0:
        return 0.0
    from scipy.special import betaincinv  # 0.3 s, and only this method needs it

    return float(betaincinv(k, n - k + 1, tail(level)))
