"""Small traces, as OTLP/JSON has them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

Json = Any

BEGAN = 1_760_000_000_000_000_000


def span(name: str, span_id: str, parent: str = "", at: int = 0, to: int | None = None, /, **facts: Any) -> Json:
    """A span that lasts from ``at`` to ``to`` ms. ``facts``: ``trace``, ``failed`` (a message), ``events``, ``a``
    (attributes by name; a list or an object is written as JSON text)."""
    failed = facts.get("failed")
    return {
        "traceId": facts.get("trace", "t1"),
        "spanId": span_id,
        **({"parentSpanId": parent} if parent else {}),
        "name": name,
        "startTimeUnixNano": str(BEGAN + at * 10**6),
        "endTimeUnixNano": str(BEGAN + (at + 5 if to is None else to) * 10**6),
        "attributes": attributes(facts.get("a", {})),
        "events": [
            {"name": each, "timeUnixNano": str(BEGAN + at * 10**6), "attributes": attributes(values)}
            for each, values in facts.get("events", ())
        ],
        "status": {"code": 2, "message": failed} if failed is not None else {},
    }


def attributes(values: dict[str, Any]) -> list[Json]:
    return [{"key": key, "value": any_value(value)} for key, value in values.items()]


def any_value(value: Any) -> Json:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case str():
            return {"stringValue": value}
        case _:
            return {"stringValue": json.dumps(value)}


def structured(value: Any) -> Json:
    """A value as events carry it, not as text."""
    match value:
        case None:
            return {}
        case dict():
            return {"kvlistValue": {"values": [{"key": key, "value": structured(part)} for key, part in value.items()]}}
        case list():
            return {"arrayValue": {"values": [structured(part) for part in value]}}
        case _:
            return any_value(value)


def log(name: str, body: Any = None, at: int = 0, span_id: str = "", trace: str = "t1") -> Json:
    """A log record of the event ``name``."""
    return {
        "traceId": trace,
        "spanId": span_id,
        "eventName": name,
        "timeUnixNano": str(BEGAN + at * 10**6),
        "body": structured(body),
    }


def otlp(*spans: Json, logs: Iterable[Json] = (), resource: dict[str, Any] | None = None) -> Json:
    """A request of an exporter."""
    who = {"attributes": attributes(resource or {"service.name": "shop"})}
    found: dict[str, Any] = {}
    if spans:
        scoped = [{"scope": {"name": "test"}, "spans": list(spans)}]
        found["resourceSpans"] = [{"resource": who, "scopeSpans": scoped}]
    if logs:
        recorded = [{"scope": {"name": "test"}, "logRecords": list(logs)}]
        found["resourceLogs"] = [{"resource": who, "scopeLogs": recorded}]
    return found


def agent(name: str, span_id: str, parent: str = "", at: int = 0, to: int = 900, **facts: Any) -> Json:
    a = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name, **facts.pop("a", {})}
    return span(f"invoke_agent {name}", span_id, parent, at, to, a=a, **facts)


def chat(span_id: str, parent: str = "", at: int = 0, to: int | None = None, **facts: Any) -> Json:
    """A call of a model: ``heard`` and ``said`` are its messages; left out: not recorded."""
    a: dict[str, Any] = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", **facts.pop("a", {})}
    for key, name in (("heard", "gen_ai.input.messages"), ("said", "gen_ai.output.messages")):
        if key in facts:
            a[name] = facts.pop(key)
    return span("chat m", span_id, parent, at, to, a=a, **facts)


def tool(name: str, span_id: str, parent: str = "", at: int = 0, to: int | None = None, **facts: Any) -> Json:
    """A call of a tool: ``call_id``, ``arguments``, ``result``; left out: not recorded."""
    a: dict[str, Any] = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, **facts.pop("a", {})}
    for key, attribute in (("call_id", "id"), ("arguments", "arguments"), ("result", "result")):
        if key in facts:
            a[f"gen_ai.tool.call.{attribute}"] = facts.pop(key)
    return span(f"execute_tool {name}", span_id, parent, at, to, a=a, **facts)


def user(text: str) -> Json:
    return {"role": "user", "parts": [{"type": "text", "content": text}]}


def asks(*calls: tuple[str, str, Any], text: str = "") -> Json:
    """The model asks for calls: id, tool and arguments each."""
    said = [{"type": "text", "content": text}] if text else []
    parts = [{"type": "tool_call", "id": each, "name": name, "arguments": given} for each, name, given in calls]
    return {"role": "assistant", "parts": [*said, *parts], "finish_reason": "tool_call"}


def says(text: str) -> Json:
    return {"role": "assistant", "parts": [{"type": "text", "content": text}], "finish_reason": "stop"}


def told(*answers: tuple[str, Any]) -> Json:
    """The model is told results: id and result each."""
    parts = [{"type": "tool_call_response", "id": each, "response": result} for each, result in answers]
    return {"role": "tool", "parts": parts}
