"""Laws of paired differences: what one case more or less, a missing verdict and an exchange of the runs may do."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oloproof.stats import quantile
from oloproof.stats.paired import (
    McNemar,
    Pairs,
    Sample,
    at_most_new_failures,
    interval,
    intervals,
    mcnemar,
    quantile_difference,
)

counts = st.integers(0, 40)
some = st.integers(0, 4)
tables = st.tuples(*[counts] * 4, *[some] * 5).map(lambda drawn: Pairs(*drawn))
small = st.tuples(*[st.integers(0, 3)] * 4, *[st.integers(0, 2)] * 5).map(lambda drawn: Pairs(*drawn))
levels = st.integers(501, 999).map(lambda thousandths: thousandths / 1000)

# For a pair of each kind with a verdict missing, what it can turn out to be.
FILLS = {
    "now_pass": ("both_pass", "fixed"),
    "now_fail": ("broken", "both_fail"),
    "was_pass": ("both_pass", "broken"),
    "was_fail": ("fixed", "both_fail"),
    "both_missing": ("both_pass", "fixed", "broken", "both_fail"),
}
ROUNDING = 1e-12


def fills(pairs: Pairs) -> Iterator[Pairs]:
    """Every table that the pairs can turn out to be."""
    known = pairs._replace(**dict.fromkeys(FILLS, 0))
    choices = [options for kind, options in FILLS.items() for _ in range(getattr(pairs, kind))]
    for chosen in {tuple(sorted(choice)) for choice in product(*choices)}:
        counted = {kind: chosen.count(kind) for kind in ("both_pass", "fixed", "broken", "both_fail")}
        yield known._replace(**{kind: getattr(known, kind) + more for kind, more in counted.items()})


def of(n: int, fixed: int, broken: int) -> Pairs:
    return Pairs(n - fixed - broken, fixed, broken)


def test_bounds_grow_with_each_case_that_turns_for_the_better() -> None:
    """All tables of up to 12 pairs. One verdict changes for the better in four ways: the candidate's from both fail to
    fixed or from broken to both pass, the baseline's from both pass to fixed or from broken to both fail."""
    for n in range(1, 13):
        found = {(b, c): interval(of(n, b, c)) for b in range(n + 1) for c in range(n + 1 - b)}
        for (b, c), (lower, upper) in found.items():
            for better in ((b + 1, c), (b, c - 1)):
                if better in found:
                    assert found[better][0] >= lower - ROUNDING
                    assert found[better][1] >= upper - ROUNDING


@settings(deadline=None, max_examples=80)
@given(tables, levels)
def test_bounds_enclose_the_difference(pairs: Pairs, level: float) -> None:
    lower, upper = interval(pairs, level=level)
    assert -1 <= lower <= upper <= 1
    if pairs.n:
        for filled in (pairs.worst(), pairs.best()):
            assert lower - ROUNDING <= (filled.fixed - filled.broken) / pairs.n <= upper + ROUNDING
        assert (lower == -1) == (pairs.worst().broken == pairs.n)
        assert (upper == 1) == (pairs.best().fixed == pairs.n)


@settings(deadline=None, max_examples=80)
@given(tables, levels)
def test_exchanging_the_runs_mirrors_the_interval(pairs: Pairs, level: float) -> None:
    exchanged = Pairs(
        both_pass=pairs.both_pass,
        fixed=pairs.broken,
        broken=pairs.fixed,
        both_fail=pairs.both_fail,
        now_pass=pairs.was_pass,
        now_fail=pairs.was_fail,
        was_pass=pairs.now_pass,
        was_fail=pairs.now_fail,
        both_missing=pairs.both_missing,
    )
    lower, upper = interval(pairs, level=level)
    assert interval(exchanged, level=level) == (-upper, -lower)


@settings(deadline=None, max_examples=80)
@given(tables, st.sampled_from(sorted(FILLS)), levels)
def test_one_more_pair_with_a_verdict_missing_never_narrows_to_the_known(pairs: Pairs, kind: str, level: float) -> None:
    """Against each table in which the pair's verdict is known: knowing it can only tighten."""
    more = pairs._replace(**{kind: getattr(pairs, kind) + 1})
    lower, upper = interval(more, level=level)
    for known in FILLS[kind]:
        inner = interval(pairs._replace(**{known: getattr(pairs, known) + 1}), level=level)
        assert lower - ROUNDING <= inner[0] <= inner[1] <= upper + ROUNDING


