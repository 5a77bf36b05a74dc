"""AgentStep and its companions: values are kept as they were, contradictions are refused by name."""

from __future__ import annotations

import math
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

import msgspec
import pytest
from msgspec import UNSET

from oloproof import AgentCheckpoint, AgentConstraintCheck, AgentStep, AgentTrajectory, RecordError
from oloproof.model.trajectory import Step, Trajectory


def call(index: int = 1, **fields: object) -> AgentStep:
    return AgentStep(**{"index": index, "kind": "tool_call", "tool_name": "search", **fields})


def test_values_are_copied_when_the_step_is_made():
    arguments = {"ids": [1, 2]}
    step = call(arguments=arguments, result=arguments, metadata=arguments)
    arguments["ids"].append(3)
    assert step.arguments == step.result == step.metadata == {"ids": [1, 2]}


def test_not_given_is_not_recorded():
    step = call()
    assert step.arguments is None
    assert step.result is UNSET
    assert step.error is UNSET
    assert msgspec.json.decode(msgspec.json.encode(step)) == {"index": 1, "kind": "tool_call", "tool_name": "search"}


def test_null_given_is_recorded():
    step = AgentStep(index=1, kind="tool_result", tool_name="search", result=None, error=None)
    decoded = msgspec.json.decode(msgspec.json.encode(step), type=Step)
    assert decoded.result is None
    assert decoded.error is None


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, b"\x00", datetime(2026, 1, 1), {1, 2}, "\ud800", {1: 2}, object()]
)
def test_what_json_cannot_carry_is_tagged_and_loses_nothing_else(value):
    step = call(arguments={"good": 1, "bad": value}, result=value)
    assert step.arguments["good"] == 1
    assert "$unrepresentable" in step.arguments["bad"]
    assert "$unrepresentable" in step.result
    msgspec.json.encode(step)


def test_lone_surrogates_in_names_become_escapes():
    step = call(tool_name="a\ud800b", agent="x\udfff", error="\ud801")
    assert (step.tool_name, step.agent, step.error) == ("a\\ud800b", "x\\udfff", "\\ud801")


def test_an_exception_is_an_error_text():
    assert call(error=KeyError("order")).error == "KeyError: 'order'"
    assert call(error=TimeoutError()).error == "TimeoutError"


def test_an_exception_whose_text_fails_is_an_error_text():
    class Hostile(Exception):
        def __str__(self) -> str:
            raise ValueError

    assert call(error=Hostile()).error == "Hostile: (its text cannot be read)"


def test_names_may_be_members_of_a_text_enum():
    class Tool(StrEnum):
        SEARCH = "search"

    assert type(call(tool_name=Tool.SEARCH).tool_name) is str


