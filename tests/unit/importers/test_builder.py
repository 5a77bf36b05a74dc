from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET

from oloproof.importers.builder import LOSSES, UNNAMED_TOOL, Builder
from oloproof.model.trajectory import Step, contradiction

SAID = {"role": "assistant", "content": "hello"}
HEARD = {"role": "user", "content": "hi"}


def test_steps_in_their_order() -> None:
    builder = Builder()
    builder.hear(HEARD)
    builder.turn()
    call = builder.call("look", {"a": 1}, call_id="1", latency_ms=5)
    assert builder.ends_on_open_call
    assert builder.result("found", error=None, call_id="1") == "look"
    builder.turn()
    builder.say(SAID, final=True)
    assert (call.answered, builder.answer, builder.unanswered) == (True, "hello", [])
    assert builder.trajectory().steps == (
        Step(index=1, kind="message", arguments=HEARD),
        Step(index=2, kind="tool_call", tool_name="look", call_id="1", arguments={"a": 1}, latency_ms=5),
        Step(index=3, kind="tool_result", tool_name="look", call_id="1", result="found", error=None),
        Step(index=4, kind="final", arguments=SAID),
    )
    assert builder.losses == {}


@pytest.mark.parametrize(
    ("call_id", "is_cut"), [("1", False), ("2", True), ("", True)], ids=["answered twice", "no such call", "no id"]
)
def test_a_result_of_a_call_that_is_not_there_says_that_calls_are_not_all_recorded(call_id: str, is_cut: bool) -> None:
    builder = Builder()
    builder.turn()
    builder.call("look", {}, call_id="1")
    builder.result("found", call_id="1")
    assert not builder.trajectory().truncated
    builder.result("again", call_id=call_id)
    assert builder.losses == {"results_without_call": 1}
    assert builder.trajectory().truncated == is_cut


def test_what_others_say_belongs_to_the_agent_that_takes_the_next_step() -> None:
    builder = Builder()
    builder.hear(HEARD)
    builder.turn()
    builder.call("look", {}, agent="triage")
    builder.result("found")
    builder.hear(HEARD)
    builder.hand_off("billing", agent="triage")
    builder.result("to nobody", name="look")
    builder.say(SAID, agent="billing")
    builder.hear(HEARD)
    agents = [step.agent for step in builder.trajectory().steps]
    assert agents == ["triage", "triage", "triage", "triage", "triage", "billing", "billing", "billing"]


def test_steps_inside_an_agent_used_as_a_tool() -> None:
    builder = Builder()
    builder.turn()
    outer = builder.call("researcher", {}, agent="boss")
    builder.hear(HEARD, inside=outer)
    builder.say(SAID, agent="researcher", inside=outer)
    builder.hear(HEARD)
    builder.result("done", call=outer)
    steps = builder.trajectory().steps
    assert [(step.agent, step.inside) for step in steps] == [
        ("boss", None),
        ("researcher", 1),
        ("researcher", 1),
        ("boss", None),
        ("boss", None),
    ]


def test_agents_that_are_named_on_some_steps_only_are_left_out() -> None:
    builder = Builder()
    builder.say(SAID, agent="a")
    builder.say(SAID)
    assert [step.agent for step in builder.trajectory().steps] == [None, None]
    assert builder.losses == {"unnamed_agents": 1}


@pytest.mark.parametrize(
    ("facts", "kind"),
    [
        ({"tokens": -1}, "impossible_amounts"),
        ({"tokens": 1.5}, "impossible_amounts"),
        ({"latency_ms": float("nan")}, "impossible_amounts"),
        ({"cost_usd": float("inf")}, "impossible_amounts"),
        ({"cost_usd": True}, "impossible_amounts"),
        ({"latency_ms": 10**400}, "impossible_amounts"),
    ],
)
def test_amounts_that_are_none_are_left_out(facts: Any, kind: str) -> None:
    builder = Builder()
    builder.say(SAID, **facts)
    assert builder.trajectory().steps == (Step(index=1, kind="message", arguments=SAID),)
    assert builder.losses == {kind: 1}


def test_a_call_without_a_name_stays_a_call() -> None:
    builder = Builder()
    builder.call("", {})
    assert [step.tool_name for step in builder.trajectory().steps] == [UNNAMED_TOOL]
    assert builder.losses == {"calls_without_name": 1}


@pytest.mark.parametrize("receiver", ["", "a"])
def test_a_hand_off_to_nobody_or_oneself_is_left_out(receiver: str) -> None:
    builder = Builder()
    builder.hand_off(receiver, agent="a")
    assert builder.trajectory().steps == ()
    assert builder.losses == {"handoffs_without_receiver": 1}


def test_a_limit_that_was_passed_is_kept_only_where_the_run_was_cut_off() -> None:
    builder = Builder()
    builder.say(SAID)
    builder.say(SAID)
    assert builder.trajectory(step_limit=1, truncated=True).step_limit == 1
    assert builder.trajectory(step_limit=2).step_limit == 2
    assert builder.losses == {}
    assert builder.trajectory(step_limit=1).step_limit is None
    assert builder.losses == {"contradicting_step_limits": 1}


def test_parallel_calls_share_the_turn() -> None:
    builder = Builder()
    builder.turn()
    builder.call("a", {}, parallel=True)
    builder.call("b", {}, parallel=True)
    builder.turn()
    builder.call("c", {})
    assert [step.turn for step in builder.trajectory().steps] == [1, 1, None]


names = st.sampled_from(["", "a", "b", None])
amounts = st.none() | st.integers(-2, 3) | st.floats()


@st.composite
def builders(draw: st.DrawFn) -> Builder:
    """Any use of a builder."""
    builder, calls = Builder(), []
    for _ in range(draw(st.integers(0, 8))):
        facts: Any = {"agent": draw(names), "latency_ms": draw(amounts), "tokens": draw(amounts)}
        facts["inside"] = draw(st.sampled_from([None, *calls]))
        match draw(st.integers(0, 5)):
            case 0:
                builder.turn()
            case 1:
                builder.say(SAID, **facts)
            case 2:
                builder.hear(HEARD, **facts)
            case 3:
                name, call_id = draw(names) or "", draw(st.sampled_from(["", "1", "2"]))
                calls.append(builder.call(name, {}, call_id=call_id, parallel=draw(st.booleans()), **facts))
            case 4:
                call = draw(st.sampled_from([None, *calls]))
                builder.result(UNSET, call=call, call_id=draw(st.sampled_from(["", "1"])), name=draw(names), **facts)
            case _:
                builder.hand_off(draw(names) or "", **facts)
    return builder


@settings(max_examples=200, deadline=None)
@given(builders(), st.booleans(), st.none() | st.integers(-1, 3))
def test_no_use_of_a_builder_makes_a_contradiction(builder: Builder, truncated: bool, limit: int | None) -> None:
    assert contradiction(builder.trajectory(truncated=truncated, step_limit=limit)) is None
    assert builder.losses.keys() <= LOSSES.keys()
