"""Where a measure lies between the ends of an axis: what a forest plot draws, beside the texts of a view.

Nothing here decides or rounds. A bar stands beside a row that says the same in words, so a place that lies off the axis
is drawn at its end.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import ROUND_CEILING
from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from oloproof.model.comparison import Comparison
from oloproof.model.decision import (
    CountFinding,
    Decision,
    NoBaseline,
    PairFinding,
    PassKFinding,
    QuantileFinding,
    RateFinding,
)
from oloproof.model.measured import Metric, Quantile, Rate
from oloproof.model.run import Report
from oloproof.model.tally import Distribution, PairTable, Tally
from oloproof.reports.figures import Figures, figures, in_unit, quantity_text, run_figures
from oloproof.reports.inert import inert
from oloproof.reports.points import axis_texts
from oloproof.stats import paired

MOST_COLUMNS = 40
"""Columns of a drawn distribution."""


class Bar(Struct, frozen=True, kw_only=True):
    """A measure on an axis that reads ``start`` to ``end``; all places are shares of its length, from 0 to 1.

    ``passed`` is what is known to pass, and up to ``possible`` what is missing could add; both None where no share is
    drawn. ``estimate``, ``lower`` and ``upper`` are None where there is none. ``limits`` are the thresholds of a rule.
    """

    start: str = "0%"
    end: str = "100%"
    estimate: float | None = None
    lower: float | None = None
    upper: float | None = None
    passed: float | None = None
    possible: float | None = None
    limits: tuple[float, ...] = ()


class Column(Struct, frozen=True):
    """A column of a distribution: how high the observed values reach, and those above them of which no more is known
    than that they are as large; shares of the highest column."""

    observed: float
    floors: float


class DistributionView(Struct, frozen=True, kw_only=True):
    """The values of a quantity from 0 to ``end``, in columns of equal width."""

    id: str
    end: str
    columns: tuple[Column, ...]


class Bars(Struct, frozen=True, kw_only=True):
    """The bars of a view's rows, in their order; None where a row has nothing to draw."""

    metrics: tuple[Bar | None, ...]
    slices: tuple[Bar | None, ...]
    decisions: tuple[Bar | None, ...]
    distributions: tuple[DistributionView, ...]


def bars(report: Report) -> Bars:
    """What is drawn beside the metrics, slices and decisions of the report's view."""
    metrics = report.measured.metrics
    return Bars(
        metrics=tuple(_metric_bar(metric, run_figures(metric, report.run)) for metric in metrics),
        slices=tuple(_slice_bars(report)),
        decisions=tuple(_decision_bar(report, decision) for decision in report.decisions),
        distributions=tuple(_distribution(metric) for metric in metrics if isinstance(metric, Quantile)),
    )


def _slice_bars(report: Report) -> Iterator[Bar | None]:
    for group in report.measured.slices:
        if not group.metrics:
            yield None
        supported = group.support >= report.measured.min_slice_support and report.run.status != "stopped_early"
        for metric in group.metrics:
            bar = _metric_bar(metric, figures(metric, report.run.interval))
            yield bar if supported else replace(bar, lower=None, upper=None)


def _metric_bar(metric: Metric, known: Figures) -> Bar:
    if isinstance(metric, Quantile):
        return _quantity_bar(metric, known.lower, known.upper, estimate=known.estimate)
    plain = isinstance(metric, Rate) and metric.clusters is None
    shares = _share_bar(metric.tally) if isinstance(metric, Rate) and plain else Bar()
    return replace(shares, estimate=_estimate(metric, known), lower=known.lower, upper=known.upper)


def _estimate(metric: Metric, known: Figures) -> float | None:
    """None also where passing says nothing, as the row beside the bar says."""
    return None if isinstance(metric, Rate) and metric.vacuous else known.estimate


def _share_bar(tally: Tally) -> Bar:
    if not tally.n:
        return Bar()
    return Bar(passed=tally.passed / tally.n, possible=(tally.passed + tally.missing) / tally.n)


def _quantity_bar(
    metric: Quantile,
    lower: float | None,
    upper: float | None,
    *,
    estimate: float | None,
    limits: tuple[float, ...] = (),
) -> Bar:
    end = max(_largest(metric.distribution), upper or 0, *limits, 0) or 1

    def place(value: float | None) -> float | None:
        return None if value is None else value / end

    return Bar(
        start="0",
        end=_quantity(end, metric),
        estimate=place(estimate),
        lower=place(lower),
        upper=place(upper),
        limits=tuple(limit / end for limit in limits),
    )


