"""However a run's spans are recorded, the same calls come out once each; and any telemetry is imported or refused."""

from __future__ import annotations

import json
from contextlib import suppress
from itertools import product
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fakes.depth import examples
from fakes.imports import as_lines, imported
from fakes.telemetry import agent, asks, chat, otlp, says, told, tool, user
from oloproof.errors import UsageError


@st.composite
def recorded_runs(draw: st.DrawFn) -> tuple[list[Any], list[list[int]]]:
    """Spans of a run in any order, and the numbers of the calls of each turn. Of every call at least one record is
    left: the model's answer, the tool's span, or the next history."""
    by_answer, by_span, by_history = draw(
        st.sampled_from([kept for kept in product((True, False), repeat=3) if any(kept)])
    )
    ids = draw(st.sampled_from(["own", "none", "repeated"]))
    spans: list[Any] = [agent("a", "a")]
    history = [user("go")]
    turns: list[list[int]] = []
    number = at = 0
    for turn, size in enumerate(draw(st.lists(st.integers(1, 3), max_size=4))):
        numbers = list(range(number, number + size))
        number += size
        turns.append(numbers)
        call_ids = [{"own": f"c{n}", "none": "", "repeated": f"c{n - numbers[0]}"}[ids] for n in numbers]
        ask = asks(*((each, "look", {"n": n}) for each, n in zip(call_ids, numbers, strict=True)))
        at += 100
        facts: dict[str, Any] = {"heard": list(history)} if by_history or turn == 0 else {}
        if by_answer:
            facts["said"] = [ask]
        spans.append(chat(f"m{turn}", "a", at, **facts))
        if by_span:
            for n, call_id in zip(numbers, call_ids, strict=True):
                at += 10
                known = {"call_id": call_id} if call_id else {}
                spans.append(tool("look", f"t{n}", "a", at, arguments={"n": n}, result=n, **known))
        history += [ask, told(*zip(call_ids, numbers, strict=True))]
    spans.append(chat("end", "a", at + 100, heard=history, said=[says("done")]))
    return draw(st.permutations(spans)), turns


@settings(deadline=None, max_examples=examples(150), suppress_health_check=[HealthCheck.too_slow])
@given(recorded_runs(), st.booleans())
def test_every_call_comes_out_once_with_its_result(run: tuple[list[Any], list[list[int]]], in_lines: bool) -> None:
    spans, turns = run
    data = as_lines(*map(otlp, spans)) if in_lines else json.dumps(otlp(*spans)).encode()
    found = imported("otel", data)
    numbers = [number for turn in turns for number in turn]
    calls = [step for step in found.steps if step.kind == "tool_call"]
    results = [step for step in found.steps if step.kind == "tool_result"]
    assert [call.arguments["n"] for call in calls] == numbers
    assert [result.result for result in results] == numbers
    together: dict[int, set[int]] = {}
    for call in calls:
        if call.turn is not None:
            together.setdefault(call.turn, set()).add(call.arguments["n"])
    assert sorted(map(sorted, together.values())) == [turn for turn in turns if len(turn) > 1]
    assert found.losses == {}
    assert found.summary.truncated == 0


KEYS = [
    "resourceSpans",
    "scopeSpans",
    "spans",
    "resourceLogs",
    "scopeLogs",
    "logRecords",
    "batches",
    "data",
    "traceID",
    "traceId",
    "spanId",
    "parentSpanId",
    "spanContext",
    "context",
    "name",
    "body",
    "eventName",
    "events",
    "status",
    "code",
    "attributes",
    "key",
    "value",
    "stringValue",
    "intValue",
    "arrayValue",
    "kvlistValue",
    "values",
    "startTimeUnixNano",
    "gen_ai.operation.name",
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.tool.name",
    "gen_ai.tool.call.arguments",
    "openinference.span.kind",
    "llm.output_messages.0.message.tool_calls.0",
    "ai.operationId",
    "role",
    "parts",
    "content",
    "type",
    "tool_calls",
    "function",
    "arguments",
]
WORDS = [
    "",
    "a",
    "b",
    "chat",
    "execute_tool",
    "invoke_agent",
    "LLM",
    "TOOL",
    "tool_call",
    "text",
    "user",
    "1",
    "\ud800",
]
scraps = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=20,
)
values = st.sampled_from(["stringValue", "intValue", "arrayValue", "kvlistValue"])
attributes = st.lists(
    st.fixed_dictionaries({"key": st.sampled_from(KEYS), "value": st.dictionaries(values, scraps, max_size=1)}),
    max_size=6,
)
names = st.sampled_from(["chat", "execute_tool", "invoke_agent", "invoke_workflow"])
spans = st.fixed_dictionaries(
    {
        "traceId": st.sampled_from(["t", "u"]),
        "spanId": st.sampled_from(["a", "b", "c", "d", ""]),
        "parentSpanId": st.sampled_from(["a", "b", "c", "d", ""]),
        "startTimeUnixNano": st.sampled_from(["0", "5", 7, None, "x", -1]),
        "attributes": st.tuples(
            attributes, names.map(lambda name: {"key": "gen_ai.operation.name", "value": {"stringValue": name}})
        ).map(lambda parts: [*parts[0], parts[1]]),
    },
    optional={"status": scraps, "events": scraps, "name": st.text(max_size=3)},
)


parts = st.dictionaries(
    st.sampled_from(["type", "name", "id", "content", "text", "response", "function", "toolUse", "toolResult", "role"]),
    scraps,
    max_size=4,
)


@settings(deadline=None, max_examples=examples(200))
@given(st.lists(st.fixed_dictionaries({"role": scraps, "parts": st.lists(parts, max_size=3)}), max_size=3))
def test_any_messages_are_imported_or_refused(messages: list[Any]) -> None:
    found = imported("otel", otlp(chat("m1", heard=messages, said=messages), chat("m2", "", 9, heard=messages * 2)))
    assert found.summary.trajectories == 1


@settings(deadline=None, max_examples=examples(200))
@given(scraps)
def test_any_json_is_imported_or_refused(value: Any) -> None:
    with suppress(UsageError):
        imported("otel", value)


@settings(deadline=None, max_examples=examples(200))
@given(st.lists(spans, max_size=6), st.lists(scraps, max_size=3))
def test_any_spans_are_imported_or_refused(found: list[Any], logs: list[Any]) -> None:
    value = {
        "resourceSpans": [{"scopeSpans": [{"spans": found}]}],
        "resourceLogs": [{"scopeLogs": [{"logRecords": logs}]}],
    }
    with suppress(UsageError):
        imported("otel", value)


@settings(deadline=None, max_examples=examples(60))
@given(st.binary(max_size=60))
def test_any_bytes_are_imported_or_refused(data: bytes) -> None:
    with suppress(UsageError):
        imported("otel", data)
