"""The GenAI semantic conventions of OpenTelemetry, before and after version 1.37, in attributes and in events.

Old: an event for each message (``gen_ai.user.message`` … ``gen_ai.choice``), ``gen_ai.system``,
``gen_ai.usage.prompt_tokens``, ``gen_ai.prompt``. New: ``gen_ai.input.messages`` and ``gen_ai.output.messages`` on the
span or on the event ``gen_ai.client.inference.operation.details``, ``gen_ai.tool.call.arguments`` and ``.result``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from msgspec import UNSET

from oloproof.importers.foreign import text_id, text_of, total_of
from oloproof.importers.otel.messages import Answer, Asked, Message, Stored, Text, json_or_text, message_of
from oloproof.importers.otel.seen import Role, Seen
from oloproof.importers.otel.spans import Event, Span
from oloproof.model.values import Json

OPERATIONS: Final[dict[str, Role]] = {
    "chat": "model",
    "generate_content": "model",
    "text_completion": "model",
    "invoke_agent": "agent",
    "invoke_workflow": "workflow",
    "execute_tool": "tool",
    "create_agent": "other",
    "embeddings": "other",
    "retrieval": "other",
    "plan": "other",
}
"""``gen_ai.operation.name``. Any other one is a call of a model where it names one."""

ELIDED: Final = "<elided>"
_DETAILS = "gen_ai.client.inference.operation.details"
EVALUATION: Final = "gen_ai.evaluation.result"
_CHOICE = "gen_ai.choice"
_CONTENT = ("gen_ai.content.prompt", "gen_ai.content.completion")
ANSWERS: Final = frozenset((_DETAILS, _CHOICE, _CONTENT[1]))
"""Events that hold what a model answered."""

_HEARD = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
_INPUT = ("gen_ai.input.messages", "gen_ai.prompt")
_OUTPUT = ("gen_ai.output.messages", "gen_ai.completion")


def read(span: Span) -> Seen | None:
    """What the span's attributes and its own events say."""
    attributes = span.attributes
    if not any(key.startswith("gen_ai.") for key in attributes):
        return None
    role = _role(attributes)
    seen = Seen(
        role=role,
        agent=_agent(span, role),
        conversation=text_id(attributes.get("gen_ai.conversation.id") or attributes.get("session.id")),
        heard=_messages(attributes, _INPUT, "user"),
        said=_messages(attributes, _OUTPUT, "assistant"),
        finish=_finish(attributes),
        tokens=_tokens(attributes),
    )
    if role == "tool":
        _read_tool(seen, attributes)
    listed = json_or_text(attributes.get("events"))  # what would be events, as one attribute
    events = [*span.events, *(_listed(listed) if isinstance(listed, list) else ())]
    if events:
        add_events(seen, events)
    return seen


def _role(attributes: dict[str, Any]) -> Role:
    operation = text_of(attributes.get("gen_ai.operation.name"))
    if operation in OPERATIONS:
        return OPERATIONS[operation]
    if "gen_ai.tool.name" in attributes:
        return "tool"
    if "gen_ai.request.model" in attributes or any(key in attributes for key in (*_INPUT, *_OUTPUT)):
        return "model"
    return ""


def _agent(span: Span, role: Role) -> str:
    name = text_of(span.attributes.get("gen_ai.agent.name"))
    if name or role != "agent":
        return name
    _, spelled, named = span.name.partition("invoke_agent ")
    return named if spelled else text_of(span.attributes.get("gen_ai.agent.id"))


def _messages(attributes: dict[str, Any], keys: tuple[str, ...], role: str) -> Any:
    for key in keys:
        if (value := attributes.get(key)) is not None:
            return Stored(value, role)
    return None


def _finish(attributes: dict[str, Any]) -> str:
    reasons = json_or_text(attributes.get("gen_ai.response.finish_reasons"))
    if isinstance(reasons, list) and reasons:
        return text_of(reasons[-1])
    return text_of(reasons) or text_of(attributes.get("gen_ai.response.finish_reason"))


def _tokens(attributes: dict[str, Any]) -> int | None:
    return total_of(
        next((count for key in keys if type(count := _number(attributes.get(f"gen_ai.usage.{key}"))) is int), None)
        for keys in (("input_tokens", "prompt_tokens"), ("output_tokens", "completion_tokens"))
    )


def _number(value: Json) -> Json:
    return json_or_text(value) if isinstance(value, str) else value


