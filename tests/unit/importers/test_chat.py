from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from msgspec import UNSET

from oloproof.importers.chat import Chat
from oloproof.importers.conversations import MessageError
from oloproof.model.trajectory import Step, contradiction

USER = {"role": "user", "content": "hello"}


def call(name: str, call_id: str | None = "1", arguments: Any = "{}") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def asks(*calls: dict[str, Any], content: str | None = None) -> dict[str, Any]:
    return {"role": "assistant", "content": content, "tool_calls": list(calls)}


def result(content: Any, call_id: str | None = "1", **more: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content, **more}


def read(*messages: Any, error_prefix: str | None = None) -> tuple[Chat, Counter[str]]:
    chat = Chat(messages, error_prefix=error_prefix)
    assert contradiction(chat.trajectory(truncated=True, errors_recorded=False)) is None
    return chat, +chat.losses


def shape(steps: list[Step]) -> list[tuple[str, str | None, Any]]:
    return [(step.kind, step.tool_name, step.result if step.kind == "tool_result" else None) for step in steps]


def arguments(raw: Any) -> tuple[Any, Counter[str]]:
    chat, losses = read(asks(call("t", arguments=raw)))
    return chat.builder.steps[0].arguments, losses


def test_a_conversation_in_steps() -> None:
    chat, losses = read(
        {"role": "system", "content": "be brief"},
        USER,
        asks(call("lookup", arguments='{"id": 1}'), content="let me see"),
        result("found"),
        {"role": "assistant", "content": "done"},
    )
    assert chat.builder.steps == [
        Step(index=1, kind="message", arguments={"role": "user", "content": "hello"}),
        Step(index=2, kind="message", arguments={"role": "assistant", "content": "let me see"}),
        Step(index=3, kind="tool_call", tool_name="lookup", call_id="1", arguments={"id": 1}),
        Step(index=4, kind="tool_result", tool_name="lookup", call_id="1", result="found"),
        Step(index=5, kind="final", arguments={"role": "assistant", "content": "done"}),
    ]
    assert chat.builder.answer == "done"
    assert [message["role"] for message in chat.opening] == ["system", "user"]
    assert chat.system_messages == 1
    assert losses == {}


def test_no_message_at_all() -> None:
    chat, losses = read()
    assert (chat.builder.steps, chat.builder.answer, chat.ends_on_open_call, losses) == ([], None, False, {})


def test_a_call_id_used_again_names_the_latest_call() -> None:
    chat, losses = read(
        asks(call("a", "x")), result("from a", "x"), asks(call("b", "x")), result("from b", "x"), asks(call("c", "x"))
    )
    assert shape(chat.builder.steps) == [
        ("tool_call", "a", None),
        ("tool_result", "a", "from a"),
        ("tool_call", "b", None),
        ("tool_result", "b", "from b"),
        ("tool_call", "c", None),
    ]
    assert losses == {}
    assert [open_call.name for open_call in chat.builder.unanswered] == ["c"]


def test_an_earlier_unanswered_call_of_the_same_id_stays_unanswered() -> None:
    chat, _ = read(asks(call("a", "x")), USER, asks(call("b", "x")), result("from b", "x"))
    assert chat.builder.steps[-1].tool_name == "b"
    assert [open_call.name for open_call in chat.builder.unanswered] == ["a"]
    assert not chat.ends_on_open_call


def test_parallel_calls_share_a_turn_and_are_answered_in_any_order() -> None:
    chat, _ = read(asks(call("a", "1"), call("b", "2")), result("B", "2"), result("A", "1"), asks(call("c", "3")))
    assert [step.turn for step in chat.builder.steps] == [1, 1, None, None, None]
    assert shape(chat.builder.steps)[2:4] == [("tool_result", "b", "B"), ("tool_result", "a", "A")]


def test_one_id_for_parallel_calls_is_answered_in_order() -> None:
    chat, _ = read(asks(call("a", "x"), call("b", "x")), result("A", "x"), result("B", "x"))
    assert shape(chat.builder.steps)[2:] == [("tool_result", "a", "A"), ("tool_result", "b", "B")]


