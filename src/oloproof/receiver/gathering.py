"""What belongs to one run, kept until nothing more comes for it, within a bound on memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from oloproof.importers.otel.spans import Log, Span
from oloproof.importers.otel.traces import Trace

MOST_REMEMBERED = 100_000
"""Of so many traces that were written it is known that they were."""


class Full(Exception):
    """No more can be kept until a run falls quiet."""


class Waits(Struct, frozen=True, kw_only=True):
    """How long nothing must come, in seconds: for a trace, and for a conversation, whose next turn may take a while."""

    trace_s: float
    conversation_s: float


class _Kept(Struct):
    trace: Trace
    last: float
    size: int = 0
    conversation: str = ""
    is_new: bool = True


class Gathering:
    """The traces that are not written yet. ``late`` counts records of traces that were.

    Times are seconds of a clock that never goes back; the caller reads it.
    """

    def __init__(self, waits: Waits, *, most_bytes: int) -> None:
        self.late = 0
        self._waits = waits
        self._most_bytes = most_bytes
        self._bytes = 0
        self._place = 0
        self._kept: dict[str, _Kept] = {}
        self._written: OrderedDict[str, None] = OrderedDict()

    def add(self, records: Sequence[Span | Log], *, size: int, now: float) -> None:
        """Keep the records of a request of ``size`` bytes. Errors: :class:`Full`; then none of them is kept."""
        if self._bytes + size > self._most_bytes:
            raise Full
        share = size // len(records) if records else 0
        for record in records:
            if not record.trace_id or record.trace_id in self._written:
                self.late += 1
                continue
            kept = self._kept.get(record.trace_id)
            if kept is None:
                kept = self._kept[record.trace_id] = _Kept(Trace(record.trace_id, "", 0), now)
            self._place += 1
            kept.last, kept.is_new = now, True
            kept.size += share
            self._bytes += share
            if isinstance(record, Log):
                kept.trace.add_log(record)
            else:
                kept.trace.add(record, self._place)

    def due(self, now: float) -> Iterator[list[Trace]]:
        """The runs for which nothing came for long enough, each the traces that it is made of. They are let go."""
        yield from self._released(
            lambda name, last: now - last >= (self._waits.conversation_s if name else self._waits.trace_s)
        )

    def all(self) -> Iterator[list[Trace]]:
        """Every run, complete or not."""
        yield from self._released(lambda _, __: True)

    def _released(self, is_due: Callable[[str, float], bool]) -> Iterator[list[Trace]]:
        groups: dict[tuple[str, str], list[str]] = {}
        for trace_id, kept in self._kept.items():
            if kept.is_new:
                kept.conversation, kept.is_new = kept.trace.likely_conversation(), False
            groups.setdefault((kept.conversation, "" if kept.conversation else trace_id), []).append(trace_id)
        for (conversation, _), ids in groups.items():
            if is_due(conversation, max(self._kept[trace_id].last for trace_id in ids)):
                yield [self._let_go(trace_id) for trace_id in ids]

    def _let_go(self, trace_id: str) -> Trace:
        kept = self._kept.pop(trace_id)
        self._bytes -= kept.size
        self._written[trace_id] = None
        if len(self._written) > MOST_REMEMBERED:
            self._written.popitem(last=False)
        return kept.trace
