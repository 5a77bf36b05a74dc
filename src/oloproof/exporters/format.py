"""What an exporter is, and how a stored attempt becomes what it is given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Final, Protocol

from msgspec import UNSET, Struct
from msgspec.json import encode

from oloproof.importers.foreign import arguments_of
from oloproof.model.recording import Recording
from oloproof.model.run import CaseRecord
from oloproof.model.trajectory import Step
from oloproof.model.values import TAG, Json

SHARED_LOSSES: Final[Mapping[str, str]] = {
    "changed_files": "cases whose recorded file is not what it was, or is gone: left out",
    "not_run": "cases that were not run: left out",
    "logs": "what user code printed while a case ran",
}
"""What no format has a place for."""

TRACE_LOSSES: Final[Mapping[str, str]] = {
    "agent": "steps that name their agent",
    "arguments": "arguments that are no object, and messages that are more than a role and a text",
    "call_id": "results that name another call than they answer, or none",
    "checkpoints": "trajectories with checkpoints",
    "constraints": "trajectories with constraint checks",
    "decisions": "decisions: left out",
    "expected": "what was expected of cases",
    "failures": "errors of whole runs",
    "handoffs": "hand-offs: left out",
    "metadata": "metadata of steps and cases",
    "nested": "steps inside a call: left out",
    "observations": "observations: left out",
    "output": "outputs that are not the agent's last words",
    "state": "states that cases left",
    "step_limit": "limits on steps",
    "system_messages": "messages that are neither the user's nor the agent's: left out",
    "terminal_status": "how runs ended",
    "tool_name": "results that name another tool than they answer",
}
"""What neither ATIF nor OpenTelemetry has a place for."""

_OTHERS: Final = ("system", "developer", "tool", "function")
"""Roles of messages that are neither the user's nor the agent's."""

Writer = Callable[[Iterable[Recording], Counter[str]], Iterator[bytes]]


class Exporter(Struct, frozen=True, kw_only=True):
    """A format. ``write`` gives the file piece by piece and counts what it has no place for, by the kinds of
    ``losses``, each with what it means."""

    name: str
    about: str
    write: Writer
    losses: Mapping[str, str] = {}

    def meaning(self, kind: str) -> str:
        """What a kind of loss is."""
        return self.losses[kind] if kind in self.losses else SHARED_LOSSES[kind]


def recording_of(record: CaseRecord | None, losses: Counter[str]) -> Recording | None:
    """An attempt as a recording; None where there was none, or it cannot be read any more (None)."""
    if record is None:
        losses["changed_files"] += 1
        return None
    case, attempt = record.case, record.attempt
    if attempt.not_run:
        losses["not_run"] += 1
        return None
    losses["logs"] += bool(attempt.log)
    return Recording(
        case=attempt.case_id,
        trial=attempt.trial,
        output=attempt.output,
        error=attempt.error,
        trajectory=attempt.trajectory,
        state=attempt.state,
        input=UNSET if case.input is None else case.input,
        expected=case.expected or None,
        metadata=case.metadata or None,
    )


def count_changes(before: Struct, after: Struct, losses: Counter[str], *, apart_from: Collection[str] = ()) -> None:
    """Count every field that differs, under its name."""
    for name in before.__struct_fields__:
        if name not in apart_from and getattr(before, name) != getattr(after, name):
            losses[name] += 1


def count_around(recording: Recording, losses: Counter[str]) -> None:
    """Count what neither ATIF nor OpenTelemetry has a place for beside the trajectory."""
    losses["failures"] += recording.error is not None
    losses["state"] += recording.state is not None
    losses["expected"] += recording.expected is not None
    losses["metadata"] += recording.metadata is not None


class Teller(Protocol):
    """What writes the steps that a format of traces has a place for."""

    def say(self, step: Step) -> None:
        """A message of the user or the agent, or the agent's last words."""

    def call(self, step: Step) -> None:
        """A tool call."""

    def result(self, step: Step) -> None:
        """What came back."""


def tell_steps(steps: Iterable[Step], teller: Teller, losses: Counter[str]) -> None:
    """Tell them one by one, and count what neither ATIF nor OpenTelemetry has a place for."""
    for step in steps:
        if step.inside is not None:
            losses["nested"] += 1
            continue
        match step.kind:
            case "message" | "final":
                if words_of(step)[0] in _OTHERS:
                    losses["system_messages"] += 1
                else:
                    teller.say(step)
            case "tool_call":
                teller.call(step)
            case "tool_result":
                teller.result(step)
            case kind:
                losses[f"{kind}s"] += 1


def raw_arguments(arguments: Json) -> Json:
    """What is read back as these arguments; None where nothing is, or they were not recorded."""
    raw = arguments[TAG] if isinstance(arguments, dict) and list(arguments) == [TAG] else arguments
    return raw if arguments is not None and arguments_of(raw) == arguments else None


def words_of(step: Step) -> tuple[Json, str]:
    """Whose words a message is, and the words as text."""
    said = step.arguments if isinstance(step.arguments, dict) else {}
    content = said.get("content")
    text = content if isinstance(content, str) else "" if content is None else encode(content).decode()
    return said.get("role"), text