def test_numbers_of_other_kinds_become_plain():
    class Whole:
        def __index__(self) -> int:
            return 7

    step = call(tokens=Whole(), cost_usd=Decimal("0.25"), latency_ms=3)
    assert (step.tokens, step.cost_usd, step.latency_ms) == (7, 0.25, 3)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"index": 0}, "step 0: indexes count from 1"),
        ({"index": "1"}, "step '1': index is '1', not a whole number"),
        ({"index": True}, "step True: index is True, not a whole number"),
        ({"kind": "tool"}, "step 1: its kind is 'tool', none of decision, final, handoff"),
        ({"tool_name": None}, "step 1: a tool_call needs tool_name"),
        ({"tool_name": ""}, "step 1: a tool_call needs tool_name"),
        ({"tool_name": 5}, "step 1: tool_name is an int, not text"),
        ({"kind": "handoff"}, "step 1: a handoff needs to_agent"),
        ({"kind": "handoff", "agent": "a", "to_agent": "a"}, "step 1: 'a' hands off to itself"),
        ({"to_agent": "b"}, "step 1: to_agent belongs to a handoff, not to a tool_call"),
        ({"agent": ""}, "step 1: its agent has an empty name"),
        ({"inside": 1}, "step 1: inside is 1, which is no earlier step"),
        ({"index": 3, "inside": 0}, "step 3: inside is 0, which is no earlier step"),
        ({"turn": 1.5}, "step 1: turn is 1.5, not a whole number"),
        ({"latency_ms": -1}, "step 1: latency_ms is -1, not a finite number from 0 up"),
        ({"latency_ms": "fast"}, "step 1: latency_ms is 'fast', not a number"),
        ({"cost_usd": math.nan}, "step 1: cost_usd is nan, not a finite number from 0 up"),
        ({"cost_usd": math.inf}, "step 1: cost_usd is inf, not a finite number from 0 up"),
        ({"cost_usd": 10**400}, "step 1: cost_usd is larger than any double"),
        ({"tokens": -1}, "step 1: tokens is -1, not a finite number from 0 up"),
        ({"tokens": True}, "step 1: tokens is True, not a whole number"),
        ({"metadata": [1]}, "step 1: metadata is a list, not an object"),
        ({"error": False}, "step 1: error is a bool, not text"),
    ],
)
def test_a_step_that_contradicts_itself_is_refused(fields, message):
    with pytest.raises(RecordError) as refused:
        call(**fields)
    assert str(refused.value).startswith(message)
    assert str(refused.value).endswith("[OLO701]")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"steps": (call(1), call(3))}, "step 2: its index is 3, but indexes are 1, 2, 3 … without gaps"),
        ({"steps": (call(2),)}, "step 1: its index is 2"),
        ({"steps": (call(1, agent="a"), call(2))}, "step 2: it names no agent, but the steps before it do"),
        ({"steps": (call(1), call(2, agent="a"))}, "step 2: it names the agent 'a', but the steps before it name none"),
        (
            {"steps": (AgentStep(index=1, kind="message"), call(2, inside=1))},
            "step 2: inside is 1, which is a message and no tool_call",
        ),
        ({"steps": (call(1), call(2)), "step_limit": 1}, "step 2: it is past the step_limit of 1"),
        ({"step_limit": -1}, "step_limit is -1, not a whole number from 0 up"),
        ({"step_limit": True}, "step_limit is True"),
        ({"steps": "abc"}, "steps is a str, not a sequence of AgentStep"),
        ({"steps": (call(1), {"index": 2})}, "steps: number 2 is a dict, no AgentStep"),
        ({"steps": 3}, "steps is an int, not a sequence of AgentStep"),
        ({"terminal_status": "ok"}, "terminal_status is 'ok', none of failure, success, unknown"),
        ({"truncated": 1}, "truncated is an int, not True or False"),
        ({"errors_recorded": None}, "errors_recorded is a NoneType, not True or False"),
        (
            {"constraints": (AgentConstraintCheck(name="safe", passed=True, step_index=1),)},
            "step 1: the constraint 'safe' is there, but there is no such step",
        ),
        (
            {"checkpoints": (AgentCheckpoint(checkpoint_id="c", kind="checkpoint", step_index=2),)},
            "step 2: the checkpoint 'c' is there, but there is no such step",
        ),
        (
            {"checkpoints": [AgentCheckpoint(checkpoint_id="c", kind="checkpoint")] * 2},
            "the checkpoint 'c' is there twice",
        ),
    ],
)
def test_a_trajectory_that_contradicts_itself_is_refused(fields, message):
    with pytest.raises(RecordError) as refused:
        AgentTrajectory(**fields)
    assert str(refused.value).startswith(message)


def test_a_truncated_trajectory_may_have_reached_its_limit():
    steps = tuple(call(i) for i in range(1, 4))
    assert AgentTrajectory(steps=steps, step_limit=2, truncated=True).truncated
    assert AgentTrajectory(steps=steps, step_limit=3).step_limit == 3


def test_sequences_of_any_kind_and_plain_steps_are_taken():
    trajectory = AgentTrajectory(steps=[Step(index=1, kind="final", arguments={"n": (1,)})], constraints=iter(()))
    assert type(trajectory.steps[0]) is AgentStep
    assert trajectory.steps[0].arguments == {"n": [1]}


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: AgentConstraintCheck(name=1, passed=True), "a constraint's name is an int, not text"),
        (lambda: AgentConstraintCheck(name="a", passed="yes"), "constraint 'a': passed is a str, not True or False"),
        (lambda: AgentConstraintCheck(name="a", passed=1), "constraint 'a': passed is an int, not True or False"),
        (lambda: AgentConstraintCheck(name="a", passed=True, detail=1), "constraint 'a': detail is an int"),
        (lambda: AgentConstraintCheck(name="a", passed=True, step_index="1"), "constraint 'a': step_index is '1'"),
        (lambda: AgentCheckpoint(checkpoint_id=1, kind="checkpoint"), "a checkpoint's checkpoint_id is an int"),
        (lambda: AgentCheckpoint(checkpoint_id="c", kind="x"), "checkpoint 'c': its kind is 'x', none of checkpoint"),
    ],
)
def test_checks_and_checkpoints_of_wrong_types_are_refused(build, message):
    with pytest.raises(RecordError) as refused:
        build()
    assert str(refused.value).startswith(message)


def test_a_record_survives_json():
    trajectory = AgentTrajectory(
        steps=(
            AgentStep(index=1, kind="handoff", agent="a", to_agent="b"),
            call(2, agent="b", arguments={"q": 1}, turn=1, inside=None, cost_usd=0.5),
            call(3, agent="c", inside=2),
        ),
        terminal_status="failure",
        truncated=True,
        step_limit=3,
        errors_recorded=False,
        constraints=(AgentConstraintCheck(name="safe", passed=False, detail="no", step_index=2),),
        checkpoints=(AgentCheckpoint(checkpoint_id="c", kind="tool_result", payload={"x": None}),),
    )
    data = msgspec.json.encode(trajectory)
    assert msgspec.json.encode(msgspec.json.decode(data, type=Trajectory)) == data
