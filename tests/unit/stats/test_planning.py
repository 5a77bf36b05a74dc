from __future__ import annotations

from fractions import Fraction

from oloproof.stats.planning import (
    Settling,
    Sizes,
    needed_for_chance,
    needed_to_fail,
    needed_to_pass,
    pairs_needed,
    settle,
)

T80, T90 = Fraction("0.8"), Fraction("0.9")


def test_how_many_passes_in_a_row() -> None:
    assert [needed_to_pass(T80), needed_to_pass(T80, failures=1)] == [16, 25]
    assert [needed_to_pass(T80, method="exact"), needed_to_pass(T80, failures=1, method="exact")] == [17, 26]


def test_a_minimum_of_1_cannot_be_shown_and_one_of_0_needs_a_case() -> None:
    assert needed_to_pass(Fraction(1)) is None
    assert needed_to_pass(Fraction(0)) == 1
    assert needed_to_pass(Fraction(0), failures=3) == 4


def test_how_many_failures_in_a_row() -> None:
    assert [needed_to_fail(T80), needed_to_fail(T90)] == [1, 1]
    assert [needed_to_fail(T80, method="exact"), needed_to_fail(Fraction("0.1"))] == [3, 35]
    assert needed_to_fail(Fraction(0)) is None


def test_what_would_settle() -> None:
    assert settle(33, 7, 0, threshold=T80) == Settling(28, 9, 2550, recovered=False)


def test_recovering_the_missing_case_would_settle() -> None:
    assert settle(39, 0, 1, threshold=T90) == Settling(13, 10, 13, recovered=True)


def test_nothing_is_likely_where_the_rate_is_the_threshold_or_unknown() -> None:
    assert settle(180, 20, 0, threshold=T90).likely is None
    assert settle(0, 0, 0, threshold=T80) == Settling(16, 1, None, recovered=False)


def test_settled_already() -> None:
    assert settle(170, 30, 0, threshold=T90) == Settling(221, 0, 1, recovered=False)


def test_thresholds_at_the_ends() -> None:
    assert settle(5, 5, 0, threshold=Fraction(1)).all_pass is None
    assert settle(5, 0, 0, threshold=Fraction(1)).all_fail == 1
    assert settle(5, 5, 0, threshold=Fraction(0)).all_fail is None
    assert settle(0, 0, 0, threshold=Fraction(0)).all_pass == 1


def test_sizes_for_power() -> None:
    assert needed_for_chance(T80, truth=T90) == Sizes(100, 112)
    assert needed_for_chance(T80, truth=T80) == Sizes(None, None)
    assert needed_for_chance(T80, truth=T90, min_cases=100) == Sizes(100, 112)
    first, stable = needed_for_chance(T80, truth=T90, min_cases=105)
    assert first is not None
    assert 105 <= first <= 112 == stable
    assert needed_for_chance(T80, truth=T90, min_cases=700) == Sizes(700, 700)
    assert needed_for_chance(Fraction(0), truth=Fraction(1, 2)) == Sizes(1, 1)
    assert needed_for_chance(Fraction(1), truth=Fraction(1, 2)) == Sizes(3, 3)


def test_pairs_for_non_inferiority() -> None:
    assert pairs_needed(-0.02, discordant=0.05) == 1067
    # With no pair discordant the interval still needs this many to come within the margin.
    assert pairs_needed(-0.02, discordant=0.0) == 189
    # Where the candidate fixes what it changes, fewer than that are enough.
    assert pairs_needed(-0.02, discordant=0.1, difference=0.1) == 60
