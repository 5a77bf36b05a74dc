"""Traceloop's OpenLLMetry: ``traceloop.span.kind``, and messages flattened as ``gen_ai.prompt.0.content``."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from msgspec import UNSET

from oloproof.importers.foreign import text_id, text_of
from oloproof.importers.otel.messages import Message, json_or_text, message_of
from oloproof.importers.otel.seen import Messages, Role, Seen
from oloproof.importers.otel.spans import Span
from oloproof.importers.otel.tree import entries
from oloproof.model.values import Json

ROLES: Final[dict[str, Role]] = {"workflow": "workflow", "task": "other", "agent": "agent", "tool": "tool"}
_PROMPT, _COMPLETION = "gen_ai.prompt", "gen_ai.completion"
_SPOKEN: Final = (f"{_PROMPT}.", f"{_COMPLETION}.")


def read(span: Span) -> Seen | None:
    attributes = span.attributes
    kind = text_of(attributes.get("traceloop.span.kind"))
    spoken = any(key.startswith(_SPOKEN) for key in attributes)
    is_model = spoken or text_of(attributes.get("llm.request.type")) in ("chat", "completion")
    if not (kind or is_model):
        return None
    role = "model" if is_model else ROLES.get(kind, "other")
    name = text_of(attributes.get("traceloop.entity.name"))
    seen = Seen(role=role, conversation=text_id(attributes.get("traceloop.association.properties.session_id")))
    receiver = text_of(attributes.get("gen_ai.handoff.to_agent"))
    if kind == "handoff" and receiver:
        seen.role, seen.receiver = "handoff", receiver
    elif role == "agent":
        seen.agent = name or span.name.removesuffix(".agent")
    elif role == "tool":
        seen.tool = name or span.name.removesuffix(".tool")
        called = json_or_text(attributes.get("traceloop.entity.input", attributes.get("gen_ai.tool.call.arguments")))
        seen.arguments = _arguments(called)
        seen.call_id = _call_id(called)
        seen.result = json_or_text(attributes.get("traceloop.entity.output", UNSET))
    if spoken:
        seen.heard = _messages(attributes, _PROMPT, "user")
        seen.said = _messages(attributes, _COMPLETION, "assistant")
        finish = entries(attributes, _COMPLETION)
        if finish and isinstance(finish[-1], dict):
            seen.finish = text_of(finish[-1].get("finish_reason"))
    return seen


def _messages(attributes: dict[str, Any], prefix: str, role: str) -> Messages | None:
    if any(key.startswith(f"{prefix}.") for key in attributes):
        return partial(_listed, attributes, prefix, role)
    return None


def _listed(attributes: dict[str, Any], prefix: str, role: str) -> list[Message] | None:
    messages = []
    for entry in entries(attributes, prefix):
        if isinstance(entry, dict):
            entry = {**entry, "content": _content(entry.get("content")), "tool_calls": _calls(entry.get("tool_calls"))}
        if (message := message_of(entry, role=role)) is not None and message.parts:
            messages.append(message)
    return messages or None


def _content(content: Json) -> Json:
    """Content that is a JSON list of parts, or as it is."""
    if isinstance(content, str) and content.startswith("["):
        value = json_or_text(content)
        if isinstance(value, list) and all(isinstance(part, dict) for part in value):
            return value
    return content


def _calls(listed: Json) -> Json:
    """Calls whose name and arguments are not under ``function``, as they are elsewhere."""
    if not isinstance(listed, list):
        return listed
    return [
        {"id": call.get("id"), "function": call} if isinstance(call, dict) and "name" in call else call
        for call in listed
    ]


def _call_id(called: Json) -> str:
    match called:
        case {"kwargs": {"tool_call_id": str(call_id)}}:
            return call_id
        case _:
            return ""


def _arguments(called: Json) -> Json:
    """The arguments in what a function was called with: ``{"args": [], "kwargs": {…}}``, ``{"inputs": …}``."""
    match called:
        case {"args": [], "kwargs": dict(named)}:
            return named
        case {"inputs": dict(named)}:
            return named
        case None:
            return UNSET
        case _:
            return called
