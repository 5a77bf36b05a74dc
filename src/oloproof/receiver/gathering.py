"""What belongs to one run, kept until nothing more comes for it, within a bound on memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct

from oloproof.importers.otel.records import identity, tells_of_a_step
from oloproof.importers.otel.spans import Log, Span
from oloproof.importers.otel.traces import Trace
from oloproof.receiver.earlier import remember


class Full(Exception):
    """No more can be kept until a run falls quiet."""


class Waits(Struct, frozen=True, kw_only=True):
    """How long nothing must come, in seconds: for a trace, and for a conversation, whose next turn may take a while, or
    a trace that is known to be under way."""

    trace_s: float
    conversation_s: float


class _Kept(Struct):
    trace: Trace
    last: float
    size: int = 0
    conversation: str = ""
    is_under_way: bool = False
    is_new: bool = True


class Gathering:
    """The traces that are not written yet. ``late`` counts records of traces that were, but for what was sent twice.

    Times are seconds of a clock that never goes back; the caller reads it.
    """

    def __init__(self, waits: Waits, *, most_bytes: int, written: Iterable[str] = (), torn: Iterable[str] = ()) -> None:
        """``written``: traces that an earlier process wrote · ``torn``: those of which it lost something, since it was
        killed. What comes of one that is torn is not all, so it is truncated."""
        self.late = 0
        self.torn = set(torn)
        self._waits = waits
        self._most_bytes = most_bytes
        self._bytes = 0
        self._place = 0
        self._kept: dict[str, _Kept] = {}
        self._written: OrderedDict[str, frozenset[bytes]] = OrderedDict.fromkeys(written, frozenset())
        self._belied: dict[str, None] = {}

    @property
    def unwritten(self) -> set[str]:
        """The traces of which something has come, here or in an earlier process, and that are not written."""
        return self.torn | self._kept.keys()

    def beginning(self, records: Sequence[Span | Log], *, size: int) -> list[str]:
        """The traces of which nothing was kept before these records of a request of ``size`` bytes, each once. Errors:
        :class:`Full`."""
        if self._bytes + size > self._most_bytes:
            raise Full
        named = dict.fromkeys(record.trace_id for record in records if record.trace_id)
        return [each for each in named if each not in self._written and each not in self._kept]

    def add(self, records: Sequence[Span | Log], *, size: int, now: float) -> None:
        """Keep the records of a request of ``size`` bytes. Errors: :class:`Full`; then none of them is kept."""
        if self._bytes + size > self._most_bytes:
            raise Full
        share = size // len(records) if records else 0
        for record in records:
            if not record.trace_id or record.trace_id in self._written:
                self._add_late(record)
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

    def _add_late(self, record: Span | Log) -> None:
        if identity(record) in self._written.get(record.trace_id, ()):
            return
        self.late += 1
        if record.trace_id in self._written and tells_of_a_step(record):
            self._belied[record.trace_id] = None

    def belied(self) -> list[str]:
        """The traces that went on after they were written, each once."""
        found, self._belied = list(self._belied), {}
        return found

    def due(self, now: float) -> Iterator[list[Trace]]:
        """The runs for which nothing came for long enough, each the traces that it is made of. They are let go."""
        yield from self._released(
            lambda is_long, last: now - last >= (self._waits.conversation_s if is_long else self._waits.trace_s)
        )

    def all(self) -> Iterator[list[Trace]]:
        """Every run, complete or not."""
        yield from self._released(lambda _, __: True)

    def _released(self, is_due: Callable[[bool, float], bool]) -> Iterator[list[Trace]]:
        groups: dict[tuple[str, str], list[str]] = {}
        for trace_id, kept in self._kept.items():
            if kept.is_new:
                kept.conversation, kept.is_new = kept.trace.likely_conversation(), False
                kept.is_under_way = kept.trace.is_under_way()
            groups.setdefault((kept.conversation, "" if kept.conversation else trace_id), []).append(trace_id)
        for (conversation, _), ids in groups.items():
            of_run = [self._kept[trace_id] for trace_id in ids]
            is_long = conversation != "" or any(kept.is_under_way for kept in of_run)
            if is_due(is_long, max(kept.last for kept in of_run)):
                yield [self._let_go(trace_id) for trace_id in ids]

    def _let_go(self, trace_id: str) -> Trace:
        kept = self._kept.pop(trace_id)
        self._bytes -= kept.size
        kept.trace.lacks_records = trace_id in self.torn
        if kept.trace.has_begun():  # otherwise nothing is written, and the agent may still begin
            remember(self._written, trace_id, frozenset(kept.trace.identities()))
            self.torn.discard(trace_id)
        return kept.trace
