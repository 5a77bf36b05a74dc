"""The OpenTelemetry SDK is made to tell of what happens in a context."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any

from oloproof.errors import RecordError
from oloproof.recorders.listener import Listener
from oloproof.recorders.recording import needing
from oloproof.recorders.spans import Spans

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider

_listener: Listener[Spans] = Listener("oloproof_otel")
_providers: set[int] = set()
_lock = Lock()


@contextmanager
def listening(spans: Spans, provider: TracerProvider | None) -> Iterator[None]:
    """Keep the spans that begin in this context."""
    listen_to(provider)
    with _listener.listening(spans):
        yield


def listen_to(provider: Any) -> None:
    """Make a provider (None: the global one) tell the listener, once.

    Errors: RecordError where the SDK is not installed, and for a provider that takes no processors.
    """
    with needing("opentelemetry", "record_otel needs the OpenTelemetry SDK: pip install 'oloproof[otel]'"):
        from oloproof.recorders import telling_sdk as sdk
    with _lock:
        found = sdk.global_provider() if provider is None else provider
        if id(found) in _providers:
            return
        if not hasattr(found, "add_span_processor"):
            what = (
                f"record_otel listens to the SDK's TracerProvider, and {type(found).__name__} takes no processors: "
                "pass the provider that the instrumentation uses as provider="
            )
            raise RecordError(what, code="OLO696")
        found.add_span_processor(sdk.SpanListener(_listener))
        if provider is None:
            sdk.listen_to_logs(_listener)
        _providers.add(id(found))
