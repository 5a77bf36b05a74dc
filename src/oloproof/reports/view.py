"""The one place that settles order, wording and rounding for every format.

A :class:`View` holds finished texts. Each is inert (:mod:`oloproof.reports.inert`): whatever an agent put into a case
id or a slice value draws visibly, on one line, and is bounded in length. A renderer adds its layout and escapes its
own syntax, nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from oloproof.model.case import Attempt, Case
from oloproof.model.decision import Gate, Outcome, State
from oloproof.model.judgment import Judgment, Word
from oloproof.model.run import Report, Run
from oloproof.model.tally import Metric, Tally
from oloproof.reports import words
from oloproof.reports.figures import NOTHING, counts_text, estimate_text, figures, interval_text, percent_of, total
from oloproof.reports.inert import TEXT_LIMIT, inert
from oloproof.reports.words import Fact


class MetricRow(Struct, frozen=True, kw_only=True):
    """A criterion or a quantile over all cases: ``82.5%``, ``[67.2%, 92.7%]``, ``33 / 40 observed · …``."""

    id: str
    estimate: str
    interval: str
    counts: str


class SliceRow(Struct, frozen=True, kw_only=True):
    """The same over the cases of one value of one slice (``group``: ``first_tool=search``)."""

    group: str
    id: str
    estimate: str
    interval: str
    counts: str


class DecisionRow(Struct, frozen=True, kw_only=True):
    """A rule decided. ``words`` says what met what; ``achieved`` how often such a rule errs; ``approved_by`` who
    cleared it. The last two are "" where there is nothing to say."""

    rule: str
    metric: str
    state: State
    reason: str
    words: str
    achieved: str
    approved_by: str
    blocking: bool


class View(Struct, frozen=True, kw_only=True):
    """A report, ready to draw. ``totals`` counts the verdicts of all criteria together."""

    project: str
    run_id: str
    facts: tuple[Fact, ...]
    metrics: tuple[MetricRow, ...]
    slices: tuple[SliceRow, ...]
    decisions: tuple[DecisionRow, ...]
    approvals: tuple[str, ...]
    warnings: tuple[str, ...]
    outcome: Outcome
    exit_code: int
    gate: str
    next_steps: tuple[Fact, ...]
    totals: Tally


class Table(Struct, frozen=True):
    """A titled list of texts, for whatever needs no more: runs, verdicts."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class CaseRecord(Struct, frozen=True, kw_only=True):
    """What is known of one case of one run: the input of ``reports.case`` and of the case document."""

    run_id: str
    case: Case
    attempt: Attempt
    judgments: tuple[tuple[str, Judgment], ...]


class VerdictRow(Struct, frozen=True, kw_only=True):
    """One verdict: a line of ``inspect --verdicts``, an entry of JUnit, a row of the failing cases."""

    case: str
    criterion: str
    verdict: Word
    trial: int = 1
    reason: str | None = None
    steps: tuple[int, ...] = ()
    detail: str | None = None


class RunRow(Struct, frozen=True, kw_only=True):
    """A line of ``runs``. ``gate`` is None where no verdict was reached."""

    run: Run
    gate: Gate | None


def view(report: Report) -> View:
    """Everything a report says, in the order in which it is read."""
    return View(
        project=inert(report.run.project),
        run_id=inert(report.run.id),
        facts=_facts(report),
        metrics=tuple(_metric_row(metric, report.run) for metric in report.measured.metrics),
        slices=tuple(_slice_rows(report)),
        decisions=tuple(_decision_rows(report)),
        approvals=tuple(_approvals(report)),
        warnings=tuple(inert(warning, TEXT_LIMIT) for warning in report.warnings),
        outcome=report.gate.outcome,
        exit_code=report.gate.exit_code,
        gate=words.gate_line(report),
        next_steps=words.next_steps(report),
        totals=total(report.measured.metrics),
    )


def system_text(run: Run) -> str:
    """``support-agent 2026-11 (callable app:run)``."""
    system = run.system
    named = system.name if system.version is None else f"{system.name} {system.version}"
    return inert(f"{named} ({system.source})" if system.source else named)


def _facts(report: Report) -> tuple[Fact, ...]:
    run, policy = report.run, report.policy
    facts = [
        Fact("run", inert(run.id)),
        Fact("project", inert(run.project)),
        Fact("system", system_text(run)),
        Fact("status", run.status),
        Fact("cases", str(report.measured.cases)),
        Fact("interval", f"{run.interval.method}, {percent_of(run.interval.level)}%"),
    ]
    if policy is not None:
        facts.append(Fact("rules", f"decided by {policy.interval_method}, {percent_of(policy.confidence_level)}%"))
    if run.own_dataset:
        facts.append(Fact("dataset", "none: the recordings are their own"))
    if run.partial:
        facts.append(Fact("partial", f"{inert(run.partial)}: NOT GATED"))
    if run.in_process:
        facts.append(Fact("in process", "for a debugger: NOT GATED"))
    return tuple(facts)


def _metric_row(metric: Metric, run: Run) -> MetricRow:
    known = figures(metric, run.interval)
    return MetricRow(
        id=inert(metric.id),
        estimate=estimate_text(metric, known.estimate),
        interval=interval_text(metric, lower=known.lower, upper=known.upper),
        counts=counts_text(metric),
    )


def _slice_rows(report: Report) -> Iterator[SliceRow]:
    for group in report.measured.slices:
        name = f"{inert(group.slice)}={inert(group.value)}"
        support = f"support {group.support}"
        if not group.metrics:
            yield SliceRow(group=name, id=NOTHING, estimate=NOTHING, interval=NOTHING, counts=support)
        supported = group.support >= report.measured.min_slice_support
        for metric in group.metrics:
            row = _metric_row(metric, report.run)
            yield SliceRow(
                group=name,
                id=row.id,
                estimate=row.estimate,
                interval=row.interval if supported else NOTHING,
                counts=f"{row.counts} · {support}",
            )


def _decision_rows(report: Report) -> Iterator[DecisionRow]:
    for decision in report.decisions:
        subject = words.subject(report, decision)
        yield DecisionRow(
            rule=inert(decision.rule),
            metric=inert(decision.metric),
            state=decision.state,
            reason=decision.reason,
            words=words.reason_in_words(subject),
            achieved=words.achieved_error(subject),
            approved_by=inert(decision.approved_by or ""),
            blocking=decision.blocking,
        )


def _approvals(report: Report) -> Iterator[str]:
    for approval in report.approvals:
        text = f"{inert(approval.rule)} approved by {inert(approval.by)} at {inert(approval.at)}"
        yield text if approval.run_digest == report.run.digest else f"{text}, for other content: not counted"
