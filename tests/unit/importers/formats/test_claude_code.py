from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET

from fakes.imports import Found, as_lines, claims, imported
from oloproof.importers.format import Confidence
from oloproof.importers.reading import Summary

SAMPLES = Path(__file__).parents[4].parent / "shared/data/claude-code"


def event(kind: str, uuid: str, content: Any, message: str = "", **more: Any) -> dict[str, Any]:
    said: dict[str, Any] = {"role": kind, "content": content}
    if message:
        said |= {"id": message, "usage": {"input_tokens": 10, "output_tokens": 5, "service_tier": "x"}}
    return {"type": kind, "uuid": uuid, "sessionId": "s1", "cwd": "/repo", "message": said, **more}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def use(call_id: str, name: str = "Bash", **asked: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": asked}


def back(call_id: str, content: Any = "ok", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


ASKED = event("user", "u1", "Fix it.")
DONE = event("assistant", "u9", [text("Done.")], "m9")
RUN = [
    ASKED,
    event("assistant", "u2", [text("Let me look.")], "m1"),
    event("assistant", "u3", [use("t1", command="ls")], "m1"),
    event("assistant", "u4", [use("t2", command="pwd")], "m1"),
    event("user", "u5", [back("t1"), back("t2", "no", is_error=True)]),
    DONE,
]


def read(*events: Any, **files: bytes) -> Found:
    return imported("claude-code", as_lines(*events), file="logs/s1.jsonl")


def told(found: Found) -> list[tuple[str, str | None]]:
    return [(step.kind, step.tool_name) for step in found.steps]


def test_lines_of_one_answer_are_one_turn_whose_tokens_count_once() -> None:
    found = read(*RUN)
    assert told(found) == [
        ("message", None),
        ("message", None),
        ("tool_call", "Bash"),
        ("tool_call", "Bash"),
        ("tool_result", "Bash"),
        ("tool_result", "Bash"),
        ("message", None),
    ]
    assert [step.turn for step in found.steps if step.kind == "tool_call"] == [1, 1]
    assert [step.tokens for step in found.steps] == [None, 15, 0, 0, None, None, 15]
    assert found.steps[5].error == "no"
    assert found.steps[4].error is None
    assert found.only.case == "s1"
    assert (found.only.input, found.only.output) == ("Fix it.", {"answer": "Done."})
    assert found.only.metadata == {"session_id": "s1", "cwd": "/repo"}
    assert found.summary == Summary(trajectories=1, steps=7, calls=2, results=2, errors=1)


def test_replayed_lines_and_calls_count_once() -> None:
    again = event("assistant", "u7", [use("t1", command="ls")], "m1")
    found = read(*RUN, RUN[2], again)
    assert found.summary.calls == 2
    assert found.losses == {"replayed": 2}


def test_an_id_of_another_call_is_another_call() -> None:
    found = read(*RUN[:5], event("assistant", "u7", [use("t1", command="rm")], "m2"))
    assert found.summary.calls == 3
    assert found.only.trajectory is not None
    assert found.only.trajectory.truncated  # nothing answers it


def test_a_sub_agent_in_the_same_file_is_inside_the_call_that_started_it() -> None:
    found = read(
        ASKED,
        event("assistant", "u2", [use("t1", "Task", prompt="Search.", subagent_type="searcher")], "m1"),
        event("user", "a1", "Search.", isSidechain=True),
        event("assistant", "a2", [use("t2", command="ls")], "m2", isSidechain=True),
        event("user", "a3", [back("t2")], isSidechain=True),
        event("user", "u3", [back("t1", [text("found")])]),
        DONE,
    )
    assert [(step.kind, step.agent, step.inside) for step in found.steps] == [
        ("message", "main", None),
        ("tool_call", "main", None),
        ("message", "searcher", 2),
        ("tool_call", "searcher", 2),
        ("tool_result", "searcher", 2),
        ("tool_result", "main", None),
        ("message", "main", None),
    ]
    assert found.steps[5].result == "found"


@pytest.mark.parametrize("linked", [True, False], ids=["by its id", "by its prompt"])
def test_a_sub_agent_in_a_file_of_its_own_stands_after_the_message_that_started_it(linked: bool) -> None:
    result = {"toolUseResult": {"agentId": "x7"}} if linked else {}
    main = as_lines(
        ASKED,
        event("assistant", "u2", [use("t1", "Task", prompt="Search.")], "m1"),
        event("assistant", "u3", [use("t2", command="ls")], "m1"),
        event("user", "u4", [back("t1")], **result),
        event("user", "u5", [back("t2")]),
    )
    asked = "Search." if not linked else "something else"
    agent = as_lines(
        event("user", "a1", asked, agentId="x7", isSidechain=True),
        event("assistant", "a2", [use("t3", command="pwd")], "m2", agentId="x7", isSidechain=True),
        event("user", "a3", [back("t3")], agentId="x7", isSidechain=True),
    )
    found = imported("claude-code", files_by_name={"s1.jsonl": main, "s1/subagents/agent-x7.jsonl": agent})
    assert [(step.kind, step.inside) for step in found.steps] == [
        ("message", None),
        ("tool_call", None),
        ("tool_call", None),
        ("message", 2),
        ("tool_call", 2),
        ("tool_result", 2),
        ("tool_result", None),
        ("tool_result", None),
    ]
    assert [step.turn for step in found.steps if step.kind == "tool_call"] == [1, 1, None]


def test_a_sub_agents_file_alone_is_a_run_of_its_own() -> None:
    found = read(
        event("user", "a1", "Search.", agentId="x7", isSidechain=True),
        event("assistant", "a2", [text("Found.")], "m2", agentId="x7", isSidechain=True),
    )
    assert found.only.output == {"answer": "Found."}


def test_a_sub_agent_that_nothing_started_is_left_out() -> None:
    found = read(*RUN, event("user", "a1", "x", agentId="x7"), event("user", "a2", "y", isSidechain=True))
    assert found.losses == {"unlinked_subagents": 2}


def test_what_is_no_event_is_counted() -> None:
    found = read(*RUN, "massive error", 42, [1], {"type": "summary", "leafUuid": "u9", "summary": "x"})
    assert found.losses == {"no_events": 3, "bookkeeping": 1}
    strings = read({**ASKED, "message": "just text"}, event("assistant", "u2", ["a", {"type": "thinking"}], "m1"))
    assert [step.arguments for step in strings.steps] == [
        {"role": "user", "content": "just text"},
        {"role": "assistant", "content": "a"},
    ]
    assert strings.losses == {"reasoning": 1}


def stream(**result: Any) -> Found:
    init = {"type": "system", "subtype": "init", "session_id": "s1"}
    said = [{key: value for key, value in each.items() if key != "sessionId"} | {"session_id": "s1"} for each in RUN]
    return read(init, *said, {"type": "result", "session_id": "s1", **result})


@pytest.mark.parametrize(
    ("result", "truncated", "status", "broken"),
    [
        ({"subtype": "success", "is_error": False, "result": "Done."}, False, "success", False),
        ({"subtype": "error_max_turns", "is_error": True}, True, "failure", False),
        ({"subtype": "success", "terminal_reason": "aborted_tools"}, True, "success", False),
        ({"subtype": "error_during_execution", "is_error": True}, True, "failure", True),
        ({"subtype": "success", "is_error": True, "result": "API Error: 500"}, True, "failure", True),
    ],
)
def test_the_streams_result_says_how_it_ended(result: Any, truncated: bool, status: str, broken: bool) -> None:
    recording = stream(**result, total_cost_usd=0.5).only
    assert recording.trajectory is not None
    assert (recording.trajectory.truncated, recording.trajectory.terminal_status) == (truncated, status)
    assert (recording.error is not None) is broken
    assert (recording.output is UNSET) is broken
    assert recording.metadata is not None
    assert recording.metadata["total_cost_usd"] == 0.5


def test_a_sub_agent_in_a_stream_names_the_call_it_is_inside() -> None:
    found = read(
        ASKED,
        event("assistant", "u2", [use("t1", "Task", prompt="Search.")], "m1"),
        event("assistant", "a2", [use("t2", command="ls")], "m2", parent_tool_use_id="t1"),
        event("user", "a3", [back("t2")], parent_tool_use_id="t1"),
        event("user", "u3", [back("t1")]),
    )
    assert [step.inside for step in found.steps] == [None, None, 2, 2, None]


def test_two_sessions_in_a_file_are_two_runs() -> None:
    other = [{**each, "sessionId": "s2", "uuid": f"x{each['uuid']}"} for each in RUN]
    assert [name for name, _ in read(*RUN, *other).names] == ["s1_1", "s1_2"]


def test_it_is_recognised_alone() -> None:
    for lines in (RUN, [{"type": "summary", "leafUuid": "x"}, *RUN], [{"type": "queue-operation"}, *RUN]):
        assert claims(as_lines(*lines)) == {"claude-code": Confidence.CERTAIN}


@pytest.mark.skipif(not SAMPLES.exists(), reason="the sample files are not here")
def test_real_files() -> None:
    found = {path.stem: imported("claude-code", path.read_bytes()).summary for path in SAMPLES.glob("*.jsonl")}
    assert {name: (summary.steps, summary.calls, summary.results) for name, summary in found.items()} == {
        "representative_messages": (11, 2, 2),
        "todowrite_examples": (11, 3, 3),
    }


def test_any_event_is_told_or_counted() -> None:
    odd: list[Any] = [None, 7, "x", [], {}, [None], [{"type": "text", "text": 7}], [{"type": "tool_use"}]]
    events = [event(kind, f"{kind}{n}", content) for n, content in enumerate(odd) for kind in ("user", "assistant")]
    assert json.dumps([found.case for found in read(*events).recordings]) == '["s1"]'
