"""OpenAI-style message lists, and tau-bench result files, which are made of them.

A message list records calls and results and little else: no error flag, no agent, no end. A result names its call by
an id that real files use again and again, so calls and results are paired by id *and* order. What was not recorded is
not made up.

tau-bench adds a reward, the reference actions and three customs: results that start with ``Error`` are errors, the
user says ``###STOP###`` when done, and some tool of the environment (a transfer to a person) ends the run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from oloproof.importers.chat import LOSSES as CHAT_LOSSES
from oloproof.importers.chat import Chat
from oloproof.importers.conversations import Conversation, MessageError, own_facts, read_conversations
from oloproof.importers.foreign import declared_call, list_of, object_of
from oloproof.importers.format import Confidence, Importer, Item, Run
from oloproof.importers.head import Head
from oloproof.importers.source import Source
from oloproof.model.values import Json

STOP: Final = "###STOP###"
TRANSFER: Final = "transfer_to_"

LOSSES: Final[Mapping[str, str]] = {
    **CHAT_LOSSES,
    "ends_unexplained": "runs that end on a tool's result: only the environment knows whether that tool ends a run",
    "empty_references": "tasks without a reference action: they declare no tools, rather than that none may be called",
}


# --- what the file is made of -----------------------------------------------------------------------------------------


def sniff(head: Head) -> Confidence | None:
    match head.item:
        case {"traj": list(), "info": dict()} | {"traj": list(), "reward": _}:
            return Confidence.CERTAIN
        case {"messages": list(messages)} | list(messages):
            whole = messages[:-1] or messages  # the last one may be cut off
            return Confidence.LIKELY if all(map(_is_chat_message, whole)) else None
        case dict(message) if _is_chat_message(message):
            return Confidence.LIKELY
        case _:
            return None


def _is_chat_message(value: Json) -> bool:
    """An OpenAI message: its content is text or parts, and what it calls are functions."""
    match value:
        case {"role": str(), "content": int() | float() | dict()}:
            return False
        case {"role": str(), "tool_calls": [*calls]}:
            return all(isinstance(call, dict) and _is_function_call(call) for call in calls)
        case _:
            return _is_message(value) and isinstance(value["role"], str)


def _is_function_call(call: dict[str, Any]) -> bool:
    return "name" not in call and isinstance(call.get("function", {}), dict)


def read(sources: Sequence[Source]) -> Iterator[Item]:
    """Files of a message list, an object with ``messages``, a list of either, JSON Lines of them or of messages, or
    tau-bench results. A run's case is its ``id``, ``case_id`` or ``case``."""
    return read_conversations(sources, is_message=_is_message, run=run)


def _is_message(value: Json) -> bool:
    return isinstance(value, dict) and "role" in value and "messages" not in value and "traj" not in value


# --- one run -------------------------------------------------------------------------------------------------------


def run(item: Conversation, file: str) -> Run:
    """The run that a conversation is. Raises :class:`MessageError`."""
    match item.value:
        case {"traj": list(messages)}:
            return _tau_bench(item, item.value, messages, file)
        case {"messages": list(messages)}:
            return _plain(item, item.value, messages, file)
        case list(messages):
            return _plain(item, {}, messages, file)
        case {"object": "chat.completion.chunk"} | {"choices": [{"delta": _}, *_]}:
            raise MessageError(
                "a fragment of a streamed response", hint="record the assembled messages and import those"
            )
        case {"choices": _}:
            raise MessageError("a response, which holds one message", hint="import the whole list of messages")
        case _:
            raise MessageError(
                "neither a list of messages nor an object with `messages` or `traj`",
                hint="see what `oloproof import --help` says of the format",
            )


def _plain(item: Conversation, value: dict[str, Any], messages: Sequence[Json], file: str) -> Run:
    chat = Chat(messages)
    return Run(
        file=file,
        line=item.line,
        output=chat.output,
        trajectory=chat.trajectory(truncated=chat.ends_on_open_call, errors_recorded=False),
        input=value.get("input", {"messages": chat.opening}),
        **own_facts(value),
        losses=chat.losses,
        unanswered=len(chat.builder.unanswered),
        origin=value,
    )


def _tau_bench(item: Conversation, value: dict[str, Any], messages: Sequence[Json], file: str) -> Run:
    chat = Chat(messages, error_prefix="Error")
    truncated = _cut_off(chat, chat.losses)
    task = object_of(object_of(value.get("info")).get("task"))
    trial, task_id, actions = value.get("trial"), value.get("task_id"), task.get("actions")
    named = [action for action in list_of(actions) if isinstance(object_of(action).get("name"), str)]
    tools = [declared_call(action["name"], action.get("kwargs")) for action in named]
    asked = {key: fact for key, fact in task.items() if key in ("user_id", "instruction")}
    facts = {**task, "source": "tau-bench", "task_id": task_id, "reward": value.get("reward")}
    chat.losses["empty_references"] += actions == []
    chat.losses["system_messages"] += chat.system_messages if asked else 0
    return Run(
        file=file,
        line=item.line,
        case=None if task_id is None else f"task_{task_id}",
        trial=trial + 1 if type(trial) is int and trial >= 0 else None,
        output=chat.output,
        trajectory=chat.trajectory(truncated=truncated, errors_recorded=True),
        input=asked or {"messages": chat.opening},
        expected={"tools": tools} if tools else None,
        metadata={key: fact for key, fact in facts.items() if fact is not None and key not in asked},
        of_case=(*task, "source", "task_id"),
        losses=chat.losses,
        unanswered=len(chat.builder.unanswered),
        origin=value,
    )


def _cut_off(chat: Chat, losses: Counter[str]) -> bool:
    """The turn limit is not recorded, so: a call without its result, or a user's last word that is not STOP.

    A run that ends on a tool's result may have been ended by that tool. Its name tells where it is a transfer;
    otherwise nothing in the file does, and the import says so instead of guessing.
    """
    last = chat.last
    if last.get("role") == "user":
        return STOP not in str(last.get("content"))
    if last.get("role") == "tool" and not chat.ends_on_open_call:
        losses["ends_unexplained"] += not chat.last_tool.startswith(TRANSFER)
    return chat.ends_on_open_call


IMPORTER: Final = Importer(
    name="openai",
    about="OpenAI chat messages with tool_calls, and tau-bench result files",
    sniff=sniff,
    read=read,
    losses=LOSSES,
)
