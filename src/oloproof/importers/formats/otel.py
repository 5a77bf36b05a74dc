"""OpenTelemetry: spans and log records of agents, in any export and dialect that :mod:`oloproof.importers.otel` knows.

A run is a conversation, or a trace that belongs to none. Spans of a run may be spread over lines and files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from oloproof.errors import Problem
from oloproof.importers.documents import Document, documents
from oloproof.importers.format import Confidence, Importer, Item, Lost
from oloproof.importers.head import Head
from oloproof.importers.otel import plan, traces
from oloproof.importers.otel.containers import holds_telemetry, records
from oloproof.importers.otel.telling import run_of
from oloproof.importers.otel.traces import Traces
from oloproof.importers.source import Source

LOSSES: Final[Mapping[str, str]] = {
    **plan.LOSSES,
    **traces.LOSSES,
    "unrelated_traces": "traces in which no agent, no model and no tool occurs",
    "unknown_records": "values among the spans that are none",
}


def sniff(head: Head) -> Confidence | None:
    return Confidence.CERTAIN if holds_telemetry(head.value) else None


def read(sources: Sequence[Source]) -> Iterator[Item]:
    """OTLP/JSON, one request or one a line; Jaeger's and Tempo's answers; dumps of SDKs; in all files together."""
    found = Traces()
    for source in sources:
        yield from _read_file(source, found)
    losses: Counter[str] = Counter()
    file = sources[0].name if sources else ""
    nothing = True
    for run in found.runs(losses):
        if any(trace.has_agent for trace in run):
            nothing = False
            yield run_of(run)
        else:
            yield Lost("unrelated_traces", file)
    for kind, count in losses.items():
        yield Lost(kind, file, count=count)
    if nothing:
        hint = "export spans of agents, models or tools"
        yield Problem("OLO323", "no run is in it: no span tells of an agent, a model or a tool", hint, file=file)


def _read_file(source: Source, found: Traces) -> Iterator[Item]:
    for number, document in enumerate(documents(source), 1):
        match document:
            case Problem():
                yield document
            case Document(line, value) if holds_telemetry(value):
                for record in records(value, number):
                    if record is None:
                        yield Lost("unknown_records", source.name, line)
                    else:
                        found.add(record, source.name, line)
            case Document(line, _):
                hint = "OTLP/JSON (resourceSpans), an answer of Jaeger or Tempo, or spans as an SDK dumps them"
                yield Problem("OLO322", "it holds no spans", hint, file=source.name, line=line)


IMPORTER: Final = Importer(
    name="otel",
    about="OpenTelemetry spans and logs: OTLP/JSON, Jaeger, Tempo; GenAI conventions, OpenInference and others",
    sniff=sniff,
    read=read,
    losses=LOSSES,
)
