from __future__ import annotations

from fractions import Fraction

import pytest

from fakes.bounds import Boundaries, boundaries


def test_a_hundred_cases_at_80_percent() -> None:
    rule = boundaries(100, Fraction("0.8"))
    assert (rule.pass_from, rule.fail_to) == (88, 72)
    assert (rule.false_pass, rule.false_fail) == pytest.approx((0.0253, 0.0342), rel=0, abs=5e-5)


def test_too_few_cases_to_pass() -> None:
    rule = boundaries(15, Fraction("0.8"))
    assert rule.pass_from is None
    assert rule.false_pass == 0.0
    assert boundaries(16, Fraction("0.8")).pass_from == 16


def test_too_few_cases_to_fail() -> None:
    assert boundaries(1, Fraction("0.5")) == Boundaries(None, None, 0.0, 0.0)


def test_no_case_decides_nothing() -> None:
    assert boundaries(0, Fraction(0)) == Boundaries(None, None, 0.0, 0.0)


def test_nothing_is_below_a_minimum_of_0() -> None:
    assert boundaries(10, Fraction(0)) == Boundaries(0, None, 0.0, 0.0)


def test_a_minimum_of_1_cannot_be_shown_and_is_missed_by_one_failure() -> None:
    assert boundaries(10, Fraction(1)) == Boundaries(None, 9, 0.0, 0.0)


def test_a_bound_that_equals_the_threshold_is_not_below_it() -> None:
    # One failure of one case: the exact upper bound is 0.975, which no double equals.
    assert boundaries(1, Fraction("0.975"), method="exact").fail_to is None
    assert boundaries(1, Fraction("0.025"), method="exact").pass_from == 1
    assert boundaries(1, Fraction("0.05"), method="exact", level=0.9).pass_from == 1


def test_a_threshold_that_no_double_is_small_enough_for_takes_a_pass() -> None:
    assert boundaries(10, Fraction(1, 10**400)).pass_from == 1
    assert boundaries(10, 1 - Fraction(1, 10**400)).pass_from is None


@pytest.mark.parametrize("threshold", [Fraction(-1, 10), Fraction(11, 10)])
def test_a_threshold_outside_0_to_1_is_refused(threshold: Fraction) -> None:
    with pytest.raises(ValueError, match="a threshold for a rate lies between 0 and 1"):
        boundaries(10, threshold)
