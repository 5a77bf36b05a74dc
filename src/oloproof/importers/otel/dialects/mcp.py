"""The Model Context Protocol's spans: a call of a tool, seen by the client and again by the server."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from oloproof.importers.foreign import joined_text, text_of
from oloproof.importers.otel.messages import blocks_text, json_or_text
from oloproof.importers.otel.seen import Seen
from oloproof.importers.otel.spans import Span
from oloproof.model.values import Json

_CALL = "tools/call"


def read(span: Span) -> Seen | None:
    attributes = span.attributes
    method = text_of(attributes.get("mcp.method.name"))
    if not method:
        return None
    if method != _CALL:
        return Seen(role="other")
    _, _, spelled = span.name.partition(f"{_CALL} ")
    name = text_of(attributes.get("gen_ai.tool.name") or attributes.get("mcp.tool.name"))
    seen = Seen(role="tool", tool=name or spelled)
    result = json_or_text(attributes.get("gen_ai.tool.call.result", UNSET))
    if isinstance(result, dict) and "content" in result:
        seen.result, error = outcome(result)
        seen.error = error or seen.error
    return seen


def outcome(result: dict[str, Any]) -> tuple[Json, str | None]:
    """What a ``CallToolResult`` gave, and its error, None where it is none."""
    content, structured = result["content"], result.get("structuredContent")
    given = blocks_text(content) if structured is None else structured
    if result.get("isError") is not True:
        return given, None
    said = joined_text(content)
    return given, said if isinstance(said, str) and said else "error"
