"""What was said to a model and by it, in whichever shape the telemetry keeps it.

One reader takes them all: the parts of the GenAI conventions, OpenAI's ``tool_calls``, Anthropic's and Bedrock's
blocks, Gemini's contents, the AI SDK's parts. They name their parts differently, never the same name for two things.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from msgspec import UNSET, Struct

from oloproof.importers.documents import NotJson, read_json
from oloproof.importers.foreign import text_id, text_of
from oloproof.model.values import Json

ROLES: Final = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "model": "assistant",
    "agent": "assistant",
    "tool": "tool",
    "function": "tool",
    "system": "system",
    "developer": "system",
}
_MEDIA = frozenset(
    ("blob", "file", "uri", "image", "image_url", "input_image", "audio", "input_audio", "input_file", "video", "media")
)


_NO_CALL = frozenset(
    (
        *("cachePoint", "citation", "compaction", "document", "message", "reasoning", "reasoning_content"),
        *("reasoningContent", "redacted_thinking", "refusal", "search_result", "source", "step-start", "text"),
        "thinking",
    )
)
"""Kinds of parts that are no steps, and neither calls nor results."""

_ITEMS = {"function_call": "assistant", "function_call_output": "tool", "reasoning": "assistant"}
"""Items of a Responses API that stand among messages."""


class Text(Struct, frozen=True, gc=False):
    """Something said; None: it was not recorded what."""

    text: str | None


class Media(Struct, frozen=True):
    """Something shown: the part as it is."""

    part: Json


class Asked(Struct, frozen=True):
    """A call that the model asks for. ``arguments`` UNSET: not recorded."""

    name: str
    call_id: str = ""
    arguments: Json = UNSET


class Answer(Struct, frozen=True):
    """A result that the model is told. ``result`` UNSET: not recorded; ``error`` likewise (None: there was none)."""

    call_id: str = ""
    name: str = ""
    result: Json = UNSET
    error: Json = UNSET


class Unread(Struct, frozen=True, gc=False):
    """A part that is no step of the agent: reasoning, a call that the provider's server ran, anything unknown."""

    kind: str

    @property
    def may_be_call(self) -> bool:
        """Whether it is not known to be no call and no result."""
        return self.kind not in _NO_CALL


Part = Text | Media | Asked | Answer | Unread


class Message(Struct, frozen=True):
    """``role`` is user, assistant, tool or system."""

    role: str
    parts: tuple[Part, ...]

    @property
    def text(self) -> str | None:
        """All that is said; None: it was not recorded what."""
        return joined(self.parts)

    @property
    def asked(self) -> list[Asked]:
        return [part for part in self.parts if isinstance(part, Asked)]

    @property
    def answers(self) -> list[Answer]:
        return [part for part in self.parts if isinstance(part, Answer)]

    @property
    def is_heard(self) -> bool:
        """A user says or shows something; what only carries results is no message of a user."""
        return self.role == "user" and any(isinstance(part, Text | Media) for part in self.parts)


def joined(parts: Iterable[Part]) -> str | None:
    """The texts of parts; None where one of them was not recorded."""
    texts = [part.text for part in parts if isinstance(part, Text)]
    return None if None in texts else "".join([text for text in texts if text is not None])


class Stored(Struct, frozen=True):
    """Messages as a span holds them, read when they are asked for."""

    raw: Json
    role: str

    def __call__(self) -> list[Message] | None:
        return messages_of(self.raw, role=self.role)

    def after(self, earlier: Stored, read: list[Message]) -> list[Message] | None:
        """The same, where ``read`` is what ``earlier`` holds: of a history that goes on, only what is new is read."""
        if isinstance(self.raw, str) and isinstance(earlier.raw, str) and read:
            begun = earlier.raw.rstrip()
            rest = self.raw[len(begun) - 1 :].lstrip()
            if begun.endswith("]") and rest.startswith(",") and self.raw.startswith(begun[:-1]):
                new = messages_of(f"[{rest[1:]}", role=self.role)
                return None if new is None else together([*read, *new], len(read))
        return self()


def together(messages: list[Message], start: int = 0) -> list[Message]:
    """The messages, those from ``start`` on that are items of one answer as one."""
    found = messages[:start]
    for message in messages[start:]:
        if message.role == "assistant" and found and found[-1].role == "assistant":
            message = Message("assistant", found.pop().parts + message.parts)
        found.append(message)
    return found


