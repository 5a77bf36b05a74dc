from __future__ import annotations

from fractions import Fraction
from math import inf

import pytest

from oloproof.stats.quantile import QuantileInterval, interval, needed_for_upper_bound, ranks

P50, P95 = Fraction(1, 2), Fraction("0.95")
THIRTY_NINE = [float(value) for value in range(1, 40)]


def test_ranks_of_forty() -> None:
    assert ranks(40, q=P95, level=0.95) == (35, 41)
    assert ranks(40, q=P50, level=0.95) == (14, 27)


def test_a_missing_value_lowers_one_end_and_can_open_the_other() -> None:
    assert interval(THIRTY_NINE, [-inf], q=P95) == QuantileInterval(38.0, 34.0, None)
    assert interval(THIRTY_NINE, [-inf], q=P50) == QuantileInterval(20.0, 13.0, 27.0)


def test_a_floor_tightens_the_lower_end_alone() -> None:
    assert interval(THIRTY_NINE, [12.0], q=P95) == QuantileInterval(38.0, 34.0, None)
    assert interval(THIRTY_NINE, [50.0], q=P95) == QuantileInterval(38.0, 35.0, None)


def test_high_floors_can_lift_the_lower_bound_over_the_estimate() -> None:
    assert interval([1.0] * 5, [100.0] * 30, q=P50) == QuantileInterval(1.0, 100.0, None)


def test_nothing_observed() -> None:
    assert interval([], [], q=P50) == QuantileInterval(None, None, None)
    assert interval([], [-inf] * 40, q=P50) == QuantileInterval(None, None, None)
    assert interval([], [3.0] * 40, q=P50) == QuantileInterval(None, 3.0, None)


def test_one_value_has_no_interval() -> None:
    assert interval([7.0], [], q=P50) == QuantileInterval(7.0, None, None)


def test_the_rank_of_the_estimate_is_rational() -> None:
    # In doubles 0.07 · 100 is 7.000000000000001 and 0.55 · 100 is 55.00000000000001.
    hundred = [float(value) for value in range(1, 101)]
    assert interval(hundred, [], q=Fraction("0.07")).estimate == 7.0
    assert interval(hundred, [], q=Fraction("0.55")).estimate == 55.0


def test_sizes_for_an_upper_bound() -> None:
    assert [needed_for_upper_bound(P95, missing=missing) for missing in (0, 1, 2, 5)] == [72, 110, 142, 230]


@pytest.mark.parametrize("q", [Fraction(0), Fraction(1), Fraction(95)])
def test_a_quantile_outside_0_to_1_is_refused(q: Fraction) -> None:
    with pytest.raises(ValueError, match="a quantile lies between 0 and 1"):
        ranks(10, q=q, level=0.95)
