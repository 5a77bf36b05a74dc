"""Shares as percentages to print, rounded so that no figure claims more than is known.

Bounds round outward, away from each other; the interval that is printed contains the one that was computed. Estimates
round to the nearest, but 0 and 100 are kept for what is exactly so. Nothing is ever decided on these.

A bound is a double, and one that should be 0.8 may arrive as 0.7999999999999999 or 0.8000000000000002. Rounded outward
as they stand, they would print as 79.9 and 80.1. Bounds are accurate to about 1e-14, so they are first rounded to the
nearest 1e-12: what differs from a printable figure by less than that is that figure, but for 0 and 100.
"""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction

from oloproof.stats.level import tail

_UNITS = 10**12

_SIGNIFICANT = 6

MOST_DIGITS = 10
"""Decimals of a percentage, at most."""


def percent_lower(share: float, *, digits: int = 1) -> str:
    """A lower bound in [0, 1] as a percentage with ``digits`` decimals (up to 10), rounded down: "73.4"; "100.0" only
    where it is 1."""
    units = _settled(share) // _step(digits)
    return _decimal(units if share >= 1 else min(units, _whole(digits) - 1), digits)


def percent_upper(share: float, *, digits: int = 1) -> str:
    """An upper bound in [0, 1] as a percentage with ``digits`` decimals (up to 10), rounded up: "87.4"; "0.0" only
    where it is 0."""
    units = -(-_settled(share) // _step(digits))
    return _decimal(units if share <= 0 else max(units, 1), digits)


def percent_estimate(passed: int, observed: int, *, digits: int = 1) -> str:
    """passed / observed as a percentage, to the nearest, halves up; "0.0" and "100.0" only where exact.

    Raises ZeroDivisionError where nothing was observed, since there is no estimate then.
    """
    whole = _whole(digits)
    nearest = (2 * whole * passed + observed) // (2 * observed)
    if 0 < passed < observed:
        nearest = min(max(nearest, 1), whole - 1)
    return _decimal(nearest, digits)


def achieved_error(*, false_pass: float | None, false_fail: float | None, level: float) -> str:
    """How often a rule errs of a system exactly at its bound, beside the error that the level promises.

    The chances are in [0, 1] and round up; None is left out, and "" is said where neither is known.
    """
    errors = {"false pass": false_pass, "false fail": false_fail}
    known = [f"{name} {percent_upper(error)}%" for name, error in errors.items() if error is not None]
    return f"error at the bound: {', '.join(known)} (nominal {percent_of(tail(level))}%)" if known else ""


def percent_of(share: str | float) -> str:
    """A share, as it was written, in percent and without idle zeros: "0.95" and 0.95 are "95"."""
    return plain(Decimal(str(share)).scaleb(2))


def percent_near(share: Fraction | float) -> str:
    """A share in percent, to six significant digits: "98.3333"; "100" only where it is 1, as far as 40 digits tell."""
    exact = 100 * Fraction(share)
    digits = range(_SIGNIFICANT, 40)
    numbers = (Context(prec=each).divide(Decimal(exact.numerator), Decimal(exact.denominator)) for each in digits)
    return plain(next((number for number in numbers if number < 100), Decimal(100)) if exact < 100 else Decimal(100))


def plain(number: Decimal) -> str:
    """A decimal in groups of three digits, without exponent and without idle zeros: ``12,000.5``."""
    text = f"{number:,f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _whole(digits: int) -> int:
    """100 percent, in units of the last printed decimal."""
    return int(100 * 10**digits)


def _settled(share: float) -> int:
    """The share in units of 10⁻¹², to the nearest, by rational arithmetic."""
    return round(Fraction(share) * _UNITS)


def _step(digits: int) -> int:
    """The last printed decimal of a percentage, in units of 10⁻¹²."""
    return _UNITS // _whole(digits)


def _decimal(units: int, digits: int) -> str:
    return f"{Decimal(units).scaleb(-digits):f}"
