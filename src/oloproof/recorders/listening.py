"""Which recording a span of this process belongs to, and how the OpenTelemetry SDK is made to tell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import TYPE_CHECKING, Any

from oloproof.errors import RecordError
from oloproof.importers.otel.spans import Log, Span
from oloproof.importers.otel.traces import Trace, Traces

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider


class Recording:
    """The spans and log records of one case, until it is closed."""

    def __init__(self) -> None:
        self._traces = Traces()
        self._lock = Lock()
        self._over = False

    def add(self, record: Span | Log) -> None:
        """One more. What comes after the end is not taken."""
        with self._lock:
            if not self._over:
                self._traces.add(record, "", 0)

    def close(self) -> list[Trace]:
        """The traces of the case that tell of an agent, in the order in which they began."""
        with self._lock:
            self._over = True
            return self._traces.told(Counter())


class Listener:
    """Knows for every span of this process which recording it is of. One of it listens to each provider."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._open: list[Recording] = []
        self._of_span: dict[str, Recording] = {}

    def begin(self, recording: Recording) -> None:
        with self._lock:
            self._open.append(recording)

    def end(self, recording: Recording) -> None:
        with self._lock:
            self._open.remove(recording)
            self._of_span = {span: kept for span, kept in self._of_span.items() if kept is not recording}

    def started(self, span_id: str, parent_id: str) -> None:
        """A span began: in the context of a recording, below a span of one, or while there is only one."""
        recording = _current.get()
        with self._lock:
            if recording not in self._open:
                recording = self._of_span.get(parent_id)
            if recording is None and len(self._open) == 1:
                (recording,) = self._open
            if recording is not None:
                self._of_span[span_id] = recording

    def recording_of(self, span_id: str) -> Recording | None:
        """The recording of a span; with "", that of the context."""
        with self._lock:
            return self._of_span.get(span_id) or (_current.get() if not span_id else None)


_current: ContextVar[Recording | None] = ContextVar("oloproof_recording", default=None)
_listener = Listener()
_providers: set[int] = set()
_lock = Lock()


@contextmanager
def listening(recording: Recording, provider: TracerProvider | None) -> Iterator[None]:
    """Give the recording what happens in this context."""
    listen_to(provider)
    _listener.begin(recording)
    entered = _current.set(recording)
    try:
        yield
    finally:
        _current.reset(entered)
        _listener.end(recording)


def listen_to(provider: Any) -> None:
    """Make a provider (None: the global one) tell the listener, once.

    Errors: RecordError where the SDK is not installed, and for a provider that takes no processors.
    """
    try:
        from oloproof.recorders import telling_sdk as sdk
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("opentelemetry"):
            raise
        what = "record_otel needs the OpenTelemetry SDK: pip install 'oloproof[otel]'"
        raise RecordError(what, code="OLO695") from None
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
