from __future__ import annotations

from math import exp, inf

import pytest

from oloproof.stats.betting import Score, interval, log_e, log_e_of_suite


def test_twenty_passes() -> None:
    assert log_e([1.0] * 20, mean=0.8) == pytest.approx(2.995934, abs=1e-6)
    assert log_e_of_suite([1.0] * 20, mean=0.8, suite=100) == pytest.approx(3.450120, abs=1e-6)


def test_before_the_first_value() -> None:
    assert log_e([], mean=0.8) == pytest.approx(0.0, abs=1e-12)
    assert interval([]) == (0.0, 1.0)


def test_values_at_the_mean_prove_nothing() -> None:
    assert exp(log_e([0.8] * 50, mean=0.8)) == pytest.approx(1.0)


def test_a_missing_part_counts_against_each_end() -> None:
    known = [Score(0.9, 0.9)] * 30
    lower, upper = interval([*known, Score(0.0, 1.0)])
    assert lower == interval([*known, Score(0.0, 0.0)])[0]
    assert upper == interval([*known, Score(1.0, 1.0)])[1]
    assert interval([Score(0.0, 1.0)] * 30) == (0.0, 1.0)


def test_a_suite_whose_sum_is_passed_is_ruled_out() -> None:
    assert log_e_of_suite([1.0, 1.0, 1.0], mean=0.5, suite=4) == inf
    # Two passes are all that a mean of 0.5 leaves to four cases: nothing more is bet after them.
    after_two = log_e_of_suite([1.0, 1.0], mean=0.5, suite=4)
    assert log_e_of_suite([1.0, 1.0, 0.0, 0.0], mean=0.5, suite=4) == after_two


@pytest.mark.parametrize("mean", [0.0, 1.0])
def test_there_is_no_evidence_against_a_mean_at_the_ends(mean: float) -> None:
    with pytest.raises(ValueError, match="a mean between 0 and 1"):
        log_e([1.0], mean=mean)
    with pytest.raises(ValueError, match="a mean between 0 and 1"):
        log_e_of_suite([1.0], mean=mean, suite=10)


def test_a_level_outside_0_to_1_is_refused() -> None:
    with pytest.raises(ValueError, match="a confidence level lies between 0 and 1"):
        interval([Score(1.0, 1.0)], level=95)
