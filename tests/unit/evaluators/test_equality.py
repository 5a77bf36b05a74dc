"""``exact_match`` and ``numeric``."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes.evidence import case, of_output, problems
from oloproof.evaluators import ConfigError
from oloproof.evaluators.equality import ExactMatch, Numeric
from oloproof.evaluators.numbers import exact, within
from oloproof.model.judgment import Judgment
from oloproof.model.values import TAG

EXACT = ExactMatch(field="answer", expected_field="answer")
TOTAL = Numeric(field="total", expected_field="total", tolerance=0.1)


@pytest.mark.parametrize(
    ("found", "reference", "word"),
    [
        ({"a": 1, "b": [2]}, {"b": [2.0], "a": 1}, "pass"),
        (None, None, "pass"),
        (True, 1, "fail"),
        ("1", 1, "fail"),
        ([1, 2], [2, 1], "fail"),
        ({TAG: "float nan"}, 1, "fail"),
    ],
)
def test_exact_match(found: Any, reference: Any, word: Any):
    judgment = EXACT.judge(of_output({"answer": found}, {"answer": reference}))
    assert judgment == Judgment(word, expected=reference, found=found)


def test_an_absent_field_is_not_null():
    assert EXACT.judge(of_output({}, {"answer": None})).reason == "field_absent"


def test_null_is_a_literal_reference():
    assert ExactMatch(value=None).judge(of_output(None)).verdict == "pass"


def test_a_reference_that_nothing_equals_is_a_problem():
    assert problems(EXACT, case({"answer": [{TAG: "set {1}"}]})) == (
        "expected.answer holds a value that JSON cannot carry, which nothing equals"
    )


@pytest.mark.parametrize(
    ("found", "reference", "word"),
    [
        (1.1, 1, "pass"),
        (0.9, 1, "pass"),
        (1.1000001, 1, "fail"),
        (10**400, 10**400, "pass"),
        (10**400, 10**400 + 1, "fail"),
        (1e308, -1e308, "fail"),
    ],
)
def test_numeric_is_exact_in_decimals(found: Any, reference: Any, word: Any):
    assert TOTAL.judge(of_output({"total": found}, {"total": reference})).verdict == word


def test_without_a_tolerance_numbers_are_equal_by_value():
    assert Numeric(value=1).judge(of_output(1.0)).verdict == "pass"
    assert Numeric(value=0.3).judge(of_output(0.1 + 0.2)).verdict == "fail"


@pytest.mark.parametrize("found", [True, "1", None, [1], {TAG: "float nan"}])
def test_what_is_no_number_fails(found: Any):
    judgment = TOTAL.judge(of_output({"total": found}, {"total": 1}))
    assert (judgment.verdict, judgment.reason) == ("fail", "not_a_number")


@pytest.mark.parametrize("reference", [True, "1", None, math.nan])
def test_a_reference_that_is_no_number_is_a_problem(reference: Any):
    assert problems(TOTAL, case({"total": reference})) == "expected.total must be a number"


@pytest.mark.parametrize(
    ("options", "field"), [({"value": True}, "value"), ({"value": 1, "tolerance": math.inf}, "tolerance")]
)
def test_configurations_that_are_refused(options: dict[str, Any], field: str):
    with pytest.raises(ConfigError) as raised:
        Numeric(**options)
    assert raised.value.field == field


@given(
    *[
        st.integers(-(10**20), 10**20)
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.sampled_from((1.1, 0.1, 1))
    ]
    * 2,
    st.floats(0, 10, allow_nan=False) | st.sampled_from((0.0, 0.1, 1e-300)),
)
def test_a_distance_is_exact_however_it_is_computed(found: float, reference: float, tolerance: float):
    assert within(found, reference, tolerance) == (abs(exact(found) - exact(reference)) <= exact(tolerance))


@pytest.mark.parametrize("found", [10**400, 10**400 + 2])
def test_a_distance_of_numbers_beyond_doubles(found: int):
    assert within(found, 10**400 + 1, 1.0)
    assert not within(found, 10**400 + 1, 0.5)
