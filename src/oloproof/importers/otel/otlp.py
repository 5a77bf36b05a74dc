"""OTLP/JSON: requests of an exporter, files of a collector, traces of a Tempo server, all of one shape.

Writers follow the JSON mapping of Protocol Buffers more or less: keys in camelCase or snake_case, 64-bit integers as
text or numbers, enumerations by number or name, ids in hex or (wrongly) base64. Ids are compared, never decoded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from oloproof.importers.foreign import object_of, text_of
from oloproof.importers.otel.spans import Event, Log, Span, event_name, is_local
from oloproof.model.values import MAX_DEPTH, Json

SPANS: Final = ("resourceSpans", "resource_spans", "batches")
LOGS: Final = ("resourceLogs", "resource_logs")
METRICS: Final = ("resourceMetrics", "resource_metrics")
_SCOPED_SPANS: Final = ("scopeSpans", "scope_spans", "instrumentationLibrarySpans")
_SCOPED_LOGS: Final = ("scopeLogs", "scope_logs")

_DROPPED = ("droppedAttributesCount", "dropped_attributes_count", "droppedEventsCount", "dropped_events_count")
_HEX = (16, 32)
_HEX_ID = re.compile("[0-9a-fA-F]+")
_ERRORS = (2, "2", "STATUS_CODE_ERROR", "ERROR", "Error")


def is_otlp(value: dict[str, Any]) -> bool:
    """An object that holds spans, logs or metrics as OTLP does."""
    return any(isinstance(value.get(key), list) for key in (*SPANS, *LOGS, *METRICS))


def read(value: dict[str, Any]) -> Iterator[Span | Log]:
    """The spans and log records of an object that :func:`is_otlp`."""
    for resource, scope, record in _records(value, SPANS, _SCOPED_SPANS, "spans"):
        yield _span(record, resource, scope)
    for _, _, record in _records(value, LOGS, _SCOPED_LOGS, "logRecords", "log_records"):
        yield _log(record)


def _records(
    value: dict[str, Any], batches: tuple[str, ...], scopes: tuple[str, ...], *records: str
) -> Iterator[tuple[dict[str, Any], str, dict[str, Any]]]:
    for batch in _objects(_first(value, batches)):
        resource = attributes_of(object_of(batch.get("resource")).get("attributes"))
        for scoped in _objects(_first(batch, scopes)):
            scope = object_of(scoped.get("scope") or scoped.get("instrumentationLibrary"))
            for record in _objects(_first(scoped, records)):
                yield resource, text_of(scope.get("name")), record


def _span(record: dict[str, Any], resource: dict[str, Any], scope: str) -> Span:
    status = object_of(record.get("status"))
    flags = _integer(record.get("flags"), 0)
    return Span(
        trace_id=_id(record, "traceId", "trace_id"),
        span_id=_id(record, "spanId", "span_id"),
        parent_id=_id(record, "parentSpanId", "parent_span_id"),
        parent_is_local=isinstance(flags, int) and is_local(flags),
        name=text_of(record.get("name")),
        start=nanoseconds(_first(record, ("startTimeUnixNano", "start_time_unix_nano"))),
        end=nanoseconds(_first(record, ("endTimeUnixNano", "end_time_unix_nano"))),
        attributes=attributes_of(record.get("attributes")),
        events=[_event(event) for event in _objects(record.get("events"))] if record.get("events") else [],
        failed=status.get("code") in _ERRORS,
        message=text_of(status.get("message")),
        resource=resource,
        scope=scope,
        is_cut=_dropped(record),
    )


def _id(record: dict[str, Any], *keys: str) -> str:
    """An id; hex digits mean the same in either case, and nothing but zeros is none."""
    found = text_of(_first(record, keys))
    if len(found) in _HEX and _HEX_ID.fullmatch(found):
        return found.lower() if found.strip("0") else ""
    return found


def _dropped(record: dict[str, Any]) -> bool:
    """The SDK left attributes or events out, since there were too many."""
    counts = (_integer(record.get(key), 0) for key in _DROPPED)
    return any(isinstance(count, int) and count > 0 for count in counts)


def _event(record: dict[str, Any]) -> Event:
    return Event(
        text_of(record.get("name")),
        nanoseconds(_first(record, ("timeUnixNano", "time_unix_nano"))),
        attributes_of(record.get("attributes")),
    )


def _log(record: dict[str, Any]) -> Log:
    attributes = attributes_of(record.get("attributes"))
    name = text_of(_first(record, ("eventName", "event_name"))) or event_name(attributes)
    time = nanoseconds(_first(record, ("timeUnixNano", "time_unix_nano")))
    time = time or nanoseconds(_first(record, ("observedTimeUnixNano", "observed_time_unix_nano")))
    return Log(
        _id(record, "traceId", "trace_id"),
        _id(record, "spanId", "span_id"),
        Event(name, time, attributes, any_value(record.get("body"))),
        is_cut=_dropped(record),
    )


def attributes_of(listed: Json) -> dict[str, Any]:
    """Attributes as OTLP lists them (``[{"key", "value": {"stringValue": …}}]``), by key. An object is taken as is."""
    if isinstance(listed, dict):
        return listed
    if not isinstance(listed, list):
        return {}
    found = {}
    for pair in listed:
        if isinstance(pair, dict) and isinstance(key := pair.get("key"), str):
            found[key] = any_value(pair.get("value"))
    return found


def any_value(value: Json, depth: int = MAX_DEPTH) -> Json:
    """An ``AnyValue`` as the JSON value that it stands for; {} is null. Below ``depth`` levels it is null too."""
    if not isinstance(value, dict):
        return value
    for kind, held in value.items():
        read_value = _VALUES.get(kind)
        if read_value is not None:
            return read_value(held, depth - 1) if depth else None
    return None


def _integer(held: Json, _: int) -> Json:
    if isinstance(held, str) and len(held) <= 20 and held.removeprefix("-").isdecimal():
        return int(held)
    return held


def _array(held: Json, depth: int) -> Json:
    values = object_of(held).get("values")
    return [any_value(value, depth) for value in values] if isinstance(values, list) else []


def _object_of_values(held: Json, depth: int) -> Json:
    pairs = _objects(object_of(held).get("values"))
    return {key: any_value(pair.get("value"), depth) for pair in pairs if isinstance(key := pair.get("key"), str)}


def _as_is(held: Json, _: int) -> Json:
    return held


_VALUES: dict[str, Callable[[Json, int], Json]] = {
    "stringValue": _as_is,
    "string_value": _as_is,
    "boolValue": _as_is,
    "bool_value": _as_is,
    "doubleValue": _as_is,
    "double_value": _as_is,
    "bytesValue": _as_is,
    "bytes_value": _as_is,
    "intValue": _integer,
    "int_value": _integer,
    "arrayValue": _array,
    "array_value": _array,
    "kvlistValue": _object_of_values,
    "kvlist_value": _object_of_values,
}


def nanoseconds(value: Json) -> int:
    """A time in ns, as a number or text; 0 for anything else."""
    if isinstance(value, str):
        return int(value) if len(value) <= 20 and value.isdecimal() else 0
    return int(value) if isinstance(value, int | float) and 0 < value < 2**63 else 0


def _first(value: dict[str, Any], keys: tuple[str, ...]) -> Json:
    for key in keys:
        if key in value:
            return value[key]
    return None


def _objects(value: Json) -> Iterator[dict[str, Any]]:
    if isinstance(value, list):
        for item in value:
            if isinstance(item, dict):
                yield item
