"""One OpenAI-style message list as steps: calls paired with their results, and everything else in its place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import UNSET, Struct
from msgspec.json import encode

from oloproof.importers.imported import NotJson, read_json
from oloproof.model.trajectory import Step, StepKind, Trajectory
from oloproof.model.values import TAG, Json

LOSSES: Mapping[str, str] = {
    "unparsable_arguments": "calls whose arguments are no JSON object: kept as written, unknown to argument checks",
    "results_without_call": "results that answer no recorded call",
    "shared_results": "results that answer several calls at once: repeated for each of them",
    "system_messages": "system prompts: they are no step of the agent",
    "unread_fields": "fields of messages that have no place in a step",
}
"""Every kind of loss in a message list, and what it means."""

_READ = frozenset(
    {"role", "content", "name", "refusal", "tool_calls", "tool_call_id", "tool_call_ids", "function_call"}
)
_SYSTEM = ("system", "developer")
_RESULT = ("tool", "function")


class MessageError(ValueError):
    """A message (``message`` counts from 1, 0: the whole list) that is none, and what to do."""

    def __init__(self, what: str, *, message: int = 0, hint: str = "") -> None:
        super().__init__(what)
        self.message = message
        self.hint = hint


class _Call(Struct):
    """A call as its message has it. ``raw`` is the arguments as they came, ``free`` that they are text by design."""

    name: str
    call_id: str
    raw: Json
    turn: int
    free: bool = False


class Chat:
    """A message list, read once.

    ``steps`` · ``opening``: the messages before the agent's first · ``system_messages``: how many of them are
    system prompts · ``open``: calls that no result answered · ``answer``: the last text of the agent, None when it
    said nothing · ``last``: the last message, {} when there is none · ``last_tool``: the tool of the last result.
    """

    def __init__(self, messages: Sequence[Json], losses: Counter[str], *, error_prefix: str | None = None) -> None:
        """Results that start with ``error_prefix`` are errors and the others are none; None: nobody knows.

        Raises :class:`MessageError`.
        """
        self.steps: list[Step] = []
        self.open: list[_Call] = []
        self.opening: list[Json] = []
        self.answer: str | None = None
        self.last: dict[str, Any] = {}
        self.last_tool = ""
        self._losses = losses
        self._error_prefix = error_prefix
        self._turn = 0
        for number, message in enumerate(messages, 1):
            try:
                self._read(message, is_last=number == len(messages))
            except MessageError as error:
                error.message = number
                raise
        self.system_messages = sum(message["role"] in _SYSTEM for message in self.opening)

    @property
    def ends_on_open_call(self) -> bool:
        """Nothing but results follows the agent's last message, and a call of it has none."""
        return self.last.get("role") in ("assistant", *_RESULT) and any(call.turn == self._turn for call in self.open)

    def trajectory(self, *, truncated: bool, errors_recorded: bool) -> Trajectory:
        """The steps as a record. A message list never says how the run ended."""
        return Trajectory(steps=tuple(self.steps), truncated=truncated, errors_recorded=errors_recorded)

    def _read(self, message: Json, *, is_last: bool) -> None:
        if not isinstance(message, dict):
            raise MessageError(f"a message is an object, not {_kind(message)}")
        role = message.get("role")
        if not isinstance(role, str):
            raise MessageError(
                "the message has no role", hint="every message has a role: system, user, assistant, tool"
            )
        self.last = message
        self._losses["unread_fields"] += sum(value is not None for key, value in message.items() if key not in _READ)
        if self._turn == 0 and role not in ("assistant", *_RESULT):
            self.opening.append(message)
        if role in _RESULT:
            self._result(message)
        elif role == "assistant":
            self._assistant(message, is_last=is_last)
        elif role not in _SYSTEM or self._turn:
            self._step("message", arguments=_said(message))

    def _assistant(self, message: dict[str, Any], *, is_last: bool) -> None:
        self._turn += 1
        calls = self._calls(message)
        said = _said(message)
        content = said["content"]
        if isinstance(content, str) and content:
            self.answer = content
        if content or "refusal" in said or not calls:
            self._step("final" if is_last and not calls else "message", arguments=said)
        for call in calls:
            self._step(
                "tool_call",
                tool_name=call.name,
                call_id=call.call_id or None,
                arguments=call.raw if call.free else self._arguments(call.raw),
                turn=self._turn if len(calls) > 1 else None,
            )
        self.open.extend(calls)

    def _calls(self, message: dict[str, Any]) -> list[_Call]:
        entries = message.get("tool_calls") or []
        if not isinstance(entries, list):
            raise MessageError(f"tool_calls is a list, not {_kind(entries)}")
        legacy = message.get("function_call")
        calls: list[_Call] = []
        by_index: dict[int, _Call] = {}
        for entry in entries if legacy is None else [*entries, {"function": legacy}]:
            match entry:
                case {"function": {"name": str(name), **function}} if name:
                    call = _Call(name, _text_id(entry.get("id")), function.get("arguments"), self._turn)
                case {"custom": {"name": str(name), **custom}} if name:
                    call = _Call(name, _text_id(entry.get("id")), custom.get("input"), self._turn, free=True)
                case {"index": int(index), "function": {"arguments": str(more)}} if index in by_index:
                    by_index[index].raw = f"{by_index[index].raw or ''}{more}"  # the next fragment of a stream
                    continue
                case _:
                    raise MessageError("a tool call has no function name")
            calls.append(call)
            if isinstance(index := entry.get("index"), int):
                by_index[index] = call
        return calls

    def _arguments(self, raw: Json) -> Json:
        """An object as it is; None when not recorded; anything else is kept as written and unknown, never {}."""
        value = raw
        if isinstance(raw, str):
            try:
                value = read_json(raw.encode())
            except NotJson:
                value = UNSET
        if value is None and raw is None:
            return None
        if isinstance(value, dict):
            return value
        self._losses["unparsable_arguments"] += 1
        return {TAG: raw if isinstance(raw, str) else encode(raw).decode()}

    def _result(self, message: dict[str, Any]) -> None:
        ids = message.get("tool_call_ids")
        answered = [_text_id(call_id) for call_id in ids] if isinstance(ids, list) and ids else [""]
        if answered == [""]:
            answered = [_text_id(message.get("tool_call_id"))]
        self._losses["shared_results"] += len(answered) > 1
        content = _content(message.get("content"))
        error: Any = UNSET
        if self._error_prefix is not None:
            error = content if isinstance(content, str) and content.startswith(self._error_prefix) else None
        said_name = message.get("name")
        for call_id in answered:
            call = self._answered(call_id, said_name if isinstance(said_name, str) else None)
            self._losses["results_without_call"] += call is None
            name = call.name if call else said_name
            self.last_tool = name if isinstance(name, str) else ""
            self._step(
                "tool_result" if self.last_tool else "observation",
                tool_name=self.last_tool or None,
                call_id=call_id or (call.call_id if call else "") or None,
                result=UNSET if isinstance(error, str) else content,
                error=error,
            )

    def _answered(self, call_id: str, name: str | None) -> _Call | None:
        """The call that a result answers, taken off the open ones; None when there is none."""
        found = [call for call in self.open if call.call_id == call_id] if call_id else []
        if not found:
            # an id that no call has says nothing about calls that have none; without an id, order and name decide
            unnamed = [call for call in self.open if not (call_id and call.call_id)]
            found = [call for call in unnamed if name is None or call.name == name]
        if not found:
            return None
        latest = found[-1].turn
        answered = next(call for call in found if call.turn == latest)
        self.open = [call for call in self.open if call is not answered]
        return answered

    def _step(self, kind: StepKind, **fields: Any) -> None:
        self.steps.append(Step(index=len(self.steps) + 1, kind=kind, **fields))


def _said(message: dict[str, Any]) -> dict[str, Any]:
    """What a message says, as the arguments of its step."""
    said = {"role": message["role"], "content": _content(message.get("content"))}
    said |= {key: message[key] for key in ("name", "refusal") if message.get(key) is not None}
    return said


def _content(content: Json) -> Json:
    """Text parts joined; any other content as it is."""
    match content:
        case [*parts] if parts and all(isinstance(part, dict) and part.get("type") == "text" for part in parts):
            return "".join(part["text"] for part in parts if isinstance(part.get("text"), str))
        case _:
            return content


def _text_id(value: Json) -> str:
    return value if isinstance(value, str) else "" if value is None else encode(value).decode()


def _kind(value: Json) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a truth value"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "an array"
        case _:
            return "an object"
