"""OTLP as Protocol Buffers: messages of ``opentelemetry.proto``, already decoded, as plain spans and log records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from oloproof.importers.foreign import text_of
from oloproof.importers.otel.spans import Event, Log, Span, event_name, is_local
from oloproof.model.values import MAX_DEPTH, Json

_ERROR: Final = 2


def spans(request: Any) -> Iterator[Span]:
    """The spans of an ``ExportTraceServiceRequest``."""
    for batch in request.resource_spans:
        resource = _attributes(batch.resource.attributes)
        for scoped in batch.scope_spans:
            for span in scoped.spans:
                yield _span(span, resource, scoped.scope.name)


def logs(request: Any) -> Iterator[Log]:
    """The log records of an ``ExportLogsServiceRequest``."""
    for batch in request.resource_logs:
        for scoped in batch.scope_logs:
            for record in scoped.log_records:
                yield _log(record)


def _span(span: Any, resource: dict[str, Any], scope: str) -> Span:
    return Span(
        trace_id=_id(span.trace_id),
        span_id=_id(span.span_id),
        parent_id=_id(span.parent_span_id),
        parent_is_local=is_local(span.flags),
        name=span.name,
        start=span.start_time_unix_nano,
        end=span.end_time_unix_nano,
        attributes=_attributes(span.attributes),
        events=[Event(event.name, event.time_unix_nano, _attributes(event.attributes)) for event in span.events],
        failed=span.status.code == _ERROR,
        message=span.status.message,
        resource=resource,
        scope=scope,
        is_cut=span.dropped_attributes_count > 0 or span.dropped_events_count > 0,
    )


def _log(record: Any) -> Log:
    attributes = _attributes(record.attributes)
    name = text_of(getattr(record, "event_name", "")) or event_name(attributes)
    time = record.time_unix_nano or record.observed_time_unix_nano
    event = Event(name, time, attributes, _value(record.body))
    is_cut = record.dropped_attributes_count > 0
    return Log(_id(record.trace_id), _id(record.span_id), event, is_cut=is_cut)


def _id(held: bytes) -> str:
    """An id in hex; nothing but zeros is none."""
    return held.hex() if any(held) else ""


def _attributes(pairs: Any) -> dict[str, Any]:
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(value: Any, depth: int = MAX_DEPTH) -> Json:
    kind = value.WhichOneof("value")
    if kind is None or depth == 0:
        return None
    held = getattr(value, kind)
    match kind:
        case "array_value":
            return [_value(part, depth - 1) for part in held.values]
        case "kvlist_value":
            return {pair.key: _value(pair.value, depth - 1) for pair in held.values}
        case "bytes_value":
            return held.hex()
        case _:
            return held
