"""What the process that CI waits for and a worker say to each other: JSON values, a line each, over a socket of theirs.

The parent sends orders, the worker answers with words. A line never holds a raw line feed, since JSON escapes it. A
worker also keeps a *slot* for each attempt that it runs: a file of lines that outlives it, with the attempt's number
and everything that was recorded so far.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec import UNSET, Struct, field

from oloproof.model.case import Attempt, AttemptError, Case
from oloproof.model.judgment import Judgment
from oloproof.model.project import UserEvaluatorSpec
from oloproof.model.trajectory import Trajectory
from oloproof.record.journal import Event

MAX_LINE_BYTES = 64 * 1024 * 1024
"""What one attempt may send; a larger output is that case's error."""


class Declared(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the decorator says of the system; None where it says nothing."""

    name: str | None = None
    version: str | None = None
    records: tuple[str, ...] | None = None


# --- orders: parent to worker --------------------------------------------------------------------------------------


class LoadSystem(Struct, frozen=True, tag="load_system"):
    target: str
    directory: str
    timeout_s: float


class LoadEvaluators(Struct, frozen=True, tag="load_evaluators"):
    """Load what judges cases."""

    functions: tuple[UserEvaluatorSpec, ...]
    directory: str
    timeout_s: float


class RunCase(Struct, frozen=True, omit_defaults=True, tag="run"):
    """Run the system on one case. What is expected of the case is not there to be seen."""

    n: int
    case_id: str
    input: Any
    seed: int
    trial: int = 1
    metadata: dict[str, Any] = field(default_factory=dict)


class JudgeCase(Struct, frozen=True, tag="judge"):
    """Ask the user's evaluators about one attempt."""

    n: int
    case: Case
    attempt: Attempt


class Halt(Struct, frozen=True, tag="halt"):
    """Launch nothing more; answer with what was not launched."""


class Stop(Struct, frozen=True, tag="stop"):
    """End normally, exit hooks included."""


Order = LoadSystem | LoadEvaluators | RunCase | JudgeCase | Halt | Stop


# --- words: worker to parent ---------------------------------------------------------------------------------------


class Ready(Struct, frozen=True, tag="ready"):
    declared: Declared


class Failed(Struct, frozen=True, omit_defaults=True, tag="failed"):
    """The user's code could not be loaded. ``usage``: the name is wrong, rather than what it names."""

    usage: bool
    code: str
    message: str
    hint: str = ""


class Ran(Struct, frozen=True, omit_defaults=True, tag="ran"):
    """What one attempt left."""

    n: int
    output: Any = UNSET
    error: AttemptError | None = None
    trajectory: Trajectory | None = None
    log: str = ""
    duration_ms: float | None = None


class Judged(Struct, frozen=True, tag="judged"):
    """The user's verdicts on one attempt, by criterion."""

    n: int
    judgments: dict[str, Judgment]


class Dropped(Struct, frozen=True, tag="dropped"):
    """The orders that a halt kept from being launched."""

    numbers: tuple[int, ...]


Result = Ran | Judged
Word = Ready | Failed | Ran | Judged | Dropped


# --- bytes ---------------------------------------------------------------------------------------------------------

_encoder = msgspec.json.Encoder()
encode = _encoder.encode
decode_order = msgspec.json.Decoder(Order).decode
decode_word = msgspec.json.Decoder(Word).decode


def encoded(result: Result) -> bytes | str:
    """A result as bytes, or why it cannot be sent: it is too large, or holds what JSON cannot carry."""
    try:
        line = encode(result)
    except Exception as exc:
        return f"{type(exc).__name__}: {exc}"
    if len(line) > MAX_LINE_BYTES:
        return f"it takes {len(line)} bytes, and at most {MAX_LINE_BYTES} are taken"
    return line


class Lines:
    """Cuts a stream of bytes into lines. Errors: ValueError for a line longer than ``limit`` bytes."""

    def __init__(self, limit: int = 4 * MAX_LINE_BYTES) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that are whole now, without their line feeds."""
        self._parts.append(data)
        self._size += len(data)
        if b"\n" not in data:
            if self._size > self._limit:
                raise ValueError(f"a line of more than {self._limit} bytes")
            return []
        *lines, rest = b"".join(self._parts).split(b"\n")
        self._parts, self._size = [rest], len(rest)
        return lines


# --- slots ---------------------------------------------------------------------------------------------------------


class Began(Struct, frozen=True, tag="began"):
    """Attempt ``n`` began at ``at`` on the monotonic clock, which all processes share."""

    n: int
    at: float


class Slot:
    """The worker's end of a slot: a best effort. Where it cannot be written, only a killed process loses by it."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._end = 0

    def begin(self, n: int, at: float) -> None:
        """Forget the attempt before, and say that this one begins."""
        try:
            os.ftruncate(self._fd, 0)
        except OSError:
            return
        self._end = 0
        self.write(Began(n, at))

    def write(self, entry: Began | Event) -> None:
        """Hand the entry to the kernel, which keeps it whatever becomes of this process."""
        try:
            self._end += os.pwrite(self._fd, encode(entry) + b"\n", self._end)
        except OSError:
            return


_decode_entry = msgspec.json.Decoder(Began | Event).decode


def read_slot(fd: int) -> tuple[Began, list[Event]] | None:
    """What the slot of a dead worker holds, up to the entry that its end cut short; None when nothing had begun."""
    size = os.fstat(fd).st_size
    entries = _entries(os.pread(fd, size, 0).split(b"\n")[:-1])
    began = next(entries, None)
    if not isinstance(began, Began):
        return None
    return began, [entry for entry in entries if not isinstance(entry, Began)]


def _entries(lines: Iterable[bytes]) -> Iterator[Began | Event]:
    for line in lines:
        try:
            yield _decode_entry(line)
        except msgspec.DecodeError:
            return
