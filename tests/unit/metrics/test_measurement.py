from __future__ import annotations

import pytest

from fakes.measures import measure
from oloproof.metrics import MAX_VALUES, Measurement, parse_slice
from oloproof.model.case import Case
from oloproof.model.judgment import PASS, Judgment, excluded, missing
from oloproof.model.measured import Quantile, Rate
from oloproof.model.project import QuantileSpec
from oloproof.model.reading import Reading
from oloproof.model.slice_values import OTHERS, UNPLACED
from oloproof.model.tally import Distribution, Tally
from oloproof.model.trajectory import Step, Trajectory

FAIL = Judgment("fail")
MISSING = missing("truncated_trajectory")
EXCLUDED = excluded("no_reference")
STEPS_P95 = QuantileSpec(id="steps_p95", source="agent_steps", quantile="0.95")
STEPS_P50 = QuantileSpec(id="steps_p50", source="agent_steps", quantile="0.5")
CALLS_P50 = QuantileSpec(id="calls_p50", source="agent_tool_calls", quantile="0.5")


def case(**metadata: object) -> Case:
    return Case(id="c", metadata=metadata)


def messages(count: int, *, truncated: bool = False) -> Reading:
    steps = tuple(Step(index=index, kind="message") for index in range(1, count + 1))
    return Reading(Trajectory(steps=steps, truncated=truncated))


def rows(measured) -> list[tuple[str, str, int]]:
    return [(group.slice, group.value, group.support) for group in measured.slices]


def test_rates_then_quantiles_as_configured() -> None:
    measured = measure(
        [
            (case(), messages(2), [PASS, FAIL]),
            (case(), messages(2), [PASS, MISSING]),
            (case(), messages(9, truncated=True), [MISSING, EXCLUDED]),
            (case(), None, [PASS, EXCLUDED]),
        ],
        criteria=["right", "careful"],
        quantiles=[STEPS_P95, CALLS_P50, STEPS_P50],
        min_slice_support=3,
    )
    steps = Distribution(observed=((2, 2),), floors=((0, 1), (9, 1)))
    assert measured.cases == 4
    assert measured.min_slice_support == 3
    assert measured.slices == ()
    assert measured.metrics == (
        Rate("right", Tally(3, 0, 1, 0)),
        Rate("careful", Tally(0, 1, 1, 2)),
        Quantile("steps_p95", "agent_steps", "0.95", "steps", steps),
        Quantile("calls_p50", "agent_tool_calls", "0.5", "calls", Distribution(((0, 2),), ((0, 2),))),
        Quantile("steps_p50", "agent_steps", "0.5", "steps", steps),
    )


def test_nothing_counted() -> None:
    measured = measure([], criteria=["right"], quantiles=[STEPS_P95], slices=[parse_slice("route")])
    assert measured.cases == 0
    assert measured.metrics == (
        Rate("right", Tally()),
        Quantile("steps_p95", "agent_steps", "0.95", "steps", Distribution()),
    )
    assert measured.slices == ()


def test_each_group_has_every_metric() -> None:
    measured = measure(
        [(case(surface="chat"), messages(1), [PASS]), (case(surface="mail"), messages(3), [FAIL])],
        criteria=["right"],
        quantiles=[STEPS_P50],
        slices=[parse_slice("metadata.surface")],
    )
    chat, mail = measured.slices
    assert chat.metrics[0] == Rate("right", Tally(passed=1))
    assert mail.metrics[0] == Rate("right", Tally(failed=1))
    assert [group.metrics[1].distribution.observed for group in (chat, mail)] == [((1, 1),), ((3, 1),)]


def test_values_are_ordered_by_support_then_text_and_unplaced_comes_last() -> None:
    surfaces = ["mail", "chat", "web", "web"]
    judged = [(case(surface=surface), None, [PASS]) for surface in surfaces]
    judged += [(case(), None, [PASS])] * 3
    slices = [parse_slice("route"), parse_slice("metadata.surface")]
    assert rows(measure(judged, criteria=["right"], slices=slices)) == [
        ("route", UNPLACED, 7),
        ("metadata.surface", "(none)", 3),
        ("metadata.surface", "web", 2),
        ("metadata.surface", "chat", 1),
        ("metadata.surface", "mail", 1),
    ]


def test_bounded_values_are_ordered_by_bound() -> None:
    judged = [(case(), messages(count), [PASS]) for count in (9, 5, 5, 12, 0)]
    judged.append((case(), messages(2, truncated=True), [PASS]))
    assert rows(measure(judged, criteria=["right"], slices=[parse_slice("trajectory_length:4,8")])) == [
        ("trajectory_length", "0", 1),
        ("trajectory_length", "5-8", 2),
        ("trajectory_length", "9+", 2),
        ("trajectory_length", UNPLACED, 1),
    ]


def test_values_beyond_the_limit_are_counted_together() -> None:
    values = [f"v{index:03}" for index in range(MAX_VALUES + 3)]
    judged = [(case(key=value), None, [PASS]) for value in values] * 2 + [(case(key="v052"), None, [FAIL])]
    groups = measure(judged, criteria=["right"], slices=[parse_slice("metadata.key")]).slices
    assert [group.value for group in groups] == ["v052", *values[: MAX_VALUES - 1], OTHERS]
    assert (groups[-1].support, groups[-1].metrics) == (6, ())


def test_a_value_that_reads_like_a_row_of_the_report_is_no_such_row() -> None:
    judged = [(case(key=UNPLACED), None, [PASS]), (case(key=OTHERS), None, [PASS])]
    assert rows(measure(judged, criteria=["right"], slices=[parse_slice("metadata.key")])) == [
        ("metadata.key", '"(others)"', 1),
        ("metadata.key", '"(unplaced)"', 1),
    ]


def test_a_case_without_one_judgment_a_criterion_is_refused() -> None:
    measurement = Measurement(["right", "careful"], (), ())
    measurement.add(case(), None, [PASS])
    with pytest.raises(ValueError):
        measurement.measured()


def test_measuring_does_not_end_the_count() -> None:
    measurement = Measurement(["right"], (), [parse_slice("route")])
    measurement.add(case(), None, [PASS])
    first = measurement.measured()
    assert measurement.measured() == first
    measurement.add(case(), None, [FAIL])
    assert measurement.measured().metrics == (Rate("right", Tally(1, 1)),)


def test_only_measurements_of_one_configuration_add() -> None:
    with pytest.raises(ValueError, match="do not add"):
        Measurement(["right"], (), ()) + Measurement(["wrong"], (), ())


def test_each_case_is_counted_once_however_many_kinds_of_cases_there_are() -> None:
    """Kinds wait to be counted together; who has thousands of them is counted in parts."""
    measurement = Measurement(["right"], [STEPS_P50], [parse_slice("metadata.surface"), parse_slice("metadata.id")])
    judgments = [PASS, FAIL, MISSING]
    steps = [messages(count) for count in range(10)]
    for at in range(3000):
        measurement.add(case(surface=f"s{at % 4}", id=str(at)), steps[at % 10], [judgments[at % 3]])
    assert measurement.measured() == measurement.measured()
    measured = measurement.measured()
    assert (measured.cases, measured.metrics[0]) == (3000, Rate("right", Tally(1000, 1000, 1000, 0)))
    assert [group.support for group in measured.slices] == [*[750] * 4, *[1] * MAX_VALUES, 3000 - MAX_VALUES]
    assert isinstance(measured.metrics[1], Quantile)
    assert measured.metrics[1].distribution.observed == tuple((count, 300) for count in range(10))
