"""The JSON documents and the verdict lines: for programs, so unrounded, and complete where a report cuts.

A text keeps every character that it has. Encoded, a document is pure ASCII, so that no terminal, pipe or lone
surrogate can spoil it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, assert_never

from msgspec import UNSET, to_builtins

from oloproof.errors import Problem
from oloproof.model.case import AttemptError, Case
from oloproof.model.decision import (
    CountFinding,
    Decision,
    Gate,
    NoBaseline,
    PairFinding,
    PassKFinding,
    QuantileFinding,
    RateFinding,
)
from oloproof.model.judgment import Judgment
from oloproof.model.run import CaseRecord, IntervalChoice, Report, Run
from oloproof.model.stopping import Settled, Stopping
from oloproof.model.tally import ErrorGroup, Flaky, Metric, PassK, Quantile, Rate, SliceGroup, Tally
from oloproof.model.trajectory import Trajectory
from oloproof.reports.comparison import comparison_document
from oloproof.reports.figures import Figures, figures, full_run, run_figures
from oloproof.reports.inert import TEXT_LIMIT, inert
from oloproof.reports.settling import settling_document, settling_of
from oloproof.reports.view import RunRow, VerdictRow
from oloproof.reports.words import Subject, subject

REPORT_FORMAT = "oloproof.report/v1"
CASE_FORMAT = "oloproof.case/v1"
RUNS_FORMAT = "oloproof.runs/v1"
CHECK_FORMAT = "oloproof.check/v1"
IMPORT_FORMAT = "oloproof.import/v1"
PROBLEMS_FORMAT = "oloproof.problems/v1"

VERDICT_COLUMNS = ("case", "trial", "criterion", "verdict", "reason")

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")

_EXACT = 2**53

Document = dict[str, Any]


def report_document(report: Report) -> Document:
    """``oloproof.report/v1``. Bounds are null where there is none: a quantile's, a slice's below its support, or a
    slice's of a run that stopped early."""
    run = report.run
    is_stopped = run.status == "stopped_early"
    return {
        "format": REPORT_FORMAT,
        "run": _run(run, cases=report.measured.cases),
        "interval": {"method": "anytime_mixture" if is_stopped else run.interval.method, "level": run.interval.level},
        "metrics": [_whole_metric(metric, run) for metric in report.measured.metrics],
        "slices": [
            _slice(
                group,
                run.interval,
                supported=group.support >= report.measured.min_slice_support and not is_stopped,
            )
            for group in report.measured.slices
        ],
        "errors": [_error_group(group) for group in report.measured.errors],
        **_flakiness(report.measured.flaky, run),
        "decisions": _decisions(report),
        "gate": _gate(report.gate),
        "warnings": list(report.warnings),
    }


def comparison_report_document(report: Report) -> Document:
    """``oloproof.comparison/v1``."""
    return comparison_document(report, decisions=_decisions(report), gate=_gate(report.gate))


def case_document(record: CaseRecord) -> Document:
    """``oloproof.case/v1``. ``output``, ``state``, ``expected`` and ``found`` are left out where there is none."""
    attempt = record.attempt
    document: Document = {"format": CASE_FORMAT, "case": _case(record.case)}
    if attempt.output is not UNSET:
        document["output"] = attempt.output
    document["error"] = None if attempt.error is None else _error(attempt.error)
    document["trajectory"] = None if attempt.trajectory is None else _trajectory(attempt.trajectory)
    if attempt.state is not None:
        document["state"] = to_builtins(attempt.state)
    document["judgments"] = [_judgment(criterion, judgment) for criterion, judgment in record.judgments]
    return document


def runs_document(rows: Iterable[RunRow]) -> Document:
    """``oloproof.runs/v1``, in the order given. ``gate`` is null where no verdict was reached."""
    return {"format": RUNS_FORMAT, "runs": [_run_line(row) for row in rows]}


def check_document(
    project: str,
    *,
    cases: int | None,
    criteria: Sequence[str],
    rules: Iterable[tuple[str, int, str]],
    warnings: Sequence[str],
    early_stopping: Sequence[str] = (),
) -> Document:
    """``oloproof.check/v1``. ``rules``: each rule's name, the cases to which it applies and what they could settle;
    ``cases`` is null where they are not known before they are recorded. ``early_stopping`` is what it can come to."""
    return {
        "format": CHECK_FORMAT,
        "project": project,
        "cases": cases,
        "criteria": list(criteria),
        "rules": [{"rule": rule, "cases": n, "outlook": outlook} for rule, n, outlook in rules],
        "early_stopping": list(early_stopping),
        "warnings": list(warnings),
    }


def import_document(output: str, files: Iterable[tuple[str, str, Mapping[str, int], Mapping[str, int]]]) -> Document:
    """``oloproof.import/v1``: where the recordings were written, and of each file its format, its counts and its losses
    by kind."""
    rows = [{"file": file, "format": name, **counts, "losses": dict(losses)} for file, name, counts, losses in files]
    return {"format": IMPORT_FORMAT, "output": output, "files": rows}


def problems_document(problems: Iterable[Problem]) -> Document:
    """``oloproof.problems/v1``. ``file``, ``line``, ``column`` and ``hint`` are null where there is none."""
    return {
        "format": PROBLEMS_FORMAT,
        "problems": [
            {
                "file": problem.file,
                "line": problem.line or None,
                "column": problem.column or None,
                "code": problem.code,
                "message": problem.message,
                "hint": problem.hint or None,
            }
            for problem in problems
        ],
    }


