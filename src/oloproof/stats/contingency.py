"""One slice of a run against the rest of it: does it pass less often than chance would have it?

With all the margins of the two-by-two table given, the slice's number of passes is hypergeometric if the slice makes no
difference. The rest is the slice's complement, never the total, in which the slice would be compared with itself.
"""

from __future__ import annotations

from math import exp, fsum, lgamma
from typing import NamedTuple

# Masses below this share of the largest are left out of a sum: far below its rounding error.
_NEGLIGIBLE = 1e-20


class Group(NamedTuple):
    """The cases of one side of a comparison."""

    passed: int
    failed: int
    missing: int = 0


class Fisher(NamedTuple):
    """p-values of "the slice passes as often as the rest" against "less often".

    ``smallest_mid_p`` is the least mid-p that these margins allow: all the failures in the slice.
    """

    exact: float
    mid_p: float
    smallest_mid_p: float


def worse_than_rest(part: Group, rest: Group) -> Fisher:
    """The one-sided exact test of Fisher (1935) and its mid-p (Lancaster 1961, p − ½ P(X = x)).

    What is missing is filled in so that p is largest: passes in the slice, failures in the rest. mid-p uses more of
    the error that it may make, and kept to it wherever it was enumerated; that is no guarantee. Where one side has no
    case, nothing can be told: 1, ½ and ½.
    """
    passed, size = part.passed + part.missing, sum(part)
    total, passes = size + sum(rest), passed + rest.passed
    fewest = max(0, size - (total - passes))
    at = exp(_log_mass(passed, size=size, passes=passes, total=total))
    least = exp(_log_mass(fewest, size=size, passes=passes, total=total))
    exact = min(1.0, at * _relative_tail(passed, size=size, passes=passes, total=total))
    return Fisher(exact=exact, mid_p=max(0.0, exact - at / 2), smallest_mid_p=least / 2)


def _log_mass(k: int, *, size: int, passes: int, total: int) -> float:
    """log P(X = k) for the passes among ``size`` cases drawn from ``total``, ``passes`` of which pass."""
    return _log_comb(passes, k) + _log_comb(total - passes, size - k) - _log_comb(total, size)


def _log_comb(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


def _relative_tail(k: int, *, size: int, passes: int, total: int) -> float:
    """P(X ≤ k) / P(X = k), by the ratio of neighbouring masses downwards from k."""
    masses, mass, largest = [1.0], 1.0, 1.0
    for x in range(k, max(0, size - (total - passes)), -1):
        mass *= x * (total - passes - size + x) / ((passes - x + 1) * (size - x + 1))
        largest = max(largest, mass)
        if mass < _NEGLIGIBLE * largest:
            break
        masses.append(mass)
    return fsum(masses)