@pytest.mark.parametrize("absent", ["", None])
def test_without_ids_order_pairs(absent: str | None) -> None:
    chat, losses = read(asks(call("a", absent), call("b", absent)), result("A", absent), result("B", absent))
    assert shape(chat.builder.steps)[2:] == [("tool_result", "a", "A"), ("tool_result", "b", "B")]
    assert losses == {}


def test_without_ids_the_tools_name_comes_before_order() -> None:
    chat, _ = read(asks(call("a", ""), call("b", "")), result("B", "", name="b"), result("A", "", name="a"))
    assert shape(chat.builder.steps)[2:] == [("tool_result", "b", "B"), ("tool_result", "a", "A")]


def test_a_result_without_an_id_answers_calls_that_have_one() -> None:
    chat, losses = read(asks(call("a", "1")), result("A", None))
    assert chat.builder.steps[-1] == Step(index=2, kind="tool_result", tool_name="a", call_id="1", result="A")
    assert losses == {}


def test_a_result_of_another_id_answers_no_call_that_has_one() -> None:
    chat, losses = read(asks(call("a", "1")), result("B", "2"))
    assert chat.builder.steps[-1] == Step(index=2, kind="observation", call_id="2", result="B")
    assert losses == {"results_without_call": 1}
    assert chat.ends_on_open_call


def test_a_named_result_without_a_call_keeps_its_name() -> None:
    chat, losses = read(USER, result("R", "9", name="lookup"))
    assert shape(chat.builder.steps)[1:] == [("tool_result", "lookup", "R")]
    assert losses == {"results_without_call": 1}


def test_one_message_may_answer_several_calls() -> None:
    chat, losses = read(
        asks(call("a", "1"), call("b", "2")), {"role": "tool", "tool_call_ids": ["1", "2"], "content": "both"}
    )
    assert shape(chat.builder.steps)[2:] == [("tool_result", "a", "both"), ("tool_result", "b", "both")]
    assert losses == {"shared_results": 1}
    assert chat.builder.unanswered == []


@pytest.mark.parametrize("raw", ['{"a": 1}', {"a": 1}])
def test_arguments_are_an_object_as_text_or_as_they_are(raw: Any) -> None:
    assert arguments(raw) == ({"a": 1}, {})


@pytest.mark.parametrize("raw", ["", '{"a": 1', "[1]", '"text"', "null", "5", "lookup order 7", '{"a": 1} {"b": 2}'])
def test_arguments_that_are_no_object_are_kept_and_never_empty(raw: str) -> None:
    assert arguments(raw) == ({"$unrepresentable": raw}, {"unparsable_arguments": 1})


def test_arguments_of_another_type_are_kept_as_text() -> None:
    assert arguments([1]) == ({"$unrepresentable": "[1]"}, {"unparsable_arguments": 1})


