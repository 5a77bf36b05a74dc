"""Laws of a slice's test against the rest."""

from __future__ import annotations

from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oloproof.stats.contingency import Group, worse_than_rest

counts = st.integers(0, 30)
few = st.integers(0, 4)
complete = st.tuples(counts, counts).map(lambda drawn: Group(*drawn))
groups = st.tuples(few, few, few).map(lambda drawn: Group(*drawn))
large = st.tuples(counts, counts, few).map(lambda drawn: Group(*drawn))


@settings(deadline=None, max_examples=80)
@given(complete, complete)
def test_whole_numbers(part: Group, rest: Group) -> None:
    size, passes, total = sum(part), part.passed + rest.passed, sum(part) + sum(rest)
    ways = [comb(passes, x) * comb(total - passes, size - x) for x in range(size + 1)]
    exact = sum(ways[: part.passed + 1]) / comb(total, size)
    at, least = ways[part.passed] / comb(total, size), next(filter(None, ways)) / comb(total, size)
    wanted = exact, exact - at / 2, least / 2
    assert worse_than_rest(part, rest) == pytest.approx(wanted, rel=1e-9, abs=1e-12)


@settings(deadline=None, max_examples=80)
@given(groups, groups)
def test_p_is_the_largest_of_all_fills(part: Group, rest: Group) -> None:
    found = [
        worse_than_rest(
            Group(part.passed + here, part.failed + part.missing - here),
            Group(rest.passed + there, rest.failed + rest.missing - there),
        )
        for here in range(part.missing + 1)
        for there in range(rest.missing + 1)
    ]
    taken = worse_than_rest(part, rest)
    assert taken.exact == pytest.approx(max(each.exact for each in found), rel=1e-9)
    assert taken.mid_p == pytest.approx(max(each.mid_p for each in found), rel=1e-9)


@settings(deadline=None, max_examples=80)
@given(large, large)
def test_p_values_are_probabilities(part: Group, rest: Group) -> None:
    found = worse_than_rest(part, rest)
    assert 0 <= found.smallest_mid_p <= found.mid_p * (1 + 1e-9) + 1e-15
    assert found.mid_p <= found.exact <= 1
