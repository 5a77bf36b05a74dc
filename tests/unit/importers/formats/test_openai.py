from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET

from fakes.imports import Found, as_lines, claims, imported, refusal
from oloproof.errors import Problem, UsageError
from oloproof.importers.format import Confidence
from oloproof.importers.reading import Summary
from oloproof.model.reading import Reading

SAMPLE = Path(__file__).parents[4].parent / "shared/data/tau-bench/gpt-4o-airline-tasks-0-9.json"

USER = {"role": "user", "content": "hello"}
CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "1", "type": "function", "function": {"name": "lookup", "arguments": '{"id": 7}'}}],
}
RESULT = {"role": "tool", "tool_call_id": "1", "content": "found"}
DONE = {"role": "assistant", "content": "here it is"}
RUN = [USER, CALL, RESULT, DONE]


def read_value(value: Any, file: str = "logs/chat.json") -> Found:
    return imported("openai", value, file=file)


def read_lines(*values: Any) -> Found:
    return imported("openai", as_lines(*values), file="chats.jsonl")


def problems(data: bytes) -> list[tuple[int, int, str, str]]:
    return refusal("openai", data)


# --- plain lists -----------------------------------------------------------------------------------------------------


def test_a_message_list_is_a_run_named_after_its_file() -> None:
    found = read_value(RUN)
    recording = found.only
    assert (recording.case, recording.trial, recording.output) == ("chat", 1, {"answer": "here it is"})
    assert recording.input == {"messages": [USER]}
    assert recording.trajectory is not None
    assert not recording.trajectory.truncated
    assert not recording.trajectory.errors_recorded
    assert found.summary == Summary(trajectories=1, steps=4, calls=1, results=1)
    assert found.losses == {}


def test_an_object_brings_its_own_facts() -> None:
    said = {"id": 7, "trial": 3, "messages": RUN, "input": 1, "expected": {"answer": "x"}, "metadata": {"m": 1}}
    recording = read_value(said).only
    assert (recording.case, recording.trial, recording.input) == ("7", 3, 1)
    assert (recording.expected, recording.metadata) == ({"answer": "x"}, {"m": 1})


@pytest.mark.parametrize(
    "value",
    [[{"messages": RUN}, {"messages": RUN}], [RUN, RUN], [RUN, {"messages": RUN}]],
    ids=["objects", "lists", "both"],
)
def test_a_list_of_runs(value: Any) -> None:
    assert read_value(value).names == [("chat_1", 1), ("chat_2", 1)]
    assert read_lines(*value).names == [("chats_1", 1), ("chats_2", 1)]


def test_lines_of_messages_are_one_run() -> None:
    assert read_lines(*RUN).recordings[0].trajectory == read_value(RUN).only.trajectory
    assert read_lines(USER).names == [("chats", 1)]


def test_runs_of_one_case_are_trials() -> None:
    runs = [{"case_id": case, "messages": RUN} for case in ("a", "b", "a", "a")]
    assert read_value(runs).names == [("a", 1), ("b", 1), ("a", 2), ("a", 3)]


@pytest.mark.parametrize(
    ("file", "case"), [("a/b.c.json", "b.c"), ("a\\b.json", "b"), (".json", ".json"), ("noext", "noext")]
)
def test_names_from_files(file: str, case: str) -> None:
    assert read_value(RUN, file).only.case == case


def test_a_run_without_messages_is_a_run() -> None:
    found = read_value({"messages": []})
    assert found.only.output is UNSET
    assert found.summary == Summary(trajectories=1)


def test_an_unanswered_last_call_is_truncated_and_nothing_else_is() -> None:
    cut, answered, interrupted = read_value([[USER, CALL], [USER, CALL, RESULT], [USER, CALL, USER]]).recordings
    truncated = [run.trajectory is not None and run.trajectory.truncated for run in (cut, answered, interrupted)]
    assert truncated == [True, False, False]


def test_a_transfer_is_a_call_and_names_no_agent() -> None:
    call = json.loads(json.dumps(CALL).replace("lookup", "transfer_to_billing"))
    recording = read_value([USER, call, RESULT]).only
    assert recording.trajectory is not None
    assert [step.kind for step in recording.trajectory.steps] == ["message", "tool_call", "tool_result"]
    assert {step.agent for step in recording.trajectory.steps} == {None}


def test_a_byte_order_mark_and_windows_lines() -> None:
    text = "\r\n".join(json.dumps({"messages": RUN}) for _ in range(2)) + "\r\n\r\n"
    assert len(imported("openai", b"\xef\xbb\xbf" + text.encode()).recordings) == 2


