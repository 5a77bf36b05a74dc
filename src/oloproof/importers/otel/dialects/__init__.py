"""What spans mean, a module for each way of saying it. They are strangers; :func:`seen` asks them all.

The first that knows a span's role decides it, and what it leaves out the others may say: many spans speak two dialects
at once.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import UNSET

from oloproof.importers.otel.dialects import adk, claude_code, genai, mcp, openinference, traceloop, vercel
from oloproof.importers.otel.messages import blocks_text, json_or_text, tool_message_of
from oloproof.importers.otel.seen import NO_ROLES, Seen
from oloproof.importers.otel.spans import Event, Span

_READERS = (vercel.read, claude_code.read, mcp.read, traceloop.read, genai.read, openinference.read, adk.read)


def seen(span: Span) -> Seen | None:
    """What a span says; None: nothing that has to do with an agent."""
    found: Seen | None = None
    for read in _READERS:
        said = read(span)
        if said is None:
            continue
        if found is None:
            found = said
        else:
            found.add(said)
    if found is None:
        return None
    if found.is_adk:
        adk.settle(found)
    if found.role in NO_ROLES and not found.scores:
        return None
    found.error = found.error or span.error or ""
    if found.role == "tool" and found.result is not UNSET:
        _settle_result(found)
    return found


def _settle_result(seen: Seen) -> None:
    """The result itself, where it is wrapped in what tells it to a model."""
    told = tool_message_of(seen.result)
    if told is not None:
        seen.call_id = seen.call_id or told.call_id
        seen.error = seen.error or (told.error if isinstance(told.error, str) else "")
        seen.result = told.result
    text = blocks_text(seen.result)
    if text is not seen.result or told is not None:
        seen.result = json_or_text(text)


def add_events(seen: Seen, events: Iterable[Event]) -> None:
    """What log records say of a span besides."""
    before = Seen(heard=seen.heard, said=seen.said)
    genai.add_events(seen, events)
    if seen.is_adk:
        adk.settle_messages(seen, before)
