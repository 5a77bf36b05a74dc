"""The OpenAI Agents SDK: what its tracing tells of a running case becomes its trajectory.

Spans of a case are those that begin in its context, and those below them. They are read as the importer of
``openai-agents`` reads them from a file; a span that is alive knows more than its export: what a function returned
rather than its text, and what the Responses API was given and answered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import groupby
from threading import Lock
from typing import Any, Final, Protocol

from oloproof.importers.builder import Builder
from oloproof.importers.formats.openai_agents import tell
from oloproof.model.trajectory import Trajectory
from oloproof.model.values import Json, snapshot
from oloproof.record.case import current_case
from oloproof.recorders.listener import Listener
from oloproof.recorders.plain import readable
from oloproof.recorders.recording import needing, recording

NOTHING: Final = (
    "record_openai_agents saw no span of the OpenAI Agents SDK: nothing is recorded of this case. Its tracing must be "
    "on (OPENAI_AGENTS_DISABLE_TRACING, set_tracing_disabled and tracing_disabled switch it off)"
)


class LiveSpan(Protocol):
    """A span of the SDK, as far as it is read here."""

    @property
    def span_id(self) -> str: ...
    @property
    def trace_id(self) -> str: ...
    @property
    def parent_id(self) -> str | None: ...
    @property
    def span_data(self) -> Any: ...
    def export(self) -> dict[str, Any] | None: ...


class Spans:
    """The spans of one case, until it is closed: whole ones as they were when they ended, others as they are then."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._spans: dict[str, LiveSpan | Json] = {}
        self._over = False
        self.has_gap = False
        """A span began of which nobody knows whether it is of this case."""

    def began(self, span: LiveSpan) -> None:
        """A span began."""
        with self._lock:
            if not self._over:
                self._spans[span.span_id] = span

    def ended(self, span: LiveSpan) -> None:
        """It ended. What ends after the end of the case is not taken."""
        told = span_as_told(span)
        with self._lock:
            if not self._over:
                self._spans[span.span_id] = told

    def close(self) -> list[list[Json]]:
        """The spans by trace, in the order in which they began."""
        with self._lock:
            self._over = True
        traces: dict[str, list[Json]] = {}
        for span in self._spans.values():
            told = span if isinstance(span, dict) else span_as_told(span)
            traces.setdefault(told.get("trace_id", ""), []).append(told)
        return list(traces.values())


class SpanListener:
    """A tracing processor, which tells of the spans that are some recording's."""

    def __init__(self, listener: Listener[Spans]) -> None:
        self._listener = listener

    def on_trace_start(self, trace: Any) -> None:
        """Traces say nothing that their spans do not say."""

    def on_trace_end(self, trace: Any) -> None:
        """As above."""

    def on_span_start(self, span: LiveSpan) -> None:
        spans = self._listener.started(span.span_id, span.parent_id or "")
        if spans is not None:
            spans.began(span)
            return
        for each in self._listener.perhaps_of():
            each.has_gap = True

    def on_span_end(self, span: LiveSpan) -> None:
        spans = self._listener.recording_of(span.span_id)
        if spans is not None:
            spans.ended(span)

    def shutdown(self, timeout: float | None = None) -> None:
        """Nothing is held back."""

    def force_flush(self) -> None:
        """As above."""


_listener: Listener[Spans] = Listener("oloproof_openai_agents")
_processor = SpanListener(_listener)
_providers: list[Any] = []
_lock = Lock()


@contextmanager
def record_openai_agents() -> Iterator[None]:
    """Record the running case from the SDK's tracing: ``with record_openai_agents(): return Runner.run_sync(…)``.

    It adds one processor to those that are there and takes none away. When the block raises, the trajectory is
    truncated.

    Errors: RecordError outside a case, where the case has been recorded already, and where the SDK is not installed.
    """
    case, spans = current_case(), Spans()
    _listen()
    with _listener.listening(spans), recording(case, lambda: trajectory_of(spans), nothing=NOTHING):
        yield


def trajectory_of(spans: Spans) -> Trajectory | None:
    """What the spans of a case tell; None where there are none. How its last trace ended, the case ended, unless
    something goes on, or may be missing."""
    traces = spans.close()
    if not traces:
        return None
    goes_on = spans.has_gap or any(span.get("ended_at") is None for trace in traces for span in trace)
    builder = Builder()
    ends = [tell(trace, builder, is_last=trace is traces[-1] and not goes_on) for trace in traces]
    return builder.trajectory(truncated=ends[-1].truncated or goes_on)


def _listen() -> None:
    """Have the SDK tell the listener, once; again where its processors have been replaced since."""
    what = "record_openai_agents needs the OpenAI Agents SDK: pip install 'oloproof[openai-agents]'"
    with needing("agents", what):
        from agents.tracing import add_trace_processor, get_trace_provider
    with _lock:
        provider = get_trace_provider()
        held = getattr(getattr(provider, "_multi_processor", None), "_processors", None)
        if _processor in held if held is not None else any(each is provider for each in _providers):
            return
        add_trace_processor(_processor)
        _providers.append(provider)


def span_as_told(span: LiveSpan) -> Json:
    """A span as it is exported, with what the export leaves out."""
    told: dict[str, Any] = dict(span.export() or {})
    data, live = dict(told.get("span_data") or {}), span.span_data
    match data.get("type"):
        case "function":
            data["output"] = readable(getattr(live, "output", None))
        case "generation":
            data["input"] = _heard(data.get("input"))
        case "response":
            data["input"] = _heard(getattr(live, "input", None))
            response = getattr(live, "response", None)
            data["output"], data["status"] = getattr(response, "output", None), getattr(response, "status", None)
        case _:
            pass
    told["span_data"] = data
    return snapshot(told)


def _heard(messages: Any) -> list[Any]:
    """What a model was given: the words of users and systems, and of all between them only that it was there."""
    if isinstance(messages, str):
        return [{"role": "user", "content": messages}]
    heard: list[Any] = []
    for is_kept, some in groupby(messages if isinstance(messages, list | tuple) else (), key=_is_of_others):
        heard.extend(some if is_kept else ({"role": "assistant"},))
    return heard


def _is_of_others(message: Any) -> bool:
    role = message.get("role") if isinstance(message, Mapping) else getattr(message, "role", None)
    return role in ("user", "system", "developer")
