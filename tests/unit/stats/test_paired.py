from __future__ import annotations

from fractions import Fraction

import pytest

from oloproof.stats.paired import (
    Pairs,
    Sample,
    at_most_new_failures,
    could_be_new,
    interval,
    intervals,
    mcnemar,
    quantile_difference,
    smallest_worse_mid_p,
)

P50 = Fraction(1, 2)


def test_a_difference() -> None:
    assert interval(Pairs(80, 40, 20, 20)) == pytest.approx((0.030865, 0.218064), rel=0, abs=1e-6)


def test_only_discordant_pairs_and_their_number_count() -> None:
    assert interval(Pairs(80, 40, 20, 20)) == interval(Pairs(0, 40, 20, 100))


def test_no_pair_says_nothing() -> None:
    assert interval(Pairs()) == (-1.0, 1.0)
    assert interval(Pairs(both_missing=10)) == (-1.0, 1.0)


def test_ends_are_exact() -> None:
    assert interval(Pairs(fixed=10))[1] == 1.0
    assert interval(Pairs(broken=10))[0] == -1.0


def test_without_a_discordant_pair_there_is_still_doubt() -> None:
    lower, upper = interval(Pairs(both_pass=100))
    assert (lower, upper) == pytest.approx((-0.036993, 0.036993), rel=0, abs=1e-6)


def test_missing_verdicts_are_filled_in_both_ways() -> None:
    pairs = Pairs(30, 2, 1, 3, now_pass=1, was_pass=1, was_fail=1, both_missing=1)
    assert pairs.n == 40
    assert pairs.worst() == Pairs(31, 2, 3, 4)
    assert pairs.best() == Pairs(31, 5, 1, 3)
    assert interval(pairs) == (interval(pairs.worst())[0], interval(pairs.best())[1])


def test_an_unknown_baseline_of_a_failing_candidate_may_be_broken() -> None:
    assert Pairs(now_fail=1).worst() == Pairs(broken=1)
    assert Pairs(now_fail=1).best() == Pairs(both_fail=1)


def test_bounds_are_plain_floats() -> None:
    assert [type(bound) for bound in interval(Pairs(3, 1, 1, 1))] == [float, float]


def test_a_batch_of_none() -> None:
    assert intervals([]) == []


def test_eight_broken_and_none_fixed() -> None:
    found = mcnemar(Pairs(both_pass=20, broken=8))
    assert smallest_worse_mid_p(8) == 0.5**9
    assert found.worse_mid_p == pytest.approx(0.5**9)
    assert found.worse_exact == pytest.approx(0.5**8)
    assert found.exact == pytest.approx(0.5**7)


def test_no_discordant_pair_is_no_evidence() -> None:
    assert mcnemar(Pairs(both_pass=10)) == (1.0, 1.0, 1.0, 0.5)


def test_p_values_take_the_fill_that_shows_least() -> None:
    # The missing pair could have been fixed, which leaves nine of ten discordant pairs broken.
    assert mcnemar(Pairs(broken=9, both_missing=1)) == pytest.approx(mcnemar(Pairs(fixed=1, broken=9)))
    assert mcnemar(Pairs(fixed=9, both_missing=1)).exact == pytest.approx(mcnemar(Pairs(fixed=9, broken=1)).exact)


def test_p_values_can_be_evened_out_by_the_missing() -> None:
    found = mcnemar(Pairs(fixed=1, broken=3, both_missing=2))
    assert (found.exact, found.mid_p) == (1.0, 1.0)


@pytest.mark.parametrize(
    ("pairs", "state"),
    [
        (Pairs(both_pass=10, fixed=3), "PASS"),
        (Pairs(both_pass=10, broken=1), "FAIL"),
        (Pairs(both_pass=10, now_pass=2, was_fail=2), "PASS"),
        (Pairs(both_pass=10, was_pass=1), "INSUFFICIENT_EVIDENCE"),
        (Pairs(both_pass=10, now_fail=1), "INSUFFICIENT_EVIDENCE"),
        (Pairs(both_pass=10, both_missing=1), "INSUFFICIENT_EVIDENCE"),
        (Pairs(), "INSUFFICIENT_EVIDENCE"),
    ],
)
def test_no_new_failure_allowed(pairs: Pairs, state: str) -> None:
    assert at_most_new_failures(pairs, max_new_failures=0) == state


def test_some_new_failures_allowed() -> None:
    assert could_be_new(Pairs(broken=1, was_pass=1, both_missing=1, now_pass=5)) == 2
    assert at_most_new_failures(Pairs(both_pass=5, broken=1, was_pass=1), max_new_failures=2) == "PASS"


def test_a_difference_of_medians() -> None:
    before = Sample([float(value) for value in range(1, 41)])
    after = Sample([value + 100 for value in before.observed])
    found = quantile_difference(after, before, q=P50)
    # Ranks 13 and 28 hold the median of 40 at 97.5 %.
    assert (found.candidate.lower, found.candidate.upper) == (113.0, 128.0)
    assert (found.lower, found.upper) == (113.0 - 28.0, 128.0 - 13.0)


def test_a_bound_that_one_run_lacks_the_difference_lacks() -> None:
    known = Sample([float(value) for value in range(1, 41)])
    open_ended = Sample(known.observed[:20], [5.0] * 20)
    found = quantile_difference(open_ended, known, q=P50)
    assert (found.lower is None, found.upper) == (False, None)
    mirrored = quantile_difference(known, open_ended, q=P50)
    assert (mirrored.lower, mirrored.upper is None) == (None, False)


def test_a_level_outside_0_to_1_is_refused() -> None:
    with pytest.raises(ValueError, match="a confidence level lies between 0 and 1"):
        interval(Pairs(1), level=95)
