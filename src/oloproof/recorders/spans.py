"""The telemetry of one case."""

from __future__ import annotations

from collections import Counter
from threading import Lock

from oloproof.importers.otel.spans import Log, Span
from oloproof.importers.otel.traces import Trace, Traces


class Spans:
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
