"""Tables that need no view of their own: the runs of a project, verdicts case by case."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from oloproof.model.judgment import Judgment, Word
from oloproof.model.run import CaseRecord
from oloproof.reports.contrast import contrast
from oloproof.reports.figures import NOTHING
from oloproof.reports.inert import TEXT_LIMIT, inert
from oloproof.reports.shapes import Table
from oloproof.reports.view import RunRow, VerdictRow, system_text

NOT_PASSED = ("fail", "missing")


class TrialVerdicts(Struct, frozen=True, kw_only=True):
    """One attempt at a case, by criterion. ``rerun``: it was made to confirm a failure, and counts for nothing else."""

    trial: int
    rerun: bool
    verdicts: tuple[tuple[str, Word], ...]

    def named(self, word: Word) -> str:
        """The criteria with this verdict."""
        return ", ".join(inert(criterion) for criterion, verdict in self.verdicts if verdict == word) or NOTHING


def trials_table(trials: Iterable[TrialVerdicts]) -> Table:
    """The attempts at a case in the order given, with the criteria that each passed, failed or leaves open."""
    return Table(
        "trials",
        ("trial", "passed", "failed", "missing"),
        tuple(
            (
                f"{each.trial} (re-run)" if each.rerun else str(each.trial),
                each.named("pass"),
                each.named("fail"),
                each.named("missing"),
            )
            for each in trials
        ),
    )


def runs_table(runs: Iterable[RunRow]) -> Table:
    """Runs in the order given."""
    return Table(
        "runs",
        ("run", "status", "cases", "system", "started", "gate"),
        tuple(_run_cells(row) for row in runs),
    )


def verdict_table(rows: Iterable[VerdictRow]) -> Table:
    """Verdicts in the order given, with the reason and the steps that it rests on."""
    return Table(
        "verdicts",
        ("case", "criterion", "verdict", "reason", "steps"),
        tuple(
            (
                case_name(row),
                inert(row.criterion),
                row.verdict,
                reason_text(row.reason, row.told),
                steps_text(row.steps),
            )
            for row in rows
        ),
    )


def failure_table(rows: Iterable[VerdictRow]) -> Table:
    """Failing verdicts in the order given: why, on which steps, and what was expected and found instead."""
    return Table(
        "failures",
        ("case", "criterion", "reason", "steps", "expected → found"),
        tuple(
            (
                case_name(row),
                inert(row.criterion),
                reason_text(row.reason, row.told),
                steps_text(row.steps),
                contrast(row.expected, row.found) or NOTHING,
            )
            for row in rows
        ),
    )


def missing_table(rows: Iterable[VerdictRow]) -> Table:
    """Missing verdicts in the order given, with what kept the record from answering."""
    return Table(
        "missing",
        ("case", "criterion", "reason"),
        tuple((case_name(row), inert(row.criterion), reason_text(row.reason, row.told)) for row in rows),
    )


def case_name(row: VerdictRow) -> str:
    """A case's id, with the trial where there is more than one."""
    name = inert(row.case)
    return name if row.trial == 1 else f"{name} · trial {row.trial}"


def reason_text(reason: str | None, told: str | None) -> str:
    """What is told of a verdict and then, in brackets, the reason's name; a dash where there is neither.

    An evaluator that raised is told by the first line of its error; its traceback has a place of its own.
    """
    if told and reason == "evaluator_error":
        told = told.split("\n", 1)[0]
    if reason and told:
        return f"{inert(told, TEXT_LIMIT)} ({inert(reason, TEXT_LIMIT)})"
    return inert(told or reason or "", TEXT_LIMIT) or NOTHING


def judgment_line(criterion: str, judgment: Judgment) -> str:
    """A verdict in a line: ``tools: fail: expected 'issue_refund', found 'delete_customer'``."""
    return _line(inert(criterion), judgment, told=judgment.detail)


def not_passed_lines(record: CaseRecord) -> list[str]:
    """Each verdict of a case that is fail or missing in a line; before them what went wrong, where that is why one is
    missing."""
    judged = [each for each in record.judgments if each[1].verdict in NOT_PASSED]
    lines, error = [judgment_line(*each) for each in judged], record.attempt.error
    if error is not None and any(judgment.reason == error.kind for _, judgment in judged):
        first = error.message.partition("\n")[0]
        lines.insert(0, f"{error.kind}: {inert(first, TEXT_LIMIT)}")
    return lines


def verdict_line(name: str, row: VerdictRow) -> str:
    """The same of a row, under a name of its own."""
    return _line(name, row, told=row.told)


def _line(name: str, judged: Judgment | VerdictRow, *, told: str | None) -> str:
    why = reason_text(judged.reason, told) if judged.reason or told else ""
    compared = contrast(judged.expected, judged.found) if judged.verdict == "fail" and not told else ""
    return ": ".join(filter(None, (name, judged.verdict, why, compared)))


def steps_text(steps: tuple[int, ...]) -> str:
    """Step numbers, runs of neighbours drawn together: ``1–3, 7``."""
    spans: list[list[int]] = []
    for step in sorted(set(steps)):
        if spans and step == spans[-1][1] + 1:
            spans[-1][1] = step
        else:
            spans.append([step, step])
    texts = (str(first) if first == last else f"{first}–{last}" for first, last in spans)
    return inert(", ".join(texts)) or NOTHING


def _run_cells(row: RunRow) -> tuple[str, ...]:
    run = row.run
    status = run.status + (f" ({inert(run.partial)})" if run.partial else "")
    gate = NOTHING if row.gate is None else row.gate.outcome.replace("_", " ")
    return inert(run.id), status, f"{run.cases:,}", system_text(run), inert(run.started_at), gate
