"""LangChain messages: lists of them, and the states of LangGraph, which hold one.

A result says whether it is an error (``status``), in newer versions. Where several agents write into one list, their
names stand on their messages; control is handed over by tools that are called ``transfer_to_…``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import UNSET

from oloproof.importers.agent_spans import receiver_of, total_tokens
from oloproof.importers.builder import Builder, Facts, spent
from oloproof.importers.conversations import Conversation, MessageError, certain_where, own_facts, read_conversations
from oloproof.importers.foreign import joined_text, list_of, object_of, text_id
from oloproof.importers.format import Confidence, Importer, Item, Run
from oloproof.importers.head import Head
from oloproof.importers.langchain_messages import Message, heard_of, message_of, whole_messages
from oloproof.importers.source import Source
from oloproof.model.values import Json

OUT_OF_STEPS: Final = "Sorry, need more steps to process this request."
"""What the prebuilt agent of LangGraph says when its limit is reached."""

LOSSES: Final[Mapping[str, str]] = {
    "reasoning": "the model's reasoning: it is no step",
    "other_content": "blocks of messages that are neither text nor a call: images, files, data",
    "system_messages": "system prompts in the middle of a conversation: they are no step of the agent",
    "removed_messages": "messages that say that another was removed",
    "artifacts": "what tools gave beside the result that the model sees",
}


def sniff(head: Head) -> Confidence | None:
    return certain_where(head, _is_ours)


def _is_ours(value: Json) -> bool:
    if isinstance(value, list):
        return any(map(_is_ours, value))
    message = message_of(value)
    if message is not None:
        return message.is_own and "sessionId" not in object_of(value)
    return any(_is_ours(each) for each in _held(value) or ())


def _held(value: Json) -> list[Any] | None:
    """The messages in what is none itself: an object, a state (``values``), or updates by node; None: nothing."""
    match value:
        case {"messages": list(messages)} | {"values": {"messages": list(messages)}}:
            return messages
        case {"output": {"messages": list(messages)}}:
            return messages
        case dict(nodes) if nodes and all(_is_update(update) for update in nodes.values()):
            return [message for update in nodes.values() for message in list_of(object_of(update).get("messages"))]
        case _:
            return None


def _is_update(value: Json) -> bool:
    return isinstance(value, dict) and isinstance(value.get("messages"), list)


def _is_line(value: Json) -> bool:
    """A message, or the updates of a node: lines of either are one run."""
    if isinstance(value, dict) and not {"messages", "values", "output"} & value.keys():
        return message_of(value) is not None or _held(value) is not None
    return False


def read(sources: Sequence[Source]) -> Iterator[Item]:
    """Files of a message list, an object with ``messages``, a state, lists of them, or JSON Lines of them, of messages,
    or of a graph's updates. A run's case is its ``id``, ``case_id`` or ``case``."""
    return read_conversations(sources, is_message=_is_line, run=_run)


def _run(item: Conversation, file: str) -> Run:
    value = object_of(item.value)
    held = item.value if isinstance(item.value, list) else _held(value)
    if held is None:
        raise MessageError("neither a list of messages nor an object with `messages`")
    teller = _Teller()
    for message in whole_messages(_messages(held)):
        teller.tell(message)
    builder = teller.builder
    return Run(
        file=file,
        line=item.line,
        output=builder.output,
        trajectory=builder.trajectory(
            truncated=teller.was_cut_off or bool(list_of(value.get("next"))) or builder.ends_on_open_call,
            errors_recorded=teller.errors_recorded,
        ),
        input=value.get("input", {"messages": heard_of(teller.opening)}),
        losses=builder.losses,
        unanswered=len(builder.unanswered),
        origin=value or {"messages": held},
        **own_facts(value),
    )


def _messages(held: Sequence[Json]) -> Iterator[Message]:
    for number, each in enumerate(_entries(held), 1):
        message = message_of(each)
        if message is None:
            hint = "a message has a type (ai, human, tool, system) or a role"
            raise MessageError("it is no message of LangChain", message=number, hint=hint)
        yield message


def _entries(held: Sequence[Json]) -> Iterator[Json]:
    """The entries of a list, those of a graph's updates one by one."""
    for entry in held:
        updates = None if message_of(entry) is not None else _held(entry)
        yield from (entry,) if updates is None else updates


class _Teller:
    """Tells a conversation message by message. ``opening``: the messages before the model's first · ``was_cut_off``:
    its last answer says so · ``errors_recorded``: every result says whether it is one."""

    def __init__(self) -> None:
        self.builder = Builder()
        self.opening: list[Message] = []
        self.was_cut_off = False
        self.errors_recorded = True
        self._began = False
        self._agent = ""

    def tell(self, message: Message) -> None:
        """The next message."""
        builder = self.builder
        match message.kind:
            case "ai":
                self._began = True
                self._answer(message)
                return
            case "tool":
                self._began = True
                self._result(message)
                return
            case "remove":
                builder.losses["removed_messages"] += 1
                return
            case _:
                pass
        builder.losses["unknown_kinds"] += bool(message.calls)
        if not self._began:
            self.opening.append(message)
        if message.kind != "system":
            builder.hear({"role": message.role, "content": message.text(builder.losses)})
        else:
            builder.losses["system_messages"] += self._began

    def _answer(self, message: Message) -> None:
        builder, calls = self.builder, message.calls
        builder.turn()
        self._agent = message.name
        content = message.text(builder.losses)
        self.was_cut_off = message.was_cut_off or content == OUT_OF_STEPS
        facts: Facts = {"agent": message.name, "tokens": total_tokens(message.fields.get("usage_metadata"))}
        if content or not calls:
            builder.say({"role": "assistant", "content": content}, **facts)
            facts = spent(facts)
        for call in calls:
            arguments = builder.arguments(call.arguments)
            builder.call(call.name, arguments, call_id=call.call_id, parallel=len(calls) > 1, **facts)
            facts = spent(facts)

    def _result(self, message: Message) -> None:
        builder, fields = self.builder, message.fields
        content, status = joined_text(fields.get("content")), fields.get("status")
        self.errors_recorded &= status in ("success", "error")
        builder.losses["artifacts"] += fields.get("artifact") is not None
        failed = status == "error"
        name = builder.result(
            UNSET if failed else content,
            error=text_id(content) if failed else None if status == "success" else UNSET,
            call_id=text_id(fields.get("tool_call_id")),
            name=message.name or None,
        )
        receiver = receiver_of(name)
        if receiver and not failed:
            builder.hand_off(receiver, agent=self._agent)


IMPORTER: Final = Importer(
    name="langchain",
    about="messages of LangChain, and states of LangGraph",
    sniff=sniff,
    read=read,
    losses=LOSSES,
)
