from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

from fakes.imports import Found, as_lines, claims, imported, refusal
from oloproof.importers.format import Confidence
from oloproof.importers.reading import Summary


def use(call_id: str, name: str = "find", **arguments: Any) -> dict[str, Any]:
    return {"id": call_id, "name": name, "arguments": arguments, "requestor": "assistant"}


def back(call_id: str, content: str = "ok", **more: Any) -> dict[str, Any]:
    return {"role": "tool", "id": call_id, "content": content, "requestor": "assistant", "error": False, **more}


ASKED = {"role": "user", "content": "My phone is dead."}
CALLING = {
    "role": "assistant",
    "content": None,
    "tool_calls": [use("1", who="me"), use("2")],
    "usage": {"prompt_tokens": 10, "completion_tokens": 5},
}
DONE = {"role": "assistant", "content": "Restart it.", "cost": 0.25}
TASK = {
    "id": "7",
    "user_scenario": {"instructions": "be brief"},
    "evaluation_criteria": {
        "actions": [
            {"name": "find", "arguments": {"who": "me"}},
            {"name": "restart", "requestor": "user"},
            {"name": "close", "arguments": {}},
        ]
    },
}


def simulation(*messages: Any, **more: Any) -> dict[str, Any]:
    return {
        "id": "x",
        "task_id": "7",
        "trial": 1,
        "termination_reason": "user_stop",
        "reward_info": {"reward": 1.0, "reward_breakdown": {"DB": 1.0}},
        "messages": list(messages),
        **more,
    }


def read(*messages: Any, **more: Any) -> Found:
    return imported("tau2", {"info": {}, "tasks": [TASK], "simulations": [simulation(*messages, **more)]})


def test_a_simulation_is_a_trial_of_a_task() -> None:
    found = read(ASKED, CALLING, back("2"), back("1", "no such person", error=True), DONE)
    recording = found.only
    assert (recording.case, recording.trial, recording.input) == ("task_7", 2, {"instructions": "be brief"})
    assert recording.expected == {"tools": [{"tool": "find", "arguments": {"who": "me"}}, "close"]}
    assert recording.output == {"answer": "Restart it."}
    assert recording.metadata is not None
    assert recording.metadata["reward"] == 1.0
    assert [(step.kind, step.call_id, step.turn, step.tokens) for step in found.steps] == [
        ("message", None, None, None),
        ("tool_call", "1", 1, 15),
        ("tool_call", "2", 1, 0),
        ("tool_result", "2", None, None),
        ("tool_result", "1", None, None),
        ("message", None, None, None),
    ]
    assert found.steps[4].error == "no such person"
    assert found.steps[5].cost_usd == 0.25
    assert found.summary == Summary(trajectories=1, steps=6, calls=2, results=2, errors=1)


def test_what_the_user_calls_is_not_the_agents_doing() -> None:
    calling = {"role": "user", "content": None, "tool_calls": [use("1", "restart") | {"requestor": "user"}]}
    found = read(ASKED, DONE, calling, back("1", requestor="user"))
    assert [step.kind for step in found.steps] == ["message", "message", "observation", "observation"]
    assert found.losses == {"user_calls": 2}


def test_several_results_in_one_message() -> None:
    found = read(ASKED, CALLING, {"role": "tool", "tool_messages": [back("1"), back("2")]})
    assert found.summary.results == 2


@pytest.mark.parametrize(
    ("reason", "truncated", "broken"),
    [
        ("user_stop", False, False),
        ("agent_stop", False, False),
        ("max_steps", True, False),
        ("timeout", True, False),
        ("infrastructure_error", True, True),
    ],
)
def test_why_it_ended(reason: str, truncated: bool, broken: bool) -> None:
    recording = read(ASKED, DONE, termination_reason=reason).only
    assert recording.trajectory is not None
    assert recording.trajectory.truncated is truncated
    assert (recording.error is not None) is broken
    assert (recording.output is UNSET) is broken


def test_voice_has_no_trajectory_here() -> None:
    found = read(messages=None, ticks=[{}])
    assert found.only.trajectory is None
    assert found.losses == {"voice_ticks": 1}


def test_a_file_may_hold_one_simulation_or_lines_of_them() -> None:
    assert imported("tau2", simulation(ASKED, DONE)).only.case == "task_7"
    lines = as_lines(simulation(ASKED), simulation(ASKED, trial=2))
    assert imported("tau2", lines).names == [("task_7", 2), ("task_7", 3)]


@pytest.mark.parametrize("data", [b"{}", b"[]", b'{"simulations": []}'])
def test_what_is_neither(data: bytes) -> None:
    assert refusal("tau2", data)[0][2] == "OLO322"


def test_it_is_recognised_before_any_list_of_messages() -> None:
    for value in ({"info": {}, "tasks": [], "simulations": []}, simulation(ASKED)):
        assert max(claims(value).items(), key=lambda claim: claim[1]) == ("tau2", Confidence.CERTAIN)
