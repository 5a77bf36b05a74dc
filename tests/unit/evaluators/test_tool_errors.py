"""Calls that failed."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fakes.evidence import of_steps
from oloproof.evaluators import ConfigError
from oloproof.evaluators.tool_errors import ToolErrors
from oloproof.model.case import Attempt, Case
from oloproof.model.evidence import Evidence
from oloproof.model.judgment import Judgment
from oloproof.model.trajectory import Step, Trajectory


def steps(text: str) -> list[Step]:
    """``"a+ a- a? a"``: a call of a that succeeded, failed, did not say, and one without a result."""
    written = []
    for word in text.split():
        tool = word.rstrip("+-?")
        written.append(Step(index=0, kind="tool_call", tool_name=tool, arguments={}))
        if word != tool:
            said: dict[str, Any] = {"+": {"error": None}, "-": {"error": "boom"}, "?": {"result": 1}}[word[-1]]
            written.append(Step(index=0, kind="tool_result", tool_name=tool, **said))
    return written


@pytest.mark.parametrize(
    ("text", "options", "word"),
    [
        ("a+ b+", {"max_errors": 0}, "pass"),
        ("a- b+", {"max_errors": 0}, "fail"),
        ("a- b+", {"max_errors": 1}, "pass"),
        ("a- b+", {"max_errors": 0, "tool_name": "b"}, "pass"),
        ("a? b+", {"max_errors": 0}, "missing"),
        ("a? b+", {"max_errors": 1}, "pass"),
        ("a? b-", {"max_errors": 0}, "fail"),
        ("a", {"max_errors": 0}, "missing"),
        ("", {"max_errors": 0}, "pass"),
        ("a- a+", {"max_errors": 0, "ignore_recovered": True}, "pass"),
        ("a- b+", {"max_errors": 0, "ignore_recovered": True}, "fail"),
        ("a+ a-", {"max_errors": 0, "ignore_recovered": True}, "fail"),
        ("a- a- a+ a-", {"max_errors": 1, "ignore_recovered": True}, "pass"),
        ("a- a?", {"max_errors": 0, "ignore_recovered": True}, "missing"),
        ("a- a?", {"max_errors": 2, "ignore_recovered": True}, "pass"),
        ("a- a+ a+ a+ a+ a+ a+ a+ a+ a+", {"max_error_rate": 0.1}, "pass"),
        ("a- a+ a+ a+ a+ a+ a+ a+ a+", {"max_error_rate": 0.1}, "fail"),
        ("", {"max_error_rate": 0.1}, "pass"),
        ("a- a- a+", {"max_error_rate": 0.1, "ignore_recovered": True}, "pass"),
    ],
)
def test_of_finished_runs(text: str, options: dict[str, Any], word: str) -> None:
    judgment = ToolErrors(**options).judge(of_steps(steps(text)))
    assert judgment.verdict == word
    assert judgment.reason == ("errors_not_recorded" if word == "missing" else None)


def test_calls_issued_before_an_error_was_known_do_not_make_up_for_it() -> None:
    called = [Step(index=0, kind="tool_call", tool_name="a", call_id=name, turn=1) for name in "xy"]
    answered = [
        Step(index=0, kind="tool_result", tool_name="a", call_id="x", error="boom"),
        Step(index=0, kind="tool_result", tool_name="a", call_id="y", error=None),
    ]
    evaluator = ToolErrors(max_errors=0, ignore_recovered=True)
    assert evaluator.judge(of_steps([*called, *answered])).verdict == "fail"


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"max_errors": 1}, "fail"),
        ({"max_errors": 2}, "missing"),
        ({"max_errors": 1, "ignore_recovered": True}, "missing"),
        ({"max_error_rate": 0.1}, "missing"),
        ({"max_error_rate": 0.0}, "fail"),
    ],
)
def test_further_calls_mend_rates_and_what_may_be_recovered(options: dict[str, Any], word: str) -> None:
    judgment = ToolErrors(**options).judge(of_steps(steps("a- a-"), truncated=True))
    assert judgment.verdict == word
    assert judgment.reason == ("truncated_trajectory" if word == "missing" else None)


def test_a_source_without_a_channel_for_errors_knows_only_those_that_it_tells() -> None:
    evidence = of_steps(steps("a+ a-"))
    assert evidence.attempt.trajectory is not None
    trajectory = msgspec.structs.replace(evidence.attempt.trajectory, errors_recorded=False)
    blind = Evidence(Case(id="c"), Attempt(case_id="c", trajectory=trajectory))
    assert ToolErrors(max_errors=1).judge(blind).reason == "errors_not_recorded"
    assert ToolErrors(max_errors=0).judge(blind).verdict == "fail"
    assert ToolErrors(max_errors=2).judge(blind).verdict == "pass"


def test_the_evidence_is_the_steps_that_told_of_errors() -> None:
    judgment = ToolErrors(max_error_rate=0.5).judge(of_steps(steps("a- b+ a-")))
    assert judgment == Judgment("fail", steps=(2, 6), expected={"max_error_rate": 0.5}, found={"errors": 2, "calls": 3})


@pytest.mark.parametrize("options", [{}, {"max_errors": 1, "max_error_rate": 0.1}])
def test_one_bound_is_given(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="either max_errors or max_error_rate"):
        ToolErrors(**options)


def test_names() -> None:
    assert ToolErrors(max_errors=1).criterion == "agent_tool_errors_le_1"
    assert ToolErrors(max_error_rate=0.1, tool_name="pay").criterion == "agent_tool_pay_error_rate_le_0.1"


def test_an_empty_trajectory_had_no_errors() -> None:
    attempt = Attempt(case_id="c", trajectory=Trajectory())
    assert ToolErrors(max_error_rate=0.0).judge(Evidence(Case(id="c"), attempt)).verdict == "pass"
