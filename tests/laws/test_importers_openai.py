"""However calls and results are interleaved and named, each result stands with the call that it answers."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from fakes.imports import imported
from oloproof.errors import UsageError
from oloproof.importers.chat import Chat
from oloproof.model.trajectory import contradiction


@st.composite
def conversations(draw: st.DrawFn) -> tuple[list[dict[str, Any]], int]:
    """Messages whose results repeat the number of their call, and how many of the last calls have no result.

    Ids are unique within a turn (or absent from the whole turn, then results come in order) and re-used across turns.
    """
    messages: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    number = unanswered = 0
    turns = draw(st.lists(st.integers(0, 4), max_size=5))
    for turn, size in enumerate(turns, 1):
        without_ids = draw(st.booleans())
        numbers = list(range(number, number + size))
        number += size
        ids = {at: "" if without_ids else str(index) for index, at in enumerate(numbers)}
        calls = [
            {"id": ids[at], "type": "function", "function": {"name": f"tool_{at}", "arguments": json.dumps({"n": at})}}
            for at in numbers
        ]
        messages.append({"role": "assistant", "content": None if calls else "text", "tool_calls": calls})
        order = numbers if without_ids else draw(st.permutations(numbers))
        unanswered = draw(st.integers(0, size)) if turn == len(turns) else 0
        messages.extend(
            {"role": "tool", "tool_call_id": ids[at], "content": str(at)} for at in order[: size - unanswered]
        )
    return messages, unanswered


@settings(deadline=None, max_examples=150)
@given(conversations())
def test_each_result_bears_the_name_of_its_call(conversation: tuple[list[dict[str, Any]], int]) -> None:
    messages, unanswered = conversation
    chat = Chat(messages)
    steps = chat.builder.steps
    results = [step for step in steps if step.kind == "tool_result"]
    assert all(step.tool_name == f"tool_{step.result}" for step in results)
    calls = [step.arguments["n"] for step in steps if step.kind == "tool_call"]
    assert calls == list(range(len(calls)))
    assert len(results) + unanswered == len(calls)
    assert (len(chat.builder.unanswered), chat.ends_on_open_call) == (unanswered, unanswered > 0)
    assert +chat.losses == {}
    for truncated in (True, False):
        assert contradiction(chat.trajectory(truncated=truncated, errors_recorded=False)) is None


KEYS = [
    "role",
    "content",
    "tool_calls",
    "tool_call_id",
    "tool_call_ids",
    "function_call",
    "function",
    "name",
    "arguments",
    "id",
    "index",
    "custom",
    "input",
    "messages",
    "traj",
    "trial",
    "task_id",
    "info",
    "task",
    "actions",
    "reward",
    "choices",
    "delta",
]
scraps = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(["", "user", "assistant", "tool", "a", "\ud800", "{}", "Error: no", "###STOP###"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=20,
)


@settings(deadline=None, max_examples=300)
@given(scraps)
def test_any_json_is_imported_or_refused(value: Any) -> None:
    with suppress(UsageError):
        imported("openai", value)


@settings(deadline=None, max_examples=100)
@given(st.binary(max_size=60))
def test_any_bytes_are_imported_or_refused(data: bytes) -> None:
    with suppress(UsageError):
        imported("openai", data)
    with suppress(UsageError):
        imported("jsonl", data)
