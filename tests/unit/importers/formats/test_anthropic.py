from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import UNSET

from fakes.imports import Found, as_lines, claims, crossed, imported, refusal
from oloproof.importers.format import Confidence
from oloproof.importers.reading import Summary

ASKED = {"role": "user", "content": "Where is my order?"}
DONE = {"role": "assistant", "content": [{"type": "text", "text": "It was shipped."}]}


def uses(*names: str, **more: Any) -> dict[str, Any]:
    calls = [{"type": "tool_use", "id": f"t{at}", "name": each, "input": {"n": at}} for at, each in enumerate(names)]
    return {"role": "assistant", "content": calls, **more}


def gives(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def result(call_id: str, content: Any = "ok", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


def read(*messages: Any, **more: Any) -> Found:
    return imported("anthropic", {"messages": list(messages), **more})


def test_calls_and_results_are_blocks_of_messages() -> None:
    found = read(ASKED, uses("find", "look"), gives(result("t1", [{"type": "text", "text": "b"}]), result("t0")), DONE)
    assert found.paired[:-1] == crossed("t0", "t1")
    assert found.steps[-1].kind == "final"
    assert (found.steps[1].arguments, found.steps[3].result, found.steps[3].error) == ({"n": 0}, "b", None)
    assert found.only.output == {"answer": "It was shipped."}
    assert found.only.input == {"messages": [ASKED]}
    assert found.summary == Summary(trajectories=1, steps=6, calls=2, results=2)
    assert found.losses == {}


def test_an_error_says_so_and_what_does_not_is_none() -> None:
    found = read(ASKED, uses("find"), gives(result("t0", "no such order", is_error=True)), DONE)
    assert (found.steps[2].error, found.steps[2].result) == ("no such order", UNSET)
    assert found.only.trajectory is not None
    assert found.only.trajectory.errors_recorded


def test_one_id_of_several_calls_and_none_at_all() -> None:
    bare = {"role": "assistant", "content": [{"type": "tool_use", "name": "bare", "input": {}}]}
    found = read(
        ASKED, uses("a"), gives(result("t0", 1)), uses("b"), gives(result("t0", 2)), bare, gives(result("", 3))
    )
    assert [(step.tool_name, step.result) for step in found.steps if step.kind == "tool_result"] == [
        ("a", 1),
        ("b", 2),
        ("bare", 3),
    ]


def test_tools_of_the_server_are_answered_in_the_same_message() -> None:
    failed = {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}
    blocks = [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q"}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"type": "web_search_result"}]},
        {"type": "server_tool_use", "id": "s2", "name": "web_search", "input": {"query": "r"}},
        {"type": "web_search_tool_result", "tool_use_id": "s2", "content": failed},
        {"type": "mcp_tool_use", "id": "m1", "name": "echo", "server_name": "s", "input": {}},
        {"type": "mcp_tool_result", "tool_use_id": "m1", "is_error": False, "content": [{"type": "text", "text": "e"}]},
        "Found it.",
    ]
    found = read(ASKED, {"role": "assistant", "content": blocks})
    assert [(step.kind, step.tool_name, step.error) for step in found.steps[1:]] == [
        ("tool_call", "web_search", UNSET),
        ("tool_result", "web_search", None),
        ("tool_call", "web_search", UNSET),
        ("tool_result", "web_search", "max_uses_exceeded"),
        ("tool_call", "echo", UNSET),
        ("tool_result", "echo", None),
        ("final", None, UNSET),
    ]
    assert {step.turn for step in found.steps} == {None}
    assert found.losses == {"reasoning": 1}
    assert found.only.output == {"answer": "Found it."}


@pytest.mark.parametrize(
    ("reason", "truncated"),
    [("end_turn", False), ("max_tokens", True), ("model_context_window_exceeded", True), ("pause_turn", True)],
)
def test_how_it_ended(reason: str, truncated: bool) -> None:
    for found in (read(ASKED, DONE, stop_reason=reason), read(ASKED, {**DONE, "stop_reason": reason})):
        assert found.only.trajectory is not None
        assert found.only.trajectory.truncated is truncated
        assert found.only.metadata == {"stop_reason": reason}


def test_a_call_that_nothing_answers_proves_that_it_was_cut_off() -> None:
    cut = read(ASKED, uses("find"), stop_reason="tool_use").only
    assert cut.trajectory is not None
    assert cut.trajectory.truncated
    refused = read(ASKED, uses("find"), ASKED, DONE).only
    assert refused.trajectory is not None
    assert not refused.trajectory.truncated


def test_tokens_stand_on_the_first_step_of_an_answer() -> None:
    usage = {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 100, "service_tier": "standard"}
    found = read(ASKED, uses("a", "b", usage=usage))
    assert [step.tokens for step in found.steps] == [None, 115, 0]


def test_input_that_is_no_object_is_unknown() -> None:
    found = read(ASKED, {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "f", "input": "{"}]})
    assert found.losses == {"unparsable_arguments": 1}
    assert found.steps[1].arguments != {}