def messages_of(value: Json, *, role: str = "user") -> list[Message] | None:
    """Messages, in JSON text or not; text that is no JSON is one message of ``role``. None: there are none to read."""
    if isinstance(value, str):
        if not value:
            return None
        try:
            value = read_json(value.encode(errors="replace"))
        except NotJson:
            if value.lstrip()[:1] in ("[", "{"):
                return None  # cut off by a limit on attributes
            return [Message(role, (Text(value),))]
    if isinstance(value, str):
        return [Message(role, (Text(value),))]
    if isinstance(value, dict):
        for key in ("messages", "contents", "input"):
            if isinstance(value.get(key), list):
                value = value[key]
                break
        else:
            prompt = value.get("prompt")
            if "role" not in value and (isinstance(prompt, str | list)):
                return messages_of(prompt, role=role)
            value = [value]
    if not isinstance(value, list):
        return None
    match value:
        case [[dict(), *_] as batch]:  # the one conversation of a batch
            value = batch
        case _:
            pass
    read = together([message for each in value if (message := message_of(each, role=role)) is not None])
    return read or (None if value else [])


def message_of(value: Json, *, role: str = "user") -> Message | None:
    """One message; ``role`` is whose it is where it does not say. None for what is none."""
    if isinstance(value, str):
        return Message(role, (Text(value),)) if value else None
    match value:
        case [str(whose), str(text)] if whose in ROLES:
            return Message(ROLES[whose], (Text(text),))
    if not isinstance(value, dict):
        return None
    if isinstance(held := value.get("message"), dict) and "role" not in value:
        value = held
    value = _of_langchain(value)
    item = text_of(value.get("type"))
    if item in _ITEMS and "role" not in value:
        return Message(_ITEMS[item], tuple(_part(value)))
    named = ROLES.get(text_of(value.get("role") or item).lower(), role)
    return Message(named, tuple(_parts(value, named)))


def _of_langchain(value: dict[str, Any]) -> dict[str, Any]:
    """A message as LangChain writes it, ``{"type", "data"}`` or ``{"lc", "kwargs"}``, as one of the others."""
    match value:
        case {"type": str(kind), "data": dict(data)}:
            return {"type": kind, **data}
        case {"lc": 1, "kwargs": dict(data)}:
            return data
        case _:
            return value


def _parts(value: dict[str, Any], role: str) -> Iterator[Part]:
    content = value.get("parts")
    if content is None:
        content = value.get("content")
    if isinstance(content, dict) and isinstance(content.get("parts"), list):
        content = content["parts"]
    answered = role == "tool" and _is_bare(content)
    if answered:
        said = UNSET if content is None else content
        status = value.get("status")
        error: Json = UNSET if status not in ("success", "error") else None
        if status == "error":
            error = said if isinstance(said, str) and said else "error"
        yield Answer(text_id(_first(value, "tool_call_id", "id")), text_of(value.get("name")), said, error)
    elif isinstance(content, str):
        if content:
            yield Text(content)
    elif isinstance(content, list | dict):
        for part in content if isinstance(content, list) else [content]:
            yield from _part(part)
    for key in ("tool_calls", "invalid_tool_calls"):
        calls = value.get(key)
        for call in calls if isinstance(calls, list) else ():
            yield from _part(call)
    if isinstance(legacy := value.get("function_call"), dict):
        yield from _part({"function": legacy})


def _is_bare(content: Json) -> bool:
    """A tool message's content is its result, and not a list of results that name their calls."""
    if not isinstance(content, list):
        return True
    return not any(isinstance(answer, Answer) for part in content for answer in _part(part))


def _part(part: Json) -> Iterator[Part]:
    """What a part says: nothing, or one thing."""
    called = _asked(part) or _answer(part)
    if called is not None:
        yield called
        return
    match part:
        case "" | {"type": "text", "content": ""} | {"text": ""}:
            pass
        case str(text):
            yield Text(text)
        case {"type": "text" | "input_text" | "output_text"}:
            text = _first(part, "content", "text")
            if text is None or isinstance(text, str):
                yield Text(text)
        case {"type": str(kind)} if kind:
            yield Media(part) if kind in _MEDIA else Unread(kind)
        case {"text": str(text)}:
            yield Unread("reasoning") if part.get("thought") is True else Text(text)
        case {"inline_data": dict()} | {"inlineData": dict()} | {"file_data": dict()} | {"fileData": dict()}:
            yield Media(part)
        case _:
            key = next(iter(part), "") if isinstance(part, dict) and len(part) == 1 else ""
            yield Unread(key if key in _NO_CALL else "unknown")


