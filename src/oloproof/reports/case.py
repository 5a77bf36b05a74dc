"""One case, step by step: what the agent did, which step offends which criterion, what was expected and found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain, islice, pairwise
from typing import Any

from msgspec import UNSET, Struct

from oloproof.errors import counted
from oloproof.model.alignment import AlignedCall, Alignment
from oloproof.model.case import Attempt, AttemptError
from oloproof.model.judgment import Judgment, Word
from oloproof.model.run import CaseRecord
from oloproof.model.trajectory import ConstraintCheck, Step, Trajectory
from oloproof.reports.contrast import sentence
from oloproof.reports.figures import NOTHING
from oloproof.reports.inert import TEXT_LIMIT, inert, inert_json, inert_lines
from oloproof.reports.lists import reason_text, steps_text
from oloproof.reports.shapes import Fact, Table

NOT_RECORDED = "not recorded"
MOST_STEPS = 200
"""Steps shown of a longer trajectory, where not all are asked for: its ends, and those around the offending ones."""

_ENDS = 20
_SPOKEN = ("message", "observation", "decision", "final")


class StepView(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A step. ``action`` is its kind and what it concerns; ``offends`` the criteria that it makes fail; ``left_out``
    counts the steps between it and the one that is shown before it. ``to`` is the agent that it hands over to, ""
    where it does not; steps of one ``turn`` were taken together; ``failed``: an error was recorded."""

    number: str
    left_out: int = 0
    agent: str
    action: str
    details: tuple[Fact, ...]
    offends: tuple[str, ...]
    kind: str
    to: str = ""
    turn: int | None = None
    failed: bool = False


class JudgmentView(Struct, frozen=True, kw_only=True):
    """A verdict beside its evidence."""

    criterion: str
    verdict: Word
    reason: str
    steps: str
    expected: str
    found: str


class Block(Struct, frozen=True):
    """A title and lines that stand as they are."""

    title: str
    lines: tuple[str, ...]


class CaseView(Struct, frozen=True, kw_only=True):
    """A case, ready to draw. ``cut`` says that the record stops before the run did, "" where it does not.

    ``trajectory`` says how it ended, or that none was recorded. ``blocks`` are tracebacks and the log, where there are
    any. All texts are inert, as in a ``View``.
    """

    case: str
    facts: tuple[Fact, ...]
    trajectory: str
    steps: tuple[StepView, ...]
    cut: str
    constraints: tuple[str, ...]
    judgments: tuple[JudgmentView, ...]
    alignments: tuple[Table, ...]
    blocks: tuple[Block, ...]


def case_view(
    record: CaseRecord,
    *,
    alignments: Mapping[str, Alignment] = {},
    all_steps: bool = False,
) -> CaseView:
    """Everything known of one attempt at one case; of its steps at most :data:`MOST_STEPS`, unless ``all_steps``.
    ``alignments``, by criterion, are what calls look like beside a reference that they do not fit."""
    trajectory = record.attempt.trajectory
    return CaseView(
        case=inert(record.case.id),
        facts=tuple(_facts(record)),
        trajectory=_ending(trajectory),
        steps=() if trajectory is None else _steps(trajectory, record.judgments, all_steps=all_steps),
        cut="" if trajectory is None else _cut(trajectory),
        constraints=() if trajectory is None else tuple(map(_constraint, trajectory.constraints)),
        judgments=tuple(_judgment(criterion, judgment) for criterion, judgment in record.judgments),
        alignments=tuple(_alignment(criterion, aligned) for criterion, aligned in alignments.items()),
        blocks=tuple(block for block in _blocks(record) if block.lines),
    )


def _blocks(record: CaseRecord) -> Iterator[Block]:
    error = record.attempt.error
    yield Block("traceback", inert_lines((error.traceback if error else None) or ""))
    for criterion, judgment in record.judgments:
        if judgment.reason == "evaluator_error":
            _, _, trace = (judgment.detail or "").partition("\n")
            yield Block(f"traceback of criterion {inert(criterion)}", inert_lines(trace))
    yield Block("log", inert_lines(record.attempt.log))


def _facts(record: CaseRecord) -> Iterator[Fact]:
    case, attempt = record.case, record.attempt
    yield Fact("run", inert(record.run_id))
    if attempt.trial != 1:
        yield Fact("trial", str(attempt.trial))
    if attempt.taken_from is not None:
        yield Fact("taken from", f"run {inert(attempt.taken_from)}, which made this attempt")
    yield Fact("input", inert_json(case.input))
    yield Fact("expected", inert_json(case.expected))
    yield Fact("metadata", inert_json(case.metadata))
    yield Fact("output", _output(attempt))
    if attempt.state is not None:
        yield Fact("state before", _value(attempt.state.before))
        yield Fact("state after", _value(attempt.state.after))
    if attempt.duration_ms is not None:
        yield Fact("duration", f"{attempt.duration_ms:,.0f} ms")
    if attempt.error is not None:
        yield Fact("error", _error(attempt.error))
    for number, before in enumerate(attempt.earlier, 1):
        said = "no error" if before.error is None else _error(before.error)
        taken = 0 if before.trajectory is None else len(before.trajectory.steps)
        yield Fact(f"attempt {number}", f"{said}; {counted(taken, 'step')}; made again")


def _output(attempt: Attempt) -> str:
    return _value(attempt.output) if attempt.output is not UNSET else NOT_RECORDED


def _error(error: AttemptError) -> str:
    kind = error.kind if error.infrastructure is None else f"{error.kind} ({error.infrastructure})"
    return f"{kind}: {inert(error.message, TEXT_LIMIT)}"


