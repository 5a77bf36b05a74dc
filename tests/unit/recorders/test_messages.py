"""A list of messages that is handed over in a case is what importing the same messages gives."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from fakes.imports import imported
from fakes.recorders import facts, recorded
from oloproof.errors import RecordError
from oloproof.model.values import TAG
from oloproof.recorders import record_anthropic, record_openai, record_pydantic_ai
from oloproof.testing import recorded_case

Record = Callable[..., None]

ASKED = {"role": "user", "content": "Where is my order?"}


def function(name: str, arguments: str, call_id: str = "c1") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


OPENAI = [
    {"role": "system", "content": "Be kind."},
    ASKED,
    {"role": "assistant", "content": None, "tool_calls": [function("find", "{}", "a"), function("look", "{", "b")]},
    {"role": "tool", "tool_call_id": "b", "content": "no"},
    {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "yes"}]},
    {"role": "assistant", "content": "It was shipped."},
]
RESPONSES = [
    ASKED,
    {"type": "reasoning", "summary": []},
    {"type": "function_call", "call_id": "a", "name": "find", "arguments": "{}", "status": "completed"},
    {"type": "function_call_output", "call_id": "a", "output": "yes"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "It was shipped."}]},
]
ANTHROPIC = [
    ASKED,
    {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "find", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "no", "is_error": True}]},
    {"role": "assistant", "content": "It was shipped."},
]
PYDANTIC_AI = [
    {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Where is my order?"}]},
    {"kind": "response", "parts": [{"part_kind": "tool-call", "tool_name": "find", "tool_call_id": "a", "args": "{}"}]},
    {
        "kind": "request",
        "parts": [{"part_kind": "tool-return", "tool_name": "find", "tool_call_id": "a", "content": {"a": 1}}],
    },
    {"kind": "response", "parts": [{"part_kind": "text", "content": "It was shipped."}]},
]
LISTS = [
    ("openai", record_openai, OPENAI),
    ("openai-responses", record_openai, RESPONSES),
    ("anthropic", record_anthropic, ANTHROPIC),
    ("pydantic-ai", record_pydantic_ai, PYDANTIC_AI),
]


class Dumped:
    """An object of a provider's package."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self._fields = fields

    def model_dump(self, **how: Any) -> dict[str, Any]:
        return self._fields


@pytest.mark.parametrize(("name", "record", "messages"), LISTS)
def test_it_is_what_importing_gives(name: str, record: Record, messages: list[Any]) -> None:
    for count in range(3, len(messages) + 1):  # before, items of the Responses API look like any message
        head = messages[:count]
        known = imported(name, {"items" if name == "openai-responses" else "messages": head}).only.trajectory
        assert known is not None
        assert facts(recorded(record, head)) == facts(known)
        assert facts(recorded(record, map(Dumped, head))) == facts(known)


def test_arguments_that_are_no_json_are_kept_and_unknown() -> None:
    arguments = [step.arguments for step in recorded(record_openai, OPENAI).steps if step.kind == "tool_call"]
    assert arguments == [{}, {TAG: "{"}]


@pytest.mark.parametrize(("name", "record", "messages"), LISTS)
def test_that_it_was_cut_off_can_be_said(name: str, record: Record, messages: list[Any]) -> None:
    assert not recorded(record, messages).truncated
    assert recorded(record, messages, truncated=True).truncated
    assert recorded(record, [], truncated=True).steps == ()
    assert recorded(record, messages[:-2]).truncated  # nothing answers the last call


def test_blocks_of_a_message_may_be_objects_too() -> None:
    block = Dumped({"type": "tool_use", "id": "a", "name": "find", "input": {"n": 1}})
    trajectory = recorded(record_anthropic, [ASKED, {"role": "assistant", "content": [block]}])
    assert trajectory.steps[1].arguments == {"n": 1}


