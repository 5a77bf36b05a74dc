"""SWE-agent ``.traj`` files.

An action is one shell-like text, and its first word is the tool (``open``, ``edit``, ``submit``); with function calling
the history has the calls with their arguments, which are better. Demonstrations in the history were not this run's
doing. No result says whether it is an error.
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
from oloproof.importers.foreign import joined_text, list_of, object_of, text_id, without_nulls
from oloproof.importers.format import Confidence, Importer, Item, Run
from oloproof.importers.head import Head
from oloproof.importers.source import Source
from oloproof.model.case import system_error
from oloproof.model.values import Json

CUT_OFF: Final = ("exit_cost", "exit_context", "exit_total_execution_time", "exit_command_timeout")
"""What the agent was ended by where it would have gone on; ``submitted (exit_cost)`` is one of them."""
BROKEN: Final = ("exit_error", "exit_api", "exit_environment_error")

_FENCE = re.compile(r"```\w*[ \t]*\n(.*?)```", re.DOTALL)

LOSSES: Final[Mapping[str, str]] = {
    "demonstrations": "messages that show how a task is done: they are not of this run",
    "other_agents": "messages of other agents than the one that solved the task",
    "system_messages": "system prompts: they are no step of the agent",
    "shared_results": "results that answer several calls at once: repeated for each of them",
    "states": "states of the shell after an action",
}


def sniff(head: Head) -> Confidence | None:
    match head.value:
        case {"environment": str(), "trajectory": list()} | {"trajectory": [{"action": _, "observation": _}, *_]}:
            return Confidence.CERTAIN
        case {"history": [{"role": str(), "agent": str()}, *_]}:
            return Confidence.CERTAIN
        case _:
            return None


def read(sources: Sequence[Source]) -> Iterator[Item]:
    """Files of one run each, named after the file."""
    yield from each_document(sources, _told)


def _told(document: Document, file: str) -> Iterator[Item]:
    run = _run(document.value, file)
    yield Problem(codes.NOT_OF_THE_FORMAT, run, file=file, line=document.line) if isinstance(run, str) else run


def _run(value: Json, file: str) -> Run | str:
    whole = object_of(value)
    trajectory, history = list_of(whole.get("trajectory")), list_of(whole.get("history"))
    if "trajectory" not in whole and "history" not in whole:
        return "neither a trajectory nor a history"
    if not all(isinstance(item, dict) for item in (*trajectory, *history)):
        return "an item of the trajectory is no object"
    builder = Builder()
    messages = _own(history, builder)
    spoken = [message for message in messages if message.get("role") != "system"]
    builder.losses["system_messages"] += len(messages) - len(spoken)
    opening = spoken[: _first_answer(spoken)]
    if not trajectory or any(message.get("tool_calls") for message in spoken):
        _history(spoken, builder)
        last = trajectory[-1].get("observation") if trajectory else None
        if builder.open_call is not None and last is not None:  # the history may end on the last call
            builder.result(last, call=builder.open_call)
    else:
        _trajectory(trajectory, opening, builder)
    return _ended(builder, whole, opening, file)


def _own(history: Sequence[dict[str, Any]], builder: Builder) -> list[dict[str, Any]]:
    """The messages of the agent that solved the task."""
    real = [message for message in history if not message.get("is_demo")]
    builder.losses["demonstrations"] += len(history) - len(real)
    agent = _agent(real)
    own = [message for message in real if message.get("agent", agent) == agent]
    builder.losses["other_agents"] += len(real) - len(own)
    return own


def _agent(messages: Sequence[dict[str, Any]]) -> str | None:
    """The agent that the first of the messages which say so belongs to."""
    return next((message["agent"] for message in messages if isinstance(message.get("agent"), str)), None)


def _first_answer(messages: Sequence[dict[str, Any]]) -> int:
    return next((n for n, message in enumerate(messages) if message.get("role") == "assistant"), len(messages))


# --- the two ways in which a run is told -------------------------------------------------------------------------


def _trajectory(trajectory: Sequence[dict[str, Any]], opening: Sequence[dict[str, Any]], builder: Builder) -> None:
    """A step for each thought, action and observation."""
    agent = _agent(opening)
    for message in opening:
        builder.hear(_said(message))
    for item in trajectory:
        builder.turn()
        action = _action(item)
        thought = item.get("thought") or (None if action else item.get("response"))
        if thought:
            builder.say({"role": "assistant", "content": thought}, agent=agent)
        if action:
            call = builder.call(_tool(action), {"command": action}, agent=agent, latency_ms=_milliseconds(item))
            if item.get("observation") is not None:
                builder.result(item["observation"], call=call)
        elif item.get("observation"):
            builder.hear({"role": "user", "content": item["observation"]})
        builder.losses["states"] += item.get("state") is not None


def _history(messages: Sequence[dict[str, Any]], builder: Builder) -> None:
    """The conversation, which has the calls of a model that calls functions."""
    agent = _agent(messages)
    for message in messages:
        is_known = message.get("role") in ("assistant", "tool") or (
            message.get("role") == "user" and not message.get("tool_calls")
        )
        builder.losses["unknown_kinds"] += not is_known
        match message.get("role"):
            case "assistant":
                _answer(message, builder, agent)
            case "tool":
                _results(message, builder)
            case _ if builder.open_call is not None and "tool_calls" not in message:
                builder.result(joined_text(message.get("content")), call=builder.open_call)
            case _:
                builder.hear(_said(message))


def _answer(message: dict[str, Any], builder: Builder, agent: str | None) -> None:
    builder.turn()
    calls = [call for call in list_of(message.get("tool_calls")) if isinstance(call, dict)]
    action = _action(message) or _fenced(message)
    said = message.get("thought") if calls or message.get("action") else message.get("content")
    if said or not (calls or action):
        builder.say({"role": "assistant", "content": said}, agent=agent)
    for call in calls:
        function = object_of(call.get("function"))
        name, arguments = text_id(function.get("name")), builder.arguments(function.get("arguments"))
        builder.call(name, arguments, call_id=text_id(call.get("id")), parallel=len(calls) > 1, agent=agent)
    if action and not calls:
        builder.call(_tool(action), {"command": action}, agent=agent)


def _results(message: dict[str, Any], builder: Builder) -> None:
    ids = message.get("tool_call_ids") or [message.get("tool_call_id")]
    answered = [text_id(call_id) for call_id in ids] if isinstance(ids, list) else [""]
    builder.losses["shared_results"] += len(answered) > 1
    for call_id in answered:
        builder.result(joined_text(message.get("content")), call_id=call_id)


def _said(message: dict[str, Any]) -> dict[str, Json]:
    return {"role": text_id(message.get("role")) or "user", "content": joined_text(message.get("content"))}


def _action(item: dict[str, Any]) -> str:
    """The action that an item names, "" for none."""
    action = item.get("action")
    return action if isinstance(action, str) and action.strip() else ""


def _fenced(message: dict[str, Any]) -> str:
    """The action in an answer that does not name it: what the last fence holds."""
    content = joined_text(message.get("content"))
    blocks = _FENCE.findall(content) if isinstance(content, str) and "action" not in message else []
    return blocks[-1] if blocks and blocks[-1].strip() else ""


def _tool(action: str) -> str:
    return action.split(maxsplit=1)[0]


def _milliseconds(item: dict[str, Any]) -> float | None:
    seconds = item.get("execution_time")
    return seconds * 1000 if isinstance(seconds, int | float) and not isinstance(seconds, bool) else None


# --- and how it ended --------------------------------------------------------------------------------------------


def _ended(builder: Builder, value: dict[str, Any], opening: Sequence[dict[str, Any]], file: str) -> Run:
    info = object_of(value.get("info"))
    status = info.get("exit_status")
    words = status if isinstance(status, str) else ""
    cut_off = any(reason in words for reason in CUT_OFF) or builder.ends_on_open_call
    submission = info.get("submission")
    answer = submission if isinstance(submission, str) else builder.answer
    facts = {"exit_status": status, "environment": value.get("environment"), "model_stats": info.get("model_stats")}
    error = system_error(words) if words in BROKEN else None
    return Run(
        file=file,
        output=UNSET if answer is None or error is not None else {"answer": answer},
        error=error,
        trajectory=builder.trajectory(truncated=cut_off or error is not None, errors_recorded=False),
        input={"messages": [_said(message) for message in opening]},
        metadata=without_nulls(facts),
        of_case=(),
        losses=builder.losses,
        unanswered=len(builder.unanswered),
        origin=value,
    )


IMPORTER: Final = Importer(
    name="swe-agent",
    about="SWE-agent .traj files, of text actions and of function calling",
    sniff=sniff,
    read=read,
    losses=LOSSES,
)
