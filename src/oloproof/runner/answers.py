"""What a system outside of Python is asked and answers: JSON, the same over a pipe and over HTTP.

The question is one line. The answer is one document (``output``, ``trajectory``, ``error``), or a stream of lines: each
step as it happens, then the document that ends it. What was streamed before a system died, or before it told of an
error and of no end, is a truncated prefix.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET, MsgspecError, Struct, UnsetType, ValidationError

from oloproof.importers.duplicates import repeated_key
from oloproof.importers.unreadable import remedy
from oloproof.model.case import AttemptError, State, system_error
from oloproof.model.recording import decoded
from oloproof.model.trajectory import Checkpoint, ConstraintCheck, Step, TerminalStatus, Trajectory, contradiction
from oloproof.record.journal import (
    CheckpointRecorded,
    CheckRecorded,
    Event,
    Finished,
    Opened,
    StepRecorded,
    recorded,
)
from oloproof.runner.protocol import Ran, RunCase, refuse_deep

MAX_ANSWER_BYTES = 64 * 1024 * 1024
"""How long an answer may be; a longer one is that case's error."""


class Question(Struct, frozen=True):
    """What a system may know of a case: not what is expected of it."""

    case: str
    input: Any
    metadata: dict[str, Any]
    trial: int
    seed: int


class TraceOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What holds for a streamed trajectory from its beginning on."""

    step_limit: int | None = None
    errors_recorded: bool = True


class Line(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A line of an answer: one of ``trace``, ``step``, ``check`` and ``checkpoint``, or the document that ends it.

    ``case`` and ``trial`` may repeat what was asked. ``terminal_status`` and ``truncated`` end a streamed trajectory;
    a whole one brings its own.
    """

    trace: TraceOptions | UnsetType = UNSET
    step: Step | UnsetType = UNSET
    check: ConstraintCheck | UnsetType = UNSET
    checkpoint: Checkpoint | UnsetType = UNSET
    case: str | UnsetType = UNSET
    trial: int | UnsetType = UNSET
    output: Any = UNSET
    error: AttemptError | str | UnsetType | None = UNSET
    trajectory: Trajectory | UnsetType | None = UNSET
    terminal_status: TerminalStatus | UnsetType = UNSET
    truncated: bool | UnsetType = UNSET
    state: State | UnsetType = UNSET


class Answer(NamedTuple):
    """What became of one case outside."""

    output: Any
    error: AttemptError | None
    trajectory: Trajectory | None
    state: State | None = None

    def ran(self, order: RunCase, *, duration_ms: float, log: str = "") -> Ran:
        """The same as what a worker says of an attempt."""
        return Ran(
            order.n,
            output=self.output,
            error=self.error,
            trajectory=self.trajectory,
            state=self.state,
            log=log,
            duration_ms=duration_ms,
        )


_NO_JSON = "is no JSON"
_EVENTS = ("trace", "step", "check", "checkpoint")
_decode = msgspec.json.Decoder(Line).decode


def question(order: RunCase) -> bytes:
    """What the system is told, as one line."""
    asked = Question(order.case_id, order.input, order.metadata, order.trial, order.seed)
    return msgspec.json.encode(asked) + b"\n"


def answer(
    data: bytes, order: RunCase, failure: AttemptError | None = None, *, spare: int = 0, remedy_for_text: str = ""
) -> Answer:
    """What ``data``, all that a system answered, says of the case.

    ``failure`` is how the system ended otherwise than well: then there is no output that could be trusted, a last line
    that was cut short is nobody's fault, and what was streamed is a prefix. A document that came with a whole
    trajectory before that leaves it finished. What an error quotes is cut so many bytes later as ``spare`` says.
    ``remedy_for_text`` is what to do about a line that is plain text.
    """
    told = _Told(order, spare, remedy_for_text)
    wrong = told.read(data, is_cut=failure is not None)
    if wrong is None and told.document is None:
        wrong = "no document ended its answer" if data.strip() else "it answered nothing"
    trajectory = told.trajectory(is_over=failure is None and wrong is None)
    contradicted = None if trajectory is None else contradiction(trajectory)
    if contradicted is not None:
        trajectory = told.sound_prefix()
        wrong = wrong or f"its trajectory contradicts itself: {contradicted}"
    if failure is None and wrong is not None:
        failure = system_error(wrong)
    if failure is not None:
        return Answer(UNSET, failure, trajectory)
    assert told.document is not None
    said, state = told.document.error, told.document.state or None
    if said is UNSET or said is None:
        return Answer(told.document.output, None, trajectory, state)
    error = system_error(said) if isinstance(said, str) else said
    return Answer(UNSET, error, trajectory, state)


