"""A format that grows a word must not lose a call by it: what is of no known kind is refused, truncates, or is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakes.depth import IS_DEEP
from fakes.formats import paths, replaced
from fakes.imports import as_lines, imported
from fakes.telemetry import agent, chat, otlp, says, span
from oloproof.errors import UsageError
from oloproof.importers import registry

CALL, RESULT = "erase", "gone-77"
_FUNCTION = {"id": "1", "type": "function", "function": {"name": CALL, "arguments": "{}"}}
_CHAT = [
    {"role": "user", "content": "Go."},
    {"role": "assistant", "content": None, "tool_calls": [_FUNCTION]},
    {"role": "tool", "tool_call_id": "1", "content": RESULT},
    {"role": "assistant", "content": "Done."},
]
_USE = {"type": "tool_use", "id": "1", "name": CALL, "input": {}}
_USED = {"type": "tool_result", "tool_use_id": "1", "content": RESULT}
_STEPS = [
    {"index": 1, "kind": "tool_call", "tool_name": CALL, "arguments": {}},
    {"index": 2, "kind": "tool_result", "tool_name": CALL, "result": RESULT},
    {"index": 3, "kind": "final", "arguments": {"content": "Done."}},
]
_RUN = {"trace_id": "r", "start_time": "2026-01-01T00:00:00", "end_time": "2026-01-01T00:00:09"}
_TIMES = {"started_at": "2026-01-01T00:00:01Z", "ended_at": "2026-01-01T00:00:02Z"}
_TRACE = {"object": "trace.span", "trace_id": "t", "parent_id": "a"} | _TIMES


def _claude(number: int, kind: str, *blocks: Any) -> Any:
    message = {"id": f"m{number}", "role": kind, "content": list(blocks)}
    return {"type": kind, "sessionId": "s", "uuid": f"u{number}", "message": message}


def _adk(*parts: Any, author: str = "a") -> Any:
    return {"author": author, "invocation_id": "i", "content": {"parts": list(parts)}}


def _logged(**sample: Any) -> Any:
    return [{"eval": {"task": "t"}, "samples": [{"id": 1, "epoch": 1, **sample}]}]


def _lines(values: Any) -> bytes:
    return as_lines(*values)


def _telemetry(value: Any) -> bytes:
    """Spans whose kinds, and those of the messages in them, are in ``value``."""
    step = [span(each["name"], str(at), "a", at, a=each["attributes"]) for at, each in enumerate(value["spans"], 2)]
    answered = chat("m", "a", 90, heard=value["heard"], said=[says("Done.")])
    return json.dumps(otlp(agent("a", "a"), *step, answered)).encode()


_CALLED = {"type": "tool_call", "id": "1", "name": CALL, "arguments": {}}
_RETURNED = {"type": "tool_call_response", "id": "1", "response": RESULT}
_ASKED = {"role": "user", "parts": [{"type": "text", "content": "Go."}]}
_HISTORY = [_ASKED, {"role": "assistant", "parts": [_CALLED]}, {"role": "tool", "parts": [_RETURNED]}]
_EXECUTED = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": CALL, "gen_ai.tool.call.result": RESULT}

FILES: list[tuple[str, Callable[[Any], bytes], Any]] = [
    ("openai", _lines, _CHAT),
    ("mini-swe-agent", _lines, [{"messages": _CHAT, "info": {"exit_status": "Submitted"}}]),
    (
        "mini-swe-agent",
        _lines,
        [
            {
                "messages": [
                    {"role": "assistant", "content": "Go.", "extra": {"actions": [{"command": CALL}]}},
                    {"role": "user", "content": RESULT},
                    {"role": "exit", "content": ""},
                ],
                "info": {"exit_status": "Submitted"},
            }
        ],
    ),
    ("swe-agent", _lines, [{"trajectory": [], "history": _CHAT, "info": {"exit_status": "submitted"}}]),
    (
        "agentdojo",
        _lines,
        [
            {
                "suite_name": "s",
                "messages": [
                    {"role": "assistant", "content": None, "tool_calls": [{"function": CALL, "args": {}, "id": "1"}]},
                    {"role": "tool", "content": RESULT, "tool_call": {"function": CALL, "args": {}, "id": "1"}},
                    {"role": "assistant", "content": "Done."},
                ],
            }
        ],
    ),
    (
        "tau2",
        _lines,
        [
            {
                "task_id": "7",
                "termination_reason": "user_stop",
                "messages": [
                    {"role": "assistant", "tool_calls": [{"id": "1", "name": CALL, "arguments": {}}]},
                    {"role": "tool", "id": "1", "content": RESULT},
                    {"role": "assistant", "content": "Done."},
                ],
            }
        ],
    ),
    (
        "atif",
        _lines,
        [
            {
                "schema_version": "ATIF-v1.7",
                "agent": {"name": "a"},
                "steps": [
                    {
                        "source": "agent",
                        "message": "Go.",
                        "tool_calls": [{"tool_call_id": "1", "function_name": CALL, "arguments": {}}],
                        "observation": {"results": [{"source_call_id": "1", "content": RESULT}]},
                    },
                    {"source": "agent", "message": "Done."},
                ],
            }
        ],
    ),
    (
        "inspect",
        _lines,
        _logged(
            messages=[
                {"role": "assistant", "content": "", "tool_calls": [{"id": "1", "function": CALL}]},
                {"role": "tool", "tool_call_id": "1", "function": CALL, "content": RESULT},
                {"role": "assistant", "content": "Done."},
            ]
        ),
    ),
    (
        "inspect",
        _lines,
        _logged(
            messages=[{"role": "assistant", "content": "Done."}],
            events=[{"event": "tool", "id": "2", "function": CALL, "result": RESULT, "events": []}],
        ),
    ),
    (
        "anthropic",
        _lines,
        [
            {"role": "user", "content": "Go."},
            {"role": "assistant", "content": [_USE]},
            {"role": "user", "content": [_USED]},
            {"role": "assistant", "content": "Done."},
        ],
    ),
    (
        "anthropic",
        _lines,
        [
            {"role": "user", "content": "Go."},
            {
                "role": "assistant",
                "content": [
                    {"type": "server_tool_use", "id": "1", "name": CALL, "input": {}},
                    {"type": "web_search_tool_result", "tool_use_id": "1", "content": RESULT},
                    {"type": "text", "text": "Done."},
                ],
            },
        ],
    ),
    (
        "claude-code",
        _lines,
        [
            _claude(1, "user", {"type": "text", "text": "Go."}),
            _claude(2, "assistant", _USE),
            _claude(3, "user", _USED),
            _claude(4, "assistant", {"type": "text", "text": "Done."}),
        ],
    ),
    (
        "openai-responses",
        _lines,
        [
            {
                "items": [
                    {"role": "user", "content": "Go."},
                    {"type": "function_call", "call_id": "1", "name": CALL, "arguments": "{}"},
                    {"type": "function_call_output", "call_id": "1", "output": RESULT},
                    {"type": "mcp_call", "id": "2", "name": CALL, "arguments": "{}", "output": RESULT},
                    {"type": "message", "role": "assistant", "content": "Done."},
                ]
            }
        ],
    ),
    (
        "pydantic-ai",
        _lines,
        [
            {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Go."}]},
            {
                "kind": "response",
                "parts": [{"part_kind": "tool-call", "tool_name": CALL, "args": {}, "tool_call_id": "1"}],
            },
            {
                "kind": "request",
                "parts": [
                    {"part_kind": "tool-return", "tool_name": CALL, "content": RESULT, "tool_call_id": "1"},
                ],
            },
            {"kind": "response", "parts": [{"part_kind": "text", "content": "Done."}]},
        ],
    ),
    (
        "adk",
        _lines,
        [
            _adk({"text": "Go."}, author="user"),
            _adk({"function_call": {"id": "1", "name": CALL, "args": {}}}),
            _adk({"function_response": {"id": "1", "name": CALL, "response": {"r": RESULT}}}),
            _adk({"text": "Done."}),
        ],
    ),
    (
        "langchain",
        _lines,
        [
            {"type": "human", "content": "Go."},
            {"type": "ai", "content": "", "tool_calls": [{"name": CALL, "args": {}, "id": "1", "type": "tool_call"}]},
            {"type": "tool", "content": RESULT, "tool_call_id": "1"},
            {"type": "ai", "content": [{**_USE, "id": "2"}]},
            {"type": "tool", "content": RESULT, "tool_call_id": "2"},
            {"type": "ai", "content": "Done."},
        ],
    ),
    (
        "langsmith",
        _lines,
        [
            {"id": "r", "run_type": "chain", "outputs": {"output": "Done."}} | _RUN,
            {
                "id": "m",
                "run_type": "llm",
                "parent_run_id": "r",
                "outputs": {"message": {"type": "ai", "content": "", "tool_calls": [{"name": CALL, "id": "1"}]}},
            }
            | _RUN,
            {"id": "t", "run_type": "tool", "name": CALL, "parent_run_id": "r", "outputs": {"output": RESULT}} | _RUN,
        ],
    ),
    (
        "langsmith",
        _lines,
        [
            {"id": "r", "run_type": "chain", "outputs": {"output": "Done."}} | _RUN,
            {"id": "t", "run_type": "tool", "name": CALL, "parent_run_id": "r", "outputs": {"output": RESULT}} | _RUN,
        ],
    ),
    (
        "openai-agents",
        _lines,
        [
            {"object": "trace", "id": "t", "workflow_name": "w"},
            {**_TRACE, "id": "a", "parent_id": None, "span_data": {"type": "agent", "name": "a"}},
            {
                **_TRACE,
                "id": "g",
                "span_data": {"type": "generation", "output": [{"role": "assistant", "tool_calls": [_FUNCTION]}]},
            },
            {**_TRACE, "id": "f", "span_data": {"type": "function", "name": CALL, "input": "{}", "output": RESULT}},
        ],
    ),
    (
        "openai-agents",
        _lines,
        [
            {"object": "trace", "id": "t", "workflow_name": "w"},
            {**_TRACE, "id": "a", "parent_id": None, "span_data": {"type": "agent", "name": "a"}},
            {**_TRACE, "id": "f", "span_data": {"type": "function", "name": CALL, "input": "{}", "output": RESULT}},
            {
                **_TRACE,
                "id": "r",
                "span_data": {
                    "type": "response",
                    "output": [
                        {"type": "mcp_call", "id": "2", "name": CALL, "arguments": "{}", "output": RESULT},
                        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "D"}]},
                    ],
                },
            },
        ],
    ),
    ("otel", _telemetry, {"spans": [], "heard": _HISTORY}),
    ("otel", _telemetry, {"spans": [{"name": "x", "attributes": _EXECUTED}], "heard": [_ASKED]}),
    (
        "otel",
        _telemetry,
        {
            "spans": [],
            "heard": [_ASKED, {"role": "assistant", "content": [_USE]}, {"role": "user", "content": [_USED]}],
        },
    ),
    ("jsonl", _lines, [{"case": "c", "trajectory": {"steps": _STEPS}}]),
]
KINDS = ("role", "type", "kind", "part_kind", "event", "source", "run_type", "object", "gen_ai.operation.name")
KEYS = ("function_call", "function_response")


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def kinds(value: Any) -> list[tuple[Any, ...]]:
    """Where an entry that holds the call, or its result, says of what kind it is."""
    found = [path for path in paths(value) if path and path[-1] in (*KINDS, *KEYS)]
    return [path for path in found if any(word in json.dumps(at(value, path[:-1])) for word in (CALL, RESULT))]


def renamed(value: Any, path: tuple[Any, ...], word: str) -> Any:
    held = at(value, path[:-1])
    if path[-1] in KEYS:
        return replaced(value, path[:-1], {word if key == path[-1] else key: each for key, each in held.items()})
    return replaced(value, path, word)


def without_results(value: Any) -> Any:
    """The same, where the results were not recorded."""
    if isinstance(value, list):
        kept = [each for each in value if RESULT not in json.dumps(each) or CALL in json.dumps(each)]
        return [without_results(each) for each in kept]
    return {key: without_results(each) for key, each in value.items()} if isinstance(value, dict) else value


class Found(NamedTuple):
    """Whether every record is truncated, whether any is there, and how often the call and the result are."""

    truncated: bool
    is_there: bool
    calls: int
    results: int


def found_in(name: str, file: bytes) -> Found:
    recordings = imported(name, file).recordings
    steps = [step for each in recordings if each.trajectory for step in each.trajectory.steps]
    calls = sum(CALL in str((step.tool_name, step.arguments)) for step in steps if step.kind == "tool_call")
    results = sum(RESULT in str((step.result, step.error, step.arguments)) for step in steps)
    truncated = all(each.trajectory is not None and each.trajectory.truncated for each in recordings)
    return Found(truncated, bool(recordings), calls, results)


def test_every_format_is_there_and_says_its_call_and_that_it_is_whole() -> None:
    assert {name for name, _, _ in FILES} == set(registry.FORMATS)
    for name, write, value in FILES:
        found = found_in(name, write(value))
        assert not found.truncated, name
        assert found.calls, name
        assert found.results, name
        assert kinds(value), name


WORDS = ("", "unheard_of", "tool_x", "x_call", "x_output", "program", "system_2")


@pytest.mark.parametrize(("name", "write", "value"), FILES, ids=[f"{each[0]}-{at}" for at, each in enumerate(FILES)])
@given(st.data())
@settings(max_examples=40 if IS_DEEP else 5, deadline=None)
def test_what_is_of_an_unknown_kind_leaves_no_finished_record_without_its_call(
    name: str, write: Callable[[Any], bytes], value: Any, data: st.DataObject
) -> None:
    before = data.draw(st.sampled_from([value, without_results(value)]))
    word = data.draw(st.sampled_from(WORDS) | st.text(min_size=1, max_size=8).map(lambda end: f"x{end}"))
    path = data.draw(st.sampled_from(kinds(before) or kinds(value)))
    if path not in kinds(before):
        before = value
    was = found_in(name, write(before))
    with suppress(UsageError):
        now = found_in(name, write(renamed(before, path, word)))
        still_there = now.calls >= was.calls and now.results >= was.results
        assert was.truncated or now.truncated or not now.is_there or still_there
