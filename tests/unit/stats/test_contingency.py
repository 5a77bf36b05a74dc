from __future__ import annotations

import pytest

from oloproof.stats.contingency import Group, worse_than_rest


def test_a_slice_that_fails() -> None:
    found = worse_than_rest(Group(3, 7), Group(170, 20))
    assert found.exact == pytest.approx(3.505143e-5, rel=1e-6)
    assert found.mid_p == pytest.approx(1.827957e-5, rel=1e-6)


def test_a_slice_that_passes_everything_is_not_worse() -> None:
    assert worse_than_rest(Group(20, 0), Group(150, 30)).exact == pytest.approx(1)


def test_what_no_double_holds_is_no_evidence() -> None:
    """That all of the slice pass and none of the rest has a chance far below the smallest double."""
    assert worse_than_rest(Group(5_000, 0), Group(0, 5_000)) == (1.0, 1.0, 0.0)


def test_missing_cases_are_filled_in_for_the_slice() -> None:
    assert worse_than_rest(Group(3, 6, 1), Group(170, 18, 2)) == worse_than_rest(Group(4, 6), Group(170, 20))


@pytest.mark.parametrize(("size", "p"), [(1, 0.104), (2, 0.0114), (3, 0.0013), (4, 1.5e-4), (5, 1.9e-5)])
def test_a_slice_in_which_all_fail_is_at_its_smallest(size: int, p: float) -> None:
    # The rest passes 180 of 200; with one case the slice is one of 21 failures of 201.
    found = worse_than_rest(Group(0, size), Group(180, 20))
    assert found.exact == pytest.approx(p, rel=0.04)
    assert found.mid_p == pytest.approx(found.smallest_mid_p)
    assert found.exact == pytest.approx(2 * found.mid_p)


@pytest.mark.parametrize(("part", "rest"), [(Group(0, 0), Group(5, 5)), (Group(5, 5), Group(0, 0))])
def test_nothing_to_compare_with(part: Group, rest: Group) -> None:
    assert worse_than_rest(part, rest) == pytest.approx((1.0, 0.5, 0.5))


def test_where_all_fail_or_all_pass_nothing_can_be_told() -> None:
    assert worse_than_rest(Group(0, 5), Group(0, 50)) == pytest.approx((1.0, 0.5, 0.5))
    assert worse_than_rest(Group(5, 0), Group(50, 0)) == pytest.approx((1.0, 0.5, 0.5))
