"""``agent_no_tool_loop``."""

from __future__ import annotations

from typing import Any

import pytest

from fakes.evidence import call, calls, of_steps
from oloproof.evaluators.loops import NoToolLoop
from oloproof.model.judgment import Judgment
from oloproof.model.trajectory import Step
from oloproof.model.values import TAG

UNKNOWN = {TAG: "float nan"}


def looked_up(*arguments: Any) -> list[Step]:
    return [call("a", value) for value in arguments]


@pytest.mark.parametrize(
    ("steps", "word"),
    [
        (calls("a a"), "pass"),
        (calls("a a a"), "fail"),
        (calls("a a b a"), "pass"),
        (looked_up({"q": 1}, {"q": 1.0}, {"q": 1}), "fail"),
        (looked_up({"q": 1}, {"q": 2}, {"q": 1}), "pass"),
        (looked_up({"q": 1}, {"q": True}, {"q": 1}), "pass"),
        (looked_up(None, None, None), "missing"),
        (looked_up({"q": 1}, None, {"q": 1}), "missing"),
        (looked_up({"q": 1}, None, {"q": 2}), "pass"),
        (looked_up({"q": 1}, {"q": UNKNOWN}, {"q": 1}), "missing"),
        (looked_up({"q": 1}, {"q": UNKNOWN}, {"r": 1}), "pass"),
        (looked_up({"q": 1, "r": UNKNOWN}, {"q": UNKNOWN, "r": 1}, {"q": 2, "r": 1}), "pass"),
        (looked_up({"q": 1}, {"q": 2}, None, {"q": 2}, {"q": 1}), "missing"),
        (looked_up({"q": 1}, None, {"q": 2}, {"q": 2}, {"q": 2}), "fail"),
        (looked_up({"q": 1}, None, {"q": 2}, None, {"q": 3}), "missing"),
    ],
)
def test_runs_of_one_call(steps: list[Step], word: str):
    judgment = NoToolLoop().judge(of_steps(steps))
    assert judgment.verdict == word
    assert judgment.reason == ("arguments_not_recorded" if word == "missing" else None)


@pytest.mark.parametrize(
    ("called", "repeats", "cycle", "word"),
    [
        ("a b a b", 1, 2, "fail"),
        ("a b a b", 1, 1, "pass"),
        ("a b a b a", 2, 2, "pass"),
        ("a b a b a b", 2, 2, "fail"),
        ("x b a b a", 1, 2, "fail"),
        ("a b c a b c", 1, 3, "fail"),
        ("a b c a b c", 1, 2, "pass"),
        ("c a b c a b x", 1, 3, "fail"),
    ],
)
def test_cycles(called: str, repeats: int, cycle: int, word: str):
    assert NoToolLoop(max_repeats=repeats, max_cycle=cycle).judge(of_steps(calls(called))).verdict == word


def test_a_cycle_may_begin_inside_a_stretch_of_equal_tools():
    steps = [call("a", {"q": 1}), call("b", {}), call("a", {"q": 2}), call("b", {}), call("a", {"q": 2})]
    assert NoToolLoop(max_repeats=1, max_cycle=2).judge(of_steps(steps)).steps == (2, 3, 4, 5)


def test_a_possible_cycle_may_begin_after_a_conflict():
    steps = [call("a", {"q": 1}), call("b", {}), call("a", {"q": 2}), call("b", {}), call("a", None)]
    judgment = NoToolLoop(max_repeats=1, max_cycle=2).judge(of_steps(steps))
    assert (judgment.verdict, judgment.reason) == ("missing", "arguments_not_recorded")


def test_results_messages_and_errors_between_the_calls_do_not_matter():
    result = Step(index=0, kind="tool_result", tool_name="a", error="no such order")
    steps = [step for one in calls("a a a") for step in (one, result, Step(index=0, kind="message"))]
    judgment = NoToolLoop().judge(of_steps(steps))
    assert judgment.steps == (1, 4, 7)


def test_the_whole_run_is_evidence():
    steps = [*calls("b"), *looked_up({"q": 1}, {"q": 1}, {"q": 1}, {"q": 1}, {"q": 2})]
    judgment = NoToolLoop().judge(of_steps(steps))
    found = {"cycle": [{"tool": "a", "arguments": {"q": 1}}], "times": 4}
    assert judgment == Judgment("fail", None, (2, 3, 4, 5), {"max_repeats": 2, "max_cycle": 1}, found)


@pytest.mark.parametrize("arguments", [{"q": 1}, None])
def test_a_long_run_takes_linear_time(arguments: Any):
    steps = [call("a", {"n": -1}), *looked_up(*[arguments] * 50_000), call("a", {"n": 1})]
    assert NoToolLoop(max_repeats=60_000, max_cycle=2).judge(of_steps(steps)).verdict == "pass"
    word = "missing" if arguments is None else "fail"
    assert NoToolLoop(max_repeats=40_000, max_cycle=2).judge(of_steps(steps)).verdict == word


def test_conflicts_at_every_call_take_linear_time():
    steps = looked_up(*([{"q": number}, None][number % 2] for number in range(20_000)))
    assert NoToolLoop(max_repeats=9_000).judge(of_steps(steps)).verdict == "pass"
    assert NoToolLoop(max_repeats=2).judge(of_steps(steps)).verdict == "missing"


def test_no_cycle_is_looked_for_that_is_too_long_to_repeat():
    steps = looked_up({"q": 1}, None, {"q": 2}, {"q": 3})
    assert NoToolLoop(max_repeats=1, max_cycle=10**9).judge(of_steps(steps)).verdict == "missing"
