"""The figures of a metric, from its counts, and how they are written.

Figures are exact here (documents carry them unrounded); rounding happens in the ``…_text`` functions and only there:
bounds outward, estimates to the nearest, and never into a lie.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from typing import assert_never

from msgspec import Struct

from oloproof.model.measured import Metric, PassK, Quantile, Rate
from oloproof.model.run import IntervalChoice, Run
from oloproof.model.stopping import Stopping
from oloproof.model.tally import Clusters, Tally
from oloproof.stats import proportion, quantile, trials
from oloproof.stats.rounding import percent_estimate, percent_lower, percent_of, percent_upper, plain

NOTHING = "–"
NO_BOUND = "no bound"
VACUOUS = "vacuous"

_SIGNIFICANT = 6
_FINEST = -12
_LARGEST = 15


class Figures(Struct, frozen=True):
    """An estimate and the interval around it: shares for a rate, the quantity's unit for a quantile.

    ``estimate`` is None where nothing was observed, ``lower`` and ``upper`` where a quantile has no bound.
    ``effective`` is how many independent cases trials and clusters are worth; None where cases are plainly counted.
    """

    estimate: float | None
    lower: float | None
    upper: float | None
    effective: float | None = None


def figures(metric: Metric, choice: IntervalChoice) -> Figures:
    """Estimate and interval of a metric by the method and at the level chosen for display."""
    match metric:
        case Rate(clusters=Clusters() as clusters):
            return _of_trials(clusters, choice, metric="pass_hat_k", k=1)
        case PassK(type=kind, k=k, clusters=clusters):
            return _of_trials(clusters, choice, metric=kind, k=k)
        case Rate(tally=tally):
            lower, upper = proportion.interval(
                tally.passed, tally.failed, tally.missing, method=choice.method, level=choice.level
            )
            return Figures(tally.estimate, lower, upper)
        case Quantile(distribution=distribution):
            observed, floors = quantile.Counted(distribution.observed), quantile.Counted(distribution.floors)
            bounds = quantile.interval(observed, floors, q=metric.q, level=choice.level)
            return Figures(bounds.estimate, bounds.lower, bounds.upper)
        case _:
            assert_never(metric)


def _of_trials(clusters: Clusters, choice: IntervalChoice, *, metric: trials.Metric, k: int) -> Figures:
    found = trials.of_clusters(clusters.counted, metric=metric, k=k, method=choice.method, level=choice.level)
    estimate = trials.estimate_of_clusters(clusters.counted, metric=metric, k=k)
    return Figures(estimate, found.lower, found.upper, found.effective)


def rate_estimate(clusters: Clusters) -> float | None:
    """The mean of the cases' pass rates."""
    return trials.estimate_of_clusters(clusters.counted, metric="pass_hat_k")


def run_figures(metric: Metric, run: Run) -> Figures:
    """The figures of a metric over all cases of a run.

    Where the run stopped early, the interval of a rate is the anytime-valid one over the cases that ran; a quantile's
    bounds stay those that the full run could not have left.
    """
    if run.stopping is None or run.stopping.after is None or not isinstance(metric, Rate):
        return figures(metric, run.interval)
    from oloproof.stats import evidence  # here and below: a run that did not stop early does without

    passed, failed, missing = ran(metric, run.stopping)
    return Figures(metric.tally.estimate, *evidence.interval(passed, failed, missing, level=run.interval.level))


def ran(metric: Rate, stopping: Stopping) -> tuple[int, int, int]:
    """Of the cases that ran and that the criterion applies to, how many passed, failed and are missing."""
    tally = metric.tally
    return tally.passed, tally.failed, tally.missing - stopping.not_run.get(metric.id, 0)


def full_run(metric: Metric, run: Run) -> tuple[int, int] | None:
    """The least and the greatest number of passes that this very suite would have shown, had all of it run: at the
    level of the run's intervals, and at whatever moment it stopped. None where nothing is left to tell."""
    stopping = run.stopping
    if stopping is None or not isinstance(metric, Rate) or not stopping.not_run.get(metric.id):
        return None
    from oloproof.stats import without_replacement

    return without_replacement.interval(*ran(metric, stopping), suite=metric.tally.n, level=run.interval.level)


def interval_name(run: Run) -> str:
    """``wilson, 95%``, or of a run that stopped early ``anytime-valid 95% (mixture)``."""
    level = f"{percent_of(run.interval.level)}%"
    return f"anytime-valid {level} (mixture)" if run.status == "stopped_early" else f"{run.interval.method}, {level}"


def estimate_text(metric: Metric, estimate: float | None) -> str:
    """``82.5%`` or ``10 steps``; a dash where nothing was observed, and ``vacuous`` where passing says nothing."""
    if estimate is None:
        return NOTHING
    match metric:
        case Rate(vacuous=True):
            return VACUOUS
        case Rate(tally=tally, clusters=None):
            return percent_estimate(tally.passed, tally.observed) + "%"
        case Rate() | PassK():
            return percent_estimate(*estimate.as_integer_ratio()) + "%"
        case Quantile(unit=unit):
            return in_unit(quantity_text(estimate, rounding=ROUND_HALF_EVEN), unit)
        case _:
            assert_never(metric)


