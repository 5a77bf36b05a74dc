"""The Model Context Protocol's spans: a call of a tool, seen by the client and again by the server."""

from __future__ import annotations

from msgspec import UNSET

from oloproof.importers.otel.messages import blocks_text, json_or_text
from oloproof.importers.otel.seen import Seen
from oloproof.importers.otel.spans import Span, text_of

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
        told = blocks_text(result["content"])
        seen.result = result["structuredContent"] if result.get("structuredContent") is not None else told
        if result.get("isError") is True:
            seen.error = told if isinstance(told, str) and told else "error"
    return seen
