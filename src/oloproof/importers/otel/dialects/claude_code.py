"""Claude Code's own spans: ``claude_code.interaction`` around ``.llm_request`` and ``.tool``; what a tool call was made
of (waiting for the user, execution) has spans below the call's."""

from __future__ import annotations

from functools import partial
from typing import Final

from msgspec import UNSET

from oloproof.importers.foreign import text_id, text_of, total_of
from oloproof.importers.otel.messages import json_or_text, messages_of
from oloproof.importers.otel.seen import Role, Seen
from oloproof.importers.otel.spans import Span

PREFIX: Final = "claude_code."
ROLES: Final[dict[str, Role]] = {
    "interaction": "workflow",
    "llm_request": "model",
    "tool": "tool",
    "tool.execution": "tool",
    "tool.blocked_on_user": "tool",
}
_REFUSALS = ("reject", "rejected", "deny", "denied")


def read(span: Span) -> Seen | None:
    if not span.name.startswith(PREFIX):
        return None
    attributes = span.attributes
    seen = Seen(
        role=ROLES.get(span.name.removeprefix(PREFIX), "other"), conversation=text_id(attributes.get("session.id"))
    )
    if seen.role == "tool":
        seen.tool = text_of(attributes.get("tool_name") or attributes.get("gen_ai.tool.name"))
        seen.call_id = text_id(attributes.get("tool_use_id") or attributes.get("gen_ai.tool.call.id"))
        seen.arguments = attributes.get("tool_input", attributes.get("tool_parameters", UNSET))
        seen.result = json_or_text(attributes.get("tool_output", attributes.get("new_context", UNSET)))
        if attributes.get("success") in (False, "false"):
            seen.error = text_of(attributes.get("error")) or "error"
        elif text_of(attributes.get("decision")) in _REFUSALS:
            seen.error = "refused by the user"
    elif seen.role == "model":
        seen.tokens = total_of(attributes.get(key) for key in ("input_tokens", "output_tokens")) or None
        seen.finish = text_of(attributes.get("stop_reason"))
        if not seen.finish and attributes.get("response.has_tool_call") in (True, "true"):
            seen.finish = "tool_use"
    elif seen.role == "workflow" and (prompt := text_of(attributes.get("user_prompt"))):
        seen.heard = partial(messages_of, [prompt])
    return seen
