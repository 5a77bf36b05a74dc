"""Numbers as JSON writes them, compared exactly."""

from __future__ import annotations

import math
from fractions import Fraction

from oloproof.model.values import Json

_ROUNDING = 1e-12
"""More than what converting three numbers and subtracting twice can lose, relative to their sizes."""


def is_number(value: Json) -> bool:
    """A finite number; booleans are none."""
    return type(value) is int or (type(value) is float and math.isfinite(value))


def exact(number: float) -> Fraction:
    """The decimal that was written: ``repr`` gives the shortest one that reads back as the same float."""
    return Fraction(number) if isinstance(number, int) else Fraction(repr(number))


def within(found: float, reference: float, tolerance: float) -> bool:
    """Whether the two are at most ``tolerance`` apart, by the decimals as written."""
    try:
        excess = abs(float(found) - float(reference)) - tolerance
        if abs(excess) > _ROUNDING * (abs(found) + abs(reference) + tolerance):
            return excess < 0
    except OverflowError:
        pass
    return abs(exact(found) - exact(reference)) <= exact(tolerance)
