"""Differences of two shares, in percentage points: how all surfaces write them.

One share being 2 % larger than another and one being two points larger are different things. What is the difference of
two rates is written here and nowhere else, and never with a per cent sign. Rounding is as for shares: bounds outward,
estimates to the nearest, and 0 and 100 only where it is that.
"""

from __future__ import annotations

from decimal import Decimal

from oloproof.stats.rounding import percent_estimate, percent_lower, percent_of, percent_upper, plain

LEGEND = "pp: percentage points"
"""What the sign means, for where a reader meets it first."""

_SIGNIFICANT = 4


def difference_text(more: int, known: int) -> str:
    """``+1.7 pp``: so many more of the ``known`` pairs pass; ``more`` is negative where fewer do."""
    return _points(f"{'-' if more < 0 else '+'}{percent_estimate(abs(more), known)}")


def interval_text(bounds: tuple[float, float], *, digits: int = 1) -> str:
    """``[-5.7, +9.2] pp``, rounded outward."""
    lower, upper = bounds
    return _points(f"[{lower_points(lower, digits=digits)}, {upper_points(upper, digits=digits)}]")


def lower_points(bound: float, *, digits: int = 1) -> str:
    """A lower bound without its unit, rounded down: ``-3.7``, ``+1.2``."""
    return f"+{percent_lower(bound, digits=digits)}" if bound >= 0 else f"-{percent_upper(-bound, digits=digits)}"


def upper_points(bound: float, *, digits: int = 1) -> str:
    """An upper bound without its unit, rounded up."""
    return f"+{percent_upper(bound, digits=digits)}" if bound >= 0 else f"-{percent_lower(-bound, digits=digits)}"


def margin_text(margin: float, *, two_sided: bool) -> str:
    """``-5 pp``, or ``±5 pp``: how much worse, or how different, a rule lets it be, as it was written."""
    share = percent_of(margin)
    return _points(f"±{share}" if two_sided else "0" if share == "0" else f"-{share}")


def axis_texts(reach: float) -> tuple[str, str]:
    """``-10 pp`` and ``+10 pp``, the ends of an axis with 0 in its middle."""
    share = percent_of(round(reach, 2))
    return _points(f"-{share}"), _points(f"+{share}")


def assumed_text(difference: float) -> str:
    """``+1.667 pp``: a difference that is no bound and no count's, to four significant digits."""
    number = f"{100 * difference:+.{_SIGNIFICANT}g}"
    return _points(f"{number[0]}{plain(Decimal(number[1:]))}")


def _points(number: str) -> str:
    return f"{number} pp"
