from __future__ import annotations

import pytest

from oloproof.stats.proportion import Method, interval

both = pytest.mark.parametrize("method", ["wilson", "exact"])


def test_wilson_is_the_default() -> None:
    assert interval(33, 7, 0) == interval(33, 7, 0, method="wilson", level=0.95)
    assert interval(33, 7, 0) == pytest.approx((0.680500, 0.912546), rel=0, abs=1e-6)


def test_exact() -> None:
    assert interval(33, 7, 0, method="exact") == pytest.approx((0.672210, 0.926617), rel=0, abs=1e-6)


@both
def test_no_case_says_nothing(method: Method) -> None:
    assert interval(0, 0, 0, method=method) == (0.0, 1.0)


@both
def test_only_missing_cases_say_nothing(method: Method) -> None:
    assert interval(0, 0, 12, method=method) == (0.0, 1.0)


@both
def test_ends_are_exact(method: Method) -> None:
    assert interval(0, 40, 0, method=method)[0] == 0.0
    assert interval(40, 0, 0, method=method)[1] == 1.0
    assert interval(39, 0, 1, method=method)[1] == 1.0


@both
def test_a_missing_case_counts_against_the_lower_and_for_the_upper_bound(method: Method) -> None:
    lower, upper = interval(29, 10, 1, method=method)
    assert lower == interval(29, 11, 0, method=method)[0]
    assert upper == interval(30, 10, 0, method=method)[1]


@both
def test_bounds_are_plain_floats(method: Method) -> None:
    assert [type(bound) for bound in interval(3, 1, 0, method=method)] == [float, float]


def test_a_level_outside_0_to_1_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot be 95"):
        interval(3, 1, 0, level=95)
