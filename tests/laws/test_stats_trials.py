"""Laws of metrics over trials and of intervals over cases."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from oloproof.stats import proportion
from oloproof.stats.proportion import Method
from oloproof.stats.trials import Metric, Trials, bounds, counted, estimate, estimate_of_clusters, interval, of_clusters

metrics = st.sampled_from(["pass_at_k", "pass_hat_k"])
few = st.integers(0, 4)
cases = st.tuples(few, few, st.integers(0, 3)).map(lambda drawn: Trials(*drawn))
whole = st.tuples(st.integers(1, 6), st.lists(st.integers(0, 6), min_size=1, max_size=30)).map(
    lambda drawn: [Trials(min(passed, drawn[0]), drawn[0] - min(passed, drawn[0])) for passed in drawn[1]]
)
ROUNDING = 1e-12


@settings(deadline=None, max_examples=80)
@given(few, few, st.integers(1, 5))
def test_metrics_count_the_choices_of_k_trials(passed: int, failed: int, k: int) -> None:
    outcomes = [True] * passed + [False] * failed
    choices = list(combinations(outcomes, k))
    for metric, good in (("pass_at_k", any), ("pass_hat_k", all)):
        found = bounds(Trials(passed, failed), metric=metric, k=k)
        if choices:
            share = sum(map(good, choices)) / len(choices)
            assert found == pytest.approx((share, share), rel=0, abs=ROUNDING)
        else:
            assert found == (0.0, 1.0)


@settings(deadline=None, max_examples=80)
@given(cases, metrics, st.integers(1, 5))
def test_bounds_enclose_every_fill_and_the_estimate(case: Trials, metric: Metric, k: int) -> None:
    low, high = bounds(case, metric=metric, k=k)
    for filled in range(case.missing + 1):
        known = Trials(case.passed + filled, case.failed + case.missing - filled)
        inner = bounds(known, metric=metric, k=k)
        assert low <= inner[0] + ROUNDING
        assert inner[1] <= high + ROUNDING
    found = estimate([case], metric=metric, k=k)
    assert found is None or low - ROUNDING <= found <= high + ROUNDING


@settings(deadline=None, max_examples=80)
@given(st.lists(cases, max_size=20), metrics, st.integers(1, 4))
def test_the_interval_encloses_the_estimate(suite: list[Trials], metric: Metric, k: int) -> None:
    _, lower, upper = interval(suite, metric=metric, k=k)
    assert 0 <= lower <= upper <= 1
    found = estimate(suite, metric=metric, k=k)
    if found is not None and all(case.passed + case.failed >= k for case in suite):
        assert lower - ROUNDING <= found <= upper + ROUNDING
    rate, (_, lowest, highest) = estimate(suite, metric=metric), interval(suite, metric=metric)
    assert rate is None or lowest - ROUNDING <= rate <= highest + ROUNDING


@settings(deadline=None, max_examples=80)
@given(whole)
def test_between_counting_trials_and_counting_cases(suite: list[Trials]) -> None:
    tried = sum(suite[0])
    passed = sum(case.passed for case in suite)
    effective, lower, upper = interval(suite, metric="pass_hat_k")
    pooled = proportion.interval(passed, tried * len(suite) - passed, 0)
    assert len(suite) <= effective * (1 + ROUNDING)
    assert effective <= tried * len(suite) * (1 + ROUNDING)
    assert lower <= pooled[0] + ROUNDING
    assert pooled[1] <= upper + ROUNDING


@settings(deadline=None, max_examples=100)
@given(st.lists(st.booleans(), min_size=1, max_size=60), st.integers(0, 5))
def test_one_trial_a_case_is_a_proportion(outcomes: list[bool], missing: int) -> None:
    suite = [Trials(int(ok), int(not ok)) for ok in outcomes] + [Trials(0, 0, 1)] * missing
    passed = sum(outcomes)
    wanted = proportion.interval(passed, len(outcomes) - passed, missing)
    for metric in ("pass_at_k", "pass_hat_k"):
        found = interval(suite, metric=metric)
        assert found == pytest.approx((len(suite), *wanted), rel=0, abs=ROUNDING)


@settings(deadline=None, max_examples=80)
@given(whole, st.data())
def test_a_trial_gone_missing_never_narrows(suite: list[Trials], data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(suite) - 1))
    case = suite[index]
    gone = Trials(case.passed - 1, case.failed, 1) if case.passed else Trials(0, case.failed - 1, 1)
    inner = interval(suite, metric="pass_hat_k")
    outer = interval([*suite[:index], gone, *suite[index + 1 :]], metric="pass_hat_k")
    assert outer.effective == len(suite)
    assert outer.lower - ROUNDING <= inner.lower
    assert inner.upper <= outer.upper + ROUNDING


@settings(deadline=None, max_examples=80)
@given(whole, metrics)
def test_one_more_missing_case_never_narrows(suite: list[Trials], metric: Metric) -> None:
    inner = interval(suite, metric=metric)
    outer = interval([*suite, Trials(0, 0, sum(suite[0]))], metric=metric)
    assert outer.lower - ROUNDING <= inner.lower
    assert inner.upper <= outer.upper + ROUNDING


@settings(deadline=None, max_examples=100)
@given(whole, st.integers(1, 3))
def test_failing_is_the_mirror_image_of_passing(suite: list[Trials], k: int) -> None:
    """Some of k pass exactly where not all of k fail."""
    mirrored = [Trials(case.failed, case.passed) for case in suite]
    found, other = interval(suite, metric="pass_at_k", k=k), interval(mirrored, metric="pass_hat_k", k=k)
    assert found.effective == pytest.approx(other.effective, rel=1e-9)
    assert (found.lower, found.upper) == pytest.approx((1 - other.upper, 1 - other.lower), rel=0, abs=1e-9)


@settings(deadline=None, max_examples=100)
@given(st.lists(cases, min_size=1, max_size=20), st.integers(1, 3), metrics)
def test_each_case_its_own_group_is_no_groups(suite: list[Trials], k: int, metric: Metric) -> None:
    alone = interval(suite, metric=metric, k=k, groups=[str(index) for index in range(len(suite))])
    assert alone == interval(suite, metric=metric, k=k)
    assert interval(suite, metric=metric, k=k, groups=["one"] * len(suite)).effective == 1


@settings(deadline=None, max_examples=80)
@given(st.lists(cases, max_size=20))
def test_counts_are_by_what_every_fill_agrees_on(suite: list[Trials]) -> None:
    passed, failed, missing = counted(suite)
    assert passed + failed + missing == len(suite)
    assert failed == sum(case.failed > 0 for case in suite)
    assert missing == sum(case.failed == 0 and (case.missing > 0 or case.passed == 0) for case in suite)


methods = st.sampled_from(["wilson", "exact"])


@settings(deadline=None, max_examples=60)
@given(st.lists(cases, min_size=1, max_size=12), st.data(), metrics, methods)
def test_with_a_trial_missing_a_pass_more_moves_no_end_down(suite, data, metric: Metric, method) -> None:
    """With none missing it can, by a fraction of a point: a better trial may make the cases differ more."""
    suite = [*suite, Trials(1, 1, 1)]
    index = data.draw(st.integers(0, len(suite) - 1))
    case = suite[index]
    if case.failed:
        better = [*suite[:index], Trials(case.passed + 1, case.failed - 1, case.missing), *suite[index + 1 :]]
        worse_ends, better_ends = (
            interval(suite, metric=metric, method=method),
            interval(better, metric=metric, method=method),
        )
        assert worse_ends.lower <= better_ends.lower + ROUNDING
        assert worse_ends.upper <= better_ends.upper + ROUNDING


@settings(deadline=None, max_examples=60)
@given(whole, st.data(), metrics, methods, st.integers(1, 3))
def test_whatever_the_missing_trials_were_their_interval_lies_within(
    suite, data, metric: Metric, method, k: int
) -> None:
    hidden = [data.draw(st.integers(0, sum(case))) for case in suite]
    seen = [
        Trials(max(0, case.passed - gone), case.failed - max(0, gone - case.passed), gone)
        for case, gone in zip(suite, hidden, strict=True)
    ]
    if any(hidden):
        inner = interval(suite, metric=metric, k=k, method=method)
        outer = interval(seen, metric=metric, k=k, method=method)
        assert outer.lower - ROUNDING <= inner.lower
        assert inner.upper <= outer.upper + ROUNDING


@settings(deadline=None, max_examples=60)
@given(whole, st.integers(1, 3), metrics)
def test_the_method_does_not_change_what_trials_are_worth(suite, k: int, metric: Metric) -> None:
    wilson, exact = (interval(suite, metric=metric, k=k, method=method) for method in ("wilson", "exact"))
    assert exact.effective == wilson.effective
    assert 0 <= exact.lower <= exact.upper <= 1


@settings(deadline=None, max_examples=60)
@given(st.lists(st.booleans(), min_size=1, max_size=60), st.integers(0, 5))
def test_one_trial_a_case_is_an_exact_proportion_too(outcomes: list[bool], missing: int) -> None:
    suite = [Trials(int(ok), int(not ok)) for ok in outcomes] + [Trials(0, 0, 1)] * missing
    wanted = proportion.interval(sum(outcomes), len(outcomes) - sum(outcomes), missing, method="exact")
    found = interval(suite, metric="pass_hat_k", method="exact")
    assert (found.lower, found.upper) == pytest.approx(wanted, rel=0, abs=1e-9)


@settings(deadline=None, max_examples=60)
@given(st.lists(cases, max_size=15), metrics, st.integers(1, 3))
@example([Trials(1, 2), *[Trials(3, 3, 2)] * 3], "pass_at_k", 2)
def test_counted_clusters_are_the_cases(suite: list[Trials], metric: Metric, k: int) -> None:
    counted_suite = [((case,), suite.count(case)) for case in dict.fromkeys(suite)]
    assert of_clusters(counted_suite, metric=metric, k=k) == pytest.approx(
        interval(suite, metric=metric, k=k), rel=1e-12
    )
    assert estimate_of_clusters(counted_suite, metric=metric, k=k) == estimate(suite, metric=metric, k=k)


@settings(deadline=None, max_examples=80)
@given(st.data(), whole, metrics, st.sampled_from(["wilson", "exact"]))
def test_naming_groups_never_narrows(data: st.DataObject, suite: list[Trials], metric: Metric, method: Method) -> None:
    groups = data.draw(st.lists(st.integers(0, 5), min_size=len(suite), max_size=len(suite)))
    grouped = interval(suite, metric=metric, groups=groups, method=method)
    alone = interval(suite, metric=metric, method=method)
    assert grouped.lower <= alone.lower + ROUNDING
    assert alone.upper <= grouped.upper + ROUNDING


def test_groups_that_were_made_alike_are_no_further_evidence() -> None:
    """A fifth of the cases always fails, and each group was given one of them."""
    suite = [Trials(5, 0)] * 160 + [Trials(0, 5)] * 40
    groups = [case % 40 for case in range(200)]
    assert interval(suite, metric="pass_hat_k", groups=groups) == interval(suite, metric="pass_hat_k")
