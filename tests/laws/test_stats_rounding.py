"""Printed percentages never claim more than the numbers they stand for."""

from __future__ import annotations

from fractions import Fraction
from math import nextafter, ulp

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oloproof.stats.proportion import interval
from oloproof.stats.rounding import percent_estimate, percent_lower, percent_upper

places = st.integers(0, 4)


@settings(deadline=None, max_examples=300)
@given(st.floats(0, 1), places)
def test_bounds_go_outward_by_less_than_one_unit(share: float, digits: int) -> None:
    unit = Fraction(1, 10**digits)
    dust = Fraction(1, 10**10)
    exact = 100 * Fraction(share)
    assert exact - unit - dust < Fraction(percent_lower(share, digits=digits)) <= exact + dust
    assert exact - dust <= Fraction(percent_upper(share, digits=digits)) < exact + unit + dust


@settings(deadline=None, max_examples=300)
@given(st.integers(1, 999))
def test_rounding_errors_do_not_move_a_printable_figure(thousandths: int) -> None:
    share = thousandths / 1000
    printed = f"{thousandths // 10}.{thousandths % 10}"
    for dusty in (share, nextafter(share, 0), nextafter(share, 1), share + 3e-14, share - 3e-14):
        assert percent_lower(dusty) == percent_upper(dusty) == printed


@pytest.mark.parametrize("share", [ulp(0.0), 1e-300, 1e-13, 1 - 1e-13, nextafter(1, 0)])
def test_only_what_is_0_or_1_is_printed_so_at_a_bound(share: float) -> None:
    assert percent_upper(share) == ("0.1" if share < 0.5 else "100.0")
    assert percent_lower(share) == ("0.0" if share < 0.5 else "99.9")
    assert percent_lower(0.0) == percent_upper(0.0) == "0.0"
    assert percent_lower(1.0) == percent_upper(1.0) == "100.0"


@settings(deadline=None, max_examples=300)
@given(st.integers(0, 10**6), st.integers(0, 10**6), places)
def test_estimates_are_nearest_and_extremes_are_exact(passed: int, failed: int, digits: int) -> None:
    observed = passed + failed or 1
    printed = Fraction(percent_estimate(passed, observed, digits=digits))
    error = abs(printed - Fraction(100 * passed, observed))
    unit = Fraction(1, 10**digits)
    assert (printed == 0) == (passed == 0)
    assert (printed == 100) == (passed == observed)
    assert error <= unit / 2 or printed in (unit, 100 - unit)
    assert error < unit


@settings(deadline=None, max_examples=200)
@given(st.integers(0, 10**5), st.integers(0, 10**5), st.integers(0, 100), places)
def test_the_printed_interval_holds_the_printed_estimate(passed: int, failed: int, missing: int, digits: int) -> None:
    if passed + failed:
        lower, upper = interval(passed, failed, missing)
        estimate = Fraction(percent_estimate(passed, passed + failed, digits=digits))
        assert Fraction(percent_lower(lower, digits=digits)) <= estimate
        assert estimate <= Fraction(percent_upper(upper, digits=digits))
