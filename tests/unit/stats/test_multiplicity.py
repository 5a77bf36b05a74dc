from __future__ import annotations

import pytest

from oloproof.stats.multiplicity import adjusted_in_family, benjamini_hochberg, tarone

TEN = (0.001, 0.008, 0.039, 0.041, 0.042, 0.06, 0.074, 0.205, 0.212, 0.216)


def test_ten_slices() -> None:
    assert benjamini_hochberg(TEN)[:6] == pytest.approx((0.01, 0.04, 0.084, 0.084, 0.084, 0.1))


def test_values_come_back_in_the_order_given() -> None:
    assert benjamini_hochberg([1.0, 0.0001, 0.2]) == pytest.approx((1.0, 0.0003, 0.3))


def test_none_and_one() -> None:
    assert benjamini_hochberg([]) == ()
    assert benjamini_hochberg([0.03]) == (0.03,)


def test_slices_that_could_never_matter_leave_the_family() -> None:
    # All-fail slices of one to five cases beside 180 of 200: see the contingency module.
    smallest = [0.104, 0.0114, 0.0013, 0.00015, 0.000019]
    assert tarone(smallest) == (False, True, True, True, True)
    assert tarone([0.5, 0.25, 0.125]) == (False, False, False)
    assert tarone([]) == ()


def test_fewer_members_need_less_each() -> None:
    # Of twenty, one could matter: it is compared with 0.05, not with 0.0025.
    assert tarone([0.04] + [0.2] * 19) == (True, *[False] * 19)


def test_a_test_that_could_never_matter_is_no_member_and_costs_the_others_nothing() -> None:
    p, smallest = [0.01, 0.5, 0.02], [0.001, 0.5, 0.001]

    first, none, last = adjusted_in_family(p, smallest)

    assert none is None
    assert (first, last) == benjamini_hochberg([0.01, 0.02])


def test_an_empty_family_adjusts_nothing() -> None:
    assert adjusted_in_family([], []) == ()
    assert adjusted_in_family([0.9], [0.9]) == (None,)
