"""Called tools beside declared ones."""

from __future__ import annotations

from typing import Any

import pytest

from fakes.evidence import call, calls, case, of_steps, problems
from oloproof.evaluators.sequence import NoUndeclaredTool, ToolSequence
from oloproof.model.judgment import Judgment
from oloproof.model.trajectory import Step

MODES = ("exact", "in_order", "any_order", "superset", "subset")
OPEN = "missing"
EXACT = ("exact", "exact")


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
    assert judgment == Judgment("fail", None, steps, ["a", "b"], names, detail, (mode, "exact"))


def test_the_first_undeclared_call_is_evidence():
    judgment = NoUndeclaredTool().judge(of_steps(calls("a a x y"), {"tools": ["a"]}))
    assert judgment == Judgment("fail", None, (3,), ["a"], "x")


def test_no_declared_tool_means_no_call_at_all():
    assert NoUndeclaredTool().judge(of_steps([], {"tools": []})).verdict == "pass"
    assert NoUndeclaredTool().judge(of_steps(calls("a"), {"tools": []})).verdict == "fail"


REFUND = {"tool": "b", "arguments": {"q": 1}}


@pytest.mark.parametrize(
    ("mode", "given", "steps", "detail"),
    [
        (
            "exact",
            [{"q": 1}, {"q": 2}],
            (2,),
            "expected 'b' with {\"q\":1}, found 'b' (step 2: q: expected 1, found 2)",
        ),
        ("exact", [{"q": 1}], (), "'b' with {\"q\":1} is not called"),
        ("exact", [{"q": 1}] * 3, (3,), "expected no call, found 'b'"),
        (
            "in_order",
            [{"q": 2}, {"q": 1}],
            (),
            "'b' with {\"q\":1} does not follow (step 1: q: expected 1, found 2)",
        ),
        (
            "any_order",
            [{"q": 1}, {"q": 1, "r": 0}],
            (2,),
            "calls without a partner in the reference (step 2: r: expected no such argument, found 0)",
        ),
        ("superset", [{"q": 1}], (), "'b' with {\"q\":1} is called too seldom"),
        ("subset", [{}], (1,), "calls without a partner in the reference (step 1: q: expected 1, found nothing)"),
    ],
)
def test_evidence_of_arguments(mode: Any, given: list[Any], steps: tuple[int, ...], detail: str):
    made = [call("b", arguments) for arguments in given]
    judgment = ToolSequence(mode=mode).judge(of_steps(made, {"tools": [REFUND, REFUND]}))
    found = [{"tool": "b", "arguments": arguments} for arguments in given]
    assert judgment == Judgment("fail", None, steps, [REFUND, REFUND], found, detail, (mode, "exact"))


def test_unrecorded_arguments_are_the_evidence_of_a_missing_verdict():
    made = [call("b", {"q": 1}), call("b", None)]
    judgment = ToolSequence().judge(of_steps(made, {"tools": [REFUND, REFUND]}))
    detail = "whether it fits depends on arguments that were not recorded"
    expected = Judgment("missing", "arguments_not_recorded", (2,), [REFUND, REFUND], ["b", "b"], detail, EXACT)
    assert judgment == expected


@pytest.mark.parametrize(("arguments_mode", "word"), [("exact", "fail"), ("subset", "pass"), ("ignore", "pass")])
def test_what_a_call_was_given_beside_what_is_declared(arguments_mode: Any, word: str):
    evidence = of_steps([call("b", {"q": 1, "r": 2})], {"tools": [REFUND]})
    assert ToolSequence(arguments_mode=arguments_mode).judge(evidence).verdict == word


@pytest.mark.parametrize("reference", [[{"q": 1}, {"any": True}], [{"any": True}, {"q": 1}]])
def test_a_pairing_is_not_greedy(reference: list[Any]):
    """The call with q = 1 suits both; taken by the first, it would leave the other without one."""
    tools = [{"tool": "b", "arguments": {"q": each.get("q", each)}} for each in reference]
    for given in ([1, 2], [2, 1]):
        evidence = of_steps([call("b", {"q": value}) for value in given], {"tools": tools})
        assert ToolSequence(mode="any_order").judge(evidence).verdict == "pass"


