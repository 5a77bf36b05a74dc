"""Jaeger's JSON, as its UI downloads a trace and its query API answers: ``{"data": [{"traceID", "spans", …}]}``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from oloproof.importers.foreign import list_of, text_of
from oloproof.importers.otel.spans import Event, Span
from oloproof.model.values import Json


def is_trace(value: Json) -> bool:
    """One trace of an answer."""
    return isinstance(value, dict) and "traceID" in value and isinstance(value.get("spans"), list)


def traces_of(value: dict[str, Any]) -> list[Json]:
    """The traces of an answer, or the trace that an object is; [] where it is neither."""
    if is_trace(value):
        return [value]
    data = value.get("data")
    return data if isinstance(data, list) and any(map(is_trace, data)) else []


def read(trace: dict[str, Any]) -> Iterator[Span]:
    """The spans of a trace."""
    processes = trace.get("processes")
    resources = {
        key: {"service.name": process.get("serviceName"), **_tags(process.get("tags"))}
        for key, process in (processes.items() if isinstance(processes, dict) else ())
        if isinstance(process, dict)
    }
    for span in trace["spans"]:
        if isinstance(span, dict):
            yield _span(span, text_of(trace["traceID"]), resources)


def _span(span: dict[str, Any], trace_id: str, resources: dict[str, dict[str, Any]]) -> Span:
    attributes = _tags(span.get("tags"))
    started = _nanoseconds(span.get("startTime"))
    status = text_of(attributes.get("otel.status_code"))
    process = span.get("process")
    return Span(
        trace_id=text_of(span.get("traceID")) or trace_id,
        span_id=text_of(span.get("spanID")),
        parent_id=_parent(span),
        name=text_of(span.get("operationName")),
        start=started,
        end=started + _nanoseconds(span.get("duration")) if started else 0,
        attributes=attributes,
        events=[event for log in list_of(span.get("logs")) if (event := _event(log)) is not None],
        failed=status.upper() == "ERROR" or attributes.get("error") in (True, "true"),
        message=text_of(attributes.get("otel.status_description")),
        resource=resources.get(text_of(span.get("processID")), {})
        or ({"service.name": process.get("serviceName")} if isinstance(process, dict) else {}),
        scope=text_of(attributes.get("otel.scope.name") or attributes.get("otel.library.name")),
    )


def _parent(span: dict[str, Any]) -> str:
    for reference in list_of(span.get("references")):
        if isinstance(reference, dict) and reference.get("refType", "CHILD_OF") == "CHILD_OF":
            return text_of(reference.get("spanID"))
    return text_of(span.get("parentSpanID"))


def _event(log: Json) -> Event | None:
    if not isinstance(log, dict):
        return None
    fields = _tags(log.get("fields"))
    name = text_of(fields.pop("event", None) or fields.get("name") or fields.get("message"))
    return Event(name, _nanoseconds(log.get("timestamp")), fields)


def _tags(listed: Json) -> dict[str, Any]:
    return {
        key: tag.get("value")
        for tag in list_of(listed)
        if isinstance(tag, dict) and isinstance(key := tag.get("key"), str)
    }


def _nanoseconds(microseconds: Json) -> int:
    return int(microseconds) * 1000 if isinstance(microseconds, int | float) and 0 <= microseconds < 2**53 else 0
