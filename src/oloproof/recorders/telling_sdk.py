"""What the OpenTelemetry SDK for Python tells, as plain spans and log records."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import UNSET
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace import Span as LiveSpan

from oloproof.importers.foreign import text_of
from oloproof.importers.otel.spans import Event, Log, Span, event_name
from oloproof.model.values import snapshot

if TYPE_CHECKING:
    from opentelemetry.context import Context

    from oloproof.recorders.listener import Listener
    from oloproof.recorders.spans import Spans


def global_provider() -> Any:
    """The tracer provider of this process, made where nobody has set one."""
    found = trace.get_tracer_provider()
    if isinstance(found, trace.ProxyTracerProvider):
        trace.set_tracer_provider(TracerProvider())
        found = trace.get_tracer_provider()
    return found


class SpanListener(SpanProcessor):
    """Tells a listener of every span."""

    def __init__(self, listener: Listener[Spans]) -> None:
        self._listener = listener

    def on_start(self, span: LiveSpan, parent_context: Context | None = None) -> None:
        recording = self._listener.started(_span_id(span), _parent_id(span))
        if recording is not None:
            recording.began(_span_id(span), partial(span_of, span))
            return
        for each in self._listener.perhaps_of():
            each.doubted(_span_id(span), partial(span_of, span))

    def on_end(self, span: ReadableSpan) -> None:
        recording = self._listener.recording_of(_span_id(span))
        if recording is not None:
            recording.add(span_of(span))
            return
        for each in self._listener.perhaps_of():
            each.settled(_span_id(span))


def listen_to_logs(listener: Listener[Spans]) -> None:
    """Tell a listener of the log records of this process too: older instrumentations write messages there."""
    try:
        from opentelemetry._logs import get_logger_provider
        from opentelemetry.sdk._logs import LogRecordProcessor
    except ImportError:  # the SDK's logs are not settled yet
        return
    provider = get_logger_provider()
    if not hasattr(provider, "add_log_record_processor"):
        return

    class LogListener(LogRecordProcessor):
        def on_emit(self, log_record: Any) -> None:
            record = getattr(log_record, "log_record", log_record)
            span_id = f"{record.span_id:016x}" if record.span_id else ""
            recording = listener.recording_of(span_id)
            if recording is not None:
                recording.add(log_of(record, span_id))

        def shutdown(self) -> None:
            pass

        def force_flush(self, timeout_millis: int = 30_000) -> bool:
            return True

    provider.add_log_record_processor(LogListener())


def span_of(span: ReadableSpan) -> Span:
    """A span as it is now; one that has not ended has the end 0."""
    context = span.get_span_context()
    return Span(
        trace_id=f"{context.trace_id:032x}" if context is not None else "",
        span_id=_span_id(span),
        parent_id=_parent_id(span),
        name=span.name,
        start=span.start_time or 0,
        end=span.end_time or 0,
        attributes=_attributes(span.attributes),
        events=[Event(event.name, event.timestamp, _attributes(event.attributes)) for event in span.events],
        failed=span.status.status_code is trace.StatusCode.ERROR,
        message=span.status.description or "",
        resource=_attributes(span.resource.attributes),
        scope=span.instrumentation_scope.name if span.instrumentation_scope is not None else "",
    )


def log_of(record: Any, span_id: str) -> Log:
    """A log record, of whichever version of the SDK."""
    attributes = _attributes(record.attributes)
    name = text_of(getattr(record, "event_name", None)) or event_name(attributes)
    body = UNSET if record.body is None else snapshot(record.body)
    time = record.timestamp or getattr(record, "observed_timestamp", None) or 0
    return Log(f"{record.trace_id:032x}" if record.trace_id else "", span_id, Event(name, time, attributes, body))


def _span_id(span: ReadableSpan) -> str:
    context = span.get_span_context()
    return f"{context.span_id:016x}" if context is not None else ""


def _parent_id(span: ReadableSpan) -> str:
    return f"{span.parent.span_id:016x}" if span.parent is not None else ""


def _attributes(attributes: Mapping[str, Any] | None) -> dict[str, Any]:
    found = snapshot(dict(attributes or {}))
    return found if isinstance(found, dict) else {}