def _value(value: Any) -> str:
    return NOTHING if value is UNSET else inert_json(value)


def _ending(trajectory: Trajectory | None) -> str:
    if trajectory is None:
        return "no trajectory was recorded"
    steps = len(trajectory.steps)
    return f"{counted(steps, 'step')}, terminal status {trajectory.terminal_status}"


def _cut(trajectory: Trajectory) -> str:
    if not trajectory.truncated:
        return ""
    limit = "" if trajectory.step_limit is None else f" (step limit {trajectory.step_limit})"
    return f"the record is cut here{limit}: what followed, if anything, is not known"


def _steps(
    trajectory: Trajectory, judgments: tuple[tuple[str, Judgment], ...], *, all_steps: bool
) -> tuple[StepView, ...]:
    offends: dict[int, list[str]] = {}
    for criterion, judgment in judgments:
        if judgment.verdict == "fail":
            for index in judgment.steps:
                offends.setdefault(index, []).append(inert(criterion))
    steps = trajectory.steps
    count = len(steps)
    shown = range(count) if all_steps or count <= MOST_STEPS else _worth_showing(count, sorted(offends))
    views = [
        StepView(
            number=str(step.index),
            left_out=at - before - 1,
            agent=NOTHING if step.agent is None else inert(step.agent),
            action=_action(step),
            details=_details(step),
            offends=tuple(offends.get(step.index, ())),
            kind=step.kind,
            to="" if step.to_agent is None else inert(step.to_agent),
            turn=step.turn,
            failed=isinstance(step.error, str),
        )
        for before, at in pairwise((-1, *shown))
        for step in (steps[at],)
    ]
    return tuple(views)


def _worth_showing(count: int, offending: list[int]) -> list[int]:
    """Positions of :data:`MOST_STEPS` of ``count`` steps: first the ends, then the steps with these indexes and what is
    nearest to them, then more of the ends."""
    near = (
        index - 1 + away
        for distance in range(MOST_STEPS if offending else 0)
        for away in ((distance, -distance) if distance else (0,))
        for index in offending
    )
    ends = (at for place in range(MOST_STEPS) for at in (place, count - 1 - place))
    ranked = chain(islice(ends, 2 * _ENDS), near, ends)
    shown: set[int] = set()
    for at in ranked:
        if len(shown) == MOST_STEPS:
            break
        if 0 <= at < count:
            shown.add(at)
    return sorted(shown)


def _action(step: Step) -> str:
    action = step.kind if step.tool_name is None else f"{step.kind} {inert(step.tool_name)}"
    if step.to_agent is not None:
        action += f" to {inert(step.to_agent)}"
    if step.inside is not None:
        action += f" (inside step {step.inside})"
    if step.turn is not None:
        action += f" (turn {step.turn})"
    return action


def _details(step: Step) -> tuple[Fact, ...]:
    details = []
    if step.arguments is not None:
        details.append(Fact("content" if step.kind in _SPOKEN else "arguments", inert_json(step.arguments)))
    elif step.kind == "tool_call":
        details.append(Fact("arguments", NOT_RECORDED))
    if step.result is not UNSET:
        details.append(Fact("result", inert_json(step.result)))
    elif step.kind == "tool_result" and not isinstance(step.error, str):
        details.append(Fact("result", NOT_RECORDED))
    if isinstance(step.error, str):
        details.append(Fact("error", inert(step.error, TEXT_LIMIT)))
    return tuple(details)


def _constraint(check: ConstraintCheck) -> str:
    place = "" if check.step_index is None else f" at step {check.step_index}"
    detail = "" if not check.detail else f": {inert(check.detail, TEXT_LIMIT)}"
    return f"{inert(check.name)} {'passed' if check.passed else 'failed'}{place}{detail}"


def _judgment(criterion: str, judgment: Judgment) -> JudgmentView:
    return JudgmentView(
        criterion=inert(criterion),
        verdict=judgment.verdict,
        reason=_reason(judgment),
        steps=steps_text(judgment.steps),
        expected=_value(judgment.expected),
        found=_value(judgment.found),
    )


def _reason(judgment: Judgment) -> str:
    said = judgment.reason or judgment.detail
    if said or judgment.verdict != "fail":
        return reason_text(judgment.reason, judgment.detail)
    return sentence(judgment.expected, judgment.found) or NOTHING


def _alignment(criterion: str, aligned: Alignment) -> Table:
    number = aligned.alternative
    nearest = "" if number is None else f" (the nearest alternative, number {number})"
    rows = [
        (
            NOT_RECORDED if row.status == "unknown" else row.status,
            _declared(row),
            _found(row),
            "; ".join(map(inert, row.differences)),
        )
        for row in aligned.rows
    ]
    title = f"{inert(criterion)}: declared calls beside found ones{nearest}"
    columns = ("call", "declared", "found", "differences")
    if not any(row.differences for row in aligned.rows):
        return Table(title, columns[:-1], tuple(row[:-1] for row in rows))
    return Table(title, columns, tuple(rows))


def _declared(row: AlignedCall) -> str:
    return NOTHING if row.declared is UNSET else _called(row.declared)


def _found(row: AlignedCall) -> str:
    if row.step is None:
        return NOTHING
    arguments = f"(arguments {NOT_RECORDED})" if row.arguments is None else inert_json(row.arguments)
    return f"step {row.step}: {inert(row.tool or '')} {arguments}"


def _called(written: Any) -> str:
    """A call as a reference writes it, more readably."""
    if not isinstance(written, dict):
        return inert(written)
    arguments = f" {inert_json(written['arguments'])}" if "arguments" in written else ""
    return f"{inert(written['tool'])}{arguments}"
