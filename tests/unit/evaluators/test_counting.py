"""Counts between bounds."""

from __future__ import annotations

from typing import Any

import pytest

from fakes.evidence import call, calls, of_steps
from oloproof.evaluators import ConfigError
from oloproof.evaluators.counting import (
    CallBounds,
    MaxHandoffs,
    MaxSteps,
    MaxToolCalls,
    ToolCallCounts,
    ToolCalled,
    ToolNotCalled,
)
from oloproof.evaluators.counts import Count
from oloproof.model.judgment import Judgment
from oloproof.model.trajectory import Step
from oloproof.model.values import TAG

COUNTS = [(certain, possible) for certain in range(5) for possible in (*range(certain, 5), None)]
BOUNDS = [(least, most) for least in range(4) for most in (*range(least, 4), None)]


@pytest.mark.parametrize(("certain", "possible"), COUNTS)
@pytest.mark.parametrize(("least", "most"), BOUNDS)
def test_a_count_is_settled_when_every_number_in_it_agrees(
    certain: int, possible: int | None, least: int, most: int | None
):
    numbers = range(certain, (9 if possible is None else possible) + 1)
    inside = {least <= number <= (9 if most is None else most) for number in numbers}
    settled = "pass" if inside == {True} else "fail" if inside == {False} else "missing"
    assert Count(certain, possible).within(least, most) == settled


def test_a_call_is_evidence():
    judgment = ToolCalled(tool_name="b").judge(of_steps(calls("a b a b")))
    assert judgment == Judgment("pass", steps=(2, 4), expected={"min": 1}, found=2)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"q": 1, "r": 2}, "pass"),
        ({"q": 1.0}, "pass"),
        ({"q": True}, "fail"),
        ({"r": 1}, "fail"),
        ({}, "fail"),
        ([1], "fail"),
        (None, "missing"),
        ({TAG: "object"}, "missing"),
        ({"q": {TAG: "float nan"}}, "missing"),
        ({"q": 1, "r": {TAG: "float nan"}}, "pass"),
    ],
)
def test_arguments_are_a_subset(arguments: Any, word: str):
    judgment = ToolCalled(tool_name="a", arguments={"q": 1}).judge(of_steps([call("a", arguments)]))
    assert judgment.verdict == word
    assert judgment.reason == ("arguments_not_recorded" if word == "missing" else None)


def test_an_argument_that_differs_settles_it_whatever_the_others_are():
    evaluator = ToolCalled(tool_name="a", arguments={"q": 1, "r": 1})
    assert evaluator.judge(of_steps([call("a", {"q": {TAG: "x"}, "r": 2})])).verdict == "fail"


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"min_calls": 3, "max_calls": 2}, "min_calls"),
        ({"min_calls": 0}, "min_calls"),
        ({"arguments": {"q": {TAG: "float nan"}}}, "arguments"),
    ],
)
def test_configurations_that_are_refused(options: dict[str, Any], field: str):
    with pytest.raises(ConfigError) as raised:
        ToolCalled(tool_name="a", **options)
    assert raised.value.field == field


def test_steps_of_every_kind_count():
    steps = [*calls("a"), Step(index=0, kind="message"), Step(index=0, kind="final")]
    judgment = MaxSteps(max_steps=2).judge(of_steps(steps))
    assert judgment == Judgment("fail", steps=(3,), expected={"max": 2}, found=3)


def test_tool_calls_over_the_bound_name_the_first_that_is_over():
    steps = [*calls("a"), Step(index=0, kind="message"), *calls("b c")]
    judgment = MaxToolCalls(max_calls=1).judge(of_steps(steps))
    assert judgment == Judgment("fail", steps=(3,), expected={"max": 1}, found=3)


def message(agent: str | None) -> Step:
    return Step(index=0, kind="message", agent=agent)


def test_handoffs_over_the_bound_name_the_first_that_is_over():
    steps = [message("p"), Step(index=0, kind="handoff", agent="p", to_agent="q"), message("q"), message("p")]
    judgment = MaxHandoffs(max_handoffs=1).judge(of_steps(steps))
    assert judgment == Judgment("fail", steps=(4,), expected={"max": 1}, found=2)


def test_an_empty_trajectory_has_no_handoffs_and_is_not_unnamed():
    assert MaxHandoffs(max_handoffs=0).judge(of_steps([])).verdict == "pass"


def test_unnamed_agents_are_missing():
    assert MaxHandoffs(max_handoffs=9).judge(of_steps([message(None)])) == Judgment("missing", "unnamed_agents")


def test_a_call_that_must_not_be_is_evidence():
    judgment = ToolNotCalled(tool_name="b").judge(of_steps(calls("a b a b")))
    assert judgment == Judgment("fail", steps=(2, 4), expected={"max": 0}, found=2)
    assert ToolNotCalled(tool_name="c").judge(of_steps(calls("a b"))).verdict == "pass"


def test_only_calls_with_the_arguments_are_forbidden():
    evaluator = ToolNotCalled(tool_name="a", arguments={"q": 1})
    assert evaluator.judge(of_steps([call("a", {"q": 2})])).verdict == "pass"
    assert evaluator.judge(of_steps([call("a", None)])).reason == "arguments_not_recorded"


@pytest.mark.parametrize(
    ("text", "truncated", "word", "steps"),
    [
        ("s l", False, "pass", ()),
        ("s s l x", False, "pass", ()),
        ("s s s l", False, "fail", (1, 2, 3)),
        ("s", False, "fail", ()),
        ("s l", True, "missing", ()),
        ("s s s", True, "fail", (1, 2, 3)),
    ],
)
def test_counts_of_several_tools(text: str, truncated: bool, word: str, steps: tuple[int, ...]):
    evaluator = ToolCallCounts(bounds={"s": CallBounds(max=2), "l": CallBounds(min=1)})
    judgment = evaluator.judge(of_steps(calls(text), truncated=truncated))
    assert (judgment.verdict, judgment.steps) == (word, steps)
    assert judgment.expected == {"s": {"max": 2}, "l": {"min": 1}}
    assert judgment.found == {"s": text.split().count("s"), "l": text.split().count("l")}


def test_minimums_alone_are_settled_by_a_prefix():
    evaluator = ToolCallCounts(bounds={"a": CallBounds(min=1), "b": CallBounds(min=2)})
    assert evaluator.judge(of_steps(calls("b a b"), truncated=True)).verdict == "pass"


@pytest.mark.parametrize(("least", "most", "problem"), [(3, 2, "min 3 is more than max 2"), (0, None, "true of every")])
def test_bounds_that_nothing_or_everything_keeps(least: int, most: int | None, problem: str):
    with pytest.raises(ConfigError, match=f"bounds of 'a': .*{problem}"):
        ToolCallCounts(bounds={"a": CallBounds(min=least, max=most)})
