from __future__ import annotations

import sys
from typing import Any, get_args

import msgspec
import pytest

from oloproof.metrics.quantities import UNITS, observe
from oloproof.model.project import QuantitySource
from oloproof.model.reading import Reading
from oloproof.model.tally import AtLeast
from oloproof.model.trajectory import Step, Trajectory


def reading(*given: dict[str, Any], truncated: bool = False) -> Reading:
    steps = (Step(index=index, **{"kind": "message", **fields}) for index, fields in enumerate(given, start=1))
    return Reading(Trajectory(steps=tuple(steps), truncated=truncated))


CALL = {"kind": "tool_call", "tool_name": "search"}


def test_every_source_has_a_unit() -> None:
    assert tuple(UNITS) == get_args(QuantitySource)


@pytest.mark.parametrize("source", get_args(QuantitySource))
def test_nothing_is_known_without_a_trajectory(source: QuantitySource) -> None:
    assert observe(source, None) == AtLeast(0)


def test_counts() -> None:
    recorded = ({}, CALL, CALL)
    assert observe("agent_steps", reading(*recorded)) == 3
    assert observe("agent_decisions", reading(*recorded)) == 2
    assert observe("agent_tool_calls", reading(*recorded)) == 2
    assert observe("agent_steps", reading()) == 0
    assert observe("agent_tool_calls", reading()) == 0


def test_decisions_are_what_the_agent_did_and_not_what_it_was_told() -> None:
    kinds = ("message", "tool_call", "tool_result", "observation", "handoff", "decision", "final")
    fields = {"tool_call": {"tool_name": "t"}, "tool_result": {"tool_name": "t"}, "handoff": {"to_agent": "a"}}
    recorded = [{"kind": kind, **fields.get(kind, {})} for kind in kinds]
    assert observe("agent_decisions", reading(*recorded)) == 4
    assert observe("agent_decisions", reading(*recorded, truncated=True)) == AtLeast(4)


def test_a_truncated_count_is_a_floor() -> None:
    assert observe("agent_steps", reading({}, CALL, truncated=True)) == AtLeast(2)
    assert observe("agent_tool_calls", reading({}, CALL, truncated=True)) == AtLeast(1)


@pytest.mark.parametrize("source", ["latency_ms", "tokens", "cost_usd"])
def test_sums(source: QuantitySource) -> None:
    assert observe(source, reading({source: 2}, {source: 5})) == 7
    assert observe(source, reading({source: 0})) == 0
    assert observe(source, reading({source: 2}, {source: 5}, truncated=True)) == AtLeast(7)


def test_a_sum_that_no_step_carries_is_unknown() -> None:
    assert observe("tokens", reading({}, CALL)) == AtLeast(0)
    assert observe("tokens", reading()) == AtLeast(0)


def test_a_step_lacks_the_value_only_where_another_of_its_kind_carries_it() -> None:
    timed = {**CALL, "latency_ms": 4.0}
    assert observe("latency_ms", reading({}, timed, timed)) == 8
    assert observe("latency_ms", reading({}, timed, CALL)) == AtLeast(4)
    assert observe("latency_ms", reading({"latency_ms": 1.0}, timed, {})) == AtLeast(5)


def test_decimals_add_up_as_they_were_written() -> None:
    assert observe("cost_usd", reading(*[{"cost_usd": 0.1}] * 3)) == 0.3
    assert observe("latency_ms", reading({"latency_ms": 1}, {"latency_ms": 0.5})) == 1.5


@pytest.mark.parametrize(
    ("source", "value"), [("cost_usd", 1e308), ("latency_ms", sys.float_info.max), ("tokens", 10**400)]
)
def test_a_sum_that_no_double_holds_is_at_least_the_largest_one(source: QuantitySource, value: float) -> None:
    observed = observe(source, reading({source: value}, {source: value}))
    assert observed == AtLeast(sys.float_info.max)
    assert msgspec.json.decode(msgspec.json.encode(observed), type=AtLeast) == observed


def test_a_large_count_is_the_double_that_is_stored() -> None:
    assert observe("tokens", reading({"tokens": 2**53})) == 2**53
    assert observe("tokens", reading({"tokens": 2**53 + 1})) == 2**53
    assert observe("tokens", reading({"tokens": 2**53 + 3})) == 2**53 + 4