def test_what_json_cannot_carry_is_tagged_and_the_rest_is_read() -> None:
    text = json.dumps([{**USER, "content": "\ud800"}, DONE])
    recording = imported("openai", text.encode()).only
    assert recording.trajectory is not None
    assert list(recording.trajectory.steps[0].arguments["content"]) == ["$unrepresentable"]
    assert recording.output == {"answer": "here it is"}


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", [(0, 0, "OLO321", "the file is empty")]),
        (b"  \n", [(0, 0, "OLO321", "the file is empty")]),
        (b"hello", [(1, 1, "OLO321", "the file is neither JSON nor JSON Lines: invalid character")]),
        (b"[\n{]", [(2, 2, "OLO321", "the file is neither JSON nor JSON Lines: object keys must be strings")]),
        (b"[]", [(0, 0, "OLO323", "the file holds no run")]),
        (
            b'{"messages": []}\n{"messages": [}\n\n{',
            [
                (2, 15, "OLO321", "the line is not JSON: invalid character"),
                (4, 0, "OLO321", "the line is not JSON: it ends too early"),
            ],
        ),
        (b"42", [(0, 0, "OLO322", "neither a list of messages nor an object with `messages` or `traj`")]),
        (
            b'{"messages": "hi"}',
            [(0, 0, "OLO322", "neither a list of messages nor an object with `messages` or `traj`")],
        ),
        (
            b'{"messages": []}\n"massive error"\n[1]',
            [
                (2, 0, "OLO322", "run 2: neither a list of messages nor an object with `messages` or `traj`"),
                (3, 0, "OLO322", "run 3, message 1: a message is an object, not a number"),
            ],
        ),
        (b'[{"role": "user"}, 42]', [(0, 0, "OLO322", "message 2: a message is an object, not a number")]),
        (
            b'{"object": "chat.completion.chunk", "choices": []}',
            [(0, 0, "OLO322", "a fragment of a streamed response")],
        ),
        (b'{"choices": [{"delta": {}}]}', [(0, 0, "OLO322", "a fragment of a streamed response")]),
        (b'{"choices": [{"message": {}}]}', [(0, 0, "OLO322", "a response, which holds one message")]),
    ],
)
def test_what_is_no_run_is_refused_where_it_stands(data: bytes, found: list[tuple[int, int, str, str]]) -> None:
    assert problems(data) == found


def test_the_first_fifty_problems_are_told() -> None:
    assert len(problems(json.dumps([1] * 80).encode())) == 50
    assert len(problems(b"{}\n" + b"{\n" * 80)) == 50


def test_problems_say_what_next() -> None:
    with pytest.raises(UsageError) as caught:
        imported("openai", b'[{"messages": [{"content": "x"}]}, {"messages": []}]', file="f.json")
    hint = "every message has a role: system, user, assistant, tool"
    assert caught.value.problems == (
        Problem("OLO322", "run 1, message 1: the message has no role", hint, file="f.json"),
    )


# --- tau-bench -------------------------------------------------------------------------------------------------------


def tau(*messages: dict[str, Any], actions: Any = ({"name": "lookup", "kwargs": {}},), **more: Any) -> dict[str, Any]:
    task = {"user_id": "mia", "instruction": "be terse", "actions": actions, "outputs": ["7"]}
    return {"task_id": 4, "trial": 0, "reward": 1.0, "info": {"task": task}, "traj": list(messages), **more}


