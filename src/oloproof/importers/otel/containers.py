"""Whatever spans and log records are exported in: what a JSON value of a file holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from oloproof.importers.otel import dumps, jaeger, otlp
from oloproof.importers.otel.spans import Log, Span
from oloproof.model.values import Json


def holds_telemetry(value: Json) -> bool:
    """Spans, logs or metrics are in it, in one of the ways that :func:`records` reads."""
    if isinstance(value, list):
        return bool(value) and not isinstance(value[0], list) and holds_telemetry(value[0])
    return isinstance(value, dict) and (
        otlp.is_otlp(value) or bool(jaeger.traces_of(value)) or dumps.is_span(value) or _wrapped(value) is not None
    )


def records(value: Json, number: int = 0) -> Iterator[Span | Log | None]:
    """The spans and log records in a JSON value; None for every part of it that holds none and is none.

    OTLP (also that of Tempo), Jaeger's answers, SDK dumps, or arrays of these. ``number`` is the value's place in its
    file, for spans that have no id.
    """
    values = value if isinstance(value, list) else [value]
    for place, part in enumerate(values):
        if not isinstance(part, dict):
            yield None
            continue
        part = _wrapped(part) or part
        if otlp.is_otlp(part):
            yield from otlp.read(part)
        elif traces := jaeger.traces_of(part):
            for trace in traces:
                yield from jaeger.read(trace) if jaeger.is_trace(trace) else (None,)
        elif dumps.is_span(part):
            yield dumps.read(part, number + place)
        else:
            yield None


def _wrapped(value: dict[str, Any]) -> dict[str, Any] | None:
    """What query APIs put around a trace: ``{"trace": {…}}``, ``{"result": {…}}``."""
    for key in ("trace", "result"):
        held = value.get(key)
        if isinstance(held, dict) and otlp.is_otlp(held):
            return held
    return None
