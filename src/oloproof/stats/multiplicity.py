"""Many tests at once: p-values adjusted for the size of their family, and who belongs to it.

Among m slices in which nothing changed, some p-value falls below 0.05 with a chance of up to 1 − 0.95^m. An adjusted
p-value is the level at which its test would just be called; it is compared with the level as if it were the only one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate


def adjusted_in_family(
    p: Sequence[float], smallest: Sequence[float], *, error: float = 0.05
) -> tuple[float | None, ...]:
    """Each p-value adjusted by :func:`benjamini_hochberg` over the family that :func:`tarone` leaves, in the order
    given; None for a test that is not in it. ``smallest`` are the least p-values that each could have had."""
    members = tarone(smallest, error=error)
    adjusted = iter(benjamini_hochberg([value for value, is_member in zip(p, members, strict=True) if is_member]))
    return tuple(next(adjusted) if is_member else None for is_member in members)


def benjamini_hochberg(p: Sequence[float]) -> tuple[float, ...]:
    """Adjusted so that the expected share of false calls stays at the level (Benjamini & Hochberg 1995, eq. 1).

    In the order given. The k-th smallest of m is multiplied by m / k, and never exceeds its successor. For tests that
    are independent or positively dependent (Benjamini & Yekutieli 2001, theorem 1.2), as overlapping slices usually
    are.
    """
    order = sorted(range(len(p)), key=p.__getitem__, reverse=True)
    scaled = (len(p) / (len(p) - rank) * p[index] for rank, index in enumerate(order))
    adjusted = dict(zip(order, accumulate(scaled, min), strict=True))
    return tuple(min(1.0, adjusted[index]) for index in range(len(p)))


def tarone(smallest: Sequence[float], *, error: float = 0.05) -> tuple[bool, ...]:
    """Which tests belong to the family, from the least p-value that each could have had (Tarone 1990).

    A test that no outcome could make significant needs no share of the error. Let K be the smallest number for which at
    most K tests could fall to ``error`` / K; those that could are the members. The least p-values may depend on nothing
    but the margins of the tables; within the family each adjustment holds as it would without this (Gilbert 2005).
    """
    ranked = sorted(smallest)
    size = next(k for k in range(1, len(ranked) + 2) if bisect_right(ranked, error / k) <= k)
    return tuple(p <= error / size for p in smallest)
