"""The one place that settles order, wording and rounding for every format.

A :class:`View` holds finished texts. Each is inert (:mod:`oloproof.reports.inert`): whatever an agent put into a case
id or a slice value draws visibly, on one line, and is bounded in length. A renderer adds its layout and escapes its
own syntax, nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from msgspec import UNSET, Struct
from msgspec.structs import replace

from oloproof.errors import counted
from oloproof.model.comparison import Comparison
from oloproof.model.decision import Gate, Outcome, State
from oloproof.model.judgment import Word
from oloproof.model.measured import Metric
from oloproof.model.run import Report, Run
from oloproof.model.tally import Tally
from oloproof.reports import words
from oloproof.reports.comparison import changes_in_words, criteria_tables, pair_intervals_text
from oloproof.reports.figures import (
    NOTHING,
    Figures,
    counts_text,
    estimate_text,
    figures,
    interval_name,
    interval_text,
    run_figures,
    time_text,
    total,
)
from oloproof.reports.flakiness import flaky_table
from oloproof.reports.grid import slice_grid
from oloproof.reports.hints import Typed, errors_in_words, next_steps, rule_steps
from oloproof.reports.inert import TEXT_LIMIT, inert
from oloproof.reports.rest import report_tests, rest_note, rest_table
from oloproof.reports.settling import settling_in_words
from oloproof.reports.shapes import Fact, Table
from oloproof.reports.stopping import stopping_facts
from oloproof.stats.rounding import percent_of


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
    cleared it; ``settling`` what would settle it. The last three are "" where there is nothing to say. ``next_steps``
    is what to do about it where it blocks."""

    rule: str
    metric: str
    state: State
    reason: str
    words: str
    achieved: str
    settling: str
    approved_by: str
    blocking: bool
    next_steps: tuple[Fact, ...] = ()


class View(Struct, frozen=True, kw_only=True):
    """A report, ready to draw. ``totals`` counts the verdicts of all criteria together.

    ``inspect`` is the command that shows the report again. ``errors`` says of what went wrong how often it did, each
    with the command that shows the first. ``grid`` holds the slices in short, a row a slice value, whose intervals and
    quantiles ``grid_hint`` shows. ``flaky`` are the cases that pass in some of their trials. ``rest`` holds the slices
    that pass less often than the rest, and ``rest_note`` says that none stands out, "" where some do or none was
    tested.
    ``changes`` counts the cases that changed since the baseline, and ``baseline`` holds what became of each criterion
    and of which cases, "" and nothing where there is none; what else a comparison finds, ``baseline_hint`` shows.
    """

    project: str
    run_id: str
    inspect: str
    facts: tuple[Fact, ...]
    metrics: tuple[MetricRow, ...]
    errors: tuple[Fact, ...]
    slices: tuple[SliceRow, ...]
    grid: Table
    grid_hint: Fact
    rest: Table
    rest_note: str
    changes: str
    baseline: tuple[Table, ...]
    baseline_hint: Fact
    decisions: tuple[DecisionRow, ...]
    flaky: Table
    approvals: tuple[str, ...]
    warnings: tuple[str, ...]
    outcome: Outcome
    exit_code: int
    gate: str
    next_steps: tuple[Fact, ...]
    totals: Tally

    @property
    def is_carried(self) -> bool:
        """Whether a rule says that the run is blocked; a verdict that none carries is told by itself."""
        return self.outcome != "NOT_GATED" and any(row.blocking for row in self.decisions)


class VerdictRow(Struct, frozen=True, kw_only=True):
    """One verdict: a line of ``inspect --verdicts``, an entry of JUnit, a row of the failing cases.

    ``error`` is what the attempt raised, where that is the reason. ``expected`` and ``found`` are UNSET where there is
    no such value.
    """

    case: str
    criterion: str
    verdict: Word
    trial: int = 1
    reason: str | None = None
    steps: tuple[int, ...] = ()
    detail: str | None = None
    error: str | None = None
    expected: Any = UNSET
    found: Any = UNSET

    @property
    def told(self) -> str | None:
        """What is told beside the reason."""
        return self.detail or self.error