def test_what_has_no_place_is_counted() -> None:
    found = read(gives({"type": "image", "source": {}}, "text alone"), DONE, {"role": "system", "content": "s"})
    assert found.losses == {"other_content": 1, "system_messages": 1}
    assert found.steps[0].arguments == {"role": "user", "content": "text alone"}


def test_all_the_ways_to_hold_messages() -> None:
    run = [ASKED, uses("a"), gives(result("t0")), DONE]
    alone = imported("anthropic", run).only
    assert imported("anthropic", as_lines(*run)).only.trajectory == alone.trajectory
    objects = [{"id": 7, "trial": 2, "system": "s", "messages": run}, {"case": "x", "input": 1, "messages": run}]
    first, second = imported("anthropic", objects).recordings
    assert (first.case, first.trial, first.input) == ("7", 2, {"system": "s", "messages": [ASKED]})
    assert (second.case, second.input, second.trajectory) == ("x", 1, alone.trajectory)
    assert imported("anthropic", as_lines(*objects)).names == [("7", 2), ("x", 1)]
    for data in (run, as_lines(*run), objects, as_lines(*objects), [run, run]):
        found = claims(data)
        assert max(found, key=lambda name: found[name]) == "anthropic"
        assert list(found.values()).count(Confidence.CERTAIN) == 1


def test_conversations_without_anything_of_its_own_are_not_claimed() -> None:
    assert "anthropic" not in claims([ASKED, {"role": "assistant", "content": "plain"}])
    assert claims(as_lines({"type": "content_block_delta", "index": 0})) == {"anthropic": Confidence.CERTAIN}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([ASKED, 7], "message 2: a message is an object, not a number"),
        ([ASKED, {"role": "tool"}], "message 2: the message has no role that the API knows"),
        ({"type": "content_block_delta"}, "a fragment of a streamed response"),
        ({"other": 1}, "neither a list of messages nor an object with `messages`"),
    ],
)
def test_what_is_no_conversation_is_told(value: Any, message: str) -> None:
    ((_, _, code, told),) = refusal("anthropic", json.dumps(value).encode())
    assert (code, told) == ("OLO322", message)


@pytest.mark.parametrize(
    ("messages", "more"),
    [
        ((ASKED, DONE, gives("And now?")), {}),
        ((ASKED, DONE, {"role": "assistant", "content": []}), {}),
        ((ASKED, {"role": "assistant", "content": ["I look.", *uses("look")["content"]]}), {}),
        ((ASKED, DONE), {"stop_reason": "max_tokens"}),
    ],
)
def test_a_text_that_something_follows_or_that_was_cut_off_is_not_the_final_one(messages: Any, more: Any) -> None:
    assert "final" not in [step.kind for step in read(*messages, **more).steps]
