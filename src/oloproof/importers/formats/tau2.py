"""tau2-bench results: simulations of an agent and a user, both of whom may call tools.

What the user calls is not the agent's doing: those calls are kept as observations. A simulation says why it ended, and
what its reward is made of; the task's actions are what is expected.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import UNSET

from oloproof.errors import Problem
from oloproof.importers import codes
from oloproof.importers.builder import Builder
from oloproof.importers.documents import Document, each_document
from oloproof.importers.foreign import declared_call, joined_text, list_of, object_of, text_id, total_of, without_nulls
from oloproof.importers.format import Confidence, Importer, Item, Run
from oloproof.importers.head import Head
from oloproof.importers.source import Source
from oloproof.model.case import system_error
from oloproof.model.values import Json

CUT_OFF: Final = ("max_steps", "timeout", "too_many_errors", "context_window_exceeded")
BROKEN: Final = ("agent_error", "user_error", "infrastructure_error", "unexpected_error")
USER: Final = "user"

LOSSES: Final[Mapping[str, str]] = {
    "system_messages": "system prompts: they are no step of the agent",
    "user_calls": "calls and results of the simulated user: kept as observations",
    "voice_ticks": "runs of voice, whose ticks are not read: no trajectory",
}

Fields = dict[str, Any]


def sniff(head: Head) -> Confidence | None:
    match head.value:
        case {"simulations": list(), "tasks": list()} | {"simulations": list(), "info": dict()}:
            return Confidence.CERTAIN
        case {"termination_reason": str(), "task_id": _}:
            return Confidence.CERTAIN
        case _:
            return None


def read(sources: Sequence[Source]) -> Iterator[Item]:
    """Files of all simulations with their tasks, or of one simulation each. A case is a task."""
    yield from each_document(sources, _told)


def _told(document: Document, file: str) -> Iterator[Item]:
    whole = object_of(document.value)
    if simulations := list_of(whole.get("simulations")):
        tasks = {text_id(task.get("id")): task for task in map(object_of, list_of(whole.get("tasks")))}
        for simulation in map(object_of, simulations):
            yield _run(simulation, tasks, file, 0)
    elif "task_id" in whole:
        yield _run(whole, {}, file, document.line)
    else:
        yield Problem(codes.NOT_OF_THE_FORMAT, "neither simulations nor one of them", file=file, line=document.line)


def _run(simulation: Fields, tasks: Mapping[str, Fields], file: str, line: int) -> Run:
    builder = Builder()
    messages = simulation.get("messages")
    for message in map(object_of, list_of(messages)):
        _message(message, builder)
    builder.losses["voice_ticks"] += messages is None
    reason = text_id(simulation.get("termination_reason"))
    broken = reason in BROKEN
    name = text_id(simulation.get("task_id"))
    trial, reward = simulation.get("trial"), object_of(simulation.get("reward_info"))
    facts = {"reward": reward.get("reward"), "termination_reason": reason or None, "source": "tau2-bench"}
    facts |= {"reward_breakdown": reward.get("reward_breakdown"), "db_check": reward.get("db_check")}
    truncated = broken or reason in CUT_OFF or builder.ends_on_open_call
    return Run(
        file=file,
        line=line,
        case=f"task_{name}" if name else None,
        trial=trial + 1 if type(trial) is int and trial >= 0 else None,
        output=UNSET if broken else builder.output,
        error=system_error(reason) if broken else None,
        trajectory=None if messages is None else builder.trajectory(truncated=truncated),
        input=_asked(tasks.get(name, {})),
        expected=_expected(tasks.get(name, {})),
        metadata=without_nulls(facts),
        of_case=("source",),
        losses=builder.losses,
        unanswered=len(builder.unanswered),
        origin=simulation,
    )


def _message(message: Fields, builder: Builder) -> None:
    match message.get("role"):
        case "system":
            builder.losses["system_messages"] += 1
        case "tool":
            for result in map(object_of, list_of(message.get("tool_messages")) or [message]):
                _result(result, builder)
        case "assistant":
            _answer(message, builder)
        case role:
            calls = list_of(message.get("tool_calls"))
            builder.losses["unknown_kinds"] += role != USER
            if message.get("content") or not calls:
                builder.hear({"role": text_id(role), "content": joined_text(message.get("content"))})
            for call in calls:
                builder.losses["user_calls"] += 1
                builder.hear({"role": USER, "tool_call": call}, kind="observation")


def _answer(message: Fields, builder: Builder) -> None:
    builder.turn()
    calls = [object_of(call) for call in list_of(message.get("tool_calls"))]
    usage = object_of(message.get("usage"))
    tokens = total_of(usage.get(key) for key in ("prompt_tokens", "completion_tokens"))
    content = joined_text(message.get("content"))
    if content or not calls:
        builder.say({"role": "assistant", "content": content}, tokens=tokens, cost_usd=message.get("cost"))
        tokens = None if tokens is None else 0
    for call in calls:
        arguments = builder.arguments(call.get("arguments"))
        call_id = text_id(call.get("id"))
        builder.call(text_id(call.get("name")), arguments, call_id=call_id, parallel=len(calls) > 1, tokens=tokens)
        tokens = None if tokens is None else 0


def _result(result: Fields, builder: Builder) -> None:
    content = joined_text(result.get("content"))
    if result.get("requestor") == USER:
        builder.losses["user_calls"] += 1
        builder.hear({"role": "tool", "requestor": USER, "content": content}, kind="observation")
        return
    failed = result.get("error") is True
    text = content if isinstance(content, str) else text_id(content)
    builder.result(UNSET if failed else content, error=text if failed else None, call_id=text_id(result.get("id")))


def _asked(task: Fields) -> Json:
    scenario = task.get("user_scenario")
    return UNSET if scenario is None else scenario


def _expected(task: Fields) -> Fields | None:
    """The agent's actions of the task. None where it has none: that declares nothing."""
    actions = map(object_of, list_of(object_of(task.get("evaluation_criteria")).get("actions")))
    tools = [
        declared_call(name, action.get("arguments"))
        for action in actions
        if isinstance(name := action.get("name"), str) and action.get("requestor") != USER
    ]
    return {"tools": tools} if tools else None


IMPORTER: Final = Importer(
    name="tau2",
    about="tau2-bench results, of all simulations or of one",
    sniff=sniff,
    read=read,
    losses=LOSSES,
)