class Result:
    """What a run of Pydantic AI gives."""

    _output_tool_name = "report"

    def all_messages(self) -> list[Any]:
        answer = {"part_kind": "tool-call", "tool_name": "report", "tool_call_id": "a", "args": {"n": 1}}
        taken = {"part_kind": "tool-return", "tool_name": "report", "tool_call_id": "a"}
        taken["content"] = "Final result processed."
        return [PYDANTIC_AI[0], {"kind": "response", "parts": [answer]}, {"kind": "request", "parts": [taken]}]


def test_a_result_of_pydantic_ai_says_which_tool_answers() -> None:
    told = recorded(record_pydantic_ai, Result())
    assert [step.kind for step in told.steps] == ["message", "final"]
    listed = recorded(record_pydantic_ai, Result().all_messages(), output_tools=["report"])
    assert facts(listed) == facts(told)
    assert recorded(record_pydantic_ai, Result().all_messages()).steps[1].tool_name == "report"


@pytest.mark.parametrize(
    ("record", "given", "said"),
    [
        (record_openai, "hello", "takes a list of messages, not str"),
        (record_openai, None, "takes a list of messages, not NoneType"),
        (record_openai, {"messages": OPENAI}, "takes a list of messages, not dict"),
        (record_openai, [], "no message to record"),
        (record_openai, [OPENAI[0]], "no message to record"),
        (record_openai, [*OPENAI, {"content": "x"}], "message 7: the message has no role"),
        (record_openai, [object()], "message 1: the message has no role"),
        (record_anthropic, [{"role": "tool"}], "message 1: the message has no role that the API knows"),
        (record_anthropic, [1], "message 1: a message is an object, not a number"),
        (record_openai, ANTHROPIC, "message 2: a call or a result in the words of Anthropic's API"),
        (record_openai, [ASKED, ANTHROPIC[2]], "message 2: a call or a result in the words of Anthropic's API"),
        (record_openai, [*RESPONSES, *OPENAI[2:]], "message 6: a call in the words of Chat Completions"),
        (record_openai, [*RESPONSES, OPENAI[3]], "message 6: a result in the words of Chat Completions"),
        (record_openai, [*RESPONSES, *ANTHROPIC[1:]], "message 6: a call or a result in the words of Anthropic's API"),
        (record_openai, [ASKED, {"object": "response", "output": RESPONSES[2:3]}], "an item has a type or a role"),
        (record_anthropic, [ASKED, OPENAI[2]], "message 2: a call in the words of Chat Completions"),
        (record_pydantic_ai, object(), "takes a list of messages, not object"),
        (record_pydantic_ai, OPENAI, "message 1: the message is of no kind that Pydantic AI knows"),
    ],
)
def test_what_is_no_list_of_messages_is_refused(record: Record, given: Any, said: str) -> None:
    with recorded_case("question") as case:
        with pytest.raises(RecordError, match=said) as caught:
            record(given)
        assert caught.value.problems[0].code == "OLO699"
        assert record.__name__ in str(caught.value)
        assert case.trajectory is None


@pytest.mark.parametrize(("name", "record", "messages"), LISTS)
def test_one_record_a_case(name: str, record: Record, messages: list[Any]) -> None:
    with pytest.raises(RecordError, match="outside a case"):
        record(messages)
    with recorded_case("question"):
        record(messages)
        with pytest.raises(RecordError, match="recorded already"):
            record(messages)


def test_a_message_that_cannot_be_dumped_does_not_break_the_agent() -> None:
    class Broken:
        def model_dump(self, **how: Any) -> Any:
            raise ZeroDivisionError

    with recorded_case("question"), pytest.raises(RecordError, match="message 2: the message has no role"):
        record_openai([ASKED, Broken()])


def test_values_of_the_agent_are_copied() -> None:
    messages = json.loads(json.dumps(OPENAI))
    with recorded_case("question") as case:
        record_openai(messages)
        messages[-1]["content"] = "changed"
        assert case.trajectory is not None
        assert case.trajectory.steps[-1].arguments["content"] == "It was shipped."
