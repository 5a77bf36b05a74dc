"""OpenTelemetry: spans and log records of agents, in any export and dialect that :mod:`oloproof.importers.otel` knows.

A run is a conversation, or a trace that belongs to none. Spans of a run may be spread over lines and files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import SEEK_END
from typing import Final

from msgspec import Struct

from oloproof.errors import Problem
from oloproof.importers import codes
from oloproof.importers.documents import Document, documents
from oloproof.importers.format import Confidence, Importer, Item, Lost, Run
from oloproof.importers.head import Head
from oloproof.importers.otel import plan, traces
from oloproof.importers.otel.containers import holds_telemetry, records
from oloproof.importers.otel.index import Index
from oloproof.importers.otel.spans import Log, Span
from oloproof.importers.otel.telling import run_of
from oloproof.importers.otel.traces import Trace, Traces
from oloproof.importers.source import Source

READ_ONCE_BYTES = 128 * 2**20
"""Files of no more than this, together, are kept in memory until all of them are read."""

LOSSES: Final[Mapping[str, str]] = {
    **plan.LOSSES,
    **traces.LOSSES,
    "unrelated_traces": "traces in which no agent, no model and no tool occurs",
    "unknown_records": "values among the spans that are none",
}


def sniff(head: Head) -> Confidence | None:
    return Confidence.CERTAIN if holds_telemetry(head.value) else None


def read(sources: Sequence[Source]) -> Iterator[Item]:
    """OTLP/JSON, one request or one a line; Jaeger's and Tempo's answers; dumps of SDKs; in all files together.

    Large files are read twice, so that a run can be told, and let go, as soon as the last of it has come.
    """
    index = _index(sources) if sum(map(_size, sources)) > READ_ONCE_BYTES else None
    found = Traces()
    losses: Counter[str] = Counter()
    nothing = True
    for source in sources:
        for record in _records(source):
            if isinstance(record, Problem | Lost):
                yield record
                continue
            found.add(record.record, source.name, record.line)
            complete = index.came(record.record) if index is not None and record.record.trace_id else []
            for item in _told(found.runs(losses, complete), source.name):
                nothing = nothing and not isinstance(item, Run)
                yield item
    file = sources[0].name if sources else ""
    for item in _told(found.runs(losses), file):
        nothing = nothing and not isinstance(item, Run)
        yield item
    for kind, count in losses.items():
        yield Lost(kind, file, count=count)
    if nothing:
        hint = "export spans of agents, models or tools"
        yield Problem(codes.NO_RUN, "no run is in it: no span tells of an agent, a model or a tool", hint, file=file)


def _told(runs: Iterable[list[Trace]], file: str) -> Iterator[Run | Lost]:
    for run in runs:
        yield run_of(run) if any(trace.has_agent for trace in run) else Lost("unrelated_traces", file)


class _Record(Struct, frozen=True):
    record: Span | Log
    line: int


def _records(source: Source) -> Iterator[_Record | Lost | Problem]:
    for number, document in enumerate(documents(source), 1):
        match document:
            case Problem():
                yield document
            case Document(line, value) if holds_telemetry(value):
                for record in records(value, number):
                    yield Lost("unknown_records", source.name, line) if record is None else _Record(record, line)
            case Document(line, _):
                hint = "OTLP/JSON (resourceSpans), an answer of Jaeger or Tempo, or spans as an SDK dumps them"
                yield Problem(codes.NOT_OF_THE_FORMAT, "it holds no spans", hint, file=source.name, line=line)


def _size(source: Source) -> int:
    with source.open() as file:
        return file.seek(0, SEEK_END)


def _index(sources: Sequence[Source]) -> Index:
    index = Index()
    for source in sources:
        for record in _records(source):
            if isinstance(record, _Record) and record.record.trace_id:
                index.count(record.record)
    index.seal()
    return index


IMPORTER: Final = Importer(
    name="otel",
    about="OpenTelemetry spans and logs: OTLP/JSON, Jaeger, Tempo; GenAI conventions, OpenInference and others",
    sniff=sniff,
    read=read,
    losses=LOSSES,
)
