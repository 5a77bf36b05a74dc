from __future__ import annotations

from fractions import Fraction

import pytest

from oloproof.stats.binomial import between, cdf, tail_size

HALF = Fraction(1, 2)


def test_three_coins() -> None:
    assert [cdf(k, n=3, p=HALF) for k in range(4)] == pytest.approx([0.125, 0.5, 0.875, 1.0])
    assert [between(k, 3, n=3, p=HALF) for k in range(1, 5)] == pytest.approx([0.875, 0.5, 0.125, 0.0])


def test_outside_the_outcomes() -> None:
    assert (cdf(-1, n=3, p=HALF), between(-1, 9, n=3, p=HALF)) == (0.0, 1.0)
    assert (cdf(7, n=3, p=HALF), between(7, 9, n=3, p=HALF)) == (1.0, 0.0)


@pytest.mark.parametrize(("p", "certain"), [(Fraction(0), 0), (Fraction(1), 5)])
def test_certain_outcomes(p: Fraction, certain: int) -> None:
    assert [cdf(k, n=5, p=p) for k in range(6)] == [float(k >= certain) for k in range(6)]


def test_no_trial_has_no_success() -> None:
    assert (cdf(0, n=0, p=HALF), between(1, 0, n=0, p=HALF)) == (1.0, 0.0)


def test_tail_size_counts_a_tie_as_within_the_limit() -> None:
    assert tail_size(0.125, n=3, p=HALF) == 1
    assert tail_size(0.1249, n=3, p=HALF) == 0
    assert tail_size(0.05, n=1, p=Fraction(19, 20)) == 1


def test_outcomes_too_rare_to_keep_are_in_the_tail() -> None:
    assert tail_size(0.025, n=100_000, p=HALF) == 49_690
