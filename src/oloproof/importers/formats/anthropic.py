"""Messages as the API of Anthropic takes and gives them.

A call is a block of the assistant's message, its result a block of the next user message, which is then no word of the
user. Tools that the provider runs itself have both in one message. Why an answer ended (``stop_reason``) stands on the
response; whoever keeps responses whole has it on every message, others beside the messages or not at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from oloproof.importers.blocks import THINKING, blocks_of, is_call, is_result, tell_result, tokens_of, unread
from oloproof.importers.builder import Builder
from oloproof.importers.conversations import (
    Conversation,
    MessageError,
    certain_where,
    own_facts,
    read_conversations,
    refuse_tool_calls,
)
from oloproof.importers.foreign import kind_of, object_of, text_id
from oloproof.importers.format import Confidence, Importer, Item, Run
from oloproof.importers.head import Head
from oloproof.importers.source import Source
from oloproof.model.values import Json

CUT_OFF: Final = ("max_tokens", "model_context_window_exceeded", "pause_turn")
"""Stop reasons after which the model had more to say."""
_STREAMED: Final = ("message_start", "content_block_start", "content_block_delta", "content_block_stop")

LOSSES: Final[Mapping[str, str]] = {
    "reasoning": "the model's thinking: it is no step",
    "other_content": "blocks that are neither text nor a call nor a result: images, documents",
    "system_messages": "system prompts in the middle of a conversation: they are no step of the agent",
}


def sniff(head: Head) -> Confidence | None:
    return certain_where(head, _is_ours)


def _is_ours(value: Json) -> bool:
    """A message, or what holds some, with something that no other API has."""
    match value:
        case {"messages": list(messages)}:
            return isinstance(value.get("stop_reason"), str) or any(map(_is_ours, messages))
        case {"role": "user" | "assistant", "content": [*_]}:
            return any(_is_telling(block) for block in blocks_of(value))
        case {"role": "assistant", "type": "message", "stop_reason": _}:
            return True
        case list(messages):
            return any(map(_is_ours, messages))
        case _:
            return isinstance(value, dict) and value.get("type") in _STREAMED


def _is_telling(block: Json) -> bool:
    match block:
        case {"type": "tool_use", "name": str(), "input": _} | {"type": "tool_result", "tool_use_id": _}:
            return True
        case {"type": "thinking", "thinking": _, "signature": _}:
            return True
        case _:
            return isinstance(block, dict) and block.get("type") in ("server_tool_use", "redacted_thinking")


def read(sources: Sequence[Source]) -> Iterator[Item]:
    """Files of a message list, an object with ``messages``, a list of either, or JSON Lines of them or of messages. A
    run's case is its ``id``, ``case_id`` or ``case``."""
    return read_conversations(sources, is_message=_is_message, run=run)


def _is_message(value: Json) -> bool:
    return isinstance(value, dict) and "role" in value and "messages" not in value


def run(item: Conversation, file: str) -> Run:
    """The run that a conversation is. Raises :class:`MessageError`."""
    match item.value:
        case {"messages": list(messages)}:
            value = item.value
        case list(messages):
            value = {}
        case {"type": str(kind)} if kind in _STREAMED:
            raise MessageError("a fragment of a streamed response", hint="record the whole messages and import those")
        case _:
            raise MessageError("neither a list of messages nor an object with `messages`")
    teller = _Teller()
    for number, message in enumerate(messages, 1):
        try:
            teller.tell(message)
        except MessageError as error:
            error.message = number
            raise
    builder = teller.builder
    stopped = value.get("stop_reason") or teller.stopped
    if teller.answered and stopped not in CUT_OFF:
        builder.end()
    system = {} if value.get("system") is None else {"system": value["system"]}
    return Run(
        file=file,
        line=item.line,
        output=builder.output,
        trajectory=builder.trajectory(truncated=stopped in CUT_OFF or builder.ends_on_open_call),
        input=value.get("input", {**system, "messages": teller.opening}),
        losses=builder.losses,
        unanswered=len(builder.unanswered),
        origin=value or {"messages": messages},
        **own_facts(value, stop_reason=stopped if isinstance(stopped, str) else None),
    )


class _Teller:
    """Tells a conversation message by message. ``opening``: the messages before the assistant's first · ``stopped``:
    why the last answer ended, None where its message does not say · ``answered``: the last message is the assistant's
    and ends on a text, which nothing follows."""

    def __init__(self) -> None:
        self.builder = Builder()
        self.opening: list[Json] = []
        self.stopped: Json = None
        self.answered = False
        self._began = False

    def tell(self, message: Json) -> None:
        """The next message."""
        if not isinstance(message, dict):
            raise MessageError(f"a message is an object, not {kind_of(message)}")
        self.answered = False
        match message.get("role"):
            case "assistant":
                refuse_tool_calls(message)
                self._began = True
                self.stopped = message.get("stop_reason")
                self._answer(message)
            case "user":
                self._opens(message)
                self._hear(message)
            case "system":
                self._opens(message)
                self.builder.losses["system_messages"] += self._began
            case _:
                hint = "a message is of the user or the assistant"
                raise MessageError("the message has no role that the API knows", hint=hint)

    def _opens(self, message: Json) -> None:
        if not self._began:
            self.opening.append(message)

    def _answer(self, message: dict[str, Any]) -> None:
        builder, blocks = self.builder, blocks_of(message)
        together = sum(object_of(block).get("type") == "tool_use" for block in blocks) > 1
        tokens = tokens_of(message.get("usage"))
        builder.turn()
        for block in blocks:
            match block:
                case {"type": "text", "text": str(text)}:
                    builder.say({"role": "assistant", "content": text}, tokens=tokens)
                    self.answered = True
                case _ if is_call(block):
                    self._call(block, tokens, together=together)
                    self.answered = False
                case _ if is_result(block):
                    tell_result(builder, block)
                    self.answered = False
                    continue
                case {"type": str(kind)} if kind in THINKING:
                    builder.losses["reasoning"] += 1
                    continue
                case _:
                    unread(builder, block)
                    continue
            tokens = None if tokens is None else 0  # those of the whole answer stand on its first step

    def _call(self, block: dict[str, Any], tokens: int | None, *, together: bool) -> None:
        self.builder.call(
            text_id(block.get("name")),
            self.builder.arguments(block.get("input")),
            call_id=text_id(block.get("id")),
            parallel=together and block["type"] == "tool_use",
            tokens=tokens,
        )

    def _hear(self, message: dict[str, Any]) -> None:
        for block in blocks_of(message):
            match block:
                case _ if is_result(block):
                    tell_result(self.builder, block)
                case {"type": "text", "text": str(text)}:
                    self.builder.hear({"role": "user", "content": text})
                case _:
                    unread(self.builder, block)


IMPORTER: Final = Importer(
    name="anthropic",
    about="messages of Anthropic's API: lists, or objects with `messages`",
    sniff=sniff,
    read=read,
    losses=LOSSES,
)
