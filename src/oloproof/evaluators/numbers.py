"""Numbers as JSON writes them, compared exactly."""

from __future__ import annotations

import math
from fractions import Fraction

from oloproof.model.values import Json


def is_number(value: Json) -> bool:
    """A finite number; booleans are none."""
    return type(value) is int or (type(value) is float and math.isfinite(value))


def exact(number: float) -> Fraction:
    """The decimal that was written: ``repr`` gives the shortest one that reads back as the same float."""
    return Fraction(number) if isinstance(number, int) else Fraction(repr(number))
