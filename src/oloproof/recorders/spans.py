"""The telemetry of one case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from threading import Lock

from oloproof.importers.otel.dialects import seen
from oloproof.importers.otel.spans import Log, Span
from oloproof.importers.otel.traces import Trace, Traces


class Spans:
    """The spans and log records of one case, until it is closed."""

    def __init__(self) -> None:
        self._traces = Traces()
        self._lock = Lock()
        self._over = False
        self._open: dict[str, Callable[[], Span]] = {}
        self._doubtful: dict[str, Callable[[], Span]] = {}
        self.is_cut = False
        """An agent, a model or a tool was at work when it was closed, or one of which nobody knows the case."""

    def began(self, span_id: str, now: Callable[[], Span]) -> None:
        """A span began, of which ``now`` tells as it is."""
        with self._lock:
            if not self._over:
                self._open[span_id] = now

    def doubted(self, span_id: str, now: Callable[[], Span]) -> None:
        """The same of one that may be another case's."""
        with self._lock:
            if not self._over:
                self._doubtful[span_id] = now

    def settled(self, span_id: str) -> None:
        """One that was doubted has ended."""
        with self._lock:
            now = self._doubtful.pop(span_id, None)
            self.is_cut |= now is not None and _is_of_an_agent(now())

    def add(self, record: Span | Log) -> None:
        """One more: a span that ended, or a log record. What comes after the end is not taken."""
        with self._lock:
            if not self._over:
                self._traces.add(record, "", 0)
                if isinstance(record, Span):
                    self._open.pop(record.span_id, None)

    def close(self) -> list[Trace]:
        """The traces of the case that tell of an agent, in the order in which they began."""
        with self._lock:
            self._over = True
            for span in [now() for now in self._open.values()]:
                self.is_cut |= _is_of_an_agent(span)
                self._traces.add(span, "", 0)
            self.is_cut |= any(_is_of_an_agent(now()) for now in self._doubtful.values())
            return self._traces.told(Counter())


def _is_of_an_agent(span: Span) -> bool:
    said = seen(span)
    return said is not None and said.role != ""