class _Told:
    """An answer as far as it could be read."""

    def __init__(self, order: RunCase, spare: int, remedy_for_text: str) -> None:
        self._order = order
        self._spare = spare
        self._remedy = f"; {remedy_for_text}" if remedy_for_text else ""
        self._events: list[Event] = []
        self.document: Line | None = None

    def read(self, data: bytes, *, is_cut: bool) -> str | None:
        """Take an answer in. What is wrong with it, None when nothing is; what stands before that was taken."""
        if len(data) > MAX_ANSWER_BYTES:
            return f"its answer takes more than {MAX_ANSWER_BYTES} bytes"
        lines = list(_lines(data))
        for position, (number, text) in enumerate(lines):
            line = _line(text, self._spare)
            if isinstance(line, str) and position == 0 and isinstance(whole := _line(data, self._spare), Line):
                return self._take(whole)  # one document that is printed over several lines
            if isinstance(line, str) and is_cut and position == len(lines) - 1:
                return None
            wrong = line if isinstance(line, str) else self._take(line)
            if wrong is not None:
                return f"line {number} of its answer {wrong}{self._remedy if wrong.startswith(_NO_JSON) else ''}"
        return None

    def _take(self, line: Line) -> str | None:
        events = [name for name in _EVENTS if getattr(line, name) is not UNSET]
        if self.document is not None:
            return "comes after the document that ends it"
        if not events:
            return self._end_with(line)
        if len(events) > 1 or any(getattr(line, name) is not UNSET for name in Line.__struct_fields__[len(_EVENTS) :]):
            return f"holds more than one thing: {events[0]} stands alone on its line"
        if line.trace is not UNSET and self._events:
            return "says what holds for the trajectory after it has begun"
        if line.trace is UNSET and not self._events:
            self._events.append(Opened())
        self._events += _event(line)
        return None

    def _end_with(self, line: Line) -> str | None:
        asked = self._order
        if line.case is not UNSET and line.case != asked.case_id:
            return f"is for case {line.case[: 100 + self._spare]!r}, and {asked.case_id!r} was asked"
        if line.trial is not UNSET and line.trial != asked.trial:
            return f"is for trial {line.trial}, and {asked.trial} was asked"
        streamed = _says_its_end(line)
        if line.trajectory is not UNSET and (streamed or self._events):
            return "brings a trajectory, and one was streamed"
        if streamed and not self._events:
            return "ends a trajectory of which nothing was streamed"
        if line.output is UNSET and (line.error is UNSET or line.error is None):
            return "has neither an output nor an error"
        if isinstance(line.error, AttemptError) and line.error.kind == "not_run":
            return "says that it was not run"
        self.document = line
        return None

    def trajectory(self, *, is_over: bool) -> Trajectory | None:
        """What was recorded: whole where the document brought or ended it, else the prefix that makes sense."""
        if self.document is not None and self.document.trajectory is not UNSET:
            return self.document.trajectory
        events = self._events
        if events and is_over and self.document is not None and _ends_stream(self.document):
            status, truncated = self.document.terminal_status, self.document.truncated
            events = [*events, Finished("unknown" if status is UNSET else status, truncated is True)]
        return recorded(events)

    def sound_prefix(self) -> Trajectory | None:
        """What was streamed up to where it contradicts itself; of a whole trajectory that does, nothing."""
        if self.document is not None and self.document.trajectory is not UNSET:
            return None
        sound, wrong = 0, len(self._events)
        while wrong - sound > 1:
            middle = (sound + wrong) // 2
            prefix = recorded(self._events[:middle])
            if prefix is None or contradiction(prefix) is None:
                sound = middle
            else:
                wrong = middle
        return recorded(self._events[:sound])


def _says_its_end(line: Line) -> bool:
    return line.terminal_status is not UNSET or line.truncated is not UNSET


def _ends_stream(document: Line) -> bool:
    """Whether what was streamed before the document is all that there was. An agent that reports an error has died with
    it, unless it says how its trajectory ended."""
    return document.error is UNSET or document.error is None or _says_its_end(document)


def _event(line: Line) -> Iterator[Event]:
    if line.trace is not UNSET:
        yield Opened(line.trace.step_limit, line.trace.errors_recorded)
    if line.step is not UNSET:
        yield StepRecorded(line.step)
    if line.check is not UNSET:
        yield CheckRecorded(line.check)
    if line.checkpoint is not UNSET:
        yield CheckpointRecorded(line.checkpoint)


def _lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank, numbered from 1."""
    for number, text in enumerate(data.split(b"\n"), 1):
        if text.strip():
            yield number, text


def _line(text: bytes, spare: int) -> Line | str:
    """What a line says, or what is wrong with it as the end of a sentence."""
    try:
        refuse_deep(text)
        line = decoded(text, Line, _decode)
    except ValidationError as error:
        hint = remedy(error, Line.__struct_fields__)
        return f"is no answer: {error}" + (f"; {hint}" if hint else "")
    except (MsgspecError, RecursionError) as error:
        return f"{_NO_JSON}: {error}, in {text[: 60 + spare].decode(errors='replace')!r}"
    repeated = repeated_key(text)
    return line if repeated is None else f"has the key {repeated!r} twice"
