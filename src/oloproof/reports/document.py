"""The JSON documents and the verdict lines: for programs, so unrounded, and complete where a report cuts.

A text keeps every character that it has. Encoded, a document is pure ASCII, so that no terminal, pipe or lone
surrogate can spoil it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import UNSET, to_builtins

from oloproof.errors import Problem
from oloproof.model.alignment import AlignedCall, Alignment
from oloproof.model.case import AttemptError, Case
from oloproof.model.comparison import Sides, counted_verdicts
from oloproof.model.decision import Gate
from oloproof.model.judgment import Judgment
from oloproof.model.measured import ErrorGroup
from oloproof.model.run import CaseRecord, Report, Run
from oloproof.model.stopping import Stopping
from oloproof.model.trajectory import Trajectory
from oloproof.reports.comparison import baseline_document, comparison_document
from oloproof.reports.findings import Document, decisions, flakiness, settled_document, slice_group, whole_metric
from oloproof.reports.inert import TEXT_LIMIT, inert
from oloproof.reports.lists import TrialVerdicts
from oloproof.reports.rest import report_tests
from oloproof.reports.view import RunRow, VerdictRow

REPORT_FORMAT = "oloproof.report/v1"
CASE_FORMAT = "oloproof.case/v1"
RUNS_FORMAT = "oloproof.runs/v1"
CHECK_FORMAT = "oloproof.check/v1"
EVALUATORS_FORMAT = "oloproof.evaluators/v1"
EXPORT_FORMAT = "oloproof.export/v1"
IMPORT_FORMAT = "oloproof.import/v1"
PROBLEMS_FORMAT = "oloproof.problems/v1"
BASELINE_SUMMARY_FORMAT = "oloproof.baseline_summary/v1"
WRITTEN_FORMAT = "oloproof.written/v1"

VERDICT_COLUMNS = ("case", "trial", "criterion", "verdict", "reason")

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def report_document(report: Report) -> Document:
    """``oloproof.report/v1``. Bounds are null where there is none: a quantile's, a slice's below its support, or a
    slice's of a run that stopped early."""
    run = report.run
    is_stopped = run.status == "stopped_early"
    tests = report_tests(report)
    relaxed = {"relaxed": [_problem(problem) for problem in report.relaxed]} if report.relaxed else {}
    compared = {"baseline": baseline_document(report.comparison, level=run.interval.level)} if report.comparison else {}
    tested = {(test.slice, test.value, test.criterion): test for test in tests}
    return {
        "format": REPORT_FORMAT,
        "run": _run(run, cases=report.measured.cases),
        "interval": {"method": "anytime_mixture" if is_stopped else run.interval.method, "level": run.interval.level},
        "metrics": [whole_metric(metric, run) for metric in report.measured.metrics],
        "slices": [
            slice_group(
                group,
                run.interval,
                tested,
                supported=group.support >= report.measured.min_slice_support and not is_stopped,
            )
            for group in report.measured.slices
        ],
        "slices_tested": sum(test.adjusted is not None for test in tests),
        "errors": [_error_group(group) for group in report.measured.errors],
        **flakiness(report.measured.flaky, run),
        **compared,
        "decisions": decisions(report),
        "gate": _gate(report.gate),
        **relaxed,
        "warnings": list(report.warnings),
    }


def comparison_report_document(report: Report, caveats: Iterable[str] = ()) -> Document:
    """``oloproof.comparison/v1``. ``caveats`` are what whoever reads it must know; they come before its warnings."""
    document = comparison_document(report, decisions=decisions(report), gate=_gate(report.gate))
    return document | {"warnings": [*caveats, *report.warnings]}


def case_document(
    record: CaseRecord,
    trials: Sequence[TrialVerdicts] = (),
    *,
    alignments: Mapping[str, Alignment] | None = None,
) -> Document:
    """``oloproof.case/v1``. ``output``, ``state``, ``expected`` and ``found`` are left out where there is none;
    ``trial`` and ``trials`` where the case was tried once. ``alignments``, by criterion, are what calls look like
    beside a reference that they do not fit."""
    attempt = record.attempt
    document: Document = {"format": CASE_FORMAT, "case": _case(record.case)}
    if attempt.output is not UNSET:
        document["output"] = attempt.output
    document["error"] = None if attempt.error is None else _error(attempt.error)
    document["trajectory"] = None if attempt.trajectory is None else _trajectory(attempt.trajectory)
    if attempt.state is not None:
        document["state"] = to_builtins(attempt.state)
    if attempt.taken_from is not None:
        document["taken_from"] = attempt.taken_from
    if attempt.earlier:
        document["earlier"] = [
            {
                "error": None if each.error is None else _error(each.error),
                "trajectory": None if each.trajectory is None else _trajectory(each.trajectory),
            }
            for each in attempt.earlier
        ]
    aligned = alignments or {}
    judgments = ((*judged, aligned.get(judged[0])) for judged in record.judgments)
    document["judgments"] = [_judgment(*each) for each in judgments]
    if len(trials) > 1:
        document["trial"] = attempt.trial
        document["trials"] = [
            {"trial": each.trial, "rerun": each.rerun, "verdicts": dict(each.verdicts)} for each in trials
        ]
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
    relaxed: Sequence[Problem] | None = None,
) -> Document:
    """``oloproof.check/v1``. ``rules``: each rule's name, the cases to which it applies and what they could settle;
    ``cases`` is null where they are not known before they are recorded. ``early_stopping`` is what it can come to;
    ``relaxed`` None: there is no base."""
    beside = {} if relaxed is None else {"relaxed": [_problem(problem) for problem in relaxed]}
    return {
        "format": CHECK_FORMAT,
        "project": project,
        "cases": cases,
        "criteria": list(criteria),
        "rules": [{"rule": rule, "cases": n, "outlook": outlook} for rule, n, outlook in rules],
        "early_stopping": list(early_stopping),
        **beside,
        "warnings": list(warnings),
    }


