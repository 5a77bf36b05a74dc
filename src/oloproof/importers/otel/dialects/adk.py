"""Google's Agent Development Kit: what its spans say besides the GenAI conventions, in ``gcp.vertex.agent.*``.

It writes ``{}`` for what it was told not to record, answers a call of several tools once more in a span of its own, and
tells an agent what others said as if the user had, after the words ``For context:``. Gemini has no ids of calls; what
stands for them in messages is the tool and the place of the part in its message, which differs between records.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Any, Final

from msgspec import UNSET
from msgspec.structs import replace

from oloproof.importers.foreign import text_id
from oloproof.importers.otel.messages import Answer, Asked, Message, Part, Text, json_or_text, message_of, messages_of
from oloproof.importers.otel.seen import Messages, Seen
from oloproof.importers.otel.spans import Span
from oloproof.model.values import Json

NAMESPACE: Final = "gcp.vertex.agent."
QUOTED: Final = "For context:"
MERGED: Final = "(merged tools)"
_UNSPECIFIED = "<not specified>"
_GEMINI = "instrumentation.google_genai"
_PLACE_AS_ID = re.compile(r"(?P<tool>.+)_\d{1,4}", re.DOTALL)
_NOTHING = (None, "{}", "N/A", _UNSPECIFIED)


def read(span: Span) -> Seen | None:
    attributes = span.attributes
    if not any(key.startswith(NAMESPACE) for key in attributes):
        return Seen(is_adk=True) if span.scope.endswith(_GEMINI) else None
    seen = Seen(conversation=text_id(attributes.get(f"{NAMESPACE}session_id")), is_adk=True)
    if span.name == "call_llm":
        seen.role = "model"
    request, response = (attributes.get(f"{NAMESPACE}{key}") for key in ("llm_request", "llm_response"))
    if request not in _NOTHING:
        seen.heard = partial(messages_of, request)
    if response not in _NOTHING:
        seen.said = partial(_said, response)
    _read_tool(seen, attributes)
    return seen


def _read_tool(seen: Seen, attributes: dict[str, Any]) -> None:
    arguments, response = (attributes.get(f"{NAMESPACE}{key}") for key in ("tool_call_args", "tool_response"))
    if arguments == response == "{}":
        return  # not recorded
    if arguments is not None and arguments not in ("N/A", _UNSPECIFIED):
        seen.arguments = arguments
    if response not in _NOTHING:
        seen.result = json_or_text(response)


def settle(seen: Seen) -> None:
    """Take out of what was seen of a span, in whichever dialect, what is ADK's own way of saying it."""
    if seen.tool == MERGED:
        seen.role = "other"
    if seen.call_id == _UNSPECIFIED:
        seen.call_id = ""
    if seen.result is not UNSET:
        seen.result = _unwrapped(seen.result)
    settle_messages(seen, Seen())


def settle_messages(seen: Seen, before: Seen) -> None:
    """The same for messages, but those that were there ``before``."""
    if seen.heard is not None and before.heard is None:
        seen.heard = partial(_plain, seen.heard)
    if seen.said is not None and before.said is None:
        seen.said = partial(_plain, seen.said)


def _plain(told: Messages) -> list[Message] | None:
    """Messages without those that quote other agents, without made-up ids, and with results as the tools gave them."""
    messages = told()
    if messages is None:
        return None
    plain = []
    for message in messages:
        match message.parts:
            case (Text(text), *_) if message.role == "user" and (text or "").startswith(QUOTED):
                continue
            case parts:
                plain.append(Message(message.role, tuple(map(_plain_part, parts))))
    return plain


def _plain_part(part: Part) -> Part:
    match part:
        case Asked() if (made_up := _PLACE_AS_ID.fullmatch(part.call_id)) and made_up["tool"] == part.name:
            return replace(part, call_id="")
        case Answer():
            made_up = _PLACE_AS_ID.fullmatch(part.call_id)
            if made_up:
                part = replace(part, call_id="", name=part.name or made_up["tool"])
            return replace(part, result=_unwrapped(part.result))
        case _:
            return part


def _unwrapped(result: Json) -> Json:
    """A result as the tool gave it: what is no object was put into one, under ``result``."""
    if isinstance(result, dict) and len(result) == 1 and "result" in result:
        return UNSET if result["result"] == _UNSPECIFIED else result["result"]
    return result


def _said(response: Json) -> list[Message] | None:
    value = json_or_text(response)
    if not isinstance(value, dict) or not isinstance(content := value.get("content"), dict):
        return None
    message = message_of(content, role="assistant")
    return None if message is None else [message]
