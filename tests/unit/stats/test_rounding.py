from __future__ import annotations

from fractions import Fraction

import pytest

from oloproof.stats.rounding import achieved_error, percent_estimate, percent_lower, percent_near, percent_upper


def test_a_share_is_100_percent_only_where_it_is_all() -> None:
    shares = ["1", "0.99999999", "59/60", "0.8", "1e-9", "0"]
    wanted = ["100", "99.999999", "98.3333", "80", "0.0000001", "0"]
    assert [percent_near(Fraction(share)) for share in shares] == wanted


def test_bounds_go_outward() -> None:
    assert percent_lower(0.734712) == "73.4"
    assert percent_upper(0.873085) == "87.4"


def test_bounds_may_reach_the_ends() -> None:
    assert (percent_lower(0.0), percent_upper(1.0)) == ("0.0", "100.0")
    assert (percent_lower(0.0004), percent_upper(0.9996)) == ("0.0", "100.0")
    assert (percent_lower(0.9996), percent_upper(0.0004)) == ("99.9", "0.1")


@pytest.mark.parametrize("share", [0.8, 0.7999999999999999, 0.8000000000000002])
def test_rounding_errors_do_not_show(share: float) -> None:
    assert percent_lower(share) == percent_upper(share) == "80.0"


def test_decimals() -> None:
    assert [percent_lower(0.123456789, digits=digits) for digits in (0, 1, 3, 6)] == [
        "12",
        "12.3",
        "12.345",
        "12.345678",
    ]
    assert [percent_upper(0.123456789, digits=digits) for digits in (0, 1, 3, 6)] == [
        "13",
        "12.4",
        "12.346",
        "12.345679",
    ]
    assert percent_lower(0.00000001, digits=7) == "0.0000010"


def test_estimates_go_to_the_nearest_and_halves_up() -> None:
    assert percent_estimate(33, 40) == "82.5"
    assert percent_estimate(29, 39) == "74.4"
    assert percent_estimate(1, 16) == "6.3"
    assert percent_estimate(3, 16) == "18.8"
    assert percent_estimate(2, 3, digits=0) == "67"


def test_estimates_are_0_or_100_only_where_exact() -> None:
    assert (percent_estimate(0, 5000), percent_estimate(5000, 5000)) == ("0.0", "100.0")
    assert (percent_estimate(1, 5000), percent_estimate(4999, 5000)) == ("0.1", "99.9")
    assert (percent_estimate(1, 500, digits=0), percent_estimate(499, 500, digits=0)) == ("1", "99")


def test_nothing_observed_has_no_estimate() -> None:
    with pytest.raises(ZeroDivisionError):
        percent_estimate(0, 0)


def test_an_achieved_error_rounds_up_and_stands_beside_the_nominal() -> None:
    text = "error at the bound: false pass 1.5%, false fail 3.9% (nominal 2.5%)"
    assert achieved_error(false_pass=0.0141, false_fail=0.0386, level=0.95) == text
    assert (
        achieved_error(false_pass=None, false_fail=0.0, level=0.9) == "error at the bound: false fail 0.0% (nominal 5%)"
    )
    assert (
        achieved_error(false_pass=0.2, false_fail=None, level=0.6)
        == "error at the bound: false pass 20.0% (nominal 20%)"
    )
    assert achieved_error(false_pass=None, false_fail=None, level=0.95) == ""