def encode(document: Mapping[str, Any]) -> str:
    """A document as text: indented ASCII JSON that ends in a newline."""
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def verdict_lines(rows: Iterable[VerdictRow]) -> Iterator[str]:
    """NDJSON, a line a verdict."""
    for row in rows:
        cells = (row.case, row.trial, row.criterion, row.verdict, row.reason)
        yield json.dumps(dict(zip(VERDICT_COLUMNS, cells, strict=True))) + "\n"


def verdict_csv(rows: Iterable[VerdictRow]) -> Iterator[str]:
    """CSV with a header, a line a verdict, for a spreadsheet: texts inert, and no cell that starts a formula."""
    yield _csv_line(VERDICT_COLUMNS)
    for row in rows:
        yield _csv_line((_cell(row.case), str(row.trial), _cell(row.criterion), row.verdict, _cell(row.reason or "")))


def _csv_line(cells: Iterable[str]) -> str:
    return ",".join(map(_quoted, cells)) + "\n"


def _quoted(cell: str) -> str:
    """Quoted where any spreadsheet, of whatever country, would split it."""
    quoted = cell.replace('"', '""')
    return f'"{quoted}"' if any(sign in cell for sign in ',;\t"\n\r') else cell


def _cell(text: str) -> str:
    defused = f"'{text}" if text.startswith(_FORMULA_STARTS) else text
    return inert(defused, TEXT_LIMIT)


def _run(run: Run, *, cases: int) -> Document:
    document: Document = {
        "id": run.id,
        "project": run.project,
        "system": {"name": run.system.name, "version": run.system.version},
        "status": run.status,
        "cases": cases,
    }
    if run.trials > 1:
        document["trials"] = run.trials
    if run.partial:
        document["partial"] = run.partial
    if run.in_process:
        document["in_process"] = True
    if run.stopping is not None:
        document["early_stopping"] = _stopping(run.stopping)
    return document


def _stopping(stopping: Stopping) -> Document:
    saved = stopping.saved
    return {
        "method": stopping.method,
        "rules": list(stopping.rules),
        "seed": stopping.seed,
        "after": stopping.after,
        "settled": [_settled(settled) for settled in stopping.settled],
        "saved": None
        if saved is None
        else {"cases": saved.cases, "cost_usd": saved.cost_usd, "seconds": saved.seconds},
    }


def _settled(settled: Settled) -> Document:
    return {"rule": settled.rule, "state": settled.state, "by": settled.by, "after": settled.after}


def _run_line(row: RunRow) -> Document:
    document = _run(row.run, cases=row.run.cases)
    document["started_at"] = row.run.started_at
    document["finished_at"] = row.run.finished_at
    document["gate"] = None if row.gate is None else _gate(row.gate)
    return document


def _gate(gate: Gate) -> Document:
    document: Document = {"outcome": gate.outcome, "exit_code": gate.exit_code}
    if gate.why:
        document["why"] = gate.why
    return document


def _whole_metric(metric: Metric, run: Run) -> Document:
    document = _metric(metric, run_figures(metric, run))
    bounds = full_run(metric, run)
    if run.stopping is not None and bounds is not None:
        document["not_run"] = run.stopping.not_run[metric.id]
        document["full_run"] = {"passed_at_least": bounds[0], "passed_at_most": bounds[1]}
    return document


def _metric(metric: Metric, known: Figures) -> Document:
    match metric:
        case Rate(id=name, tally=tally, clusters=clusters):
            rate: Document = {
                "id": name,
                "kind": "rate",
                "passed": tally.passed,
                "failed": tally.failed,
                "missing": tally.missing,
                "excluded": tally.excluded,
                "estimate": known.estimate,
                "lower": known.lower,
                "upper": known.upper,
            }
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


def _slice(group: SliceGroup, interval: IntervalChoice, *, supported: bool) -> Document:
    metrics = []
    for metric in group.metrics:
        known = figures(metric, interval)
        metrics.append(_metric(metric, known if supported else Figures(known.estimate, None, None)))
    return {"slice": group.slice, "value": group.value, "support": group.support, "metrics": metrics}


def _decisions(report: Report) -> list[Document]:
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


def _counts(tally: Tally) -> Document:
    return {"passed": tally.passed, "failed": tally.failed, "missing": tally.missing}


def _case(case: Case) -> Document:
    document: Document = {
        "id": case.id,
        "input": case.input,
        "expected": case.expected,
        "metadata": case.metadata,
    }
    if case.cluster is not None:
        document["cluster"] = case.cluster
    return document


def _error_group(group: ErrorGroup) -> Document:
    document: Document = {
        "kind": group.kind,
        "message": group.message,
        "cases": group.cases,
        "first": group.first,
    }
    if group.trial != 1:
        document["trial"] = group.trial
    return document


def _flakiness(found: Sequence[Flaky], run: Run) -> Document:
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


def _error(error: AttemptError) -> Document:
    return {"kind": error.kind, "message": error.message, "traceback": error.traceback}


def _trajectory(trajectory: Trajectory) -> Document:
    said: Document = {"steps": [], "terminal_status": trajectory.terminal_status, "truncated": trajectory.truncated}
    said.update(to_builtins(trajectory))
    return said


def _judgment(criterion: str, judgment: Judgment) -> Document:
    document: Document = {
        "criterion": criterion,
        "verdict": judgment.verdict,
        "reason": judgment.reason,
        "steps": list(judgment.steps),
    }
    if judgment.expected is not UNSET:
        document["expected"] = judgment.expected
    if judgment.found is not UNSET:
        document["found"] = judgment.found
    if judgment.detail is not None:
        document["detail"] = judgment.detail
    return document


def _whole(value: float | None) -> float | None:
    """10 rather than 10.0: steps and calls are counted."""
    return int(value) if value is not None and float(value).is_integer() and abs(value) <= _EXACT else value
