"""``contains`` and ``regex``."""

from __future__ import annotations

from typing import Any

import pytest

from fakes.evidence import case, of_output, problems
from oloproof.evaluators import ConfigError
from oloproof.evaluators.text import Contains, Regex
from oloproof.model.judgment import Judgment

ANSWER = Contains(field="answer", expected_field="answer")


@pytest.mark.parametrize(("answer", "word"), [("it was refunded.", "pass"), ("Refunded", "fail"), ("", "fail")])
def test_contains(answer: str, word: str):
    judgment = ANSWER.judge(of_output({"answer": answer}, {"answer": "refunded"}))
    assert judgment == Judgment(word, expected="refunded", found=answer)


def test_a_literal_reference_needs_no_expected():
    assert Contains(value="ok").judge(of_output("all ok")).verdict == "pass"


@pytest.mark.parametrize("output", [{}, {"answers": "refunded"}, "refunded", None, []])
def test_an_absent_field_fails_and_is_not_taken_for_null(output: Any):
    judgment = ANSWER.judge(of_output(output, {"answer": "refunded"}))
    assert (judgment.verdict, judgment.reason) == ("fail", "field_absent")


@pytest.mark.parametrize("answer", [None, 7, ["refunded"], {"refunded": 1}])
def test_what_is_no_text_fails(answer: Any):
    judgment = ANSWER.judge(of_output({"answer": answer}, {"answer": "refunded"}))
    assert (judgment.verdict, judgment.reason) == ("fail", "not_text")


@pytest.mark.parametrize("reference", ["", None, 7, ["a"]])
def test_a_reference_that_is_no_text_is_a_problem_of_the_case(reference: Any):
    assert problems(ANSWER, case({"answer": reference})) == "expected.answer must be a text that is not empty"
    assert ANSWER.judge(of_output({"answer": "x"}, {"answer": reference})).reason == "evaluator_error"


def test_a_case_without_the_reference_has_no_problem():
    assert problems(ANSWER, case({"other": ""})) is None


def test_paths_reach_inside():
    evaluator = Contains(field="items.1.text", expected_field="answers.first")
    evidence = of_output({"items": [{}, {"text": "abc"}]}, {"answers": {"first": "b"}})
    assert evaluator.judge(evidence).verdict == "pass"
    assert evaluator.expected_fields == ("answers",)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({}, "expected_field"),
        ({"expected_field": "a", "value": "b"}, "expected_field"),
        ({"value": ""}, "value"),
        ({"value": "x", "field": "a..b"}, "field"),
        ({"expected_field": ".a"}, "expected_field"),
    ],
)
def test_configurations_that_are_refused(options: dict[str, Any], field: str):
    with pytest.raises(ConfigError) as raised:
        Contains(**options)
    assert raised.value.field == field


@pytest.mark.parametrize(
    ("pattern", "text", "word"),
    [("^ord-[0-9]+$", "ord-12", "pass"), ("[0-9]", "a1b", "pass"), ("^b", "ab", "fail"), ("(?i)YES", "yes", "pass")],
)
def test_regex(pattern: str, text: str, word: str):
    assert Regex(field="t", pattern=pattern).judge(of_output({"t": text})).verdict == word


def test_a_hostile_text_takes_linear_time():
    assert Regex(pattern="^(a+)+$").judge(of_output("a" * 100_000 + "b")).verdict == "fail"


@pytest.mark.parametrize("output", [None, 1, ["a"]])
def test_regex_of_what_is_no_text_fails(output: Any):
    assert Regex(pattern=".*").judge(of_output(output)).reason == "not_text"


@pytest.mark.parametrize(
    ("pattern", "hint"), [("(", False), ("a**", False), ("(?=a)", True), ("(?<!a)b", True), (r"(a)\1", True)]
)
def test_a_pattern_that_re2_refuses_is_refused(pattern: str, hint: bool, capfd: pytest.CaptureFixture[str]):
    with pytest.raises(ConfigError) as raised:
        Regex(pattern=pattern)
    assert raised.value.field == "pattern"
    assert raised.value.message.startswith(f"RE2 cannot compile {pattern!r}: ")
    assert ("engine: python" in raised.value.message) == hint
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("output", "told"),
    [
        ("refunded", ": it is a text"),
        (None, ": it is null"),
        (True, ": it is a truth value"),
        (4.5, ": it is a number"),
        ({"anser": 1}, ""),
        ([1], ""),
    ],
)
def test_a_field_of_what_has_no_fields_is_told_with_what_it_is(output: Any, told: str) -> None:
    judgment = Contains(field="answer", value="yes").judge(of_output(output))
    assert (judgment.verdict, judgment.reason) == ("fail", "field_absent")
    assert judgment.detail == f"the output has no answer{told}"


@pytest.mark.parametrize(
    ("field", "output", "told"),
    [
        (None, {"answer": "yes"}, "it is an object, and no text; `field` names a part of it"),
        ("answer", {"answer": {"text": "yes"}}, "it is an object, and no text"),
        ("answer", {"answer": ["yes"]}, "it is a list, and no text"),
        (None, None, "it is null, and no text"),
    ],
)
def test_what_is_no_text_is_told_with_what_it_is(field: str | None, output: Any, told: str) -> None:
    for evaluator in (Contains(field=field, value="yes"), Regex(field=field, pattern="yes")):
        judgment = evaluator.judge(of_output(output))
        assert (judgment.reason, judgment.detail) == ("not_text", told)
