"""AgentDojo run files, and the export of Invariant's explorer, which has many runs.

A result holds a copy of the call that it answers, so the two are paired by it where ids are empty. ``utility`` says
that the user's task was done. ``security`` is named the wrong way round: under an attack, true means that the injection
reached its goal; without one it is always true. The agent's loop ends after a number of turns without a word: then the
last calls have no result.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import UNSET
from msgspec.json import encode

from oloproof.errors import Problem
from oloproof.importers import codes
from oloproof.importers.builder import Builder
from oloproof.importers.documents import Document, each_document
from oloproof.importers.foreign import joined_text, list_of, object_of, text_id
from oloproof.importers.format import Confidence, Importer, Item, Lost, Run
from oloproof.importers.head import Head
from oloproof.importers.pairing import Call
from oloproof.importers.source import Source
from oloproof.model.case import system_error
from oloproof.model.values import Json

LOSSES: Final[Mapping[str, str]] = {
    "system_messages": "system prompts: they are no step of the agent",
    "no_runs": "entries that are no run, such as the export's first line",
}
_CASE: Final = ("suite_name", "user_task_id", "injection_task_id", "attack_type")
_FACTS: Final = ("suite_name", "pipeline_name", "model", "user_task_id", "injection_task_id", "attack_type")
_VERDICTS: Final = ("utility", "success", "security", "duration")

Fields = dict[str, Any]
_Waiting = dict[bytes, deque[Call]]
"""The calls that may have no result yet, by what they call, as JSON."""


def sniff(head: Head) -> Confidence | None:
    match head.item:
        case {"suite_name": _, "user_task_id": _, "messages": list()}:
            return Confidence.CERTAIN
        case {"messages": list(), "metadata": {"suite_name": _, "user_task_id": _}}:
            return Confidence.CERTAIN
        case {"metadata": {"benchmark": str(name)}} if "agentdojo" in name.lower():
            return Confidence.CERTAIN
        case {"utility": bool() | None, "security": bool() | None}:
            return Confidence.CERTAIN
        case _:
            return None


def read(sources: Sequence[Source]) -> Iterator[Item]:
    """Files of one run each, or exports of many. A case is a user's task and what was injected into it."""
    yield from each_document(sources, _told)


def _told(document: Document, file: str) -> Iterator[Item]:
    match document.value:
        case {"messages": list()} as run:
            yield _run(run, file, document.line)
        case _ if document.line:
            yield Lost("no_runs", file, document.line)
        case _:
            yield Problem(codes.NOT_OF_THE_FORMAT, "no run: it has no messages", file=file)


def _run(run: Fields, file: str, line: int) -> Run:
    builder = Builder()
    waiting: _Waiting = {}
    for message in map(object_of, run["messages"]):
        _message(message, builder, waiting)
    known = {**object_of(run.get("metadata")), **run}
    error = run.get("error")
    names = [text_id(known.get(key)) for key in _CASE]
    facts = {key: known.get(key) for key in (*_FACTS, *_VERDICTS)}
    if facts["utility"] is None:
        facts["utility"] = facts["success"]
    attacked = bool(known.get("injection_task_id"))
    facts["injection_succeeded"] = known.get("security") if attacked else None
    return Run(
        file=file,
        line=line,
        case="/".join(name for name in names if name and name != "none") or None,
        output=builder.output,
        error=system_error(text_id(error)) if error else None,
        trajectory=builder.trajectory(truncated=bool(error) or builder.ends_on_open_call),
        input=_asked(run["messages"]),
        metadata={key: fact for key, fact in facts.items() if fact is not None and key != "success"},
        of_case=_CASE,
        losses=builder.losses,
        unanswered=len(builder.unanswered),
        origin=run,
    )


def _message(message: Fields, builder: Builder, waiting: _Waiting) -> None:
    content = joined_text(message.get("content"))
    match message.get("role"):
        case "system":
            builder.losses["system_messages"] += 1
        case "assistant":
            _answer(message, content, builder, waiting)
        case "tool":
            _result(message, content, builder, waiting)
        case role:
            builder.losses["unknown_kinds"] += role != "user" or bool(message.get("tool_calls"))
            builder.hear({"role": text_id(role), "content": content})


def _answer(message: Fields, content: Json, builder: Builder, waiting: _Waiting) -> None:
    builder.turn()
    calls = [object_of(call) for call in list_of(message.get("tool_calls"))]
    if content or not calls:
        builder.say({"role": "assistant", "content": content})
    for call in calls:
        name, raw = _asked_of(call)
        arguments = builder.arguments(raw)
        made = builder.call(name, arguments, call_id=text_id(call.get("id")), parallel=len(calls) > 1)
        waiting.setdefault(encode([name, raw]), deque()).append(made)


def _asked_of(call: Fields) -> tuple[str, Json]:
    """A call's function and arguments, in either shape."""
    match call.get("function"):
        case {"name": name, **function}:
            return text_id(name), function.get("arguments")
        case name:
            return text_id(name), call.get("args")


def _result(message: Fields, content: Json, builder: Builder, waiting: _Waiting) -> None:
    copy = object_of(message.get("tool_call"))
    name, raw = _asked_of(copy)
    call_id = text_id(message.get("tool_call_id") or copy.get("id"))
    same = waiting.get(encode([name, raw]), deque())
    while same and same[0].answered:
        same.popleft()
    error = message.get("error")
    builder.result(
        UNSET if error else content,
        error=text_id(error) if error else None,
        call=same.popleft() if same and not call_id else None,
        call_id=call_id,
        name=name or None,
    )


def _asked(messages: Sequence[Json]) -> Json:
    asked = (
        joined_text(message.get("content")) for message in map(object_of, messages) if message.get("role") == "user"
    )
    return next(asked, UNSET)


IMPORTER: Final = Importer(
    name="agentdojo",
    about="AgentDojo run files, and Invariant's export of them",
    sniff=sniff,
    read=read,
    losses=LOSSES,
)
