"""Vercel's AI SDK, versions 4 to 6: ``ai.generateText`` around the calls of models (``….doGenerate``) and of tools.

The outer span repeats what the inner ones say, the last of them above all. From version 7 on it speaks the GenAI
conventions.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from msgspec import UNSET

from oloproof.importers.foreign import text_id, text_of
from oloproof.importers.otel.messages import Asked, Message, Part, Text, json_or_text, message_of, messages_of
from oloproof.importers.otel.seen import Messages, Role, Seen
from oloproof.importers.otel.spans import Span

OPERATION: Final = "ai.operationId"
ROLES: Final[dict[str, Role]] = {
    "ai.generateText": "workflow",
    "ai.streamText": "workflow",
    "ai.generateObject": "workflow",
    "ai.streamObject": "workflow",
    "ai.generateText.doGenerate": "model",
    "ai.streamText.doStream": "model",
    "ai.generateObject.doGenerate": "model",
    "ai.streamObject.doStream": "model",
    "ai.toolCall": "tool",
}
STILL_CALLING: Final = "tool-calls"
"""The finish reason of a loop that was stopped after a step, while the model still asked for tools."""


def read(span: Span) -> Seen | None:
    attributes = span.attributes
    operation = text_of(attributes.get(OPERATION))
    if not operation:
        return None
    role = ROLES.get(operation, "other")
    seen = Seen(
        role=role,
        conversation=text_id(attributes.get("ai.telemetry.metadata.sessionId") or attributes.get("session.id")),
    )
    if role == "tool":
        seen.tool = text_of(attributes.get("ai.toolCall.name"))
        seen.call_id = text_id(attributes.get("ai.toolCall.id"))
        seen.arguments = attributes.get("ai.toolCall.args", UNSET)
        if "ai.toolCall.result" in attributes:
            seen.result = json_or_text(attributes["ai.toolCall.result"])
    elif role != "other":
        prompt = attributes.get("ai.prompt.messages", attributes.get("ai.prompt"))
        seen.heard = None if prompt is None else partial(messages_of, prompt)
        seen.said = _said(attributes)
        seen.finish = text_of(attributes.get("ai.response.finishReason") or attributes.get("ai.finishReason"))
        seen.tokens = _tokens(attributes)
        seen.stopped = role == "workflow" and seen.finish == STILL_CALLING
    return seen


def _tokens(attributes: dict[str, Any]) -> int | None:
    counted = [
        next((count for key in keys if type(count := attributes.get(f"ai.usage.{key}")) is int), None)
        for keys in (("inputTokens", "promptTokens"), ("outputTokens", "completionTokens"))
    ]
    known = [count for count in counted if count is not None]
    return sum(known) if known else None


def _said(attributes: dict[str, Any]) -> Messages | None:
    keys = ("text", "object", "toolCalls")
    for prefix in ("ai.response.", "ai.result."):  # the latter until version 4
        if any(f"{prefix}{key}" in attributes for key in keys):
            return partial(_message, *(attributes.get(f"{prefix}{key}") for key in keys))
    return None


def _message(text: Any, made: Any, calls: Any) -> list[Message]:
    parts: list[Part] = [Text(said) for said in (text, made) if isinstance(said, str) and said]
    listed = json_or_text(calls)
    for call in listed if isinstance(listed, list) else ():
        message = message_of({"role": "assistant", "content": [call]})
        parts += [part for part in message.parts if isinstance(part, Asked)] if message is not None else []
    return [Message("assistant", tuple(parts))]
