"""Laws of quantile intervals: coverage, and what missing values may and may not do."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import comb, inf

from hypothesis import given, settings
from hypothesis import strategies as st

from oloproof.stats.quantile import Counted, interval, needed_for_upper_bound, ranks

values = st.integers(0, 30).map(float)
samples = st.lists(values, max_size=60)
quantiles = st.integers(1, 99).map(lambda percent: Fraction(percent, 100))
levels = st.sampled_from([0.8, 0.9, 0.95, 0.99])


def low(bound: float | None) -> float:
    return -inf if bound is None else bound


def high(bound: float | None) -> float:
    return inf if bound is None else bound


@settings(deadline=None, max_examples=100)
@given(samples, st.integers(0, 10), quantiles, levels)
def test_bounds_enclose_the_estimate_where_nothing_is_known_of_the_missing(
    observed: list[float], missing: int, q: Fraction, level: float
) -> None:
    found = interval(sorted(observed), [-inf] * missing, q=q, level=level)
    assert low(found.lower) <= high(found.upper)
    assert (found.estimate is None) == (not observed)
    if found.estimate is not None:
        assert low(found.lower) <= found.estimate <= high(found.upper)


@settings(deadline=None, max_examples=100)
@given(samples, st.lists(st.tuples(values, values), max_size=12), quantiles, levels)
def test_bounds_enclose_those_of_every_fill(
    observed: list[float], missing: list[tuple[float, float]], q: Fraction, level: float
) -> None:
    floors = sorted(floor for floor, _ in missing)
    found = interval(sorted(observed), floors, q=q, level=level)
    filled = interval(sorted(observed + [floor + more for floor, more in missing]), [], q=q, level=level)
    assert low(found.lower) <= low(filled.lower)
    assert high(filled.upper) <= high(found.upper)
    assert low(found.lower) <= high(found.upper)


@settings(deadline=None, max_examples=100)
@given(samples, st.lists(st.tuples(values, values), max_size=12), quantiles, levels)
def test_higher_floors_only_tighten(
    observed: list[float], missing: list[tuple[float, float]], q: Fraction, level: float
) -> None:
    loose = interval(sorted(observed), sorted(floor for floor, _ in missing), q=q, level=level)
    tight = interval(sorted(observed), sorted(floor + more for floor, more in missing), q=q, level=level)
    assert low(loose.lower) <= low(tight.lower)
    assert (loose.estimate, loose.upper) == (tight.estimate, tight.upper)


@settings(deadline=None, max_examples=100)
@given(samples, st.integers(0, 10), quantiles, levels)
def test_one_more_missing_value_never_narrows(observed: list[float], missing: int, q: Fraction, level: float) -> None:
    before = interval(sorted(observed), [-inf] * missing, q=q, level=level)
    after = interval(sorted(observed), [-inf] * (missing + 1), q=q, level=level)
    assert low(after.lower) <= low(before.lower)
    assert high(before.upper) <= high(after.upper)


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 50), quantiles, levels)
def test_ranks_are_the_tightest_that_keep_each_side(n: int, q: Fraction, level: float) -> None:
    outside = (1 - Fraction(str(level))) / 2
    masses = [comb(n, j) * q**j * (1 - q) ** (n - j) for j in range(n + 1)]

    def below(rank: int) -> Fraction:
        return sum(masses[:rank], start=Fraction(0))

    r, s = ranks(n, q=q, level=level)
    assert below(r) <= outside < below(r + 1)
    assert 1 - below(s) <= outside < 1 - below(s - 1)
    assert below(s) - below(r) >= Fraction(str(level))


@settings(deadline=None, max_examples=40)
@given(quantiles, st.integers(0, 6), levels)
def test_the_needed_size_is_the_smallest(q: Fraction, missing: int, level: float) -> None:
    def bounded(n: int) -> bool:
        return interval([1.0] * (n - missing), [-inf] * missing, q=q, level=level).upper is not None

    n = needed_for_upper_bound(q, missing=missing, level=level)
    assert bounded(n)
    assert n == missing + 1 or not bounded(n - 1)


few = st.lists(st.sampled_from([-inf, 0.0, 1.0, 2.5, 7.0]), max_size=12).map(sorted)


@settings(deadline=None, max_examples=150)
@given(few, few, quantiles, levels)
def test_values_that_are_counted_are_those_of_the_list(
    observed: list[float], floors: list[float], q: Fraction, level: float
) -> None:
    counted = [Counted(sorted(Counter(each).items())) for each in (observed, floors)]
    assert [list(map(each.__getitem__, range(len(each)))) for each in counted] == [observed, floors]
    found = interval(*counted, q=q, level=level)
    assert found == interval(observed, floors, q=q, level=level)
    r, _ = ranks(len(observed) + len(floors), q=q, level=level)
    lower = sorted((*observed, *floors))[r - 1] if r else -inf
    assert found.lower == (lower if lower > -inf else None)
