"""Traces that the OpenAI Agents SDK exports: ``trace`` and ``trace.span`` objects.

Spans name their parents. A tool's span has no call id; the model's (``generation``) has, and its words too, while that
of the Responses API (``response``) has neither. Agents that follow a hand-off are siblings; an agent that is used as a
tool is below the span of that tool. A run that went past its limit of turns says so in the error of its agent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import UNSET

from oloproof.errors import Problem
from oloproof.importers import codes
from oloproof.importers.agent_spans import LOSSES as SPAN_LOSSES
from oloproof.importers.agent_spans import (
    Answer,
    Asked,
    Span,
    milliseconds,
    outer_errors,
    total_tokens,
    tree,
)
from oloproof.importers.agent_telling import Teller, Told
from oloproof.importers.builder import Builder
from oloproof.importers.documents import documents
from oloproof.importers.foreign import joined_text, list_of, object_of, text_id, without_nulls
from oloproof.importers.format import Confidence, Importer, Item, Lost, Run
from oloproof.importers.head import Head
from oloproof.importers.response_items import answer_of
from oloproof.importers.source import Source
from oloproof.model.case import system_error
from oloproof.model.values import Json

CUT_OFF: Final = ("max turns exceeded", "maxturnsexceeded")
STOPPED: Final = ("guardrail tripwire",)
"""Errors of agents that are an outcome, not a breakdown."""

LOSSES: Final[Mapping[str, str]] = {
    **SPAN_LOSSES,
    "no_spans": "values among the spans that are none",
    "other_spans": "spans that are no step: custom ones, lists of tools, speech",
    "lonely_traces": "traces of which no span is there",
}

Fields = dict[str, Any]


def sniff(head: Head) -> Confidence | None:
    found = any(_is_ours(value) for value in _records(head.values))
    return Confidence.CERTAIN if found else None


def _is_ours(value: Json) -> bool:
    match value:
        case {"object": "trace", "id": str(), "workflow_name": _}:
            return True
        case {"object": "trace.span", "trace_id": str(), "span_data": dict()}:
            return True
        case _:
            return False


def _records(values: Iterable[Json]) -> Iterator[Json]:
    """Traces and spans, from lists of them and from the bodies in which they are sent (``data``)."""
    for value in values:
        held = value.get("data", value) if isinstance(value, dict) and "object" not in value else value
        yield from held if isinstance(held, list) else (held,)


class _Trace:
    """A trace, and its spans as they were met. ``own`` is the trace itself, {} where it was not exported;
    ``unknown`` counts what names the trace and is no span."""

    def __init__(self, file: str, line: int) -> None:
        self.file = file
        self.line = line
        self.own: Fields = {}
        self.spans: list[Fields] = []
        self.unknown = 0


def read(sources: Sequence[Source]) -> Iterator[Item]:
    """JSON Lines or arrays of traces and spans, or what is sent (``{"data": […]}``); a trace is a run, and its spans
    may be spread over all files."""
    traces: dict[str, _Trace] = {}
    for source in sources:
        for document in documents(source):
            if isinstance(document, Problem):
                yield document
                continue
            for value in _records((document.value,)):
                if not _is_ours(value):
                    yield Lost("no_spans", source.name, document.line)
                    if trace_id := text_id(object_of(value).get("trace_id")):
                        traces.setdefault(trace_id, _Trace(source.name, document.line)).unknown += 1
                    continue
                own = value["object"] == "trace"
                trace = traces.setdefault(value["id" if own else "trace_id"], _Trace(source.name, document.line))
                if own:
                    trace.own = value
                else:
                    trace.spans.append(value)
    nothing = True
    for name, trace in traces.items():
        if trace.spans:
            nothing = False
            yield _run(name, trace)
        else:
            yield Lost("lonely_traces", trace.file, trace.line)
    if nothing and sources:
        yield Problem(codes.NO_RUN, "no run is in it: it has no span", "export the spans too", file=sources[0].name)


def _run(name: str, trace: _Trace) -> Run:
    builder = Builder()
    builder.losses["unknown_kinds"] += trace.unknown
    told = tell(trace.spans, builder)
    broken, stopped = told.error, told.stopped
    own = trace.own
    facts = {key: own.get(key) for key in ("workflow_name", "group_id")} | {"trace_id": name}
    facts["stopped_by"] = stopped or None
    return Run(
        file=trace.file,
        line=trace.line,
        output=UNSET if broken or stopped else builder.output,
        error=system_error(broken) if broken else None,
        trajectory=builder.trajectory(truncated=told.truncated),
        input={"messages": list(told.opening)} if told.opening else UNSET,
        metadata=without_nulls(facts) | object_of(own.get("metadata")),
        of_case=(),
        losses=builder.losses,
        unanswered=len(builder.unanswered),
        origin={"trace": own, "spans": trace.spans},
    )


def tell(spans: Sequence[Fields], builder: Builder, *, is_last: bool = True) -> Told:
    """Tell the builder what the spans of one trace, as they are exported, say. After the last trace of a run, the words
    that ended it are its final step.

    A ``response`` may have what the export leaves out: ``input``, the items that the model was given, ``output``,
    those that it answered with, and the ``status`` of the response.
    """
    roots = tree([_span(value, position, builder) for position, value in enumerate(spans)], builder)
    teller = Teller(builder, roots)
    errors = list(outer_errors(roots))
    cut_off = any(_says(error, CUT_OFF) for error in errors)
    stopped = next((error for error in errors if _says(error, STOPPED)), "")
    broken = next((error for error in errors if not _says(error, (*CUT_OFF, *STOPPED))), "")
    if not cut_off and not stopped:
        broken = broken or teller.failed
    truncated = cut_off or bool(broken) or teller.cut_off or builder.ends_on_open_call
    if is_last and not truncated and not stopped:
        teller.finish()
    return Told(opening=teller.opening, truncated=truncated, error=broken, stopped=stopped)


def _says(error: str, words: Sequence[str]) -> bool:
    return any(word in error.lower() for word in words)


def _span(value: Fields, position: int, builder: Builder) -> Span:
    data, start = value["span_data"], milliseconds(value.get("started_at"))
    span = Span(
        id=text_id(value.get("id")) or f"#{position}",
        parent=text_id(value.get("parent_id")),
        kind="group",
        order=(0 if start is None else start, position),
        start=start,
        end=milliseconds(value.get("ended_at")),
        error=_error(value.get("error")),
    )
    match data.get("type"):
        case "agent":
            span.kind, span.name = "agent", text_id(data.get("name"))
        case "function":
            span.kind, span.name, span.arguments = "tool", text_id(data.get("name")), data.get("input")
            if data.get("output") is not None:
                span.result = data["output"]
        case "handoff":
            span.kind, span.name = "handoff", text_id(data.get("to_agent"))
            span.agent = text_id(data.get("from_agent"))
        case "generation":
            span.kind, span.heard = "model", list_of(data.get("input"))
            span.answer, span.tokens = _answer(data.get("output")), total_tokens(data.get("usage"))
        case "response":
            span.kind, span.heard = "model", list_of(data.get("input"))
            span.answer, span.tokens = answer_of(data), total_tokens(data.get("usage"))
        case "guardrail":
            span.kind = "aside"
            span.told = {"guardrail": data.get("name"), "triggered": data.get("triggered")}
        case "custom" if object_of(data.get("data")).get("sdk_span_type") is not None:
            pass
        case "custom" | "mcp_tools" | "speech" | "speech_group" | "task" | "transcription" | "turn":
            builder.losses["other_spans"] += 1
        case _:
            builder.losses["unknown_kinds"] += 1
    return span


def _answer(output: Json) -> Answer | None:
    """What a model answered, in the words of Chat Completions; None where that was not recorded. A stream is written
    down as a response."""
    if not isinstance(output, list):
        return None
    messages = [object_of(message) for message in output]
    if len(messages) == 1 and messages[0].get("object") == "response":
        return answer_of(messages[0])
    texts = [content for each in messages if isinstance(content := joined_text(each.get("content")), str)]
    asked = []
    for call in (object_of(call) for message in messages for call in list_of(message.get("tool_calls"))):
        function = object_of(call.get("function"))
        asked.append(Asked(text_id(function.get("name")), text_id(call.get("id")), function.get("arguments")))
    return Answer("".join(texts) or None, asked)


def _error(error: Json) -> str:
    """What a span's error says; "" for none."""
    match error:
        case None:
            return ""
        case {"message": str(message), "data": {"error": str(what)}}:
            return f"{message}: {what}"
        case {"message": str(message)} if message:
            return message
        case _:
            return text_id(error) or "failed"


IMPORTER: Final = Importer(
    name="openai-agents",
    about="traces of the OpenAI Agents SDK, as its processors export them",
    sniff=sniff,
    read=read,
    losses=LOSSES,
)
