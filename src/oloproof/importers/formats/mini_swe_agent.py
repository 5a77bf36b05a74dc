"""mini-swe-agent trajectories: a list of messages, or an object that holds them with how the run ended.

An action is a fenced block of shell in the agent's text, or the call of a tool; either way it is a call of ``bash``, or
of the tool that it names. What comes back is the next message. A return code is text and no error flag.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import UNSET

from oloproof.errors import Problem
from oloproof.importers import codes
from oloproof.importers.builder import Builder
from oloproof.importers.documents import Document, each_document
from oloproof.importers.foreign import joined_text, object_of, text_id, without_nulls
from oloproof.importers.format import Confidence, Importer, Item, Run
from oloproof.importers.head import Head
from oloproof.importers.source import Source
from oloproof.model.case import system_error
from oloproof.model.values import Json

SHELL: Final = "bash"
CUT_OFF: Final = ("LimitsExceeded", "TimeExceeded")
FINISHED: Final = ("Submitted", "RepeatedFormatError")
"""Ways in which the agent ends itself; any other status is the name of what it was ended by."""

ROLES: Final = ("assistant", "exit", "system", "tool", "user")

_BLOCK = re.compile(r"```(mswea_bash_command|bash)[ \t]*\n(.*?)\n?```", re.DOTALL)

LOSSES: Final[Mapping[str, str]] = {
    "system_messages": "system prompts: they are no step of the agent",
}


def sniff(head: Head) -> Confidence | None:
    match head.value:
        case {"trajectory_format": str(form)} if form.startswith("mini-swe-agent"):
            return Confidence.CERTAIN
        case {"messages": list(messages), "info": {"exit_status": _}} | list(messages):
            marked = any("mswea_bash_command" in str(_content(message)) for message in messages)
            return Confidence.CERTAIN if marked else None
        case _:
            return None


def _content(message: Json) -> Json:
    return joined_text(message.get("content")) if isinstance(message, dict) else None


def read(sources: Sequence[Source]) -> Iterator[Item]:
    """Files of one run each, named by their ``instance_id`` or after the file."""
    yield from each_document(sources, _told)


def _told(document: Document, file: str) -> Iterator[Item]:
    run = _run(document.value, file, document.line)
    yield Problem(codes.NOT_OF_THE_FORMAT, run, file=file, line=document.line) if isinstance(run, str) else run


def _run(value: Json, file: str, line: int) -> Run | str:
    match value:
        case {"messages": list(messages)}:
            whole = value
        case list(messages):
            whole = {}
        case _:
            return "neither a list of messages nor an object with `messages`"
    if not all(isinstance(message, dict) and isinstance(message.get("role"), str) for message in messages):
        return "a message is no object with a role"
    builder = Builder()
    opening = []
    for message in messages:
        role = message["role"]
        builder.losses["unknown_kinds"] += role not in ROLES or (role != "assistant" and _acts(message))
        if role == "assistant":
            _answer(message, builder)
        elif role == "system":
            builder.losses["system_messages"] += 1
        elif role == "tool" or (builder.open_call is not None and role != "exit"):
            _result(message, builder)
        elif role != "exit":
            said = {"role": role, "content": _content(message)}
            builder.hear(said)
            opening += [] if len(builder.steps) > 1 else [said]
    return _ended(builder, whole, messages, opening, file, line)


def _acts(message: dict[str, Any]) -> bool:
    """It names tools that are called, as only an answer of the agent may."""
    return bool(message.get("tool_calls")) or bool(object_of(message.get("extra")).get("actions"))


def _answer(message: dict[str, Any], builder: Builder) -> None:
    builder.turn()
    content = _content(message)
    calls = list(_calls(message, content))
    if content or not calls:
        builder.say({"role": "assistant", "content": content})
    for name, arguments, call_id in calls:
        builder.call(name, builder.arguments(arguments), call_id=call_id, parallel=len(calls) > 1)


def _calls(message: dict[str, Any], content: Json) -> Iterator[tuple[str, Json, str]]:
    """The tools that a message calls: name, arguments and id."""
    match message:
        case {"tool_calls": [*calls]} if calls:
            for call in calls:
                match call:
                    case {"function": {"name": str(name), **function}}:
                        yield name, function.get("arguments"), text_id(call.get("id"))
                    case _:
                        yield "", None, ""
        case {"extra": {"actions": [*actions]}}:
            for action in actions:
                match action:
                    case {"command": str(command)} | str(command):
                        call_id = text_id(action.get("tool_call_id")) if isinstance(action, dict) else ""
                        yield SHELL, {"command": command}, call_id
                    case _:
                        yield SHELL, None, ""
        case _ if isinstance(content, str) and len(blocks := _BLOCK.findall(content)) == 1:
            yield SHELL, {"command": blocks[0][1]}, ""
        case _:
            pass  # an answer with no block or several is rejected, and nothing runs


def _result(message: dict[str, Any], builder: Builder) -> None:
    call_id = text_id(message.get("tool_call_id"))
    builder.result(_content(message), call_id=call_id)


def _ended(
    builder: Builder,
    whole: dict[str, Any],
    messages: Sequence[dict[str, Any]],
    opening: Sequence[Json],
    file: str,
    line: int,
) -> Run:
    info = object_of(whole.get("info"))
    last = messages[-1] if messages and messages[-1]["role"] == "exit" else {}
    said = {**object_of(last.get("extra")), **info}
    status, submission = said.get("exit_status"), said.get("submission")
    words = status if isinstance(status, str) else ""
    is_broken = bool(words) and words not in (*CUT_OFF, *FINISHED)
    answer = submission if isinstance(submission, str) else builder.answer
    facts = {"exit_status": status, "model_stats": info.get("model_stats"), "source": whole.get("trajectory_format")}
    name = whole.get("instance_id")
    return Run(
        file=file,
        line=line,
        case=name if isinstance(name, str) and name else None,
        output=UNSET if answer is None or is_broken else {"answer": answer},
        error=system_error(words) if is_broken else None,
        trajectory=builder.trajectory(
            truncated=is_broken or words in CUT_OFF or builder.ends_on_open_call, errors_recorded=False
        ),
        input={"messages": list(opening)},
        metadata=without_nulls(facts),
        of_case=(),
        losses=builder.losses,
        unanswered=len(builder.unanswered),
        origin=whole,
    )


IMPORTER: Final = Importer(
    name="mini-swe-agent",
    about="mini-swe-agent trajectories, of fenced commands and of tool calls",
    sniff=sniff,
    read=read,
    losses=LOSSES,
)
