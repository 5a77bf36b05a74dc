"""What tells one record from another, and those of steps from what is around them."""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

from oloproof.importers.otel.dialects import genai, seen
from oloproof.importers.otel.spans import Log, Span

MESSAGE_EVENTS: Final = "gen_ai."
STEPS: Final = ("model", "tool", "handoff")


def identity(record: Span | Log) -> bytes:
    """What tells a record of a trace from its others, and from itself only where it is sent again."""
    if isinstance(record, Span):
        return span_id_of(record).encode("utf-8", "surrogatepass")
    return _digest((record.span_id, record.event.name, record.event.time, record.event.attributes, record.event.body))


def span_id_of(span: Span, place: int = 0) -> str:
    """A span's id; of one that has none what it says, where that says when, or else its place."""
    if span.span_id:
        return span.span_id
    said = (span.parent_id, span.name, span.start, span.end, span.attributes)
    return f"#{_digest(said).hex() if span.start else place}"


def _digest(said: object) -> bytes:
    return blake2b(repr(said).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def tells_of_a_step(record: Span | Log) -> bool:
    """A record that adds to what an agent did, rather than saying what is around it or how it was."""
    if isinstance(record, Log):
        return record.event.name.startswith(MESSAGE_EVENTS) and record.event.name != genai.EVALUATION
    said = seen(record)
    return said is not None and said.role in STEPS
