"""Messages of LangChain, in every form in which they are written down.

``model_dump`` gives ``{"type": "ai", "content": …}``, ``message_to_dict`` the same fields under ``data``, ``dumps`` a
constructor with ``kwargs``; and both libraries also take dictionaries with a ``role``. Arguments that could not be
parsed stand apart from the calls that could (``invalid_tool_calls``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from msgspec import Struct

from oloproof.importers.agent_spans import Answer, Asked
from oloproof.importers.foreign import list_of, object_of, text_id
from oloproof.model.values import Json

CUT_OFF: Final = ("length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded")
_KINDS: Final = {
    "ai": "ai",
    "assistant": "ai",
    "chat": "chat",
    "developer": "system",
    "function": "tool",
    "human": "human",
    "remove": "remove",
    "system": "system",
    "tool": "tool",
    "user": "human",
}
_ROLES: Final = {"ai": "assistant", "human": "user"}
_TEXTS: Final = ("text", "output_text", "input_text")
_RUN_BY_SERVERS: Final = ("server_tool_use", "server_tool_call")
_CALLS: Final = ("tool_use", "tool_call", "function_call", "server_tool_use", "input_json_delta", "tool_call_chunk")
_SHOWN: Final = (
    *("audio", "citation", "compaction", "document", "file", "image", "image_url", "input_audio", "input_file"),
    *("input_image", "json", "media", "refusal", "search_result", "text", "text-plain", "video"),
)
_THINKING: Final = ("thinking", "redacted_thinking", "reasoning", "reasoning_content")


class Message(Struct, frozen=True):
    """A message: ``kind`` is ai, human, tool, system, chat or remove; ``is_own`` that only LangChain writes it so;
    ``is_chunk`` that it may be a piece of one."""

    kind: str
    fields: dict[str, Any]
    is_own: bool = True
    is_chunk: bool = False

    @property
    def role(self) -> str:
        """What the other formats call its author."""
        return _ROLES.get(self.kind, self.kind if self.kind != "chat" else text_id(self.fields.get("role")))

    @property
    def name(self) -> str:
        return text_id(self.fields.get("name"))

    @property
    def calls(self) -> list[Asked]:
        """The calls of a model's message, those that could not be parsed last."""
        fields = self.fields
        listed = [*list_of(fields.get("tool_calls")), *list_of(fields.get("invalid_tool_calls"))]
        if not listed:
            listed = list_of(object_of(fields.get("additional_kwargs")).get("tool_calls"))
        if not listed:
            listed = [block for block in list_of(fields.get("content")) if object_of(block).get("type") == "tool_use"]
        return [_asked(object_of(call)) for call in listed]

    @property
    def was_cut_off(self) -> bool:
        """The model had more to say."""
        told = object_of(self.fields.get("response_metadata"))
        reasons = (told.get("finish_reason"), told.get("stop_reason"), told.get("done_reason"))
        return any(str(reason).lower() in CUT_OFF for reason in reasons) or told.get("status") == "incomplete"

    def text(self, losses: Counter[str] | None = None) -> Json:
        """What it says. What is no text in it is counted, calls apart, which are told as such."""
        content = self.fields.get("content")
        if not isinstance(content, list):
            return content
        texts, told = [], Counter[str]()
        for block in content:
            match block:
                case str():
                    texts.append(block)
                case {"type": str(kind), "text": str(text)} if kind in _TEXTS:
                    texts.append(text)
                case {"type": str(kind)} if kind in _CALLS:
                    told["unknown_kinds"] += kind in _RUN_BY_SERVERS
                case {"type": str(kind)} if kind in _THINKING:
                    told["reasoning"] += 1
                case {"type": str(kind)} if kind in _SHOWN:
                    told["other_content"] += 1
                case _:
                    told["unknown_kinds"] += 1
        if losses is not None:
            losses.update(told)
        return "".join(texts)

    def answer(self, losses: Counter[str] | None = None) -> Answer:
        """A model's message, as an answer."""
        return Answer(self.text(losses) or None, self.calls, cut_off=self.was_cut_off)


def message_of(value: Json) -> Message | None:
    """The message that a value is; None where it is none."""
    match value:
        case Message():
            return value
        case {"lc": _, "type": "constructor", "id": [*_, str(name)], "kwargs": dict(fields)} if name.removesuffix(
            "Chunk"
        ).endswith("Message"):
            kind = name
        case {"type": str(name), "data": dict(fields)}:
            kind = name
        case {"type": str(name)} if "content" in value and "role" not in value:
            kind, fields = name, value
        case {"role": str(role)}:
            return Message(_KINDS[role], value, is_own=False) if role in _KINDS else None
        case _:
            return None
    is_chunk = kind.endswith("Chunk")
    kind = kind.removesuffix("Chunk").removesuffix("Message").lower()
    return Message(_KINDS[kind], fields, is_chunk=is_chunk) if kind in _KINDS else None


def whole_messages(messages: Iterable[Message]) -> Iterator[Message]:
    """The messages, with the pieces of one that was streamed (chunks in a row that have one id) put together."""
    pieces: list[Message] = []
    for message in messages:
        if pieces and not (message.is_chunk and message.fields.get("id") == pieces[0].fields.get("id")):
            yield _joined(pieces)
            pieces = []
        if message.is_chunk and message.fields.get("id"):
            pieces.append(message)
        else:
            yield message
    if pieces:
        yield _joined(pieces)


def _joined(pieces: Sequence[Message]) -> Message:
    if len(pieces) == 1:
        return pieces[0]
    fields = [piece.fields for piece in pieces]
    contents = [each.get("content") for each in fields]
    if all(isinstance(content, str) for content in contents):
        content: Json = "".join(map(text_id, contents))
    else:
        content = [block for each in contents for block in (each if isinstance(each, list) else [each]) if block]
    told = {key: fact for each in fields for key, fact in each.items() if fact}
    calls = _calls_of_chunks([chunk for each in fields for chunk in list_of(each.get("tool_call_chunks"))])
    if calls:
        told |= {"tool_calls": calls, "invalid_tool_calls": []}
    return Message("ai", {**told, "content": content})


def _calls_of_chunks(chunks: Sequence[Json]) -> list[Json]:
    """The calls of which a stream tells: name and id come first, arguments in fragments, by index."""
    calls: dict[str, dict[str, Any]] = {}
    for number, chunk in enumerate(map(object_of, chunks)):
        index = chunk.get("index")
        call = calls.setdefault(text_id(index) or f"#{number}", {"name": None, "id": None, "args": ""})
        call["name"] = call["name"] or chunk.get("name")
        call["id"] = call["id"] or chunk.get("id")
        call["args"] += text_id(chunk.get("args"))
    return list(calls.values())


def messages_of(values: Json) -> list[Message]:
    """The messages of a list, or of the first list in it (a batch of one)."""
    held = list_of(values)
    if held and isinstance(held[0], list):
        held = held[0]
    return [message for message in map(message_of, held) if message is not None]


def heard_of(messages: Sequence[Message]) -> list[Json]:
    """Messages as the other formats have them."""
    return [{"role": message.role, "content": message.text()} for message in messages]


def _asked(call: dict[str, Any]) -> Asked:
    function = object_of(call.get("function")) or call
    arguments = next((function[key] for key in ("args", "arguments", "input") if function.get(key) is not None), None)
    return Asked(text_id(function.get("name")), text_id(call.get("id")), arguments)
