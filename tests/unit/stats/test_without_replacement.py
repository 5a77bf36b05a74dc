from __future__ import annotations

import pytest

from oloproof.stats.without_replacement import interval


def test_half_of_a_suite() -> None:
    assert interval(46, 4, 0, suite=1000) == (744, 989)
    assert interval(450, 50, 0, suite=1000) == (861, 929)
    assert interval(20, 0, 0, suite=40) == (33, 40)


def test_before_the_first_case_and_after_the_last() -> None:
    assert interval(0, 0, 0, suite=40) == (0, 40)
    assert interval(33, 7, 0, suite=40) == (33, 33)


def test_missing_cases_count_both_ways() -> None:
    least, most = interval(28, 2, 5, suite=40)
    assert least == interval(28, 7, 0, suite=40)[0]
    assert most == interval(33, 2, 0, suite=40)[1]


def test_a_level_outside_0_to_1_is_refused() -> None:
    with pytest.raises(ValueError, match="a confidence level lies between 0 and 1"):
        interval(3, 1, 0, suite=10, level=95)
