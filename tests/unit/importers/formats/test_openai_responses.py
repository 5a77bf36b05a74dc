from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import UNSET

from fakes.imports import Found, as_lines, claims, crossed, imported, refusal
from oloproof.importers.format import Confidence
from oloproof.importers.reading import Summary

ASKED = {"role": "user", "content": "Where is my order?"}
DONE = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "It was shipped.", "annotations": []}],
}


def call(call_id: str, name: str = "find", arguments: Any = '{"n": 1}', **more: Any) -> dict[str, Any]:
    item = {"type": "function_call", "id": f"fc_{call_id}", "call_id": call_id, "name": name, "arguments": arguments}
    return {**item, **more}


def output(call_id: str, result: Any = "ok", **more: Any) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": result, **more}


def response(*items: Any, status: str = "completed", **more: Any) -> dict[str, Any]:
    return {"id": "resp_1", "object": "response", "status": status, "model": "m", "output": list(items), **more}


def read(*items: Any) -> Found:
    return imported("openai-responses", list(items))


def test_calls_and_results_are_paired_by_call_id() -> None:
    found = read(ASKED, call("a"), call("b", "look"), output("b", [{"type": "input_text", "text": "B"}]), output("a"))
    assert found.paired == crossed("a", "b")
    assert (found.steps[1].arguments, found.steps[3].result, found.steps[4].error) == ({"n": 1}, "B", UNSET)
    assert found.only.input == {"messages": [ASKED]}
    assert found.only.trajectory is not None
    assert not found.only.trajectory.errors_recorded
    assert found.losses == {}


def test_a_response_is_a_run_by_itself_and_with_its_input() -> None:
    alone = imported("openai-responses", response(DONE))
    assert (alone.only.case, alone.only.output) == ("resp_1", {"answer": "It was shipped."})
    assert alone.only.metadata == {"status": "completed", "model": "m"}
    assert alone.summary == Summary(trajectories=1, steps=1)
    whole = imported("openai-responses", {"case_id": "c", "input": "Hi", "response": response(DONE)})
    assert whole.only.case == "c"
    assert [step.arguments["role"] for step in whole.steps] == ["user", "assistant"]
    with_input = response(DONE, input=[ASKED, call("a"), output("a")])
    assert len(imported("openai-responses", with_input).steps) == 4


def test_arguments_as_the_model_wrote_them() -> None:
    found = read(ASKED, call("a", arguments='{"n": '), call("b", arguments=""), output("a"), output("b"))
    assert found.losses == {"unparsable_arguments": 2}
    free = {"type": "custom_tool_call", "call_id": "c", "name": "sql", "input": "select 1"}
    given = read(ASKED, free, {"type": "custom_tool_call_output", "call_id": "c", "output": "1"})
    assert given.steps[1].arguments == "select 1"
    assert given.steps[2].tool_name == "sql"


def test_mcp_calls_hold_their_result() -> None:
    good = {"type": "mcp_call", "id": "m1", "name": "echo", "arguments": '{"x": 1}', "output": "1", "server_label": "s"}
    bad = {**good, "id": "m2", "output": None, "error": {"message": "no"}, "status": "failed"}
    unfinished = {**good, "id": "m3", "output": None, "status": "in_progress"}
    found = read(ASKED, good, bad, unfinished)
    assert [(step.kind, step.call_id, step.error) for step in found.steps[1:]] == [
        ("tool_call", "m1", UNSET),
        ("tool_result", "m1", None),
        ("tool_call", "m2", UNSET),
        ("tool_result", "m2", "no"),
        ("tool_call", "m3", UNSET),
    ]
    assert found.only.trajectory is not None
    assert found.only.trajectory.errors_recorded
    assert found.only.trajectory.truncated


