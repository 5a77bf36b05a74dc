"""Which recording a span of this process belongs to."""

from __future__ import annotations

from collections import Counter
from contextvars import ContextVar
from threading import Lock

from oloproof.importers.otel.spans import Log, Span
from oloproof.importers.otel.traces import Trace, Traces


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
        recording = current.get()
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
            return self._of_span.get(span_id) or (current.get() if not span_id else None)


current: ContextVar[Recording | None] = ContextVar("oloproof_recording", default=None)
"""The recording of this context."""
