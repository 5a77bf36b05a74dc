"""Comparing two runs: swapping them mirrors the tables, slices add up to the whole, and nothing hides a broken case."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from oloproof.metrics.compare import compare
from oloproof.model.comparison import Side, Sides
from oloproof.model.tally import PairTable
from oloproof.stats import paired

ids = st.sampled_from([f"c{number}" for number in range(8)])
letters = st.text("pfmx", min_size=2, max_size=2)
places = st.tuples(st.sampled_from("xyz"), st.sampled_from("uv"))


@st.composite
def runs(draw: st.DrawFn) -> Sides:
    names = draw(st.lists(ids, unique=True))
    cases = tuple(
        Side(name, draw(letters), draw(places), (), draw(st.sampled_from("12")), draw(st.sampled_from("12")))
        for name in names
    )
    return Sides(run="r", project="p", system="s", criteria=("a", "b"), slices=("s", "t"), cases=cases)


def together(tables: list[PairTable]) -> PairTable:
    return PairTable(*(sum(cells) for cells in zip(*((*table.cells, table.excluded) for table in tables), strict=True)))


@given(runs(), runs(), st.sampled_from(["candidate", "baseline", "both"]))
@settings(deadline=None, max_examples=150)
def test_the_values_of_a_slice_add_up_to_the_whole(now: Sides, was: Sides, membership: str) -> None:
    found = compare(now, was, membership=membership)
    assert found.pairs == len(was.cases)
    for name in ("s", "t"):
        groups = [group for group in found.slices if group.slice == name]
        assert sum(group.support for group in groups) == found.pairs
        for index, criterion in enumerate(found.criteria):
            if groups:
                assert together([group.tables[index] for group in groups]) == criterion.table


@given(runs())
@settings(deadline=None, max_examples=100)
def test_swapping_two_runs_over_the_same_cases_mirrors_the_table(now: Sides) -> None:
    was = Sides(
        run="o",
        project="p",
        system=now.system,
        criteria=now.criteria,
        cases=tuple(Side(c.case_id, c.codes[::-1], c.places, (), c.question, c.reference) for c in now.cases),
    )
    forth, back = compare(now, was), compare(was, now)
    for one, other in zip(forth.criteria, back.criteria, strict=True):
        a, b = one.table, other.table
        assert (a.fixed, a.now_pass, a.now_fail) == (b.broken, b.was_pass, b.was_fail)
        assert (one.fixed_cases, one.broken_cases) == (other.broken_cases, other.fixed_cases)
        low, high = paired.interval(paired.Pairs(*a.cells))
        mirrored = paired.interval(paired.Pairs(*b.cells))
        assert abs(low + mirrored[1]) + abs(high + mirrored[0]) < 1e-9


@given(runs(), runs(), st.data())
@settings(deadline=None, max_examples=150)
def test_deleting_a_case_never_raises_the_lower_bound(now: Sides, was: Sides, data) -> None:
    """Of a case that asks the same question; one that asks another has both verdicts missing, which is worse still."""
    old = {side.case_id: side for side in was.cases}
    same = [
        new
        for new in now.cases
        if (o := old.get(new.case_id)) and (o.question, o.reference) == (new.question, new.reference)
    ]
    if not same:
        return
    gone = data.draw(st.sampled_from(same))
    rest = tuple(side for side in now.cases if side is not gone)
    fewer = Sides(run="r", project="p", system=now.system, criteria=now.criteria, slices=now.slices, cases=rest)
    pairs = zip(
        gone.codes, old[gone.case_id].codes, compare(now, was).criteria, compare(fewer, was).criteria, strict=True
    )
    for new_letter, old_letter, whole, part in pairs:
        if (new_letter == "x") == (old_letter == "x"):
            lower = paired.interval(paired.Pairs(*whole.table.cells))[0]
            assert paired.interval(paired.Pairs(*part.table.cells))[0] <= lower + 1e-9


@given(runs(), runs(), st.sets(ids))
@settings(deadline=None, max_examples=100)
def test_accepting_cases_leaves_out_what_changed_and_nothing_else(now: Sides, was: Sides, some: set[str]) -> None:
    new = {side.case_id: side for side in now.cases}
    for at, criterion in enumerate(compare(now, was, accepted=some).criteria):
        expected = [PairTable()]
        for old in was.cases:
            side = new.get(old.case_id)
            changed = side is None or (side.question, side.reference) != (old.question, old.reference)
            one_side = side is not None and (side.codes[at] == "x") != (old.codes[at] == "x")
            if old.case_id in some and (changed or one_side):
                expected.append(PairTable(excluded=0 if changed else 1))
                continue
            alone = replace(was, cases=(old,))
            expected.append(compare(now, alone).criteria[at].table)
        assert together(expected) == criterion.table
