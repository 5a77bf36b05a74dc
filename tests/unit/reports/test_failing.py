from __future__ import annotations

from msgspec.structs import replace

from golden.specimens import support
from oloproof.model.decision import Gate
from oloproof.reports.failing import Failures, failures_of, telling_criteria
from oloproof.reports.view import VerdictRow

ALL_THAT_FAIL = {
    "answer_correct",
    "agent_no_tool_loop",
    "agent_tool_sequence",
    "agent_constraints_satisfied",
    "agent_steps_le_10",
}


def test_what_is_certainly_wrong_is_told_before_what_is_open() -> None:
    assert telling_criteria(support()) == {"agent_constraints_satisfied"}


def test_where_nothing_is_certain_what_keeps_the_gate_shut_is_told() -> None:
    report = support()
    is_open = tuple(decision for decision in report.decisions if decision.state == "INSUFFICIENT_EVIDENCE")
    gate = Gate(outcome="BLOCK", exit_code=3)
    assert telling_criteria(replace(report, decisions=is_open, gate=gate)) == {"agent_no_tool_loop"}


def test_where_nothing_is_decided_whatever_failed_is_told() -> None:
    ungated = replace(support(), gate=Gate(outcome="NOT_GATED", exit_code=3))
    assert telling_criteria(ungated) == ALL_THAT_FAIL
    assert telling_criteria(replace(support(), decisions=())) == ALL_THAT_FAIL


def test_of_a_run_that_may_ship_nothing_is_told() -> None:
    assert telling_criteria(replace(support(), gate=Gate(outcome="ALLOW", exit_code=0))) == frozenset()


def test_the_title_says_whether_they_block_and_how_many_there_are() -> None:
    report, row = support(), VerdictRow(case="c", criterion="agent_constraints_satisfied", verdict="fail")
    assert failures_of(report, telling_criteria(report), [row]).title == "failures that block: 1 of 3"
    assert failures_of(report, telling_criteria(report), [row] * 3).title == "failures that block"
    ungated = replace(report, gate=Gate(outcome="NOT_GATED", exit_code=3))
    assert failures_of(ungated, ALL_THAT_FAIL, [row] * 5).title == "failures: 5 of 37"
    assert Failures().rows == ()
