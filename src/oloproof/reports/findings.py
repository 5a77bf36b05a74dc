"""What was found, as parts of a document: metrics, slices, flaky cases and decisions, unrounded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, assert_never

from msgspec import to_builtins

from oloproof.model.decision import (
    CountFinding,
    Decision,
    NoBaseline,
    PairFinding,
    PassKFinding,
    QuantileFinding,
    RateFinding,
)
from oloproof.model.measured import Flaky, Metric, PassK, Quantile, Rate, SliceGroup
from oloproof.model.run import IntervalChoice, Report, Run
from oloproof.model.stopping import Settled
from oloproof.model.tally import Tally
from oloproof.reports.figures import Figures, figures, full_run, run_figures
from oloproof.reports.rest import RestTest
from oloproof.reports.settling import settling_document, settling_of
from oloproof.reports.words import Subject, subject

Document = dict[str, Any]

Tested = Mapping[tuple[str, str, str], RestTest]
"""By slice, value and criterion."""

_EXACT = 2**53


def whole_metric(metric: Metric, run: Run) -> Document:
    """A metric over all cases; of a run that stopped early also what the full one would have shown."""
    document = _metric(metric, run_figures(metric, run))
    bounds = full_run(metric, run)
    if run.stopping is not None and bounds is not None:
        document["not_run"] = run.stopping.not_run[metric.id]
        document["full_run"] = {"passed_at_least": bounds[0], "passed_at_most": bounds[1]}
    return document


def _metric(metric: Metric, known: Figures) -> Document:
    match metric:
        case Rate(id=name, tally=tally, clusters=clusters, vacuous=vacuous):
            rate: Document = {
                "id": name,
                "kind": "rate",
                "passed": tally.passed,
                "failed": tally.failed,
                "missing": tally.missing,
                "excluded": tally.excluded,
                "estimate": None if vacuous else known.estimate,
                "lower": known.lower,
                "upper": known.upper,
            }
            if vacuous:
                rate["vacuous"] = True
            if clusters is not None:
                rate |= {"trials": _counts(clusters.trials), "effective": known.effective}
            return rate
        case PassK():
            return {
                "id": metric.id,
                "kind": metric.type,
                "criterion": metric.criterion,
                "k": metric.k,
                "observed": metric.observed,
                "missing": metric.missing,
                "excluded": metric.excluded,
                "estimate": known.estimate,
                "lower": known.lower,
                "upper": known.upper,
                "effective": known.effective,
            }
        case Quantile(id=name, unit=unit, distribution=distribution):
            return {
                "id": name,
                "kind": "quantile",
                "unit": unit,
                "observed": distribution.observed_count,
                "missing": distribution.missing_count,
                "estimate": _whole(known.estimate),
                "lower": _whole(known.lower),
                "upper": _whole(known.upper),
            }
        case _:
            assert_never(metric)


def slice_group(group: SliceGroup, interval: IntervalChoice, tests: Tested, *, supported: bool) -> Document:
    """A slice value with its metrics, without their bounds where it has too few cases, and what tests say of it."""
    metrics = []
    for metric in group.metrics:
        known = figures(metric, interval)
        document = _metric(metric, known if supported else Figures(known.estimate, None, None))
        test = tests.get((group.slice, group.value, metric.id))
        if test is not None:
            document["against_rest"] = {"p": test.p, "p_adjusted": test.adjusted}
        metrics.append(document)
    return {"slice": group.slice, "value": group.value, "support": group.support, "metrics": metrics}


def flakiness(found: Sequence[Flaky], run: Run) -> Document:
    """The cases that pass sometimes, of a run that tried them more than once."""
    if run.trials == 1:
        return {}
    return {"flaky": [_flaky(each) for each in found]}


def _flaky(flaky: Flaky) -> Document:
    document = to_builtins(flaky) | {"parting": None}
    move = flaky.parting
    if move is not None:
        document["parting"] = {"kind": move.kind, "tool": move.tool or None, "failing": move.now, "passing": move.was}
    return dict(document)


def decisions(report: Report) -> list[Document]:
    """Every decision, each with what would settle it where it is open."""
    return [_decision(decision) | _settling(subject(report, decision)) for decision in report.decisions]


def _settling(about: Subject) -> Document:
    """How many more cases would settle a rule that the evidence left open; nothing of any other."""
    settling = settling_of(about)
    return {} if settling is None else {"settling": settling_document(settling)}


def _decision(decision: Decision) -> Document:
    document: Document = {
        "rule": decision.rule,
        "metric": decision.metric,
        "kind": decision.finding.kind,
        "state": decision.state,
        "reason": decision.reason,
    }
    match decision.finding:
        case CountFinding(tally=tally, max_failures=most):
            document |= {"threshold": most, **_counts(tally), "blocking": decision.blocking}
        case RateFinding(tally=tally) as found:
            document |= {"threshold": found.minimum, **_counts(tally), "blocking": decision.blocking}
            document |= {"maximum": found.maximum, "lower": found.lower, "upper": found.upper}
            document |= {"false_pass": found.false_pass, "false_fail": found.false_fail}
            if found.basis is not None:
                document["interval"] = {"method": found.basis.method, "level": found.basis.level}
            if found.trials is not None:
                document |= {"trials": _counts(found.trials), "effective": found.effective}
        case PassKFinding() as found:
            document |= {"threshold": found.minimum, "observed": found.observed, "missing": found.missing}
            document |= {"blocking": decision.blocking, "maximum": found.maximum}
            document |= {"lower": found.lower, "upper": found.upper, "effective": found.effective}
        case QuantileFinding() as found:
            counts = _counts(Tally(missing=found.missing))  # a quantile has cases that are missing, and none that pass
            document |= {"threshold": found.minimum, **counts, "blocking": decision.blocking}
            document |= {"maximum": found.maximum, "lower": found.lower, "upper": found.upper}
            document |= {"false_pass": None, "false_fail": None}
        case PairFinding(table=table) as found:
            threshold = found.limit if found.kind == "max_new_failures" else found.margin
            document |= {"threshold": threshold, "fixed": table.fixed, "broken": table.broken, "missing": table.missing}
            document |= {"difference": table.difference, "lower": found.lower, "upper": found.upper}
            if found.confirmation is not None:
                document["confirmation"] = {**to_builtins(found.confirmation), "unknown": found.confirmation.unknown}
            document |= {"blocking": decision.blocking}
        case NoBaseline():
            document |= {"threshold": None, "missing": 0, "blocking": decision.blocking}
        case _ as never:
            assert_never(never)
    if decision.approved_by is not None:
        document["approved_by"] = decision.approved_by
    if decision.settled is not None:
        document["settled"] = {"by": decision.settled.by, "after": decision.settled.after}
        if decision.settled.boundary:
            document["settled"]["boundary"] = decision.settled.boundary
    return document


def settled_document(settled: Settled) -> Document:
    """When a rule was settled on the way."""
    return {"rule": settled.rule, "state": settled.state, "by": settled.by, "after": settled.after}


def _counts(tally: Tally) -> Document:
    return {"passed": tally.passed, "failed": tally.failed, "missing": tally.missing}


def _whole(value: float | None) -> float | None:
    """10 rather than 10.0: steps and calls are counted."""
    return int(value) if value is not None and float(value).is_integer() and abs(value) <= _EXACT else value
