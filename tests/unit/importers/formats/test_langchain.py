from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import UNSET

from fakes.imports import Found, as_lines, claims, crossed, imported, refusal
from oloproof.importers.format import Confidence
from oloproof.importers.reading import Summary

HUMAN = {"type": "human", "content": "Where is my order?"}


def ai(content: Any = "", *calls: tuple[str, str], **more: Any) -> dict[str, Any]:
    asked = [{"name": name, "args": {"n": 1}, "id": each, "type": "tool_call"} for each, name in calls]
    return {"type": "ai", "content": content, "tool_calls": asked, "invalid_tool_calls": [], **more}


def tool(call_id: str, content: Any = "ok", **more: Any) -> dict[str, Any]:
    return {"type": "tool", "content": content, "tool_call_id": call_id, "status": "success", **more}


RUN = [HUMAN, ai("", ("a", "find"), ("b", "look")), tool("b"), tool("a"), ai("It was shipped.")]


def read(*messages: Any) -> Found:
    return imported("langchain", list(messages))


def constructed(message: dict[str, Any]) -> dict[str, Any]:
    names = {"ai": "AIMessage", "human": "HumanMessage", "tool": "ToolMessage"}
    fields = {key: fact for key, fact in message.items() if key != "type"}
    place = ["langchain", "schema", "messages", names[message["type"]]]
    return {"lc": 1, "type": "constructor", "id": place, "kwargs": fields}


def with_data(message: dict[str, Any]) -> dict[str, Any]:
    return {"type": message["type"], "data": message}


def test_calls_and_results() -> None:
    found = read(*RUN)
    assert found.paired[:-1] == crossed("a", "b")
    assert found.steps[-1].kind == "message"
    assert (found.steps[1].arguments, found.steps[3].result, found.steps[3].error) == ({"n": 1}, "ok", None)
    assert found.only.input == {"messages": [{"role": "user", "content": "Where is my order?"}]}
    assert found.only.output == {"answer": "It was shipped."}
    assert found.summary == Summary(trajectories=1, steps=6, calls=2, results=2)
    assert found.losses == {}


@pytest.mark.parametrize("form", [constructed, with_data])
def test_every_form_in_which_messages_are_written_is_read_alike(form: Any) -> None:
    written = [form(message) for message in RUN]
    assert imported("langchain", written).only.trajectory == read(*RUN).only.trajectory
    assert claims(written) == {"langchain": Confidence.CERTAIN}
    assert claims(as_lines(*written)) == {"langchain": Confidence.CERTAIN}


def test_dictionaries_with_roles_are_messages_too() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "find", "arguments": '{"n": 1}'}}
    found = read(
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": "ok"},
    )
    assert found.steps[1].arguments == {"n": 1}
    assert found.steps[2].error is UNSET
    assert found.only.trajectory is not None
    assert not found.only.trajectory.errors_recorded
    assert "langchain" not in claims([{"role": "user", "content": "Hi"}])


def test_chunks_are_messages() -> None:
    chunk = {**ai("", ("a", "find")), "type": "AIMessageChunk", "id": "run-1"}
    assert read(HUMAN, chunk).steps[1].tool_name == "find"


def test_the_chunks_of_a_message_are_one() -> None:
    def piece(content: Any, *chunks: Any, of: str = "run-1") -> dict[str, Any]:
        told = [dict(zip(("index", "name", "id", "args"), chunk, strict=True)) for chunk in chunks]
        partial = [{"name": chunk["name"], "args": {}, "id": chunk["id"]} for chunk in told if chunk["name"]]
        return {"type": "AIMessageChunk", "id": of, "content": content, "tool_call_chunks": told, "tool_calls": partial}

    streamed = [
        piece("Let me "),
        piece("look.", (0, "find", "a", None)),
        piece("", (0, None, None, '{"n"'), (1, "look", "b", "")),
        piece("", (1, None, None, '{"n": 2}'), (0, None, None, ": 1}")),
        piece(""),
    ]
    found = read(HUMAN, *streamed, tool("a"), tool("b"), piece("Do", of="run-2"), piece("ne.", of="run-2"))
    assert [step.arguments for step in found.steps if step.kind == "tool_call"] == [{"n": 1}, {"n": 2}]
    assert [step.call_id for step in found.steps if step.kind == "tool_call"] == ["a", "b"]
    assert found.steps[1].arguments == {"role": "assistant", "content": "Let me look."}
    assert found.only.output == {"answer": "Done."}
    cut = read(HUMAN, piece("", (0, "find", "a", '{"n"')), piece("", (0, None, None, ": ")))
    assert cut.losses == {"unparsable_arguments": 1}
    blocks = read(HUMAN, piece([{"type": "text", "text": "a"}]), piece("b"))
    assert blocks.steps[1].arguments == {"role": "assistant", "content": "ab"}


