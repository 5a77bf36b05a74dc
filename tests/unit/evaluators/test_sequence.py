"""Called tools beside declared ones."""

from __future__ import annotations

from typing import Any

import pytest

from fakes.evidence import calls, case, of_steps
from oloproof.evaluators.sequence import NoUndeclaredTool, ToolSequence
from oloproof.model.judgment import Judgment
from oloproof.model.trajectory import Step

MODES = ("exact", "in_order", "any_order", "superset", "subset")
OPEN = "missing"


def words(called: str, declared: str, *, truncated: bool = False) -> dict[str, str]:
    evidence = of_steps(calls(called), {"tools": declared.split()}, truncated=truncated)
    return {mode: ToolSequence(mode=mode).judge(evidence).verdict for mode in MODES}


@pytest.mark.parametrize(
    ("called", "declared", "passing"),
    [
        ("a b", "a b", "exact in_order any_order superset subset"),
        ("b a", "a b", "any_order superset subset"),
        ("a x b", "a b", "in_order superset"),
        ("a", "a b", "subset"),
        ("a", "a a", "subset"),
        ("a a", "a", "in_order superset"),
        ("", "", "exact in_order any_order superset subset"),
        ("a", "", "in_order superset"),
        ("", "a", "subset"),
        ("b/1 a/1", "a b", "exact in_order any_order superset subset"),
        ("b/1 a/2", "a b", "any_order superset subset"),
        ("c/1 b/1 a/1", "a c", "in_order superset"),
        ("a/1 x/1", "a a", ""),
    ],
)
def test_finished_runs(called: str, declared: str, passing: str):
    assert words(called, declared) == {mode: "pass" if mode in passing.split() else "fail" for mode in MODES}


@pytest.mark.parametrize(
    ("called", "declared", "expected"),
    [
        ("a b", "a b", (OPEN, "pass", OPEN, "pass", OPEN)),
        ("a", "a b", (OPEN, OPEN, OPEN, OPEN, OPEN)),
        ("b", "a b", ("fail", OPEN, OPEN, OPEN, OPEN)),
        ("x", "a b", ("fail", OPEN, "fail", OPEN, "fail")),
        ("a b a", "a b", ("fail", "pass", "fail", "pass", "fail")),
        ("", "", (OPEN, "pass", OPEN, "pass", OPEN)),
        ("a", "", ("fail", "pass", "fail", "pass", "fail")),
        ("b/1", "a b", (OPEN, OPEN, OPEN, OPEN, OPEN)),
        ("b/1 b/1", "a b", ("fail", OPEN, "fail", OPEN, "fail")),
        ("b/1 b/2", "a b b", ("fail", OPEN, OPEN, OPEN, OPEN)),
        ("a/1 c/2", "a b c", (OPEN, OPEN, OPEN, OPEN, OPEN)),
    ],
)
def test_truncated_runs(called: str, declared: str, expected: tuple[str, ...]):
    assert words(called, declared, truncated=True) == dict(zip(MODES, expected, strict=True))


def test_the_last_turn_is_closed_once_a_step_of_another_turn_came():
    steps = [*calls("b/1"), Step(index=0, kind="message", turn=2)]
    evidence = of_steps(steps, {"tools": ["a", "b"]}, truncated=True)
    assert ToolSequence().judge(evidence).verdict == "fail"


def test_a_step_without_a_turn_closes_none():
    steps = [*calls("b/1"), Step(index=0, kind="tool_result", tool_name="b"), *calls("a/1")]
    evidence = of_steps(steps, {"tools": ["a", "b"]})
    assert ToolSequence().judge(evidence).verdict == "pass"


def test_calls_without_a_turn_are_not_parallel():
    assert words("b a", "a b")["exact"] == "fail"


@pytest.mark.parametrize(
    ("mode", "called", "steps", "detail"),
    [
        ("exact", "a x b", (2,), "expected 'b', found 'x'"),
        ("exact", "a b c", (3,), "expected no call, found 'c'"),
        ("exact", "a", (), "'b' is not called"),
        ("exact", "a/1 x/1", (1, 2), "expected 'a', found 2 calls in one turn"),
        ("in_order", "b a", (), "'b' does not follow"),
        ("any_order", "b x a x", (2, 4), "calls without a partner in the reference"),
        ("any_order", "b", (), "'a' is called too seldom"),
        ("superset", "b", (), "'a' is called too seldom"),
        ("subset", "a a", (2,), "calls without a partner in the reference"),
    ],
)
def test_evidence(mode: Any, called: str, steps: tuple[int, ...], detail: str):
    judgment = ToolSequence(mode=mode).judge(of_steps(calls(called), {"tools": ["a", "b"]}))
    names = [word.partition("/")[0] for word in called.split()]
    assert judgment == Judgment("fail", None, steps, ["a", "b"], names, detail)


@pytest.mark.parametrize("tools", ["a", None, {"a": 1}, [1], [""], [["a"]], [None]])
def test_what_is_no_list_of_names_is_a_problem(tools: Any):
    assert ToolSequence().case_problem(case({"tools": tools})) == "expected.tools must be a list of tool names"


@pytest.mark.parametrize("expected", [{}, {"tools": []}, {"tools": ["a", "a"]}])
def test_lists_of_names_are_none(expected: dict[str, Any]):
    assert NoUndeclaredTool().case_problem(case(expected)) is None


def test_the_first_undeclared_call_is_evidence():
    judgment = NoUndeclaredTool().judge(of_steps(calls("a a x y"), {"tools": ["a"]}))
    assert judgment == Judgment("fail", None, (3,), ["a"], "x")


def test_no_declared_tool_means_no_call_at_all():
    assert NoUndeclaredTool().judge(of_steps([], {"tools": []})).verdict == "pass"
    assert NoUndeclaredTool().judge(of_steps(calls("a"), {"tools": []})).verdict == "fail"
