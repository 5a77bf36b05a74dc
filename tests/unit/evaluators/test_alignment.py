"""What a comparison that did not pass looks like."""

from __future__ import annotations

from typing import Any

import pytest

from fakes.evidence import call, calls, of_steps
from oloproof.evaluators.alignment import MOST_CALLS, alignment
from oloproof.evaluators.sequence import ToolSequence
from oloproof.model.alignment import AlignedCall, Alignment
from oloproof.model.judgment import PASS
from oloproof.model.trajectory import Step


def drawn(steps: list[Step], expected: Any, mode: Any = "exact") -> Alignment | None:
    evidence = of_steps(steps, expected)
    return alignment(evidence.case, evidence.attempt.trajectory, ToolSequence(mode=mode).judge(evidence))


def in_short(aligned: Alignment | None) -> str:
    assert aligned is not None
    signs = {"matched": "=", "changed": "~", "unknown": "?", "missing": "-", "extra": "+"}
    return " ".join(
        f"{signs[row.status]}{row.declared if row.step is None else row.tool}{row.step or ''}" for row in aligned.rows
    )


@pytest.mark.parametrize(
    ("called", "tools", "mode", "shown"),
    [
        ("a x b", ["a", "b", "c"], "exact", "=a1 +x2 =b3 -c"),
        ("b a", ["a", "b"], "exact", "-a =b1 +a2"),
        ("b a x", ["a", "b"], "any_order", "=a2 =b1 +x3"),
        ("a a", ["a"], "exact", "=a1 +a2"),
        ("a", ["a", "a"], "superset", "=a1 -a"),
        ("b a b", ["a", "b"], "exact", "+b1 =a2 =b3"),
        ("b/1 a/1 x/2", ["a", "b"], "exact", "=a2 =b1 +x3"),
        ("a c b x", ["a", {"parallel": ["b", "c"]}], "exact", "=a1 =c2 =b3 +x4"),
        ("", ["a"], "exact", "-a"),
        ("a", [], "exact", "+a1"),
    ],
)
def test_names(called: str, tools: list[Any], mode: str, shown: str):
    aligned = drawn(calls(called), {"tools": tools}, mode)
    assert in_short(aligned) == shown
    assert aligned is not None
    assert aligned.alternative is None
    assert aligned.ordered == (mode == "exact")


def test_a_call_stands_beside_the_declared_one_that_it_is_most_like():
    tools = [{"tool": "b", "arguments": {"q": q, "r": r}} for q, r in ((1, 1), (2, 2))]
    aligned = drawn([call("b", {"q": 2, "r": 9}), call("b", {"q": 1, "r": 8})], {"tools": tools}, "any_order")
    assert in_short(aligned) == "~b2 ~b1"
    assert aligned is not None
    assert aligned.rows[0] == AlignedCall(
        status="changed",
        declared=tools[0],
        step=2,
        tool="b",
        arguments={"q": 1, "r": 8},
        differences=("r: expected 1, found 8",),
    )


def test_what_was_not_recorded_is_unknown():
    tools = [{"tool": "b", "arguments": {"q": 1}}]
    assert in_short(drawn([call("b", None)], {"tools": tools})) == "?b1"


def test_the_nearest_alternative_is_shown():
    aligned = drawn(calls("a b"), {"any_of": [["x", "y"], ["a", "c"], ["a"]]})
    assert aligned is not None
    assert (aligned.alternative, in_short(aligned)) == (3, "=a1 +b2")


def test_nothing_is_drawn_of_what_compared_no_calls_or_too_many():
    assert alignment(of_steps().case, None, PASS) is None
    assert drawn(calls("a"), {"tools": ["a"]}) is None
    assert drawn(calls("a " * (MOST_CALLS + 1)), {"tools": ["a"]}) is None