def test_arguments_that_could_not_be_parsed_are_kept_and_unknown() -> None:
    invalid = [{"name": "find", "args": '{"n": ', "id": "a", "error": "no JSON", "type": "invalid_tool_call"}]
    found = read(HUMAN, ai("", ("b", "look"), invalid_tool_calls=invalid))
    assert [(step.tool_name, step.turn) for step in found.steps[1:]] == [("look", 1), ("find", 1)]
    assert found.losses == {"unparsable_arguments": 1}
    raw = {"tool_calls": [{"id": "a", "function": {"name": "find", "arguments": "{"}}]}
    assert read(HUMAN, {"type": "ai", "content": "", "additional_kwargs": raw}).losses == {"unparsable_arguments": 1}


def test_errors_are_those_that_say_so() -> None:
    found = read(HUMAN, ai("", ("a", "find")), tool("a", "no such order", status="error", artifact={"x": 1}))
    assert (found.steps[2].error, found.steps[2].result) == ("no such order", UNSET)
    assert found.losses == {"artifacts": 1}


def test_a_transfer_hands_over_to_the_agent_that_it_names() -> None:
    found = read(
        HUMAN,
        ai("", ("a", "transfer_to_billing"), name="supervisor"),
        tool("a", name="transfer_to_billing"),
        ai("Refunded.", name="billing"),
        ai("", ("b", "transfer_back_to_supervisor"), name="billing"),
        tool("b"),
        ai("Done.", name="supervisor"),
    )
    assert [(step.agent, step.to_agent) for step in found.steps if step.kind == "handoff"] == [
        ("supervisor", "billing"),
        ("billing", "supervisor"),
    ]
    assert found.summary.agents == 2
    assert not found.losses


@pytest.mark.parametrize(
    ("last", "truncated"),
    [
        (ai("Hm.", response_metadata={"finish_reason": "stop"}), False),
        (ai("Hm.", response_metadata={"finish_reason": "length"}), True),
        (ai("Hm.", response_metadata={"stop_reason": "max_tokens"}), True),
        (ai("Hm.", response_metadata={"finish_reason": "MAX_TOKENS"}), True),
        (ai("Sorry, need more steps to process this request."), True),
        (ai("", ("a", "find")), True),
    ],
)
def test_how_it_ended(last: Any, truncated: bool) -> None:
    recording = read(HUMAN, last).only
    assert recording.trajectory is not None
    assert recording.trajectory.truncated is truncated


def test_blocks_tokens_and_what_has_no_place() -> None:
    blocks = [{"type": "thinking", "thinking": "hm"}, "Text", {"type": "tool_use", "id": "a"}, {"type": "image"}]
    usage = {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}
    late = {"type": "system", "content": "s"}
    found = read(
        HUMAN, ai(blocks, ("a", "find"), usage_metadata=usage), late, {"type": "remove", "content": "", "id": "x"}
    )
    assert [step.tokens for step in found.steps] == [None, 7, 0]
    assert found.steps[1].arguments == {"role": "assistant", "content": "Text"}
    assert found.losses == {"reasoning": 1, "other_content": 1, "system_messages": 1, "removed_messages": 1}


def test_states_and_updates_of_a_graph() -> None:
    alone = read(*RUN).only.trajectory
    state = {"values": {"messages": RUN}, "next": [], "metadata": {"step": 3}}
    updates = [{"agent": {"messages": RUN[:2]}}, {"tools": {"messages": RUN[2:4]}}, {"agent": {"messages": RUN[4:]}}]
    for held in (state, {"messages": RUN}, as_lines(*updates), updates, as_lines(*RUN)):
        assert imported("langchain", held).only.trajectory == alone
        assert claims(held) == {"langchain": Confidence.CERTAIN}
    waiting = imported("langchain", {**state, "next": ["tools"]}).only
    assert waiting.trajectory is not None
    assert waiting.trajectory.truncated
    assert waiting.metadata == {"step": 3}


def test_many_runs() -> None:
    runs = [{"id": "a", "trial": 2, "messages": RUN}, {"case": "b", "messages": RUN}]
    assert imported("langchain", runs).names == [("a", 2), ("b", 1)]
    assert imported("langchain", as_lines(*runs)).names == [("a", 2), ("b", 1)]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([HUMAN, {"type": "program"}], "message 2: it is no message of LangChain"),
        ({"other": 1}, "neither a list of messages nor an object with `messages`"),
    ],
)
def test_what_is_no_conversation_is_told(value: Any, message: str) -> None:
    ((_, _, code, told),) = refusal("langchain", json.dumps(value).encode())
    assert (code, told) == ("OLO322", message)
