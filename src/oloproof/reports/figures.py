"""The figures of a metric, from its counts, and how they are written.

Figures are exact here (documents carry them unrounded); rounding happens in the ``…_text`` functions and only there:
bounds outward, estimates to the nearest, and never into a lie.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from typing import assert_never

from msgspec import Struct

from oloproof.model.run import IntervalChoice
from oloproof.model.tally import Metric, Quantile, Rate, Tally
from oloproof.stats import proportion, quantile
from oloproof.stats.rounding import percent_estimate, percent_lower, percent_upper

NOTHING = "–"
NO_BOUND = "no bound"

_SIGNIFICANT = 6
_FINEST = -12
_LARGEST = 15


class Figures(Struct, frozen=True):
    """An estimate and the interval around it: shares for a rate, the quantity's unit for a quantile.

    ``estimate`` is None where nothing was observed, ``lower`` and ``upper`` where a quantile has no bound.
    """

    estimate: float | None
    lower: float | None
    upper: float | None


def figures(metric: Metric, choice: IntervalChoice) -> Figures:
    """Estimate and interval of a metric by the method and at the level chosen for display."""
    match metric:
        case Rate(tally=tally):
            lower, upper = proportion.interval(
                tally.passed, tally.failed, tally.missing, method=choice.method, level=choice.level
            )
            return Figures(tally.estimate, lower, upper)
        case Quantile(distribution=distribution):
            bounds = quantile.interval(
                distribution.observed_values, distribution.floor_values, q=metric.q, level=choice.level
            )
            return Figures(bounds.estimate, bounds.lower, bounds.upper)
        case _:
            assert_never(metric)


def estimate_text(metric: Metric, estimate: float | None) -> str:
    """``82.5%`` or ``10 steps``; a dash where nothing was observed."""
    if estimate is None:
        return NOTHING
    match metric:
        case Rate(tally=tally):
            return percent_estimate(tally.passed, tally.observed) + "%"
        case Quantile(unit=unit):
            return f"{quantity_text(estimate, rounding=ROUND_HALF_EVEN)} {unit}"
        case _:
            assert_never(metric)


def interval_text(metric: Metric | None, *, lower: float | None, upper: float | None) -> str:
    """``[67.2%, 92.7%]`` or ``[10, no bound] steps``; an unknown metric is taken for a rate."""
    match metric:
        case None | Rate():
            low = NO_BOUND if lower is None else percent_lower(lower) + "%"
            high = NO_BOUND if upper is None else percent_upper(upper) + "%"
            return f"[{low}, {high}]"
        case Quantile(unit=unit):
            low = NO_BOUND if lower is None else quantity_text(lower, rounding=ROUND_FLOOR)
            high = NO_BOUND if upper is None else quantity_text(upper, rounding=ROUND_CEILING)
            return f"[{low}, {high}] {unit}"
        case _:
            assert_never(metric)


def counts_text(metric: Metric) -> str:
    """``33 / 40 observed · 0 missing · 0 excluded``, or ``p95 of 39 observed · 1 missing · 0 excluded``."""
    match metric:
        case Rate(tally=tally):
            return f"{tally.passed} / {tally.observed} observed · {_unobserved(tally.missing, tally.excluded)}"
        case Quantile(quantile=written, distribution=cases):
            rank = f"p{percent_of(written)} of {cases.observed_count} observed"
            return f"{rank} · {_unobserved(cases.missing_count, cases.excluded)}"
        case _:
            assert_never(metric)


def quantity_text(value: float, *, rounding: str) -> str:
    """A value in its unit: whole numbers as they are, others to six significant digits."""
    exact = Decimal(repr(value))
    if exact.adjusted() > _LARGEST:
        return str(Context(prec=_SIGNIFICANT, rounding=rounding).plus(exact))
    step = min(0, max(_FINEST, exact.adjusted() + 1 - _SIGNIFICANT))
    return plain(exact.quantize(Decimal(1).scaleb(step), rounding=rounding))


def percent_of(share: str | float) -> str:
    """A share, as it was written, in percent and without idle zeros: "0.95" and 0.95 are "95"."""
    return plain(Decimal(str(share)).scaleb(2))


def plain(number: Decimal) -> str:
    """A decimal without exponent and without idle zeros."""
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def total(metrics: Iterable[Metric]) -> Tally:
    """The verdicts of all criteria together: what a list of one entry a case and criterion holds."""
    return sum((metric.tally for metric in metrics if isinstance(metric, Rate)), Tally())


def _unobserved(missing: int, excluded: int) -> str:
    return f"{missing} missing · {excluded} excluded"