class RunRow(Struct, frozen=True, kw_only=True):
    """A line of ``runs``. ``gate`` is None where no verdict was reached."""

    run: Run
    gate: Gate | None


def view(report: Report, *, config: str = "", baseline: str = "") -> View:
    """Everything a report says, in the order in which it is read.

    ``config`` is the configuration as it must be named in a command, "" where it need not be; ``baseline`` is the same
    of what the run was compared with, "" where nobody can say.
    """
    typed, tests = Typed(inert(report.run.id), config, baseline), report_tests(report)
    return View(
        project=inert(report.run.project),
        run_id=inert(report.run.id),
        inspect=typed("inspect"),
        facts=_facts(report, typed),
        metrics=tuple(_whole_metric_row(metric, report.run) for metric in report.measured.metrics),
        errors=tuple(errors_in_words(report.measured.errors, typed, trials=report.run.trials)),
        slices=tuple(_slice_rows(report)),
        grid=slice_grid(report.measured),
        grid_hint=Fact("intervals and quantiles", typed("inspect", "--slices")),
        rest=rest_table(tests),
        rest_note=rest_note(tests),
        changes="" if report.comparison is None else changes_in_words(report.comparison),
        baseline=tuple(_baseline_tables(report)),
        baseline_hint=Fact("slices, and where the calls part", typed.compare()),
        decisions=tuple(_decision_rows(report, typed)),
        flaky=flaky_table(report.measured.flaky),
        approvals=tuple(_approvals(report)),
        warnings=tuple(_warnings(report)),
        outcome=report.gate.outcome,
        exit_code=report.gate.exit_code,
        gate=words.gate_line(report),
        next_steps=next_steps(report, typed),
        totals=total(report.measured.metrics),
    )


def system_text(run: Run) -> str:
    """``support-agent 2026-11 (callable app:run)``."""
    system = run.system
    named = system.name if system.version is None else f"{system.name} {system.version}"
    return inert(f"{named} ({system.source})" if system.source else named)


def _facts(report: Report, typed: Typed) -> tuple[Fact, ...]:
    run, policy = report.run, report.policy
    tried = f", each tried {run.trials:,} times" if run.trials > 1 else ""
    facts = [
        Fact("run", inert(run.id)),
        Fact("project", inert(run.project)),
        Fact("system", system_text(run)),
        Fact("status", run.status),
        Fact("cases", f"{report.measured.cases:,}{tried}"),
    ]
    if run.finished_at is not None:
        facts.append(Fact("took", _duration(run.started_at, run.finished_at) + (", resumed" if run.resumed else "")))
    shown = interval_name(run)
    decided = shown if policy is None else f"{policy.interval_method}, {percent_of(policy.confidence_level)}%"
    alike = decided == shown or run.status == "stopped_early"  # then each rule says what decided it
    facts.append(Fact("interval", shown if alike else f"{shown}; rules are decided by {decided}"))
    facts += stopping_facts(report)
    if report.comparison is not None:
        facts.append(Fact("baseline", _baseline_text(report.comparison, report)))
    if run.own_dataset:
        facts.append(Fact("dataset", "none: the recordings are their own"))
    if run.partial:
        facts.append(Fact("partial", inert(run.partial)))
    if run.in_process:
        facts.append(Fact("in process", "for a debugger"))
    if run.log_lines:
        lines = counted(run.log_lines, "line")
        facts.append(Fact("log", f"{lines} printed outside of cases: {typed('inspect', '--log')}"))
    return tuple(facts)


