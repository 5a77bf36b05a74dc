from __future__ import annotations

from itertools import accumulate

import pytest
from msgspec.structs import replace

from golden.specimens import looping_case, odd_case
from oloproof.model.alignment import AlignedCall, Alignment
from oloproof.model.judgment import Judgment
from oloproof.model.run import CaseRecord
from oloproof.model.trajectory import ConstraintCheck, Step, Trajectory
from oloproof.reports.case import MOST_STEPS, Block, CaseView, StepView, case_view
from oloproof.reports.shapes import Fact


def shown(**changes: object) -> CaseView:
    """The looping case with another attempt."""
    record = looping_case()
    return case_view(replace(record, attempt=replace(record.attempt, **changes)))


def test_steps_say_what_was_called_with_what() -> None:
    first, second, *_ = case_view(looping_case()).steps
    assert (first.number, first.agent, first.action) == ("1", "–", "tool_call lookup_order")
    assert first.details == (Fact("arguments", '{"order_id": "ord-007"}'),)
    assert second.details == (Fact("result", '{"status": "paid", "total": 12}'),)


def test_a_step_is_marked_by_the_criteria_that_it_makes_fail_and_no_other() -> None:
    record = looping_case()
    read = ("agent_tool_called", Judgment("pass", None, (1, 2)))
    also = ("agent_tool_permissions", Judgment("fail", None, (3,)))
    view = case_view(replace(record, judgments=(*record.judgments, read, also)))
    marks = {step.number: step.offends for step in view.steps if step.offends}
    assert marks == {
        "1": ("agent_no_tool_loop",),
        "3": ("agent_no_tool_loop", "agent_tool_permissions"),
        "5": ("agent_no_tool_loop",),
    }


def test_expected_stands_beside_found() -> None:
    first, loop, missing, _ = case_view(looping_case()).judgments
    assert (first.expected, first.found) == ('"refunded"', '"unresolved"')
    assert loop.steps == "1, 3, 5"
    assert (missing.verdict, missing.reason) == ("missing", "truncated_trajectory")
    assert (missing.expected, missing.found, missing.steps) == ("–", "–", "–")


@pytest.mark.parametrize(
    ("trajectory", "cut"),
    [
        (Trajectory(), ""),
        (Trajectory(truncated=True), "the record is cut here: what followed, if anything, is not known"),
        (
            Trajectory(truncated=True, step_limit=12),
            "the record is cut here (step limit 12): what followed, if anything, is not known",
        ),
    ],
)
def test_a_truncated_record_says_where_it_is_cut(trajectory: Trajectory, cut: str) -> None:
    assert shown(trajectory=trajectory).cut == cut


def test_a_case_without_a_trajectory_says_so() -> None:
    view = shown(trajectory=None)
    assert view.trajectory == "no trajectory was recorded"
    assert (view.steps, view.cut, view.constraints) == ((), "", ())


def test_absent_and_null_outputs_differ() -> None:
    record = looping_case()
    nothing = replace(record.attempt, output=None)
    assert Fact("output", "null") in case_view(replace(record, attempt=nothing)).facts
    unrecorded = CaseRecord(
        run_id="r", case=record.case, attempt=type(record.attempt)(case_id="case_040"), judgments=()
    )
    assert Fact("output", "not recorded") in case_view(unrecorded).facts


def test_constraints_say_what_the_environment_saw() -> None:
    checks = (
        ConstraintCheck(name="no_deletion", passed=False, detail="deleted\n7", step_index=3),
        ConstraintCheck(name="polite", passed=True),
    )
    assert shown(trajectory=Trajectory(constraints=checks)).constraints == (
        r"no_deletion failed at step 3: deleted\n7",
        "polite passed",
    )


def test_agents_hand_over_and_crash_in_the_open() -> None:
    view = case_view(odd_case())
    assert [step.action for step in view.steps] == [
        "message",
        r"handoff to person\u202e",
        r"tool_call rm -rf\n| (turn 2)",
        r"tool_result rm -rf\n| (inside step 3)",
        r"tool_result rm -rf\n|",
    ]
    assert [step.details for step in view.steps[2:]] == [
        (Fact("arguments", "not recorded"),),
        (Fact("result", "not recorded"),),
        (Fact("error", r"\x9bboom"),),
    ]
    assert Fact("trial", "2") in view.facts
    assert Fact("error", r"system_error: boom\n[bold]") in view.facts
    assert view.blocks == (
        Block("traceback", ('  File "app.py"', r"\x1b[31mboom")),
        Block("log", (r"\x1b]0;title\x07", "", r"progress 1\rprogress 2")),
    )


