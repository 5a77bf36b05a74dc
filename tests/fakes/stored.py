"""A run and its cases, small enough to read, ready for a store."""

from __future__ import annotations

from collections.abc import Sequence

from oloproof.model.case import Attempt, Case
from oloproof.model.judgment import PASS, Judgment, excluded, missing
from oloproof.model.measured import Measured, Quantile, Rate, SliceGroup
from oloproof.model.run import CaseRecord, Run, SystemIdentity
from oloproof.model.tally import Distribution, Tally
from oloproof.model.trajectory import Step, Trajectory
from oloproof.store import SourceRef, Store, StoredCase, stored_case

CRITERIA = ("answer_correct", "agent_tool_sequence", "agent_no_tool_loop")
VERDICTS = (PASS, Judgment("fail", "out_of_order", steps=(2,), expected=["a"], found=["b"]), excluded("no_reference"))


def run(run_id: str = "20261130T101502-k3f9", *, project: str = "shop", own_dataset: bool = False) -> Run:
    return Run(
        id=run_id,
        project=project,
        system=SystemIdentity(name="agent", version="1"),
        status="running",
        started_at="2026-11-30T10:15:02Z",
        criteria=CRITERIA,
        own_dataset=own_dataset,
    )


def trajectory(tool: str = "lookup") -> Trajectory:
    return Trajectory(
        steps=(
            Step(index=1, kind="message", arguments={"content": "where is it?"}),
            Step(index=2, kind="tool_call", tool_name=tool, arguments={"id": 2**70}),
            Step(index=3, kind="tool_result", tool_name=tool, result=None, error=None),
            Step(index=4, kind="final"),
        ),
        terminal_status="success",
    )


def case(number: int) -> Case:
    return Case(
        id=f"case_{number:05}",
        input={"question": f"where is order {number}?"},
        expected={"answer": f"answer {number}", "tools": ["lookup"]},
        metadata={"surface": "chat"},
    )


def attempt(number: int, *, trial: int = 1) -> Attempt:
    return Attempt(
        case_id=f"case_{number:05}",
        trial=trial,
        output={"answer": f"answer {number}"},
        trajectory=trajectory(),
        log="printed\n",
        duration_ms=1.5 * number,
    )


def records(store: Store, run_id: str) -> list[CaseRecord]:
    """Every attempt of a run, in its order."""
    return [store.case(run_id, case_id, trial) for case_id, trial, *_ in store.judgments(run_id)]


def by_criterion(judgments: Sequence[Judgment]) -> tuple[tuple[str, Judgment], ...]:
    return tuple(zip(CRITERIA, judgments, strict=True))


def row(
    number: int,
    *,
    ordinal: int | None = None,
    trial: int = 1,
    judgments: Sequence[Judgment] = VERDICTS,
    source: SourceRef | None = None,
) -> StoredCase:
    at = number if ordinal is None else ordinal
    return stored_case(at, case(number), attempt(number, trial=trial), judgments, source)


def measured(cases: int) -> Measured:
    return Measured(
        cases=cases,
        metrics=(
            Rate("answer_correct", Tally(passed=cases)),
            Quantile("steps_p95", "agent_steps", "0.95", "steps", Distribution(((4.0, cases),), ((2.0, 1),))),
        ),
        slices=(SliceGroup("first_tool", "lookup", cases, (Rate("answer_correct", Tally(passed=cases)),)),),
    )


MISSING = missing("truncated_trajectory")