@settings(deadline=None, max_examples=80)
@given(tables, levels)
def test_one_more_pair_of_which_nothing_is_known_never_narrows(pairs: Pairs, level: float) -> None:
    inner = interval(pairs, level=level)
    outer = interval(pairs._replace(both_missing=pairs.both_missing + 1), level=level)
    assert outer[0] - ROUNDING <= inner[0] <= inner[1] <= outer[1] + ROUNDING


@settings(deadline=None, max_examples=100)
@given(small)
def test_the_fills_taken_are_the_worst_and_the_best_of_all(pairs: Pairs) -> None:
    found = [interval(filled) for filled in fills(pairs)]
    wanted = min(lower for lower, _ in found), max(upper for _, upper in found)
    assert interval(pairs) == pytest.approx(wanted, rel=0, abs=ROUNDING)


@settings(deadline=None, max_examples=100)
@given(small)
def test_p_values_are_the_largest_of_all_fills(pairs: Pairs) -> None:
    found = [mcnemar(filled) for filled in fills(pairs)]
    wanted = McNemar(*(max(values) for values in zip(*found, strict=True)))
    assert mcnemar(pairs) == pytest.approx(wanted, rel=0, abs=ROUNDING)


@settings(deadline=None, max_examples=80)
@given(tables)
def test_p_values_are_probabilities_and_mid_p_is_the_smaller(pairs: Pairs) -> None:
    found = mcnemar(pairs)
    assert all(0 <= p <= 1 for p in found)
    assert found.mid_p <= found.exact
    assert found.worse_mid_p <= found.worse_exact


@settings(deadline=None, max_examples=100)
@given(small, st.integers(0, 4))
def test_new_failures_are_what_all_fills_agree_on(pairs: Pairs, most: int) -> None:
    state = at_most_new_failures(pairs, max_new_failures=most)
    answers = {filled.broken <= most for filled in fills(pairs)}
    if pairs.n == 0 or len(answers) == 2:
        assert state == "INSUFFICIENT_EVIDENCE"
    else:
        assert state == ("PASS" if answers == {True} else "FAIL")


@settings(deadline=None, max_examples=100)
@given(tables, levels, levels)
def test_more_confidence_is_never_narrower(pairs: Pairs, one: float, other: float) -> None:
    inner, outer = interval(pairs, level=min(one, other)), interval(pairs, level=max(one, other))
    assert outer[0] <= inner[0] <= inner[1] <= outer[1]


@settings(deadline=None, max_examples=20)
@given(st.lists(tables, min_size=1, max_size=8), levels)
def test_a_large_batch_agrees_with_one_at_a_time(batch: list[Pairs], level: float) -> None:
    many = batch * 1000
    for found, pairs in zip(intervals(many, level=level)[: len(batch)], batch, strict=True):
        assert found == pytest.approx(interval(pairs, level=level), rel=0, abs=ROUNDING)
        assert [type(bound) for bound in found] == [float, float]


values = st.lists(st.integers(0, 30).map(float), max_size=40).map(sorted)
floors = st.lists(st.integers(0, 30).map(float), max_size=5).map(sorted)
samples = st.tuples(values, floors).map(lambda drawn: Sample(*drawn))


@settings(deadline=None, max_examples=100)
@given(samples, samples, st.integers(1, 99).map(lambda percent: Fraction(percent, 100)))
def test_exchanging_the_runs_mirrors_the_difference_of_quantiles(one: Sample, other: Sample, q: Fraction) -> None:
    found, mirrored = quantile_difference(one, other, q=q), quantile_difference(other, one, q=q)
    assert (found.candidate, found.baseline) == (mirrored.baseline, mirrored.candidate)
    assert found.lower == (None if mirrored.upper is None else -mirrored.upper)
    if found.lower is not None and found.upper is not None:
        assert found.lower <= found.upper


@settings(deadline=None, max_examples=100)
@given(samples, samples)
def test_a_difference_of_quantiles_is_wider_than_either_interval(one: Sample, other: Sample) -> None:
    found = quantile_difference(one, other, q=Fraction(1, 2))
    assert found.candidate == quantile.interval(one.observed, one.floors, q=Fraction(1, 2), level=0.975)
    if found.lower is not None and found.upper is not None:
        for each in (found.candidate, found.baseline):
            width = (inf if each.upper is None else each.upper) - (-inf if each.lower is None else each.lower)
            assert width <= found.upper - found.lower