def _asked(part: Json) -> Asked | None:
    """The call that a part asks for, None where it asks for none."""
    match part:
        case {"type": "tool_call" | "invalid_tool_call", "name": name} | {"name": str(name), "args": _}:
            call_id, arguments = part.get("id"), _first(part, "arguments", "args", absent=UNSET)
        case {"type": "tool_use", "name": name}:
            call_id, arguments = part.get("id"), part.get("input", UNSET)
        case {"type": "tool-call", "toolName": name}:
            call_id, arguments = part.get("toolCallId"), _first(part, "input", "args", absent=UNSET)
        case {"toolCallId": call_id, "toolName": name} if part.get("type") not in ("tool-result", "tool-error"):
            arguments = _first(part, "input", "args", absent=UNSET)
        case {"type": "function_call", "name": name}:
            call_id, arguments = part.get("call_id"), part.get("arguments", UNSET)
        case {"custom": {"name": name, **custom}}:
            call_id, arguments = part.get("id"), custom.get("input", UNSET)
        case {"function": {"name": name, **function}}:
            call_id, arguments = part.get("id"), function.get("arguments", UNSET)
        case {"function_call": dict(call)} | {"functionCall": dict(call)}:
            name, call_id, arguments = call.get("name"), call.get("id"), call.get("args", UNSET)
        case {"toolUse": {"name": name, **use}}:
            call_id, arguments = use.get("toolUseId"), use.get("input", UNSET)
        case _:
            return None
    return Asked(text_of(name), text_id(call_id), arguments)


def _answer(part: Json) -> Answer | None:
    """The result that a part tells, None where it tells none."""
    match part:
        case {"type": "tool_call_response"}:
            result = blocks_text(_first(part, "response", "result", absent=UNSET))
            return Answer(text_id(part.get("id")), text_of(part.get("name")), result)
        case {"type": "tool_result"}:
            return _answered(part, part.get("tool_use_id"), part.get("content", UNSET), part.get("is_error"))
        case {"type": "tool-result" | "tool-error"}:
            return _ai_sdk_answer(part)
        case {"type": "function_call_output"}:
            return Answer(text_id(part.get("call_id")), text_of(part.get("name")), part.get("output", UNSET))
        case {"function_response": dict(told)} | {"functionResponse": dict(told)}:
            return Answer(text_id(told.get("id")), text_of(told.get("name")), told.get("response", UNSET))
        case {"toolResult": dict(told)}:
            return _answered(told, told.get("toolUseId"), told.get("content", UNSET), told.get("status") == "error")
        case _:
            return None


def _answered(part: dict[str, Any], call_id: Json, content: Json, failed: Json) -> Answer:
    result = blocks_text(content)
    error: Json = UNSET if failed is None else None
    if failed is True:
        error = result if isinstance(result, str) and result else "error"
    return Answer(text_id(call_id), text_of(part.get("name")), result, error)


def blocks_text(content: Json) -> Json:
    """The only text, or JSON, in a list of blocks; anything else as it is."""
    match content:
        case [{"text": str(text)}]:
            return text
        case [{"json": value}]:
            return value
        case _:
            return content


def _ai_sdk_answer(part: dict[str, Any]) -> Answer:
    output = _first(part, "output", "result", absent=UNSET)
    error: Json = None
    match output:
        case {"type": "error-text" | "error-json", "value": value}:
            output, error = value, value if isinstance(value, str) else "error"
        case {"type": "text" | "json" | "content", "value": value}:
            output = value
        case _:
            pass
    if part.get("type") == "tool-error":
        error = text_of(part.get("error")) or "error"
    return Answer(text_id(part.get("toolCallId")), text_of(part.get("toolName")), output, error)


def _first(value: dict[str, Any], *keys: str, absent: Json = None) -> Json:
    for key in keys:
        if key in value:
            return value[key]
    return absent


def tool_message_of(value: Json) -> Answer | None:
    """What a tool gave back, where that is kept as the message which tells it to the model; None where it is not."""
    match value:
        case {"output": dict(held)} if value.keys() <= {"output", "kwargs"}:
            value = held
        case _:
            pass
    if not isinstance(value, dict) or not value.keys() & {"data", "kwargs", "tool_call_id"}:
        return None
    message = message_of(value)
    answers = message.answers if message is not None and message.role == "tool" else []
    return answers[0] if len(answers) == 1 else None


def json_or_text(value: Json) -> Json:
    """The JSON value that text is, or the text."""
    if isinstance(value, str):
        try:
            return read_json(value.encode())
        except (NotJson, UnicodeEncodeError):
            return value
    return value