def _baseline_text(comparison: Comparison, report: Report) -> str:
    """What the run was compared with, how many cases have no pair or a missing one, and by what it is judged."""
    parts = [f"{inert(comparison.baseline)}: {comparison.pairs:,} pairs"]
    for count, what in (
        (len(comparison.only_in_candidate), "new cases without one"),
        (len(comparison.only_in_baseline), "gone"),
        (len(comparison.changed), "changed"),
        (len(comparison.accepted), "accepted as gone or changed"),
    ):
        parts += [f"{count:,} {what}"] if count else []
    tried = f"; a case passes if all {comparison.trials:,} trials do" if comparison.trials > 1 else ""
    return f"{', '.join(parts)}; {pair_intervals_text(report)}{tried}"


def _baseline_tables(report: Report) -> Iterator[Table]:
    comparison, level = report.comparison, report.run.interval.level
    if comparison is not None:
        yield from criteria_tables(comparison, {}, level=level, title="against the baseline")


def _duration(started_at: str, finished_at: str) -> str:
    """How long a run took, to the second, which is how exactly its ends are known."""
    elapsed = datetime.fromisoformat(finished_at) - datetime.fromisoformat(started_at)
    if elapsed < timedelta(0):
        return "unknown: the clock was set back meanwhile"
    seconds = round(elapsed.total_seconds())
    return time_text(seconds) if seconds else "less than a second"


def _whole_metric_row(metric: Metric, run: Run) -> MetricRow:
    not_run = 0 if run.stopping is None else run.stopping.not_run.get(metric.id, 0)
    known = run_figures(metric, run)
    return replace(_metric_row(metric, known), counts=counts_text(metric, known.effective, not_run=not_run))


def _metric_row(metric: Metric, known: Figures) -> MetricRow:
    return MetricRow(
        id=inert(metric.id),
        estimate=estimate_text(metric, known.estimate),
        interval=interval_text(metric, lower=known.lower, upper=known.upper),
        counts=counts_text(metric, known.effective),
    )


def _slice_rows(report: Report) -> Iterator[SliceRow]:
    for group in report.measured.slices:
        name = f"{inert(group.slice)}={inert(group.value)}"
        support = f"support {group.support:,}"
        if not group.metrics:
            yield SliceRow(group=name, id=NOTHING, estimate=NOTHING, interval=NOTHING, counts=support)
        supported = group.support >= report.measured.min_slice_support and report.run.status != "stopped_early"
        for metric in group.metrics:
            row = _metric_row(metric, figures(metric, report.run.interval))
            yield SliceRow(
                group=name,
                id=row.id,
                estimate=row.estimate,
                interval=row.interval if supported else NOTHING,
                counts=f"{row.counts} · {support}",
            )


def _decision_rows(report: Report, typed: Typed) -> Iterator[DecisionRow]:
    for decision in report.decisions:
        subject = words.subject(report, decision)
        yield DecisionRow(
            rule=inert(decision.rule),
            metric=inert(decision.metric),
            state=decision.state,
            reason=decision.reason,
            words=words.reason_in_words(subject),
            achieved=words.achieved_error(subject),
            settling=settling_in_words(subject),
            approved_by=inert(decision.approved_by or ""),
            blocking=decision.blocking,
            next_steps=rule_steps(report, decision, typed),
        )


def _warnings(report: Report) -> Iterator[str]:
    for problem in report.relaxed:
        yield inert(f"relaxed: {problem}", TEXT_LIMIT)
    for warning in report.warnings:
        yield inert(warning, TEXT_LIMIT)
    for text in () if report.comparison is None else report.comparison.uncompared:
        yield inert(f"not compared with the baseline: {text}", TEXT_LIMIT)


def _approvals(report: Report) -> Iterator[str]:
    given = {decision.approval for decision in report.decisions if decision.approval}
    for approval in report.approvals:
        text = f"{inert(approval.rule)} approved by {inert(approval.by)} at {inert(approval.at)}"
        yield text if approval.run_digest in given else f"{text}, for other content: not counted"
