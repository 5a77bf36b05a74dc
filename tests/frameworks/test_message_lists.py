"""Messages as the packages of OpenAI and Anthropic make them, objects and dictionaries mixed as agents mix them."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET

from fakes.imports import imported
from fakes.recorders import facts, judged, recorded
from oloproof.model.values import TAG
from oloproof.recorders import record_anthropic, record_openai

openai = pytest.importorskip("openai", reason="needs OpenAI's package: pip install openai")
anthropic = pytest.importorskip("anthropic", reason="needs Anthropic's package: pip install anthropic")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of their own dependencies, while they are imported
    from anthropic.types import Message
    from openai.types.chat import ChatCompletion
    from openai.types.responses import Response


def completion(content: str | None, *calls: tuple[str, str, str]) -> Any:
    """The message of a response, as the client reads one from the wire."""
    named = [{"id": id_, "type": "function", "function": {"name": name, "arguments": raw}} for id_, name, raw in calls]
    message = {"role": "assistant", "content": content, **({"tool_calls": named} if named else {})}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    wire = {"id": "r", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    return ChatCompletion.model_validate(wire).choices[0].message


def test_chat_completions() -> None:
    messages = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": [{"type": "text", "text": "Where is my order?"}]},
        completion(None, ("a", "find", '{"n": 1}'), ("b", "look", '{"n": ')),
        {"role": "tool", "tool_call_id": "b", "content": "no"},
        {"role": "tool", "tool_call_id": "a", "content": "yes"},
        completion("It was shipped."),
    ]
    trajectory = recorded(record_openai, messages)
    assert [(step.kind, step.tool_name, step.call_id) for step in trajectory.steps] == [
        ("message", None, None),
        ("tool_call", "find", "a"),
        ("tool_call", "look", "b"),
        ("tool_result", "look", "b"),
        ("tool_result", "find", "a"),
        ("final", None, None),
    ]
    assert [step.arguments for step in trajectory.steps[1:3]] == [{"n": 1}, {TAG: '{"n": '}]
    assert trajectory.steps[1].turn == trajectory.steps[2].turn is not None
    written = [message if isinstance(message, dict) else json.loads(message.to_json()) for message in messages]
    assert facts(trajectory) == facts(imported("openai", written).only.trajectory)
    assert recorded(record_openai, messages[:4]).truncated


def test_items_of_responses() -> None:
    def response(*output: Any) -> Any:
        wire = {"id": "r", "object": "response", "created_at": 1, "model": "m", "output": list(output)}
        return Response.model_validate(
            {**wire, "parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "status": "completed"}
        ).output

    text = {"type": "output_text", "text": "It was shipped.", "annotations": []}
    items: list[Any] = [{"role": "user", "content": "Where is my order?"}]
    items += response(
        {"type": "reasoning", "id": "rs", "summary": []},
        {"type": "function_call", "id": "fc", "call_id": "a", "name": "find", "arguments": '{"n": 1}'},
    )
    items.append({"type": "function_call_output", "call_id": "a", "output": "yes"})
    items += response({"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [text]})
    trajectory = recorded(record_openai, items)
    assert [(step.kind, step.tool_name) for step in trajectory.steps] == [
        ("message", None),
        ("tool_call", "find"),
        ("tool_result", "find"),
        ("message", None),
    ]
    assert trajectory.steps[-1].arguments == {"role": "assistant", "content": "It was shipped."}
    assert not trajectory.truncated
    written = [item if isinstance(item, dict) else json.loads(item.to_json()) for item in items]
    assert facts(trajectory) == facts(imported("openai-responses", {"items": written}).only.trajectory)


def answer(*blocks: Any, stop_reason: str = "end_turn") -> Any:
    """A response, as the client reads one from the wire."""
    wire = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": list(blocks)}
    usage = {"input_tokens": 10, "output_tokens": 5}
    return Message.model_validate({**wire, "stop_reason": stop_reason, "stop_sequence": None, "usage": usage})


def test_messages_of_anthropic() -> None:
    calls = [{"type": "tool_use", "id": f"call_{name}", "name": name, "input": {"n": 1}} for name in "bc"]
    asked = answer({"type": "thinking", "thinking": "hm", "signature": "s"}, *calls, stop_reason="tool_use")
    results = [
        {"type": "tool_result", "tool_use_id": "call_c", "content": "no such order", "is_error": True},
        {"type": "tool_result", "tool_use_id": "call_b", "content": [{"type": "text", "text": "yes"}]},
    ]
    said = answer({"type": "text", "text": "It was shipped."})
    for messages in (
        [{"role": "assistant", "content": each.content} for each in (asked, said)],  # as its documentation has it
        [asked, said],
    ):
        run = [{"role": "user", "content": "Where?"}, messages[0], {"role": "user", "content": results}, messages[1]]
        trajectory = recorded(record_anthropic, run)
        assert [(step.kind, step.tool_name, step.error) for step in trajectory.steps[3:]] == [
            ("tool_result", "c", "no such order"),
            ("tool_result", "b", None),
            ("final", None, UNSET),
        ]
        assert trajectory.steps[1].turn == trajectory.steps[2].turn is not None
        assert not trajectory.truncated
    written = [message if isinstance(message, dict) else json.loads(message.to_json()) for message in run]
    assert facts(trajectory) == facts(imported("anthropic", written).only.trajectory)
    assert recorded(record_anthropic, [*run[:3], answer(stop_reason="max_tokens")]).truncated


APP = """
from oloproof import system
from oloproof.recorders import record_openai
from openai.types.chat import ChatCompletionMessage, ChatCompletionMessageFunctionToolCall

@system(name="orders", version="1", records=["agent_trajectory/v1"])
def run(tools):
    messages = [{"role": "user", "content": "Where is my order?"}]
    for name in tools:
        call = {"id": "c", "type": "function", "function": {"name": name, "arguments": "{}"}}
        messages.append(ChatCompletionMessage.model_validate({"role": "assistant", "tool_calls": [call]}))
        messages.append({"role": "tool", "tool_call_id": "c", "content": "done"})
    messages.append(ChatCompletionMessage(role="assistant", content="yes"))
    record_openai(messages)
    return {"answer": "yes"}
"""


def test_a_run_is_judged(tmp_path: Path) -> None:
    assert judged(tmp_path, APP) == (1, (1, 1, 0, 0))
