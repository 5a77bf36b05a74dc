"""One slice of a run against the rest of it: does it pass less often than chance would have it?

With all the margins of the two-by-two table given, the slice's number of passes is hypergeometric if the slice makes no
difference. The rest is the slice's complement, never the total, in which the slice would be compared with itself.
"""

from __future__ import annotations

from math import exp, inf, lgamma
from typing import NamedTuple

# Masses below this share of a sum are left out of it: far below its rounding error.
_NEGLIGIBLE = 1e-18


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
    tail = _relative_tail(passed, size=size, passes=passes, total=total)
    exact = 1.0 if tail == inf else min(1.0, at * tail)
    return Fisher(exact=exact, mid_p=max(0.0, exact - at / 2), smallest_mid_p=least / 2)


def _log_mass(k: int, *, size: int, passes: int, total: int) -> float:
    """log P(X = k) for the passes among ``size`` cases drawn from ``total``, ``passes`` of which pass.

    That is C(passes, k) C(total − passes, size − k) / C(total, size), by logarithms of factorials.
    """
    fails, drawn = total - passes, size - k
    return (
        lgamma(passes + 1)
        - lgamma(k + 1)
        - lgamma(passes - k + 1)
        + lgamma(fails + 1)
        - lgamma(drawn + 1)
        - lgamma(fails - drawn + 1)
        - lgamma(total + 1)
        + lgamma(size + 1)
        + lgamma(total - size + 1)
    )


def _relative_tail(k: int, *, size: int, passes: int, total: int) -> float:
    """P(X ≤ k) / P(X = k), by the ratio of neighbouring masses downwards from k; ∞ where no double holds it."""
    mass = tail = 1.0
    spare = total - passes - size
    for x in range(k, max(0, -spare), -1):
        mass *= x * (spare + x) / ((passes - x + 1) * (size - x + 1))
        tail += mass
        if mass < _NEGLIGIBLE * tail or tail == inf:  # past the mode, where they only fall; or all there is
            break
    return tail