def test_tools_of_the_api_are_called_what_they_are() -> None:
    search = {"type": "web_search_call", "id": "w", "status": "completed", "action": {"type": "search", "query": "q"}}
    files = {"type": "file_search_call", "id": "f", "status": "completed", "queries": ["q"], "results": [{"text": "t"}]}
    shell = {"type": "local_shell_call", "call_id": "s", "action": {"command": ["ls"]}, "status": "completed"}
    found = read(ASKED, search, files, shell, {"type": "local_shell_call_output", "call_id": "s", "output": "."})
    assert [(step.tool_name, step.arguments, step.result) for step in found.steps[1:]] == [
        ("web_search", {"action": {"type": "search", "query": "q"}}, UNSET),
        ("web_search", None, UNSET),
        ("file_search", {"queries": ["q"]}, UNSET),
        ("file_search", None, [{"text": "t"}]),
        ("local_shell", {"action": {"command": ["ls"]}}, UNSET),
        ("local_shell", None, "."),
    ]


def test_unknown_items_are_steps_that_nobody_looks_into() -> None:
    new = {"type": "program", "code": "1"}
    found = read(ASKED, {"type": "reasoning", "summary": []}, new, DONE)
    assert (found.steps[1].kind, found.steps[1].arguments) == ("decision", new)
    assert found.losses == {"reasoning": 1, "opaque_items": 1, "unknown_kinds": 1}
    assert found.only.trajectory is not None
    assert found.only.trajectory.truncated


@pytest.mark.parametrize(
    ("value", "truncated", "error"),
    [
        (response(DONE), False, None),
        (response(DONE, status="incomplete", incomplete_details={"reason": "max_output_tokens"}), True, None),
        (response(DONE, status="cancelled"), True, None),
        (response(status="failed", error={"code": "server_error", "message": "boom"}), True, "boom"),
        (response(status="failed"), True, "the response failed"),
        (response(call("a")), True, None),
    ],
)
def test_how_it_ended(value: Any, truncated: bool, error: str | None) -> None:
    recording = imported("openai-responses", value).only
    assert recording.trajectory is not None
    assert recording.trajectory.truncated is truncated
    assert getattr(recording.error, "message", None) == error


def test_messages_keep_their_text_and_refusals() -> None:
    pictured = {"role": "user", "content": [{"type": "input_text", "text": "See"}, {"type": "input_image"}]}
    refused = {**DONE, "content": [{"type": "refusal", "refusal": "No."}]}
    found = read({"role": "developer", "content": "s"}, pictured, refused, {"role": "system", "content": "s"})
    assert [step.arguments for step in found.steps] == [
        {"role": "user", "content": "See"},
        {"role": "assistant", "content": "", "refusal": "No."},
    ]
    assert found.losses == {"unread_parts": 1, "system_messages": 1}


def test_all_the_ways_to_hold_items() -> None:
    run = [ASKED, call("a"), output("a"), DONE]
    alone = imported("openai-responses", run).only
    assert imported("openai-responses", as_lines(*run)).only.trajectory == alone.trajectory
    objects = [{"case": "x", "items": run}, {"case": "y", "input": run[:1], "output": run[1:]}]
    assert [each.trajectory for each in imported("openai-responses", objects).recordings] == [alone.trajectory] * 2
    assert imported("openai-responses", as_lines(*objects)).names == [("x", 1), ("y", 1)]
    lists = [run, run]
    for data in (run, as_lines(*run), objects, as_lines(*objects), lists, response(DONE), as_lines(response(DONE))):
        found = claims(data)
        assert max(found, key=lambda name: found[name]) == "openai-responses"
        assert list(found.values()).count(Confidence.CERTAIN) == 1


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([ASKED, 7], "message 2: an item is an object, not a number"),
        ({"a": 1}, "it holds no items of the Responses API"),
    ],
)
def test_what_holds_no_items_is_told(value: Any, message: str) -> None:
    ((_, _, code, told),) = refusal("openai-responses", json.dumps(value).encode())
    assert (code, told) == ("OLO322", message)
