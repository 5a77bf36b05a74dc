from __future__ import annotations

from math import exp, inf, isfinite

import pytest

from oloproof.stats.evidence import interval, log_e


def test_ten_passes() -> None:
    found = log_e(10, 0, 0, threshold=0.8)
    assert (exp(found.above), exp(found.below)) == pytest.approx((3.869648, 1 / 11), rel=1e-6)


def test_before_the_first_case() -> None:
    assert log_e(0, 0, 0, threshold=0.8) == pytest.approx((0.0, 0.0), abs=1e-12)
    assert interval(0, 0, 0) == (0.0, 1.0)
    assert interval(0, 0, 9) == (0.0, 1.0)


def test_an_interval() -> None:
    assert interval(33, 7, 0) == pytest.approx((0.6012, 0.9616), rel=0, abs=5e-5)
    assert interval(900, 100, 0) == pytest.approx((0.8659, 0.9325), rel=0, abs=5e-5)


def test_ends_are_exact() -> None:
    assert interval(0, 40, 0)[0] == 0.0
    assert interval(40, 0, 0)[1] == 1.0


def test_a_missing_case_counts_against_each_side() -> None:
    found = log_e(10, 3, 2, threshold=0.8)
    assert found.above == log_e(10, 5, 0, threshold=0.8).above
    assert found.below == log_e(12, 3, 0, threshold=0.8).below


def test_evidence_too_small_for_a_double_is_none_at_all() -> None:
    # Ten thousand failures: the share of the posterior above 0.8 is far below the smallest double.
    found = log_e(0, 10_000, 0, threshold=0.8)
    assert found.above == -inf
    assert isfinite(found.below)
    assert log_e(10_000, 0, 0, threshold=0.8).below < -9


@pytest.mark.parametrize("threshold", [0.0, 1.0, -0.1])
def test_there_is_no_evidence_about_a_rate_at_the_ends(threshold: float) -> None:
    with pytest.raises(ValueError, match="a rate between 0 and 1"):
        log_e(1, 0, 0, threshold=threshold)


def test_a_level_outside_0_to_1_is_refused() -> None:
    with pytest.raises(ValueError, match="a confidence level lies between 0 and 1"):
        interval(3, 1, 0, level=95)