def _decision_bar(report: Report, decision: Decision) -> Bar | None:
    finding = decision.finding
    metric = next((metric for metric in report.measured.metrics if metric.id == decision.metric), None)
    estimate = None if metric is None else _estimate(metric, run_figures(metric, report.run))
    match finding:
        case CountFinding(tally=tally, max_failures=most):
            limit = max(0.0, 1 - most / tally.n) if tally.n else 1.0
            return replace(_share_bar(tally), limits=(limit,))
        case RateFinding() | PassKFinding():
            plain = isinstance(finding, RateFinding) and finding.trials is None
            shares = _share_bar(finding.tally) if isinstance(finding, RateFinding) and plain else Bar()
            limits = _given(finding.minimum, finding.maximum)
            return replace(shares, estimate=estimate, lower=finding.lower, upper=finding.upper, limits=limits)
        case QuantileFinding():
            if not isinstance(metric, Quantile):
                return None
            limits = _given(finding.minimum, finding.maximum)
            return _quantity_bar(metric, finding.lower, finding.upper, estimate=estimate, limits=limits)
        case PairFinding():
            return _difference_bar(finding)
        case NoBaseline():
            return None
        case _ as never:
            assert_never(never)


def _difference_bar(finding: PairFinding) -> Bar | None:
    """A difference of two rates, on an axis with 0 in its middle."""
    match finding.kind:
        case "max_new_failures":
            return None
        case "superiority":
            limits: tuple[float, ...] = (0.0,)
        case "non_inferiority":
            limits = (-(finding.margin or 0.0),)
        case "equivalence":
            limits = (-(finding.margin or 0.0), finding.margin or 0.0)
        case _ as never:
            assert_never(never)
    interval = finding.lower, finding.upper
    return _signed_bar(finding.table, interval, limits=limits, reach=_reach(*interval, *limits))


def difference_bars(comparison: Comparison, *, level: float) -> Iterator[Bar | None]:
    """The criteria of a comparison in their order, each against no difference; None where there is no pair. They share
    an axis, so that one that changed more is drawn further off."""
    tables = [criterion.table for criterion in comparison.criteria]
    pairs = [paired.Pairs(*table.cells) for table in tables]
    bounds = [paired.interval(each, level=level) if each.n else None for each in pairs]
    reach = _reach(*(end for ends in bounds if ends is not None for end in ends))
    for table, ends in zip(tables, bounds, strict=True):
        yield None if ends is None else _signed_bar(table, ends, limits=(0.0,), reach=reach)


def _reach(*ends: float) -> float:
    """How far an axis reaches to either side, in whole steps of 5 %."""
    return min(1.0, math.ceil(max(map(abs, ends), default=0.0) * 20) / 20) or 0.05


def _signed_bar(table: PairTable, interval: tuple[float, float], *, limits: tuple[float, ...], reach: float) -> Bar:
    lower, upper = interval
    start, end = axis_texts(reach)

    def place(difference: float) -> float:
        return (difference + reach) / (2 * reach)

    middle = table.difference
    return Bar(
        start=start,
        end=end,
        estimate=None if middle is None else place(middle),
        lower=place(lower),
        upper=place(upper),
        limits=tuple(map(place, limits)),
    )


def _given(*limits: float | None) -> tuple[float, ...]:
    return tuple(limit for limit in limits if limit is not None)


def _largest(distribution: Distribution) -> float:
    return max((value for value, _ in (*distribution.observed, *distribution.floors)), default=0)


def _quantity(value: float, metric: Quantile) -> str:
    return in_unit(quantity_text(value, rounding=ROUND_CEILING), metric.unit)


def _distribution(metric: Quantile) -> DistributionView:
    """How often each value occurs: one column a value where they are small whole numbers."""
    end = _largest(metric.distribution)
    singly = end < MOST_COLUMNS and _whole(metric.distribution)
    width = 1.0 if singly else end / MOST_COLUMNS
    last = int(end) if singly else MOST_COLUMNS - 1
    observed, floors = ([0] * (last + 1) for _ in range(2))
    for counts, counted in ((observed, metric.distribution.observed), (floors, metric.distribution.floors)):
        for value, count in counted:
            counts[min(last, int(value / width))] += count
    highest = max(map(sum, zip(observed, floors, strict=True))) or 1
    return DistributionView(
        id=inert(metric.id),
        end=_quantity(end, metric),
        columns=tuple(Column(seen / highest, least / highest) for seen, least in zip(observed, floors, strict=True)),
    )


def _whole(distribution: Distribution) -> bool:
    return all(float(value).is_integer() for value, _ in (*distribution.observed, *distribution.floors))
