"""Tables that need no view of their own: the runs of a project, verdicts case by case."""

from __future__ import annotations

from collections.abc import Iterable

from oloproof.reports.figures import NOTHING
from oloproof.reports.inert import TEXT_LIMIT, inert
from oloproof.reports.view import RunRow, Table, VerdictRow, system_text


def runs_table(runs: Iterable[RunRow]) -> Table:
    """Runs in the order given."""
    return Table(
        "runs",
        ("run", "status", "cases", "system", "started", "gate"),
        tuple(_run_cells(row) for row in runs),
    )


def verdict_table(rows: Iterable[VerdictRow], *, title: str = "verdicts") -> Table:
    """Verdicts in the order given, with the reason and the steps that it rests on."""
    return Table(
        title,
        ("case", "criterion", "verdict", "reason", "steps"),
        tuple(
            (
                case_name(row),
                inert(row.criterion),
                row.verdict,
                reason_text(row.reason, row.detail),
                steps_text(row.steps),
            )
            for row in rows
        ),
    )


def case_name(row: VerdictRow) -> str:
    """A case's id, with the trial where there is more than one."""
    name = inert(row.case)
    return name if row.trial == 1 else f"{name} · trial {row.trial}"


def reason_text(reason: str | None, detail: str | None) -> str:
    """A reason and what is told beside it, a dash where there is neither."""
    return ": ".join(inert(part, TEXT_LIMIT) for part in (reason, detail) if part) or NOTHING


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
    return inert(run.id), status, str(run.cases), system_text(run), inert(run.started_at), gate
