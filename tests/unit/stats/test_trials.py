from __future__ import annotations

import pytest

from oloproof.stats.trials import Trials, bounds, counted, estimate, interval


def test_three_of_five() -> None:
    case = Trials(3, 2)
    assert [bounds(case, metric="pass_at_k", k=k)[0] for k in (1, 2, 3, 5)] == pytest.approx([0.6, 0.9, 1.0, 1.0])
    assert [bounds(case, metric="pass_hat_k", k=k)[0] for k in (1, 2, 3, 5)] == pytest.approx([0.6, 0.3, 0.1, 0.0])


def test_a_missing_trial_counts_both_ways() -> None:
    assert bounds(Trials(4, 0, 1), metric="pass_hat_k", k=3) == pytest.approx((0.4, 1.0))
    assert bounds(Trials(0, 4, 1), metric="pass_at_k", k=3) == pytest.approx((0.0, 0.6))


def test_fewer_trials_than_k_say_nothing() -> None:
    assert bounds(Trials(2, 0), metric="pass_hat_k", k=3) == (0.0, 1.0)
    assert bounds(Trials(0, 0), metric="pass_at_k", k=1) == (0.0, 1.0)


def test_the_estimate_is_over_observed_trials() -> None:
    assert estimate([Trials(4, 0, 1), Trials(1, 3, 1), Trials(0, 0, 5)], metric="pass_hat_k") == 0.625
    assert estimate([Trials(4, 0, 1), Trials(2, 0, 3)], metric="pass_hat_k", k=3) == 1.0
    assert estimate([Trials(0, 0, 5)], metric="pass_hat_k") is None
    assert estimate([], metric="pass_at_k") is None


def test_choices_of_k_trials_overlap() -> None:
    alike = [Trials(4, 2)] * 20
    assert interval(alike, metric="pass_hat_k", k=1).effective == 120
    assert interval(alike, metric="pass_hat_k", k=2).effective == 60
    assert interval(alike, metric="pass_hat_k", k=4).effective == 20


def test_a_missing_trial_leaves_one_value_a_case() -> None:
    # Every choice of three holds a pass whatever the missing trial was, and still it is missing.
    suite = [Trials(4, 1)] * 19 + [Trials(4, 0, 1)]
    assert interval(suite, metric="pass_at_k", k=1).effective == 20
    assert interval(suite, metric="pass_at_k", k=2).effective == 20


def test_groups() -> None:
    suite = [Trials(3, 0), Trials(3, 0), Trials(0, 3), Trials(2, 1)]
    assert interval(suite, metric="pass_hat_k", groups=["a", "a", "b", "b"]).effective == pytest.approx(2)
    with pytest.raises(ValueError):
        interval(suite, metric="pass_hat_k", groups=["a"])


def test_no_case_says_nothing() -> None:
    assert interval([], metric="pass_at_k", k=3) == (0.0, 0.0, 1.0)


def test_counts_of_cases() -> None:
    suite = [Trials(3, 0), Trials(2, 1), Trials(2, 0, 1), Trials(0, 1, 2), Trials(0, 0, 3), Trials(0, 0)]
    assert counted(suite) == Trials(passed=1, failed=2, missing=3)
