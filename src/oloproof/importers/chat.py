"""One OpenAI-style message list as steps: calls paired with their results, and everything else in its place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import UNSET, Struct

from oloproof.errors import shown
from oloproof.importers.builder import Builder
from oloproof.importers.conversations import MessageError, refuse_blocks
from oloproof.importers.foreign import joined_text, kind_of, list_of, text_id
from oloproof.model.trajectory import Trajectory
from oloproof.model.values import Json

LOSSES: Final[Mapping[str, str]] = {
    "shared_results": "results that answer several calls at once: repeated for each of them",
    "system_messages": "system prompts: they are no step of the agent",
    "unread_fields": "fields of messages that have no place in a step",
}
"""Every kind of loss that is a message list's own, and what it means."""

_READ = frozenset(
    {"role", "content", "name", "refusal", "tool_calls", "tool_call_id", "tool_call_ids", "function_call"}
)
_SHOWN = (
    *("audio", "document", "document_url", "file", "image", "image_url", "input_audio", "input_file", "input_image"),
    *("input_text", "output_text", "reasoning", "redacted_thinking", "reference", "refusal", "text", "thinking"),
    *("video", "video_url"),
)
"""Parts of a content that are neither calls nor results."""
_SYSTEM = ("system", "developer")
_RESULT = ("tool", "function")


class _Asked(Struct):
    """A call as its message has it. ``raw`` is the arguments as they came, ``free`` that they are text by design."""

    name: str
    call_id: str
    raw: Json
    free: bool = False


class Chat:
    """A message list, read once.

    ``builder`` holds its steps · ``opening``: the messages before the agent's first · ``system_messages``: how many of
    them are system prompts · ``last``: the last message, {} when there is none · ``last_tool``: the tool of the last
    result.
    """

    def __init__(self, messages: Sequence[Json], *, error_prefix: str | None = None) -> None:
        """Results that start with ``error_prefix`` are errors and the others are none; None: nobody knows.

        Raises :class:`MessageError`.
        """
        self.builder = Builder()
        self.opening: list[Json] = []
        self.last: dict[str, Any] = {}
        self.last_tool = ""
        self._error_prefix = error_prefix
        self._began = False
        last = len(messages)
        number = 0
        try:
            for number, message in enumerate(messages, 1):
                self._read(message, is_last=number == last)
        except MessageError as error:
            error.message = number
            raise
        self.system_messages = sum(message["role"] in _SYSTEM for message in self.opening)

    @property
    def losses(self) -> Counter[str]:
        """What could not be carried over, by kind."""
        return self.builder.losses

    @property
    def output(self) -> Json:
        """What the agent said last, as ``{"answer": …}``; UNSET when it said nothing."""
        return self.builder.output

    @property
    def ends_on_open_call(self) -> bool:
        """Nothing but results follows the agent's last message, and a call of it has none."""
        return self.last.get("role") in ("assistant", *_RESULT) and self.builder.ends_on_open_call

    def trajectory(self, *, truncated: bool, errors_recorded: bool) -> Trajectory:
        """The steps as a record. A message list never says how the run ended."""
        return self.builder.trajectory(truncated=truncated, errors_recorded=errors_recorded)

    def _read(self, message: Json, *, is_last: bool) -> None:
        if not isinstance(message, dict):
            raise MessageError(f"a message is an object, not {kind_of(message)}")
        role = message.get("role")
        if not isinstance(role, str):
            raise MessageError(
                "the message has no role", hint="every message has a role: system, user, assistant, tool"
            )
        if isinstance(message.get("content"), list) and not message.get("tool_calls"):
            refuse_blocks(message)
            kinds = (block.get("type", "text") for block in message["content"] if isinstance(block, dict))
            self.losses["unknown_kinds"] += sum(kind not in _SHOWN for kind in kinds)
        self.last = message
        if not message.keys() <= _READ:
            unread = sum(value is not None for key, value in message.items() if key not in _READ)
            if unread:
                self.losses["unread_fields"] += unread
        if role in _RESULT:
            self._began = True
            self._result(message)
        elif role == "assistant":
            self._began = True
            self._assistant(message, is_last=is_last)
        elif message.get("tool_calls") or message.get("function_call"):
            hint = "what the agent says is `assistant`"
            raise MessageError(f"a message of the role {shown(role)} calls tools", hint=hint)
        else:
            if not self._began:
                self.opening.append(message)
            if self._began or role not in _SYSTEM:
                self.builder.hear(_said(message))

    def _assistant(self, message: dict[str, Any], *, is_last: bool) -> None:
        builder = self.builder
        builder.turn()
        calls = _calls(message)
        said = _said(message)
        if said["content"] or "refusal" in said or not calls:
            builder.say(said, final=is_last and not calls)
        for call in calls:
            arguments = call.raw if call.free else builder.arguments(call.raw)
            builder.call(call.name, arguments, call_id=call.call_id, parallel=len(calls) > 1)

    def _result(self, message: dict[str, Any]) -> None:
        answered = [text_id(call_id) for call_id in list_of(message.get("tool_call_ids"))]
        if not any(answered[:1]) and len(answered) < 2:
            answered = [text_id(message.get("tool_call_id"))]
        elif len(answered) > 1:
            self.losses["shared_results"] += 1
        content = joined_text(message.get("content"))
        error: Any = UNSET
        if self._error_prefix is not None:
            error = content if isinstance(content, str) and content.startswith(self._error_prefix) else None
        name = message.get("name")
        for call_id in answered:
            self.last_tool = self.builder.result(
                UNSET if isinstance(error, str) else content,
                error=error,
                call_id=call_id,
                name=name if isinstance(name, str) else None,
            )


def _calls(message: dict[str, Any]) -> list[_Asked]:
    entries = message.get("tool_calls") or []
    if not isinstance(entries, list):
        raise MessageError(f"tool_calls is a list, not {kind_of(entries)}")
    legacy = message.get("function_call")
    if legacy is not None:
        entries = [*entries, {"function": legacy}]
    calls: list[_Asked] = []
    by_index: dict[int, _Asked] = {}
    for entry in entries:
        match entry:
            case {"function": {"name": str(name)} as function} if name:
                call = _Asked(name, text_id(entry.get("id")), function.get("arguments"))
            case {"custom": {"name": str(name)} as custom} if name:
                call = _Asked(name, text_id(entry.get("id")), custom.get("input"), free=True)
            case {"index": int(index), "function": {"arguments": str(more)}} if index in by_index:
                by_index[index].raw = f"{by_index[index].raw or ''}{more}"  # the next fragment of a stream
                continue
            case _:
                raise MessageError("a tool call has no function name")
        calls.append(call)
        if isinstance(index := entry.get("index"), int):
            by_index[index] = call
    return calls


def _said(message: dict[str, Any]) -> dict[str, Any]:
    """What a message says, as the arguments of its step."""
    said = {"role": message["role"], "content": joined_text(message.get("content"))}
    if len(message) > 2:  # most messages have nothing else
        for key in ("name", "refusal"):
            if message.get(key) is not None:
                said[key] = message[key]
    return said
