"""Spans and log records as plain values, whatever they were exported in."""

from __future__ import annotations

from typing import Any, Final

from msgspec import UNSET, Struct

from oloproof.importers.foreign import before_traceback, text_of
from oloproof.model.values import Json

UNSPECIFIC: Final = "_OTHER"
"""The ``error.type`` of an instrumentation that has no better word."""


class Event(Struct, gc=False):
    """Something that happened during a span: ``time`` in ns (0: unknown), ``body`` UNSET where it has none."""

    name: str
    time: int = 0
    attributes: dict[str, Any] = {}
    body: Json = UNSET


class Log(Struct, gc=False):
    """A log record; ``span_id`` "" where it names no span, ``is_cut`` where something of it was left out."""

    trace_id: str
    span_id: str
    event: Event
    is_cut: bool = False


class Span(Struct, kw_only=True):
    """A span. ``start`` and ``end`` in ns since 1970, 0: unknown. ``failed``: its status says so, ``message`` how.

    ``resource`` is who sent it, ``scope`` what recorded it. ``parent_is_local``: the span says that its parent is of
    the same process, which exports it when it ends. ``is_cut``: something of it was left out, for its size or number.
    """

    trace_id: str
    span_id: str
    parent_id: str = ""
    parent_is_local: bool = False
    name: str = ""
    start: int = 0
    end: int = 0
    attributes: dict[str, Any] = {}
    events: list[Event] = []
    failed: bool = False
    message: str = ""
    resource: dict[str, Any] = {}
    scope: str = ""
    is_cut: bool = False

    @property
    def error(self) -> str | None:
        """What went wrong, in the span's words; None: nothing."""
        kind = text_of(self.attributes.get("error.type"))
        if not self.failed and not kind:
            return None
        message = before_traceback(self.message) or self.message
        for event in self.events:
            if event.name == "exception":
                kind = kind if kind and kind != UNSPECIFIC else text_of(event.attributes.get("exception.type"))
                message = message or text_of(event.attributes.get("exception.message"))
        if not message or not kind or kind == UNSPECIFIC or kind in message:
            return message or kind or "error"
        return f"{kind}: {message}"


def is_local(flags: int) -> bool:
    """Whether a span's flags say that its parent is of the same process: bit 8 that they say it, bit 9 that it is of
    another one."""
    return flags & 0x300 == 0x100


def event_name(attributes: dict[str, Any]) -> str:
    """What the attributes of a log record that has no field for it call its event; "" for nothing."""
    return next((name for key in ("event.name", "otel.event.name") if (name := text_of(attributes.get(key)))), "")