def test_the_traceback_of_an_evaluator_is_a_block_of_lines() -> None:
    broken = Judgment("missing", "evaluator_error", detail="KeyError: 'x'\nTraceback\n  File \"judges.py\"")
    view = case_view(replace(looping_case(), judgments=(("polite", broken),)))
    assert view.judgments[0].reason == "KeyError: 'x' (evaluator_error)"
    assert view.blocks[0] == Block("traceback of criterion polite", ("Traceback", '  File "judges.py"'))


def test_what_is_said_is_content_and_what_a_call_gets_are_arguments() -> None:
    steps = tuple(
        Step(index=index, kind=kind, arguments="hello", tool_name="t" if kind == "tool_call" else None)
        for index, kind in enumerate(("message", "decision", "tool_call", "final"), 1)
    )
    labels = [step.details[0].label for step in shown(trajectory=Trajectory(steps=steps)).steps]
    assert labels == ["content", "content", "arguments", "content"]


@pytest.mark.parametrize("offending", [(), (50_000,), (1, 100_000), (*range(1, 100_001, 2),)])
def test_of_a_very_long_trajectory_the_ends_are_shown_and_what_is_near_the_offending_steps(
    offending: tuple[int, ...],
) -> None:
    step = Step(index=1, kind="final")
    steps = (step,) * 100_000
    record = looping_case()
    record = replace(
        record,
        attempt=replace(record.attempt, trajectory=Trajectory(steps=steps)),
        judgments=(("c", Judgment("fail", None, offending)),),
    )
    view = case_view(record).steps
    assert len(view) == MOST_STEPS
    assert view[0].left_out == 0
    assert sum(each.left_out for each in view) == 100_000 - MOST_STEPS
    assert (
        len(
            case_view(
                replace(record, attempt=replace(record.attempt, trajectory=Trajectory(steps=steps[:300]))),
                all_steps=True,
            ).steps
        )
        == 300
    )
    if offending == (50_000,):
        middle = [at for at in _places(view) if 40_000 < at < 60_000]
        assert middle[0] < 50_000 < middle[-1]
        assert len(middle) == MOST_STEPS - 40


def _places(steps: tuple[StepView, ...]) -> list[int]:
    """The place of each shown step, from 1."""
    return list(accumulate(step.left_out + 1 for step in steps))


def test_what_is_long_is_cut_with_a_count() -> None:
    (output,) = (fact.text for fact in case_view(odd_case()).facts if fact.label == "output")
    assert output.endswith("… (+1,999,002 characters)")


def test_declared_calls_stand_beside_found_ones_whatever_the_agent_wrote() -> None:
    declared = {"tool": "refund", "arguments": {"amount": 1}}
    rows = (
        AlignedCall(status="matched", declared="look", step=1, tool="look", arguments={}),
        AlignedCall(
            status="changed",
            declared=declared,
            step=2,
            tool="refund",
            arguments={"amount": "\x1b[31m"},
            differences=("amount: expected 1, found \x1b[31m", "b"),
        ),
        AlignedCall(status="unknown", declared=declared, step=3, tool="refund"),
        AlignedCall(status="missing", declared={"tool": "close"}),
        AlignedCall(status="extra", step=4, tool="x\n", arguments=None),
    )
    aligned = Alignment(rows=rows, ordered=True, alternative=2)
    [table] = case_view(looping_case(), alignments={"calls\n": aligned}).alignments
    assert table.title == r"calls\n: declared calls beside found ones (the nearest alternative, number 2)"
    assert table.rows == (
        ("matched", "look", "step 1: look {}", ""),
        (
            "changed",
            'refund {"amount": 1}',
            r'step 2: refund {"amount": "\u001b[31m"}',
            r"amount: expected 1, found \x1b[31m; b",
        ),
        ("not recorded", 'refund {"amount": 1}', "step 3: refund (arguments not recorded)", ""),
        ("missing", "close", "–", ""),
        ("extra", "–", r"step 4: x\n (arguments not recorded)", ""),
    )


def test_a_failure_without_a_reason_has_that_of_its_values() -> None:
    broken = Judgment("fail", None, (4,), expected={"tech": ["search"]}, found={"tech": "issue_refund"})
    met = Judgment("pass", None, expected={"max": 3}, found=2)
    record = replace(looping_case(), judgments=(("permissions", broken), ("calls", met)))
    assert [row.reason for row in case_view(record).judgments] == ["tech may not call issue_refund", "–"]


def test_calls_that_differ_in_nothing_have_no_column_for_it() -> None:
    call = AlignedCall(status="matched", declared="search", step=1, tool="search", arguments={})
    same = Alignment(rows=(call,), ordered=True)
    (table,) = case_view(looping_case(), alignments={"tools": same}).alignments
    assert table.columns == ("call", "declared", "found")
    assert table.rows == (("matched", "search", "step 1: search {}"),)