def interval_text(metric: Metric | None, *, lower: float | None, upper: float | None) -> str:
    """``[67.2%, 92.7%]`` or ``[10, no bound] steps``; an unknown metric is taken for a rate."""
    match metric:
        case None | Rate() | PassK():
            low = NO_BOUND if lower is None else percent_lower(lower) + "%"
            high = NO_BOUND if upper is None else percent_upper(upper) + "%"
            return f"[{low}, {high}]"
        case Quantile(unit=unit):
            low = NO_BOUND if lower is None else quantity_text(lower, rounding=ROUND_FLOOR)
            high = NO_BOUND if upper is None else quantity_text(upper, rounding=ROUND_CEILING)
            return f"[{low}, {high}] {unit}"
        case _:
            assert_never(metric)


def counts_text(metric: Metric, effective: float | None = None, *, not_run: int = 0) -> str:
    """``33 / 40 observed · 0 missing · 0 excluded``, or ``p95 of 39 observed · 1 missing · 0 excluded``.

    ``effective`` is that of the metric's figures, for one over trials or clusters. ``not_run`` says how many of the
    missing cases of a criterion never began, where that was by design.
    """
    match metric:
        case Rate(tally=tally) if not_run:
            missing = f"{tally.missing:,} missing, {not_run:,} of them not run"
            return f"{tally.passed:,} / {tally.observed:,} observed · {missing} · {tally.excluded:,} excluded"
        case Rate(tally=tally, clusters=clusters):
            if clusters is None:
                return f"{tally.passed:,} / {tally.observed:,} observed · {_unobserved(tally.missing, tally.excluded)}"
            tried, cases = clusters.trials, clusters.cases
            noun = "observed" if tried.n == cases else "trials observed"
            counts = f"{tried.passed:,} / {tried.observed:,} {noun} · {_unobserved(tried.missing, tally.excluded)}"
            always = "" if tried.n == cases else f" · {tally.passed:,} / {cases:,} cases pass all"
            return f"{counts}{always}{_worth(clusters, effective)}"
        case Quantile(quantile=written, distribution=values):
            rank = f"p{percent_of(written)} of {values.observed_count:,} observed"
            return f"{rank} · {_unobserved(values.missing_count, 0)}"
        case PassK(type=kind, k=k):
            sign = "@" if kind == "pass_at_k" else "^"
            counts = f"pass{sign}{k} of {metric.observed:,} observed"
            return f"{counts} · {_unobserved(metric.missing, metric.excluded)}{_worth(metric.clusters, effective)}"
        case _:
            assert_never(metric)


def _worth(clusters: Clusters, effective: float | None) -> str:
    """What trials and clusters are worth, never more than it is."""
    if effective is None:
        return ""
    related = "" if not clusters.related else f"in {clusters.independent:,} clusters "
    return f" · {related}worth {plain(Decimal(int(effective * 10)) / 10)} cases"


def rate_text(tally: Tally) -> str:
    """``57.1% (4/7)``: the estimate and what it is of; a dash where nothing was observed."""
    if not tally.observed:
        return NOTHING
    return f"{percent_estimate(tally.passed, tally.observed)}% ({tally.passed:,}/{tally.observed:,})"


_ONE = {"decisions": "decision", "steps": "step", "calls": "call", "tokens": "token"}


def in_unit(value: str, unit: str) -> str:
    """``12 steps``, ``1 step``, ``1 ms``."""
    return f"{value} {_ONE.get(unit, unit) if value == '1' else unit}"


def quantity_text(value: float, *, rounding: str) -> str:
    """A value without its unit: whole numbers in full, others to six significant digits."""
    exact = Decimal(repr(value))
    if exact.adjusted() > _LARGEST:
        return str(Context(prec=_SIGNIFICANT, rounding=rounding).plus(exact))
    step = min(0, max(_FINEST, exact.adjusted() + 1 - _SIGNIFICANT))
    return plain(exact.quantize(Decimal(1).scaleb(step), rounding=rounding))


def time_text(seconds: int) -> str:
    """Whole seconds as ``42 s``, ``3 min 5 s`` or ``2 h 14 min``."""
    minutes, rest = divmod(seconds, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if minutes else f"{seconds} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min"


def total(metrics: Iterable[Metric]) -> Tally:
    """The verdicts of all criteria together: what a list of one entry a trial and criterion holds."""
    return sum((metric.judged for metric in metrics if isinstance(metric, Rate)), Tally())


def _unobserved(missing: int, excluded: int) -> str:
    return f"{missing:,} missing · {excluded:,} excluded"
