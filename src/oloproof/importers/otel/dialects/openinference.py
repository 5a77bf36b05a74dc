"""OpenInference: ``openinference.span.kind`` and lists that are flattened into the names of attributes.

A tool's arguments are its ``input.value``; ``tool.parameters`` is the schema of them.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from msgspec import UNSET

from oloproof.importers.foreign import text_id, text_of, total_of
from oloproof.importers.otel.messages import Answer, Asked, Message, Text, json_or_text, message_of, messages_of
from oloproof.importers.otel.seen import Messages, Role, Seen
from oloproof.importers.otel.spans import Span
from oloproof.importers.otel.tree import entries, grown
from oloproof.model.values import Json

KIND: Final = "openinference.span.kind"
ROLES: Final[dict[str, Role]] = {
    "LLM": "model",
    "AGENT": "agent",
    "CHAIN": "workflow",
    "TOOL": "tool",
    "GUARDRAIL": "aside",
    "EVALUATOR": "aside",
}
_HAND_OFF = "handoff to "


def read(span: Span) -> Seen | None:
    attributes = span.attributes
    kind = text_of(attributes.get(KIND)).upper()
    if not kind:
        return None
    role = ROLES.get(kind, "other")
    seen = Seen(
        role=role,
        agent=text_of(attributes.get("agent.name")),
        conversation=text_id(attributes.get("session.id")),
        finish=text_of(attributes.get("llm.finish_reason")),
    )
    if role == "agent":
        seen.agent = seen.agent or text_of(attributes.get("graph.node.id")) or span.name
    elif role == "tool":
        _read_tool(seen, span)
    if role == "model":
        seen.heard = _messages(attributes, "llm.input_messages", "input.value", "user")
        seen.said = _messages(attributes, "llm.output_messages", "output.value", "assistant")
        seen.tokens = _tokens(attributes)
        cost = attributes.get("llm.cost.total")
        seen.cost_usd = cost if isinstance(cost, int | float) and not isinstance(cost, bool) else None
    elif role in ("agent", "workflow"):
        seen.heard = _value(attributes, "input", "user")
        seen.said = _value(attributes, "output", "assistant")
    return seen


def _read_tool(seen: Seen, span: Span) -> None:
    attributes = span.attributes
    seen.tool = text_of(attributes.get("tool.name"))
    if not seen.tool:
        before, spelled, receiver = span.name.partition(_HAND_OFF)
        if spelled and not before:
            seen.role, seen.receiver = "handoff", receiver
            return
        seen.tool = span.name
    seen.call_id = text_id(attributes.get("tool.id") or attributes.get("tool_call.id"))
    if "input.value" in attributes:
        seen.arguments = attributes["input.value"]
    if "output.value" in attributes:
        result = attributes["output.value"]
        is_json = text_of(attributes.get("output.mime_type")) == "application/json"
        seen.result = json_or_text(result) if is_json or _is_container(result) else result


def _is_container(value: Json) -> bool:
    return isinstance(value, str) and value[:1] in ("{", "[")


def _tokens(attributes: dict[str, Any]) -> int | None:
    total = attributes.get("llm.token_count.total")
    if type(total) is int:
        return total
    return total_of(attributes.get(f"llm.token_count.{key}") for key in ("prompt", "completion"))


def _messages(attributes: dict[str, Any], listed: str, value: str, role: str) -> Messages | None:
    """The messages of a call of a model: those that are listed or, where that is more, those that its value holds.

    Instrumentations list what they know to flatten, and some leave out calls and results.
    """
    is_listed = listed in attributes or any(key.startswith(f"{listed}.") for key in attributes)
    if not is_listed and value not in attributes:
        return None

    def read() -> list[Message] | None:
        shown = _listed(attributes, listed, role) if is_listed else None
        held = attributes.get(value)
        if shown is not None and _parts(shown) and not _is_container(held):
            return shown
        raw = messages_of(held, role=role) if role == "user" or is_listed else _completion(held)
        return raw if _parts(raw) > _parts(shown) else shown

    return read


def _parts(messages: list[Message] | None) -> int:
    """How many calls, results and texts there are in messages."""
    known = (Text, Asked, Answer)
    return sum([isinstance(part, known) for message in messages or () for part in message.parts])


def _listed(attributes: dict[str, Any], prefix: str, role: str) -> list[Message] | None:
    messages = []
    for entry in entries(attributes, prefix):
        entry = grown(entry)
        held = entry.get("message", entry) if isinstance(entry, dict) else entry
        message = message_of(_plain(held), role=role)
        if message is not None:
            messages.append(message)
    return messages or None


def _plain(message: Json) -> Json:
    """A message as others write it: ``contents`` and ``tool_calls`` are wrapped entry by entry."""
    if not isinstance(message, dict):
        return message
    contents = _entries(message.get("contents"), "message_content")
    calls = _entries(message.get("tool_calls"), "tool_call")
    plain = {key: value for key, value in message.items() if key not in ("contents", "tool_calls")}
    if name := text_of(message.get("function_call_name")):  # the deprecated single call
        calls = [*calls, {"function": {"name": name, "arguments": message.get("function_call_arguments_json", UNSET)}}]
    if contents and not message.get("content"):
        # what is listed among the contents and the calls is one call
        plain["content"] = [part for part in contents if not (calls and _is_call(part))]
    return {**plain, "tool_calls": calls}


def _is_call(part: Json) -> bool:
    return isinstance(part, dict) and part.get("type") in ("tool_use", "tool_call")


def _entries(listed: Json, wrapper: str) -> list[Json]:
    if not isinstance(listed, list):
        return []
    return [entry.get(wrapper, entry) if isinstance(entry, dict) else entry for entry in listed]


def _completion(value: Json) -> list[Message] | None:
    """What a model answered, where only its raw answer is there: of the known kinds, or text."""
    held = json_or_text(value)
    if isinstance(held, str | list):
        return messages_of(held, role="assistant")
    match held:
        case {"choices": [first, *_]} | {"generations": [[first, *_], *_]}:
            return messages_of([first], role="assistant")
        case {"content": _} | {"role": _} | {"messages": _}:
            return messages_of(held, role="assistant")
        case {"text": str(text)}:
            return messages_of(text, role="assistant")
        case _:
            return None


def _value(attributes: dict[str, Any], side: str, role: str) -> Messages | None:
    value = attributes.get(f"{side}.value")
    if value is None:
        return None
    return partial(_said_of_chain, value, role)


def _said_of_chain(value: Json, role: str) -> list[Message] | None:
    """What goes into an agent or chain and comes out of it: messages where it holds some, otherwise the value."""
    held = json_or_text(value)
    if isinstance(held, dict | list):
        has_messages = isinstance(held, dict) and isinstance(held.get("messages"), list)
        looks_like_messages = isinstance(held, list) and all(isinstance(each, dict) and "role" in each for each in held)
        if has_messages or looks_like_messages:
            return messages_of(held, role=role)
        if isinstance(value, str):
            return messages_of([value], role=role)
        return None
    return messages_of([held], role=role) if isinstance(held, str) else None
