"""Counting is a homomorphism: whatever way the cases are dealt out, the counts add up to those of all of them."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakes.measures import measure
from oloproof.metrics import MAX_VALUES, Measurement, measurement, observe, parse_slice
from oloproof.model.case import Case
from oloproof.model.judgment import PASS, Judgment, excluded, missing
from oloproof.model.measured import Measured, Quantile, Rate
from oloproof.model.project import QuantileSpec
from oloproof.model.reading import Reading
from oloproof.model.slice_values import OTHERS
from oloproof.model.tally import AtLeast, Distribution, Tally
from oloproof.model.trajectory import Step, Trajectory

CRITERIA = ("a", "b")
SLICES = tuple(
    map(
        parse_slice,
        ("metadata.key", "first_tool", "repeated_action", "trajectory_length:1,3", "handoffs:1", "route"),
    )
)
QUANTILES = (
    QuantileSpec(id="steps", source="agent_steps", quantile="0.9"),
    QuantileSpec(id="cost", source="cost_usd", quantile="0.5"),
)

words = st.sampled_from([PASS, Judgment("fail"), missing("not_run"), excluded("no_reference")])


@st.composite
def readings(draw: st.DrawFn) -> Reading | None:
    if draw(st.integers(0, 5)) == 0:
        return None
    named = draw(st.booleans())
    steps = tuple(
        Step(
            index=index,
            kind=draw(st.sampled_from(["message", "tool_call"])),
            tool_name=draw(st.sampled_from(["search", "refund"])),
            arguments=draw(st.sampled_from([None, {}, {"q": 1}])),
            agent=draw(st.sampled_from(["x", "y"])) if named else None,
            cost_usd=draw(st.sampled_from([None, 0.1, 0.2])),
        )
        for index in range(1, draw(st.integers(0, 4)) + 1)
    )
    return Reading(Trajectory(steps=steps, truncated=draw(st.booleans())))


keys = st.sampled_from(["chat", "mail", None, True, 1, 1.0, "(none)"]) | st.integers(0, 80)
cases = st.builds(lambda key: Case(id="c", metadata={"key": key}), keys) | st.just(Case(id="c"))
judged = st.lists(st.tuples(cases, readings(), st.tuples(words, words)), max_size=30)


def counted(lot) -> Measurement:
    counting = Measurement(CRITERIA, QUANTILES, SLICES)
    for case, reading, judgments in lot:
        counting.add(case, reading, judgments)
    return counting


@given(judged, judged)
@settings(deadline=None, max_examples=60)
def test_the_sum_of_two_measurements_is_that_of_all_their_cases(first, second) -> None:
    assert (counted(first) + counted(second)).measured() == counted([*first, *second]).measured()


@given(judged, st.integers(0, 3))
@settings(deadline=None, max_examples=60)
def test_how_many_kinds_of_cases_wait_to_be_counted_changes_nothing(lot, waiting: int) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(measurement, "_MOST_WAITING", waiting)
        early = counted(lot).measured()
    assert msgspec.json.encode(early) == msgspec.json.encode(counted(lot).measured())


@given(judged)
@settings(deadline=None, max_examples=60)
def test_every_case_is_in_exactly_one_row_of_each_slice(lot) -> None:
    measured = counted(lot).measured()
    for spec in SLICES:
        groups = [group for group in measured.slices if group.slice == spec.name]
        assert sum(group.support for group in groups) == len(lot) == measured.cases
        assert len({group.value for group in groups}) == len(groups)
        assert all(group.support > 0 for group in groups)
        if OTHERS not in {group.value for group in groups}:
            assert total(groups) == measured.metrics or not lot


@given(st.lists(st.integers(0, 200), min_size=MAX_VALUES, max_size=150))
@settings(deadline=None, max_examples=30)
def test_no_slice_has_more_rows_than_can_be_read(values: list[int]) -> None:
    lot = [(Case(id="c", metadata={"key": value}), None, [PASS]) for value in values]
    groups = measure(lot, criteria=["a"], slices=[parse_slice("metadata.key")]).slices
    shown = [group.support for group in groups if group.value != OTHERS]
    assert len(shown) == min(len(set(values)), MAX_VALUES)
    assert shown == sorted(shown, reverse=True)
    assert sum(group.support for group in groups) == len(values)


@given(judged)
@settings(deadline=None, max_examples=60)
def test_every_case_is_in_every_denominator_or_excluded(lot) -> None:
    measured: Measured = counted(lot).measured()
    for metric in measured.metrics:
        match metric:
            case Rate(_, tally):
                assert tally.n + tally.excluded == len(lot)
            case Quantile(distribution=distribution):
                assert distribution.n == len(lot)


@given(readings(), readings(), st.sampled_from(["agent_steps", "agent_tool_calls", "cost_usd"]))
@settings(deadline=None, max_examples=100)
def test_a_floor_is_a_floor_of_whatever_follows(first, second, source) -> None:
    if first is None or second is None:
        return
    more = Trajectory(steps=first.steps + second.steps)
    prefix = observe(source, Reading(Trajectory(steps=first.steps, truncated=True)))
    whole = observe(source, Reading(more))
    assert isinstance(prefix, AtLeast)
    assert prefix.floor <= (whole.floor if isinstance(whole, AtLeast) else whole) + 1e-12


def total(groups) -> tuple:
    """The metrics of all groups together."""
    sums: list = [None] * len(groups[0].metrics) if groups else []
    for group in groups:
        for index, metric in enumerate(group.metrics):
            sums[index] = metric if sums[index] is None else plus(sums[index], metric)
    return tuple(sums)


def plus(a, b):
    if isinstance(a, Rate):
        summed: Tally = a.tally + b.tally
        return Rate(a.id, summed)
    distribution: Distribution = a.distribution + b.distribution
    return Quantile(a.id, a.source, a.quantile, a.unit, distribution)
