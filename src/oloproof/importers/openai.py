"""OpenAI-style message lists, and tau-bench result files, which are made of them.

A message list records calls and results and little else: no error flag, no agent, no end. A result names its call by
an id that real files use again and again, so calls and results are paired by id *and* order: a result answers, among
the unanswered calls of that id, the first one of the latest turn. What was not recorded is not made up.

tau-bench adds a reward, the reference actions and three customs: results that start with ``Error`` are errors, the
user says ``###STOP###`` when done, and some tool of the environment (a transfer to a person) ends the run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import UNSET, Struct

from oloproof.errors import MOST_PROBLEMS, Problem, UsageError
from oloproof.importers.chat import LOSSES as CHAT_LOSSES
from oloproof.importers.chat import Chat, MessageError
from oloproof.importers.imported import Import, NotJson, Summary, read_json
from oloproof.model.recording import Recording
from oloproof.model.values import BOM, Json

__all__ = ["LOSSES", "Import", "Summary", "read"]

STOP = "###STOP###"
TRANSFER = "transfer_to_"

LOSSES: Mapping[str, str] = {
    **CHAT_LOSSES,
    "ends_unexplained": "runs that end on a tool's result: only the environment knows whether that tool ends a run",
    "empty_references": "tasks without a reference action: they declare no tools, rather than that none may be called",
}
"""Every kind of loss, and what it means."""


class _Run(Struct, frozen=True):
    """One run of the file: where it stands (for messages), the line in JSON Lines (0 elsewhere), and what it is."""

    where: str
    line: int
    value: Json


def read(data: bytes, *, file: str | None = None) -> Import:
    """Read a file: a message list, an object with ``messages``, a list of either, JSON Lines of them or of messages,
    or tau-bench results.

    A run's case is its ``id``, ``case_id`` or ``case``, otherwise it is named after ``file``; runs of one case are
    numbered trials. ``file`` also names the file in problems. Raises :class:`UsageError` with the first 50.
    """
    stem = _stem(file)
    losses: Counter[str] = Counter()
    problems: list[Problem] = []
    recordings: list[Recording] = []
    chats: list[Chat] = []
    trials: Counter[str] = Counter()
    runs = list(_runs(data, file))
    for number, run in enumerate(runs, 1):
        try:
            fallback = stem if len(runs) == 1 else f"{stem}_{number}"
            chat, recording = _recording(run.value, losses, fallback=fallback, trials=trials)
        except MessageError as error:
            problems.append(_problem(file, run, error))
            if len(problems) == MOST_PROBLEMS:
                break
            continue
        chats.append(chat)
        recordings.append(recording)
    if problems:
        raise UsageError(problems)
    return Import(
        recordings=tuple(recordings),
        losses={kind: count for kind, count in losses.items() if count},
        summary=_summary(recordings, chats),
    )


# --- what the file is made of -----------------------------------------------------------------------------------------


def _runs(data: bytes, file: str | None) -> Iterator[_Run]:
    """The runs in a file, whatever holds them."""
    data = data.removeprefix(BOM)
    documents = list(_documents(data, file))
    values = [value for _, value in documents]
    if len(documents) == 1 and isinstance(values[0], list) and not any(_is_message(item) for item in values[0]):
        documents = [(0, value) for value in values[0]]
    elif values and all(_is_message(value) for value in values):
        documents = [(0, values)]
    if not documents:
        raise UsageError(Problem("OLO323", "the file holds no run", "export the runs and import that file", file=file))
    for number, (line, value) in enumerate(documents, 1):
        yield _Run(where=f"run {number}" if len(documents) > 1 else "", line=line, value=value)


def _documents(data: bytes, file: str | None) -> Iterator[tuple[int, Json]]:
    """The JSON values of the file with their lines: one value (line 0), or one a line."""
    try:
        whole = read_json(data)
    except NotJson as error:
        first = next((line for line in data.splitlines() if line.strip()), b"")
        try:
            read_json(first)
        except NotJson:
            what = f"the file is neither JSON nor JSON Lines: {error}" if first else "the file is empty"
            raise UsageError(Problem("OLO321", what, file=file, line=error.line, column=error.column)) from error
    else:
        yield 0, whole
        return
    problems = []
    for number, line in enumerate(data.splitlines(), 1):
        try:
            if line.strip():
                yield number, read_json(line)
        except NotJson as error:
            problems.append(
                Problem("OLO321", f"the line is not JSON: {error}", file=file, line=number, column=error.column)
            )
            if len(problems) == MOST_PROBLEMS:
                break
    if problems:
        raise UsageError(problems)


def _is_message(value: Json) -> bool:
    return isinstance(value, dict) and "role" in value and "messages" not in value and "traj" not in value


def _problem(file: str | None, run: _Run, error: MessageError) -> Problem:
    place = ", ".join(part for part in (run.where, f"message {error.message}" if error.message else "") if part)
    return Problem("OLO322", f"{place}: {error}" if place else str(error), error.hint, file=file, line=run.line)


# --- one run -------------------------------------------------------------------------------------------------------


def _recording(value: Json, losses: Counter[str], *, fallback: str, trials: Counter[str]) -> tuple[Chat, Recording]:
    match value:
        case {"traj": list(messages)}:
            return _tau_bench(value, messages, losses, fallback=fallback)
        case {"messages": list(messages)}:
            return _plain(value, messages, losses, fallback=fallback, trials=trials)
        case list():
            return _plain({}, value, losses, fallback=fallback, trials=trials)
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


def _plain(
    value: dict[str, Any], messages: Sequence[Json], losses: Counter[str], *, fallback: str, trials: Counter[str]
) -> tuple[Chat, Recording]:
    chat = Chat(messages, losses)
    name = next((value[key] for key in ("id", "case_id", "case") if isinstance(value.get(key), str | int)), "")
    case = str(name) or fallback
    trials[case] += 1
    trial = value.get("trial")
    expected, metadata = value.get("expected"), value.get("metadata")
    return chat, Recording(
        case=case,
        trial=trial if type(trial) is int and trial >= 1 else trials[case],
        output=_output(chat),
        trajectory=chat.trajectory(truncated=chat.ends_on_open_call, errors_recorded=False),
        input=value.get("input", {"messages": chat.opening}),
        expected=expected if isinstance(expected, dict) else None,
        metadata=metadata if isinstance(metadata, dict) else None,
    )


def _tau_bench(
    value: dict[str, Any], messages: Sequence[Json], losses: Counter[str], *, fallback: str
) -> tuple[Chat, Recording]:
    chat = Chat(messages, losses, error_prefix="Error")
    task = _object(_object(value.get("info")).get("task"))
    trial, task_id, actions = value.get("trial"), value.get("task_id"), task.get("actions")
    tools = [action["name"] for action in _list(actions) if isinstance(_object(action).get("name"), str)]
    asked = {key: fact for key, fact in task.items() if key in ("user_id", "instruction")}
    facts = {**task, "source": "tau-bench", "task_id": task_id, "reward": value.get("reward")}
    losses["empty_references"] += actions == []
    losses["system_messages"] += chat.system_messages if asked else 0
    return chat, Recording(
        case=fallback if task_id is None else f"task_{task_id}",
        trial=trial + 1 if type(trial) is int and trial >= 0 else 1,
        output=_output(chat),
        trajectory=chat.trajectory(truncated=_cut_off(chat, losses), errors_recorded=True),
        input=asked or {"messages": chat.opening},
        expected={"tools": tools} if tools else None,
        metadata={key: fact for key, fact in facts.items() if fact is not None and key not in asked},
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


def _output(chat: Chat) -> Any:
    return UNSET if chat.answer is None else {"answer": chat.answer}


def _object(value: Json) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Json) -> list[Any]:
    return value if isinstance(value, list) else []


def _stem(file: str | None) -> str:
    """What runs without a name are called after: ``results`` for ``runs/results.json``."""
    name = (file or "run").replace("\\", "/").rpartition("/")[2]
    return name.rpartition(".")[0] or name


def _summary(recordings: Sequence[Recording], chats: Sequence[Chat]) -> Summary:
    steps = [step for chat in chats for step in chat.steps]
    kinds = Counter(step.kind for step in steps)
    return Summary(
        trajectories=len(recordings),
        steps=len(steps),
        calls=kinds["tool_call"],
        results=kinds["tool_result"],
        errors=sum(isinstance(step.error, str) for step in steps),
        unanswered=sum(len(chat.open) for chat in chats),
        truncated=sum(recording.trajectory is not None and recording.trajectory.truncated for recording in recordings),
    )