@pytest.mark.parametrize(
    ("called", "word"),
    [("a b c d", "pass"), ("a c b d", "pass"), ("b a c d", "fail"), ("a c d", "fail"), ("a/1 c/1 b/2 d/2", "pass")],
)
def test_a_parallel_part_is_free_in_itself_alone(called: str, word: str):
    evidence = of_steps(calls(called), {"tools": ["a", {"parallel": ["b", "c"]}, "d"]})
    assert ToolSequence().judge(evidence).verdict == word


@pytest.mark.parametrize(
    ("called", "word", "detail"),
    [
        ("a", "pass", None),
        ("b c", "pass", None),
        ("b", "fail", "none of the 2 alternatives fits; the nearest, number 2: 'c' is not called"),
        ("", "fail", "none of the 2 alternatives fits; the nearest, number 1: 'a' is not called"),
    ],
)
def test_one_alternative_is_enough(called: str, word: str, detail: str | None):
    judgment = ToolSequence().judge(of_steps(calls(called), {"any_of": [["a"], ["b", "c"]]}))
    assert (judgment.verdict, judgment.detail) == (word, detail)
    assert judgment.expected == {"any_of": [["a"], ["b", "c"]]}


def test_a_run_whose_alternatives_are_open_in_turn_is_open():
    unknown = of_steps([call("b", None)], {"any_of": [[REFUND], [{"tool": "b", "arguments": {}}]]})
    assert ToolSequence().judge(unknown) == Judgment(
        "missing",
        "arguments_not_recorded",
        (1,),
        {"any_of": [[REFUND], [{"tool": "b", "arguments": {}}]]},
        ["b"],
        "whether it fits depends on arguments that were not recorded",
        EXACT,
    )


def test_every_tool_of_every_part_and_alternative_is_declared():
    expected = {"any_of": [["a", {"parallel": [REFUND, "c"]}], ["d"]]}
    assert NoUndeclaredTool().judge(of_steps(calls("d b c a"), expected)) == Judgment("pass", None, (), list("abcd"))
    assert NoUndeclaredTool().judge(of_steps(calls("a x"), expected)).verdict == "fail"


@pytest.mark.parametrize(
    ("expected", "problem"),
    [
        ({"tools": "a"}, "expected.tools must be a list of tools"),
        ({"tools": None}, "expected.tools must be a list of tools"),
        ({"tools": [""]}, "expected.tools.0 must be a tool's name, {tool, arguments} or {parallel: […]}"),
        ({"tools": [["a"]]}, "expected.tools.0 must be a tool's name, {tool, arguments} or {parallel: […]}"),
        ({"any_of": {}}, "expected.any_of must be a list of references"),
    ],
)
def test_references_that_are_refused(expected: dict[str, Any], problem: str):
    assert problems(ToolSequence(), case(expected)) == problem
    assert problems(NoUndeclaredTool(), case(expected)) == problem


def test_a_malformed_reference_that_nobody_checked_is_no_verdict():
    assert ToolSequence().judge(of_steps(calls("a"), {"tools": [1]})) == Judgment(
        "missing",
        "evaluator_error",
        detail="ValueError: expected.tools.0 must be a tool's name, {tool, arguments} or {parallel: […]}",
    )


@pytest.mark.parametrize(
    "expected",
    [
        {},
        {"tools": []},
        {"tools": ["a", "a"]},
        {"any_of": [[]]},
        {"tools": ["a", {"tool": "b"}, {"parallel": [{"tool": "a", "arguments": {}}]}]},
    ],
)
def test_references_that_are_sound(expected: dict[str, Any]):
    assert problems(ToolSequence(), case(expected)) is None


def test_a_long_run_beside_a_long_reference_is_paired_in_time():
    many = [call("b", {"q": number}) for number in range(300)]
    tools = [{"tool": "b", "arguments": {"q": {"one_of": [number, number + 1]}}} for number in range(300)]
    assert ToolSequence(mode="any_order").judge(of_steps(many[::-1], {"tools": tools})).verdict == "pass"
    assert ToolSequence(mode="in_order").judge(of_steps(many, {"tools": tools})).verdict == "pass"


def test_calls_too_long_to_be_kept_twice_are_told_by_name():
    long = call("b", {"q": "x" * 3000})
    assert ToolSequence().judge(of_steps([long], {"tools": [REFUND]})).found == ["b"]