def test_arguments_that_are_absent_were_not_recorded() -> None:
    assert arguments(None) == (None, {})
    chat, _ = read({"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "t"}}]})
    assert chat.builder.steps[0].arguments is None


def test_custom_calls_take_free_text() -> None:
    chat, losses = read(asks({"id": "1", "type": "custom", "custom": {"name": "shell", "input": "ls -l"}}))
    assert chat.builder.steps == [Step(index=1, kind="tool_call", tool_name="shell", call_id="1", arguments="ls -l")]
    assert losses == {}


def test_deprecated_function_calls() -> None:
    chat, losses = read(
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": '{"a": 1}'}},
        {"role": "function", "name": "f", "content": "ok"},
    )
    assert chat.builder.steps == [
        Step(index=1, kind="tool_call", tool_name="f", arguments={"a": 1}),
        Step(index=2, kind="tool_result", tool_name="f", result="ok"),
    ]
    assert losses == {}


def test_fragments_of_a_stream_are_joined_by_index() -> None:
    def more(index: int, text: str) -> dict[str, Any]:
        return {"index": index, "function": {"arguments": text}}

    first = [{"index": index, **call(name, name, "")} for index, name in enumerate("ab")]
    chat, losses = read(asks(*first, more(0, '{"x"'), more(1, '{"y": 2}'), more(0, ": 1}")))
    assert [(step.tool_name, step.arguments) for step in chat.builder.steps] == [("a", {"x": 1}), ("b", {"y": 2})]
    assert losses == {}


def test_an_unanswered_last_call_ends_the_record_early() -> None:
    assert read(asks(call("a")))[0].ends_on_open_call
    assert read(asks(call("a", "1"), call("b", "2")), result("A", "1"))[0].ends_on_open_call
    assert not read(asks(call("a")), result("A"))[0].ends_on_open_call
    assert not read(asks(call("a")), USER)[0].ends_on_open_call
    assert not read(asks(call("a")), {"role": "assistant", "content": "never mind"})[0].ends_on_open_call


def test_errors_are_unknown_unless_the_source_marks_them() -> None:
    messages = (asks(call("a")), result("Error: no"), asks(call("b")), result("fine"))
    assert [step.error for step in read(*messages)[0].builder.steps if step.kind == "tool_result"] == [UNSET, UNSET]
    failed, fine = [
        step for step in read(*messages, error_prefix="Error")[0].builder.steps if step.kind == "tool_result"
    ]
    assert (failed.error, failed.result) == ("Error: no", UNSET)
    assert (fine.error, fine.result) == (None, "fine")


def test_text_parts_are_joined_and_other_content_is_kept() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    image = [{"type": "image_url", "image_url": {"url": "x"}}]
    chat, _ = read({"role": "user", "content": image}, asks(call("t")), result(parts))
    assert chat.builder.steps[0].arguments["content"] == image
    assert chat.builder.steps[-1].result == "ab"
    assert chat.builder.answer is None


def test_what_has_no_place_is_counted() -> None:
    _, losses = read({"role": "assistant", "content": "hi", "audio": {"id": 1}, "annotations": [], "logprobs": None})
    assert losses == {"unread_fields": 2}


def test_a_refusal_and_a_name_are_part_of_what_was_said() -> None:
    chat, _ = read({"role": "assistant", "name": "bob", "content": None, "refusal": "I will not"})
    assert chat.builder.steps[0].arguments == {
        "role": "assistant",
        "content": None,
        "name": "bob",
        "refusal": "I will not",
    }
    assert chat.builder.answer is None


def test_a_system_message_in_mid_conversation_is_a_step() -> None:
    chat, _ = read(USER, {"role": "assistant", "content": "a"}, {"role": "system", "content": "hurry"})
    assert [step.arguments["role"] for step in chat.builder.steps] == ["user", "assistant", "system"]


@pytest.mark.parametrize(
    ("message", "what"),
    [
        ("massive error", "a message is an object, not text"),
        (42, "a message is an object, not a number"),
        (None, "a message is an object, not null"),
        (True, "a message is an object, not a truth value"),
        ([1], "a message is an object, not an array"),
        ({"content": "x"}, "the message has no role"),
        ({"role": 1}, "the message has no role"),
        ({"role": "assistant", "tool_calls": {"id": "1"}}, "tool_calls is a list, not an object"),
        (asks({"id": "1", "function": {"arguments": "{}"}}), "a tool call has no function name"),
        (asks(call("")), "a tool call has no function name"),
        (asks({"index": 0, "function": {"arguments": "{}"}}), "a tool call has no function name"),
    ],
    ids=json.dumps,
)
def test_a_message_that_is_none_is_refused_by_number(message: Any, what: str) -> None:
    with pytest.raises(MessageError) as caught:
        Chat([USER, message])
    assert (str(caught.value), caught.value.message) == (what, 2)


@pytest.mark.parametrize("role", ["Assistant", "user", "system", "developer", "model"])
@pytest.mark.parametrize("key", ["tool_calls", "function_call"])
def test_calls_of_another_role_are_no_words_of_the_agent_and_not_passed_over(role: str, key: str) -> None:
    asked = {"name": "delete", "arguments": "{}"}
    calls = [{"id": "1", "function": asked}] if key == "tool_calls" else asked
    with pytest.raises(MessageError, match="calls tools"):
        Chat([USER, {"role": role, "content": "x", key: calls}])
    Chat([USER, {"role": role, "content": "x", key: None}])
