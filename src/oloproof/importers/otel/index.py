"""Which traces of large files belong together and when the last of them has come, so that no more is kept than needed.

The files are read once for this, and a second time to be told.
"""

from __future__ import annotations

from oloproof.importers.otel.spans import Log, Span

CONVERSATIONS = (
    "gen_ai.conversation.id",
    "session.id",
    "gcp.vertex.agent.session_id",
    "traceloop.association.properties.session_id",
    "ai.telemetry.metadata.sessionId",
)
"""Attributes that may name the conversation of a trace. Traces that share a value may be one run."""


class Index:
    """How many records of each trace are still to come, and which traces may be of one run."""

    def __init__(self) -> None:
        self._left: dict[str, int] = {}
        self._next: dict[str, str] = {}
        self._members: dict[str, list[str]] = {}

    def count(self, record: Span | Log) -> None:
        """One more record that will come."""
        trace_id = record.trace_id
        if trace_id not in self._left:
            self._left[trace_id] = 0
            self._next[trace_id] = trace_id
        self._left[trace_id] += 1
        if isinstance(record, Span):
            for key in CONVERSATIONS:
                name = record.attributes.get(key)
                if isinstance(name, str) and name:
                    self._join(trace_id, f"{key} {name}")

    def seal(self) -> None:
        """All were counted."""
        left: dict[str, int] = {}
        for trace_id, count in self._left.items():
            first = self._first(trace_id)
            left[first] = left.get(first, 0) + count
            self._members.setdefault(first, []).append(trace_id)
        self._left = left

    def came(self, record: Span | Log) -> list[str]:
        """A record has come: the traces that are complete with it, [] while any that may be of their run is not."""
        first = self._first(record.trace_id)
        self._left[first] -= 1
        return self._members.pop(first) if not self._left[first] else []

    def _join(self, trace_id: str, conversation: str) -> None:
        one, other = self._first(trace_id), self._first(conversation)
        if one != other:
            self._next[other] = one

    def _first(self, name: str) -> str:
        path: list[str] = []
        while (following := self._next.setdefault(name, name)) != name:
            path.append(name)
            name = following
        for passed in path:
            self._next[passed] = name
        return name
