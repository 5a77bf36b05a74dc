"""Laws of proportion intervals and of the boundaries drawn from them."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakes.bounds import boundaries
from oloproof.stats.level import tail
from oloproof.stats.proportion import Method, interval

methods = st.sampled_from(["wilson", "exact"])
levels = st.integers(501, 999).map(lambda thousandths: thousandths / 1000)
counted = st.tuples(st.integers(0, 400), st.integers(0, 400), st.integers(0, 60))
thresholds = st.integers(0, 1000).map(lambda thousandths: Fraction(thousandths, 1000))


@settings(deadline=None, max_examples=150)
@given(counted, methods, levels)
def test_bounds_enclose_the_estimate(cases: tuple[int, int, int], method: Method, level: float) -> None:
    passed, failed, _ = cases
    lower, upper = interval(*cases, method=method, level=level)
    assert 0 <= lower <= upper <= 1
    if passed + failed:
        assert lower <= passed / (passed + failed) <= upper


@settings(deadline=None, max_examples=150)
@given(counted, methods, levels)
def test_one_more_missing_case_never_narrows(cases: tuple[int, int, int], method: Method, level: float) -> None:
    passed, failed, missing = cases
    lower, upper = interval(passed, failed, missing, method=method, level=level)
    wider_lower, wider_upper = interval(passed, failed, missing + 1, method=method, level=level)
    assert wider_lower <= lower <= upper <= wider_upper


@settings(deadline=None, max_examples=150)
@given(counted, methods, levels, st.data())
def test_every_fill_of_the_missing_cases_is_enclosed(
    cases: tuple[int, int, int], method: Method, level: float, data: st.DataObject
) -> None:
    passed, failed, missing = cases
    filled = data.draw(st.integers(0, missing))
    lower, upper = interval(*cases, method=method, level=level)
    filled_lower, filled_upper = interval(passed + filled, failed + missing - filled, 0, method=method, level=level)
    assert lower <= filled_lower <= filled_upper <= upper


@settings(deadline=None, max_examples=100)
@given(counted, methods, levels)
def test_failing_is_the_mirror_image_of_passing(cases: tuple[int, int, int], method: Method, level: float) -> None:
    passed, failed, missing = cases
    lower, upper = interval(passed, failed, missing, method=method, level=level)
    mirrored_lower, mirrored_upper = interval(failed, passed, missing, method=method, level=level)
    assert (lower, upper) == pytest.approx((1 - mirrored_upper, 1 - mirrored_lower), rel=0, abs=1e-15)


@settings(deadline=None, max_examples=100)
@given(counted, methods, levels, levels)
def test_more_confidence_is_never_narrower(
    cases: tuple[int, int, int], method: Method, one: float, other: float
) -> None:
    inner = interval(*cases, method=method, level=min(one, other))
    outer = interval(*cases, method=method, level=max(one, other))
    assert outer[0] <= inner[0] <= inner[1] <= outer[1]


@pytest.mark.parametrize("method", ["wilson", "exact"])
def test_bounds_grow_with_the_passes(method: Method) -> None:
    for n in (*range(1, 61), 97, 200, 1000):
        bounds = [interval(k, n - k, 0, method=method) for k in range(n + 1)]
        assert all(one[0] < other[0] and one[1] < other[1] for one, other in pairwise(bounds))


@settings(deadline=None, max_examples=80)
@given(st.integers(1, 40), levels, st.integers(0, 100).map(lambda percent: Fraction(percent, 100)))
def test_the_exact_interval_covers_every_rate(n: int, level: float, rate: Fraction) -> None:
    covered = Fraction(0)
    for k in range(n + 1):
        lower, upper = interval(k, n - k, 0, method="exact", level=level)
        if lower <= rate <= upper:
            covered += comb(n, k) * rate**k * (1 - rate) ** (n - k)
    assert covered >= Fraction(str(level))


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 150), thresholds, methods, levels)
def test_boundaries_decide_like_the_interval(n: int, threshold: Fraction, method: Method, level: float) -> None:
    rule = boundaries(n, threshold, method=method, level=level)
    for k in range(n + 1) if n else ():
        lower, upper = interval(k, n - k, 0, method=method, level=level)
        assert (rule.pass_from is not None and k >= rule.pass_from) == (lower >= float(threshold))
        assert (rule.fail_to is not None and k <= rule.fail_to) == (upper < float(threshold))


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 400), thresholds, levels)
def test_the_exact_method_keeps_both_errors_below_the_tail(n: int, threshold: Fraction, level: float) -> None:
    rule = boundaries(n, threshold, method="exact", level=level)
    assert 0 <= rule.false_pass <= tail(level) * (1 + 1e-9)
    assert 0 <= rule.false_fail <= tail(level) * (1 + 1e-9)


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 60), thresholds.filter(lambda t: 0 < t < 1), methods)
def test_a_maximum_is_a_minimum_of_the_failures(n: int, threshold: Fraction, method: Method) -> None:
    rule = boundaries(n, 1 - threshold, method=method)
    for k in range(n + 1):
        lower, upper = interval(k, n - k, 0, method=method)
        assert (rule.pass_from is not None and n - k >= rule.pass_from) == (upper <= float(threshold))
        assert (rule.fail_to is not None and n - k <= rule.fail_to) == (lower > float(threshold))
