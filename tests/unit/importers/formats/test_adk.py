from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET

from fakes.imports import Found, as_lines, claims, imported, refusal
from oloproof.importers.format import Confidence
from oloproof.importers.reading import Summary

SAMPLES = Path(__file__).parents[4].parent / "shared/data/adk"


def event(author: str, *parts: Any, **more: Any) -> dict[str, Any]:
    return {"invocation_id": "i", "author": author, "content": {"role": "model", "parts": list(parts)}, **more}


def text(said: str, **more: Any) -> dict[str, Any]:
    return {"text": said, "function_call": None, **more}


def call(name: str, call_id: str | None = None, **args: Any) -> dict[str, Any]:
    return {"function_call": {"id": call_id, "name": name, "args": args}}


def response(name: str, call_id: str | None = None, **answer: Any) -> dict[str, Any]:
    return {"function_response": {"id": call_id, "name": name, "response": answer}}


ASKED = event("user", text("Turn it off."))
RUN = [
    ASKED,
    event("root", text("Well."), call("find", room="Bedroom"), call("status", device="d2")),
    event("root", response("status", status="on"), response("find", error="no such room")),
    event("root", text("Done."), usage_metadata={"total_token_count": 30}),
]


def read(*events: Any, **more: Any) -> Found:
    return imported("adk", {"id": "session-1", "app_name": "home", "events": list(events), **more})


def told(found: Found) -> list[tuple[str, str | None, str | None]]:
    return [(step.kind, step.tool_name, step.agent) for step in found.steps]


def test_functions_of_one_event_are_called_together_and_answered_by_name() -> None:
    found = read(*RUN)
    assert told(found) == [
        ("message", None, "root"),
        ("message", None, "root"),
        ("tool_call", "find", "root"),
        ("tool_call", "status", "root"),
        ("tool_result", "status", "root"),
        ("tool_result", "find", "root"),
        ("message", None, "root"),
    ]
    assert [step.turn for step in found.steps if step.kind == "tool_call"] == [1, 1]
    assert found.steps[4].result == {"status": "on"}
    assert found.steps[5].error == "no such room"
    assert found.steps[6].tokens == 30
    assert (found.only.case, found.only.input, found.only.output) == ("session-1", "Turn it off.", {"answer": "Done."})
    assert found.only.metadata == {"id": "session-1", "app_name": "home"}
    assert found.summary == Summary(trajectories=1, steps=7, calls=2, results=2, errors=1, agents=1)


def test_events_alone_are_a_session_in_an_array_and_in_lines() -> None:
    for data in (RUN, as_lines(*RUN)):
        assert imported("adk", data).only.trajectory == read(*RUN).only.trajectory


def test_camel_case_is_read_too() -> None:
    camel = {"invocationId": "i", "author": "root", "finishReason": "STOP"}
    found = read(
        ASKED,
        {**camel, "content": {"parts": [{"functionCall": {"id": "1", "name": "find", "args": {"roomName": "x"}}}]}},
        {**camel, "content": {"parts": [{"functionResponse": {"id": "1", "name": "find", "response": {"aB": 1}}}]}},
    )
    assert found.steps[1].arguments == {"roomName": "x"}
    assert found.steps[2].result == {"aB": 1}


@pytest.mark.parametrize("name", ["transfer_to_agent", "transfer_to_other_agent"])
def test_a_transfer_hands_control_to_the_agent_that_it_names(name: str) -> None:
    found = read(
        ASKED,
        event("root", call(name, agent_name="billing")),
        event("root", response(name, status="ok")),
        event("billing", text("Here I am.")),
    )
    assert told(found)[1:] == [
        ("tool_call", name, "root"),
        ("tool_result", name, "root"),
        ("handoff", None, "root"),
        ("message", None, "billing"),
    ]
    assert found.steps[3].to_agent == "billing"


def test_a_transfer_may_stand_in_the_actions() -> None:
    found = read(ASKED, event("root", text("Please wait."), actions={"transfer_to_agent": "billing"}))
    assert found.steps[-1].to_agent == "billing"


