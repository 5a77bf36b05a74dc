"""Pair tables by columns are those that counting pair by pair gives."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oloproof.metrics.grid import Codes, Grid
from oloproof.model.tally import PairTable

FIELDS = {
    ("p", "p"): "both_pass",
    ("p", "f"): "fixed",
    ("f", "p"): "broken",
    ("f", "f"): "both_fail",
    ("p", "m"): "now_pass",
    ("f", "m"): "now_fail",
    ("m", "p"): "was_pass",
    ("m", "f"): "was_fail",
    ("x", "x"): "excluded",
}
letters = st.text("pfmx", min_size=2, max_size=2)
lots = st.lists(st.tuples(letters, letters), max_size=40)


def field(now: str, was: str) -> str:
    return FIELDS.get((now, was), "both_missing")


def counted(codes: list[Codes], criterion: int) -> PairTable:
    return PairTable(**Counter(field(now[criterion], was[criterion]) for now, was in codes))


@given(codes=lots)
@settings(max_examples=60, deadline=None)
def test_the_tables_count_every_pair_once(codes: list[Codes]) -> None:
    assert Grid(codes, criteria=2).tables() == (counted(codes, 0), counted(codes, 1))


@given(codes=lots, values=st.lists(st.sampled_from(["a", "b", "(unplaced)"]), min_size=40, max_size=40))
@settings(max_examples=60, deadline=None)
def test_a_group_counts_its_own_pairs_however_many_groups_there_are(codes: list[Codes], values: list[str]) -> None:
    values = values[: len(codes)]
    grid = Grid(codes, criteria=2)
    groups = list(grid.grouped(values))
    assert {group.value for group in groups} == set(values)
    for value, support, tables in groups:
        inside = [pair for pair, place in zip(codes, values, strict=True) if place == value]
        assert support == len(inside)
        assert tables == (counted(inside, 0), counted(inside, 1))
    assert list(grid._scattered(values)) == groups


def test_a_value_a_pair() -> None:
    codes = [("p", "f")] * 300 + [("m", "p")] * 700
    groups = list(Grid(codes, criteria=1).grouped([str(number) for number in range(1000)]))
    assert [group.support for group in groups] == [1] * 1000
    assert groups[299].tables == (PairTable(fixed=1),)
    assert groups[300].tables == (PairTable(was_pass=1),)


@given(codes=lots)
@settings(max_examples=60, deadline=None)
@pytest.mark.parametrize("wanted", ["fixed", "was_fail"])
def test_the_pairs_of_a_count_are_told_in_their_order(wanted: str, codes: list[Codes]) -> None:
    ids = [f"c{number}" for number in range(len(codes))]
    for criterion in (0, 1):
        expected = [
            name for name, pair in zip(ids, codes, strict=True) if field(*(c[criterion] for c in pair)) == wanted
        ]
        assert Grid(codes, criteria=2).chosen(ids, criterion, wanted) == tuple(expected)


def test_no_pair_and_no_criterion() -> None:
    assert Grid([], criteria=2).tables() == (PairTable(), PairTable())
    assert list(Grid([], criteria=2).grouped([])) == []
    assert Grid([("", "")] * 3, criteria=0).tables() == ()
    assert [group[1:] for group in Grid([("", "")] * 3, criteria=0).grouped("aab")] == [(2, ()), (1, ())]