def _read_tool(seen: Seen, attributes: dict[str, Any]) -> None:
    seen.tool = text_of(attributes.get("gen_ai.tool.name"))
    seen.call_id = text_id(attributes.get("gen_ai.tool.call.id"))
    for key in ("gen_ai.tool.call.arguments", "tool_arguments", "input"):
        if key in attributes:
            seen.arguments = attributes[key]
            break
    for key in ("gen_ai.tool.call.result", "tool_response", "output"):
        if key in attributes:
            seen.result = json_or_text(attributes[key])
            break


def _listed(entries: list[Any]) -> Iterable[Event]:
    for entry in entries:
        if isinstance(entry, dict) and isinstance(name := entry.get("event.name"), str):
            yield Event(name, body=entry)


# --- events ----------------------------------------------------------------------------------------------------------


def add_events(seen: Seen, events: Iterable[Event]) -> None:
    """What events of a span (its own, or log records that name it) say besides."""
    heard: list[Message] = []
    said: list[Message] = []
    for event in events:
        body = _body(event)
        if event.name == _DETAILS:
            attributes = {**event.attributes, **body}
            heard_here, said_here = _messages(attributes, _INPUT, "user"), _messages(attributes, _OUTPUT, "assistant")
            seen.add(Seen(heard=heard_here, said=said_here, finish=_finish(attributes), tokens=_tokens(attributes)))
        elif event.name == EVALUATION:
            seen.scores = {**(seen.scores or {}), **scores(event.attributes)}
        elif event.name in _CONTENT:
            seen.add(
                Seen(
                    heard=_messages(event.attributes, ("gen_ai.prompt",), "user"),
                    said=_messages(event.attributes, ("gen_ai.completion",), "assistant"),
                )
            )
        elif event.name in _HEARD:
            _add(heard, body, _HEARD[event.name])
        elif event.name == _CHOICE and body.get("index") in (None, 0, "0"):
            seen.finish = seen.finish or text_of(body.get("finish_reason"))
            _add(said, _chosen(body), "assistant")
    if seen.role == "tool":
        _add_tool_messages(seen, heard, said)
        return
    if heard:
        seen.add(Seen(heard=lambda: heard))
    if said:
        seen.add(Seen(said=lambda: said))


def _body(event: Event) -> dict[str, Any]:
    """What a message event says: its body, or its content as an attribute, or its attributes."""
    for body in (event.body, json_or_text(event.attributes.get("gen_ai.event.content"))):
        if isinstance(body, dict):
            return body
    return event.attributes


def _chosen(body: dict[str, Any]) -> dict[str, Any]:
    message = json_or_text(body.get("message"))
    if isinstance(message, dict):
        return {**message, "tool_calls": message.get("tool_calls") or body.get("tool_calls")}
    if message is not None:
        return {"content": message}
    return body


def _add(messages: list[Message], body: dict[str, Any], role: str) -> None:
    """The message of an event, unless its content was left out."""
    content = body.get("content")
    if isinstance(content, str):
        content = None if content == ELIDED else _blocks(content)
    whose = body.get("role") or (content.get("role") if isinstance(content, dict) else None) or role
    message = message_of({**body, "content": content, "role": whose}, role=role)
    if message is not None and message.parts:
        messages.append(message)


def _blocks(content: str) -> Json:
    """Content that is a JSON list of blocks, or the text."""
    if content.startswith("["):
        value = json_or_text(content)
        if isinstance(value, list) and all(isinstance(block, dict) for block in value):
            return value
    return content


def _add_tool_messages(seen: Seen, heard: list[Message], said: list[Message]) -> None:
    """On the span of a tool the message that it hears is its arguments, and what it says its result."""
    for message in heard:
        for part in message.parts:
            if isinstance(part, Answer):
                seen.add(Seen(arguments=part.result, call_id=part.call_id))
            elif isinstance(part, Asked):
                seen.add(Seen(arguments=part.arguments, call_id=part.call_id))
    for message in said:
        for part in message.parts:
            if isinstance(part, Text):
                seen.add(Seen(result=json_or_text(part.text)))
            elif isinstance(part, Answer) and part.result is not UNSET:
                seen.add(Seen(result=part.result))


def scores(attributes: dict[str, Any]) -> dict[str, Any]:
    """``gen_ai.evaluation.*`` of one evaluation, by its name."""
    name = text_of(attributes.get("gen_ai.evaluation.name")) or "evaluation"
    keys = {"score.value": "score", "score.label": "label", "explanation": "explanation"}
    found = {
        key: value for name, key in keys.items() if (value := attributes.get(f"gen_ai.evaluation.{name}")) is not None
    }
    return {name: found} if found else {}