def test_pieces_and_thoughts_are_no_steps() -> None:
    found = read(ASKED, event("root", text("Do"), partial=True), event("root", text("Hm.", thought=True), text("Done")))
    assert len(found.steps) == 2
    assert found.losses == {"partial_events": 1, "reasoning": 1}


def test_how_it_ended() -> None:
    cut = read(ASKED, event("root", text("Do"), finish_reason="MAX_TOKENS")).only
    assert cut.trajectory is not None
    assert (cut.trajectory.truncated, cut.error) == (True, None)
    broken = read(ASKED, {"author": "root", "error_code": "SAFETY", "error_message": "blocked"}).only
    assert broken.error is not None
    assert broken.error.message == "SAFETY: blocked"  # type: ignore[union-attr]
    assert broken.output is UNSET
    unanswered = read(ASKED, event("root", call("find"))).only
    assert unanswered.trajectory is not None
    assert unanswered.trajectory.truncated


USE = {"id": None, "name": "set_device", "args": {"device": "d2"}}


def invocation(asked: str, answer: str, **data: Any) -> dict[str, Any]:
    return {
        "user_content": {"parts": [text(asked)]},
        "final_response": {"parts": [text(answer)]},
        "intermediate_data": data,
    }


def evaluated(*invocations: Any) -> Found:
    case = {"eval_id": "e1", "conversation": list(invocations)}
    return imported("adk", {"eval_set_id": "s", "eval_cases": [case]})


def test_an_eval_case_says_what_is_expected() -> None:
    found = evaluated(invocation("Turn it off.", "It is off.", tool_uses=[USE, USE | {"args": {}}]))
    assert found.only.case == "e1"
    assert found.only.input == "Turn it off."
    assert found.only.expected == {
        "tools": [{"tool": "set_device", "arguments": {"device": "d2"}}, "set_device"],
        "answer": "It is off.",
    }
    assert [step.kind for step in found.steps] == ["message", "tool_call", "tool_call", "message"]
    assert found.only.trajectory is not None
    assert not found.only.trajectory.truncated


def test_a_conversation_of_several_turns_is_one_case() -> None:
    found = evaluated(invocation("a", "b", tool_uses=[]), invocation("c", "d", tool_uses=[USE], tool_responses=[]))
    assert found.only.input == ["a", "c"]
    assert len(found.steps) == 5


def test_newer_eval_sets_hold_events() -> None:
    events = [event("root", call("find", "1")), event("root", response("find", "1", room="x"))]
    found = evaluated(invocation("a", "b", invocation_events=events))
    assert told(found) == [
        ("message", None, "root"),
        ("tool_call", "find", "root"),
        ("tool_result", "find", "root"),
        ("message", None, "root"),
    ]
    assert found.losses == {}


def test_an_old_test_is_a_case() -> None:
    old = [{"query": "Turn it off.", "expected_tool_use": [{"tool_name": "set", "tool_input": {"d": 2}}]}]
    found = imported("adk", old)
    assert found.only.expected == {"tools": [{"tool": "set", "arguments": {"d": 2}}]}
    assert claims(old) == {"adk": Confidence.CERTAIN}


@pytest.mark.parametrize("data", [b"{}", b"[]", b"7", b'{"eval_set_id": "x", "eval_cases": []}'])
def test_what_is_neither(data: bytes) -> None:
    assert refusal("adk", data)[0][2] == "OLO322"


def test_it_is_recognised_alone() -> None:
    session = {"id": "s", "events": RUN}
    for value in (session, RUN, {"eval_set_id": "s", "eval_cases": []}, {"evalSetId": "s"}):
        assert claims(value) == {"adk": Confidence.CERTAIN}


@pytest.mark.skipif(not SAMPLES.exists(), reason="the sample files are not here")
def test_real_files() -> None:
    session = imported("adk", (SAMPLES / "flow_complex_spark/sample.session.json").read_bytes())
    assert session.summary == Summary(trajectories=1, steps=10, calls=2, results=2, agents=5)
    tests = [imported("adk", path.read_bytes()).only for path in SAMPLES.rglob("*.test.json")]
    assert sorted(len(test.expected["tools"]) for test in tests if test.expected) == [1, 1, 1, 1, 1, 2, 2]