def said(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def tool(text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": "1", "name": "lookup", "content": text}


def test_a_tau_bench_result_is_a_recording_with_its_facts() -> None:
    system = {"role": "system", "content": "policy"}
    found = read_value([tau(system, USER, CALL, tool("found"), DONE, said("thanks ###STOP###"))])
    recording = found.only
    assert (recording.case, recording.trial, recording.output) == ("task_4", 1, {"answer": "here it is"})
    assert recording.expected == {"tools": ["lookup"]}
    assert recording.input == {"user_id": "mia", "instruction": "be terse"}
    assert recording.metadata == {
        "source": "tau-bench",
        "task_id": 4,
        "reward": 1.0,
        "actions": [{"name": "lookup", "kwargs": {}}],
        "outputs": ["7"],
    }
    assert recording.trajectory is not None
    assert recording.trajectory.errors_recorded
    assert not recording.trajectory.truncated
    assert found.losses == {"system_messages": 1}


def test_results_that_start_with_error_are_errors_there_and_only_there() -> None:
    messages = (USER, CALL, tool("Error: no such order"))
    assert read_value([tau(*messages)]).summary.errors == 1
    assert read_value(list(messages)).summary.errors == 0
    assert read_value([tau(USER, CALL, tool("No Error"))]).summary.errors == 0


def test_a_task_without_actions_declares_no_tools() -> None:
    found = read_value([tau(USER, DONE, said("###STOP###"), actions=[])])
    assert found.only.expected is None
    assert found.losses == {"empty_references": 1}


@pytest.mark.parametrize("actions", [None, 3, "x", [3, {"name": 3}]])
def test_actions_that_are_none_are_no_reference(actions: Any) -> None:
    found = read_value([tau(USER, DONE, said("###STOP###"), actions=actions)])
    assert found.only.expected is None
    assert found.losses == {}


TRANSFER = json.loads(json.dumps(CALL).replace("lookup", "transfer_to_human_agents"))


@pytest.mark.parametrize(
    ("messages", "truncated", "losses"),
    [
        ((USER, DONE, said("thanks ###STOP###")), False, {}),
        ((USER, DONE, said("one moment")), True, {}),
        ((USER, CALL), True, {}),
        ((USER, TRANSFER, {**RESULT, "name": "transfer_to_human_agents"}), False, {}),
        ((USER, CALL, RESULT), False, {"ends_unexplained": 1}),
        ((USER, DONE), False, {}),
        ((), False, {}),
    ],
    ids=["stop", "no stop", "open call", "transfer", "result", "answer", "empty"],
)
def test_where_a_tau_bench_run_was_cut_off(messages: Any, truncated: bool, losses: dict[str, int]) -> None:
    found = read_value([tau(*messages)])
    trajectory = found.only.trajectory
    assert trajectory is not None
    assert trajectory.truncated is truncated
    assert found.losses == losses


@pytest.mark.parametrize("info", [None, 3, {}, {"task": None}, {"task": []}])
def test_a_tau_bench_result_without_its_task(info: Any) -> None:
    recording = read_value([{"traj": RUN, "info": info}]).only
    assert (recording.case, recording.trial) == ("chat", 1)
    assert recording.input == {"messages": [USER]}
    assert recording.metadata == {"source": "tau-bench"}


# --- which files it is ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "confidence"),
    [
        (RUN, Confidence.LIKELY),
        ({"messages": RUN}, Confidence.LIKELY),
        ([RUN, RUN], Confidence.LIKELY),
        ([tau(*RUN)], Confidence.CERTAIN),
    ],
    ids=["list", "object", "lists", "tau-bench"],
)
def test_it_is_recognised(value: Any, confidence: Confidence) -> None:
    assert claims(value)["openai"] == confidence
    text = json.dumps(value)
    assert claims(text[: len(text) * 2 // 3].encode())["openai"] == confidence


@pytest.mark.parametrize(
    "value", [{}, [], 3, {"role": 3}, {"messages": [{"role": "a", "tool_calls": [{"name": "f"}]}]}]
)
def test_it_is_not_recognised(value: Any) -> None:
    assert "openai" not in claims(value)


@pytest.mark.skipif(not SAMPLE.exists(), reason="the tau-bench sample is not at hand")
def test_a_real_tau_bench_file() -> None:
    found = imported("openai", SAMPLE.read_bytes())
    assert found.summary == Summary(
        trajectories=40, steps=1212, calls=274, results=274, errors=24, unanswered=0, truncated=1
    )
    assert found.losses == {"system_messages": 40, "ends_unexplained": 2}
    assert sorted(found.names) == [(f"task_{task}", trial) for task in range(10) for trial in range(1, 5)]
    assert (
        sum(recording.metadata is not None and recording.metadata["reward"] == 1 for recording in found.recordings) == 5
    )

    readings = [Reading(run.trajectory) for run in found.recordings if run.trajectory is not None]
    assert Counter(reading.names[0] if reading.names else None for reading in readings) == {
        "get_user_details": 27,
        None: 10,
        "search_direct_flight": 1,
        "transfer_to_human_agents": 1,
        "calculate": 1,
    }
    for reading in readings:
        calls = [(call.tool_name, call.arguments) for call in reading.calls]
        assert all(one != next_one for one, next_one in pairwise(calls))
        pending = None
        for step in reading.steps:  # one call at a time: every result follows its call and bears its name
            if step.kind == "tool_result":
                assert pending is not None
                assert (step.tool_name, step.call_id) == (pending.tool_name, pending.call_id)
            pending = step if step.kind == "tool_call" else None
    (cut_off,) = [run for run in found.recordings if run.trajectory is not None and run.trajectory.truncated]
    assert (cut_off.case, cut_off.trial) == ("task_9", 4)