def evaluators_document(entries: Sequence[Mapping[str, Any]]) -> Document:
    """``oloproof.evaluators/v1``: of each evaluator its keys and an example. ``package`` is "" for our own."""
    return {"format": EVALUATORS_FORMAT, "evaluators": list(entries)}


def import_document(
    output: str, files: Iterable[tuple[str, str, Mapping[str, int], Mapping[str, int]]], *, cases: str | None = None
) -> Document:
    """``oloproof.import/v1``: where the recordings and the dataset (null: none) were written, and of each file its
    format, its counts and its losses by kind."""
    rows = [{"file": file, "format": name, **counts, "losses": dict(losses)} for file, name, counts, losses in files]
    return {"format": IMPORT_FORMAT, "output": output, "cases": cases, "files": rows}


def export_document(run_id: str, name: str, output: str, losses: Mapping[str, int]) -> Document:
    """``oloproof.export/v1``: which run was written where, as what, and what that has no place for, by kind."""
    told = {kind: count for kind, count in sorted(losses.items()) if count}
    return {"format": EXPORT_FORMAT, "run": run_id, "as": name, "output": output, "losses": told}


def written_document(*files: str, run: str | None = None) -> Document:
    """``oloproof.written/v1``: the files that were written, and of which run; null where they are of none."""
    return {"format": WRITTEN_FORMAT, "files": list(files), "run": run}


def baseline_summary_document(sides: Sides) -> Document:
    """``oloproof.baseline_summary/v1``: whose verdicts a baseline file holds, and how many of each."""
    counts = counted_verdicts(sides.criteria, sides.cases)
    return {
        "format": BASELINE_SUMMARY_FORMAT,
        "project": sides.project,
        "run": sides.run,
        "system": sides.system,
        "cases": len(sides.cases),
        "trials": sides.trials,
        "criteria": [{"id": criterion, **counted} for criterion, counted in counts.items()],
    }


def problems_document(problems: Iterable[Problem]) -> Document:
    """``oloproof.problems/v1``. ``file``, ``line``, ``column`` and ``hint`` are null where there is none."""
    return {"format": PROBLEMS_FORMAT, "problems": [_problem(problem) for problem in problems]}


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


def _problem(problem: Problem) -> Document:
    return {
        "file": problem.file,
        "line": problem.line or None,
        "column": problem.column or None,
        "code": problem.code,
        "message": problem.message,
        "hint": problem.hint or None,
    }


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
    if run.reused:
        document["reused"] = [{"run": each.run, "attempts": each.attempts} for each in run.reused]
    if run.redaction:
        counted = [(each.rule, each.secrets, each.attempts) for each in run.redacted]
        document["redacted"] = [{"rule": rule, "secrets": n, "attempts": times} for rule, n, times in counted]
    if run.retried:
        document["retried"] = run.retried
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
        "settled": [settled_document(settled) for settled in stopping.settled],
        "saved": None
        if saved is None
        else {"cases": saved.cases, "cost_usd": saved.cost_usd, "seconds": saved.seconds},
    }


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
    if group.varied:
        document["varied"] = True
    return document


def _error(error: AttemptError) -> Document:
    document: Document = {"kind": error.kind, "message": error.message, "traceback": error.traceback}
    if error.infrastructure is not None:
        document["infrastructure"] = error.infrastructure
    if error.retry_after_s is not None:
        document["retry_after_s"] = error.retry_after_s
    return document


def _trajectory(trajectory: Trajectory) -> Document:
    said: Document = {"steps": [], "terminal_status": trajectory.terminal_status, "truncated": trajectory.truncated}
    said.update(to_builtins(trajectory))
    return said


def _judgment(criterion: str, judgment: Judgment, aligned: Alignment | None) -> Document:
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
    if aligned is not None:
        document["alignment"] = _alignment(aligned)
    return document


def _alignment(aligned: Alignment) -> Document:
    """``declared`` is left out for an extra call, ``step``, ``tool`` and ``arguments`` for a missing one."""
    document: Document = {} if aligned.alternative is None else {"alternative": aligned.alternative}
    return document | {"ordered": aligned.ordered, "calls": [_aligned_call(row) for row in aligned.rows]}


def _aligned_call(row: AlignedCall) -> Document:
    document: Document = {"status": row.status}
    if row.declared is not UNSET:
        document["declared"] = row.declared
    if row.step is not None:
        document |= {"step": row.step, "tool": row.tool, "arguments": row.arguments}
    if row.differences:
        document["differences"] = list(row.differences)
    return document
