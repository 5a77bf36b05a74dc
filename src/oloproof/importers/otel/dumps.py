"""Spans that programs wrote out one by one: the dumps of the OpenTelemetry SDKs, exports of tools that keep them as
rows, and bare attributes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

from oloproof.importers.foreign import list_of, object_of, text_of
from oloproof.importers.otel.otlp import nanoseconds
from oloproof.importers.otel.spans import Event, Span
from oloproof.model.values import MAX_DEPTH, Json

PREFIXES: Final = ("gen_ai.", "openinference.", "llm.", "ai.", "traceloop.", "gcp.vertex.agent.", "mcp.")
"""What the names of attributes start with that only telemetry of agents has."""

_ERRORS = (2, "ERROR", "STATUS_CODE_ERROR", "Error")
_ROW = "attributes."


def is_span(value: Json) -> bool:
    """A dump of a JavaScript or Python SDK, a row of a table, or an object that is nothing but attributes."""
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("attributes"), dict):
        return any(isinstance(value.get(key), dict) for key in ("spanContext", "context")) or "span_kind" in value
    return any(key.startswith((*PREFIXES, "context.trace_id", f"{_ROW}openinference.")) for key in value)


def read(value: dict[str, Any], number: int) -> Span:
    """The span that an object is for which :func:`is_span` holds; ``number`` tells it from others without an id."""
    context = _nested(value, "context") or _nested(value, "spanContext")
    parent = value.get("parentSpanContext") or value.get("parent")
    parent_id = value.get("parentSpanId") or value.get("parent_id")
    if not parent_id and isinstance(parent, dict):
        parent_id = parent.get("spanId") or parent.get("span_id")
    status = _nested(value, "status")
    code = status.get("code", status.get("status_code", value.get("status_code")))
    resource = _nested(value, "resource")
    scope = value.get("instrumentationScope") or value.get("instrumentationLibrary")
    return Span(
        trace_id=_id(context.get("traceId") or context.get("trace_id") or value.get("traceId")),
        span_id=_id(context.get("spanId") or context.get("span_id") or value.get("id")) or f"#{number}",
        parent_id=_id(parent_id),
        name=text_of(value.get("name")),
        start=_time(value.get("startTime", value.get("start_time"))),
        end=_time(value.get("endTime", value.get("end_time"))),
        attributes=_attributes(value),
        events=[_event(event) for event in list_of(value.get("events")) if isinstance(event, dict)],
        failed=code in _ERRORS,
        message=text_of(status.get("message") or status.get("description") or value.get("status_message")),
        resource=_nested(resource, "attributes") or resource,
        scope=text_of(object_of(scope).get("name")),
    )


def _nested(value: dict[str, Any], key: str) -> dict[str, Any]:
    """The object under ``key``, also where its keys are spelled ``key.…`` in the object around it."""
    held = value.get(key)
    if isinstance(held, dict):
        return held
    prefix = f"{key}."
    return {name[len(prefix) :]: part for name, part in value.items() if name.startswith(prefix)}


def _attributes(value: dict[str, Any]) -> dict[str, Any]:
    if "attributes" in value or any(key.startswith(_ROW) for key in value):
        attributes = {key: part for key, part in _nested(value, "attributes").items() if part is not None}
        kind = value.get("span_kind")
        if isinstance(kind, str) and kind:
            attributes.setdefault("openinference.span.kind", kind)
        return flat(attributes)
    return value


def flat(attributes: dict[str, Any], depth: int = MAX_DEPTH) -> dict[str, Any]:
    """Attributes that are nested in objects, by their dotted names. Lists stay lists."""
    if not any(isinstance(part, dict) for part in attributes.values()):
        return attributes
    found: dict[str, Any] = {}
    for key, part in attributes.items():
        if isinstance(part, dict) and depth:
            found |= {f"{key}.{inner}": value for inner, value in flat(part, depth - 1).items()}
        else:
            found[key] = part
    return found


def _event(event: dict[str, Any]) -> Event:
    time = _time(event.get("time", event.get("timestamp")))
    return Event(text_of(event.get("name")), time, object_of(event.get("attributes")))


def _id(value: Json) -> str:
    return text_of(value).removeprefix("0x")


def _time(value: Json) -> int:
    """A time in ns: of text as ISO 8601 has it, ``[s, ns]``, or a number of ns, ms or s by its size; 0 for none."""
    match value:
        case [int(seconds), int(rest)] if 0 <= seconds < 2**33:
            return seconds * 10**9 + rest
        case str() if value.isdecimal():
            return nanoseconds(value)
        case str():
            try:
                moment = datetime.fromisoformat(value)
                moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
                return max(0, int(moment.timestamp() * 1_000_000) * 1000)
            except (ValueError, OverflowError):
                return 0
        case int() | float() if 0 < value < 10**11:
            return int(value * 10**9)
        case int() | float() if 0 < value < 10**14:
            return int(value * 10**6)
        case _:
            return nanoseconds(value)
