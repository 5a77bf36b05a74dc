"""A two-sided confidence level, as the two numbers that the formulas need."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache


@lru_cache
def tail(level: float) -> float:
    """The probability that an interval of this level leaves out on each side, (1 − level) / 2.

    It is taken from the decimal that was written: 0.9 leaves 0.05, not 0.04999999999999999. Raises ValueError unless
    0 < level < 1.
    """
    if not 0 < level < 1:
        raise ValueError(f"a confidence level lies between 0 and 1, it cannot be {level}")
    return float((1 - Fraction(str(level))) / 2)


@lru_cache
def z(level: float) -> float:
    """The standard normal quantile that leaves :func:`tail` above it: 1.959964 for 0.95."""
    from statistics import NormalDist  # here, because a start-up that prints no interval should not pay for it

    return -NormalDist().inv_cdf(tail(level))
