"""Tails of the binomial distribution in plain Python.

Neighbouring masses have a simple ratio, P(X = k+1) / P(X = k) = (n−k)/(k+1) · p/(1−p), and all of them sum to 1. So
they are built outwards from the mode, where they are largest, and divided by their sum: no factorial, no logarithm,
nothing that overflows, and about 75 √(n p (1−p)) steps whatever n is. Tails agree with scipy.stats.binom to 1e-11.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from fractions import Fraction
from itertools import accumulate
from math import fsum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Relative to the mode's mass. What is left out is far below one rounding error of any sum, and above the subnormals.
_NEGLIGIBLE = 1e-300

ROUNDING = 1e-12
"""A tail that equals its limit in exact arithmetic (n = 1, p = 0.95, limit 0.05) must not exceed it by rounding: limits
are taken larger by this share."""


def cdf(k: int, *, n: int, p: Fraction) -> float:
    """P(X ≤ k) for X ~ Binomial(n, p); p in [0, 1], any k."""
    first, found = masses(n, p)
    return fsum(found[: max(0, k + 1 - first)])


def between(low: int, high: int, *, n: int, p: Fraction) -> float:
    """P(low ≤ X ≤ high) for X ~ Binomial(n, p); 0 where low > high. A small one is as precise as a large one."""
    first, found = masses(n, p)
    return fsum(found[max(0, low - first) : max(0, high + 1 - first)])


def where(holds: Callable[[int], bool], *, n: int, p: Fraction) -> float:
    """The probability of the outcomes for which ``holds``."""
    first, found = masses(n, p)
    return fsum(mass for k, mass in enumerate(found, first) if holds(k))


def tail_size(limit: float, *, n: int, p: Fraction) -> int:
    """How many of the outcomes 0, 1, 2, … of Binomial(n, p) together have at most the probability ``limit``.

    That is the largest r with P(X < r) ≤ limit, for 0 ≤ limit < 1; a tie counts as within the limit.
    """
    first, found = masses(n, p)
    return first + bisect_right(list(accumulate(found)), limit * (1 + ROUNDING))


def tails(k: NDArray[np.int64], *, n: NDArray[np.int64], p: float) -> NDArray[np.float64]:
    """P(X ≥ k) for X ~ Binomial(n, p), element by element: the incomplete beta function I_p(k, n − k + 1)."""
    import numpy as np
    from scipy.special import betainc

    inside = np.clip(k, 1, np.maximum(n, 1))
    found: NDArray[np.float64] = np.where(
        k < 1, 1.0, np.where(k > n, 0.0, betainc(inside, np.maximum(n, 1) - inside + 1, p))
    )
    return found


def masses(n: int, p: Fraction) -> tuple[int, list[float]]:
    """The smallest outcome whose mass is worth keeping, and the masses from it upwards, which sum to 1."""
    success, failure = float(p), float(1 - p)
    mode = min(n, int((n + 1) * p))
    below: list[float] = []
    mass = 1.0
    for k in range(mode, 0, -1):
        mass *= k * failure / ((n - k + 1) * success)
        if mass < _NEGLIGIBLE:
            break
        below.append(mass)
    above: list[float] = []
    mass = 1.0
    for k in range(mode, n):
        mass *= (n - k) * success / ((k + 1) * failure)
        if mass < _NEGLIGIBLE:
            break
        above.append(mass)
    weights = [*reversed(below), 1.0, *above]
    total = fsum(weights)
    return mode - len(below), [weight / total for weight in weights]
