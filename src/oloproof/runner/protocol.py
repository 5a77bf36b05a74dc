"""What the process that CI waits for and a worker say to each other: JSON values, a line each, over a socket of theirs.

The parent sends orders, the worker answers with words. A line never holds a raw line feed, since JSON escapes it. A
worker also keeps a *slot* for each attempt that it runs: a file of lines that outlives it, with the attempt's number
and everything that was recorded, or judged, so far.

User code shares the worker's process, and may write whatever it likes to either. What has arrived over the socket
cannot be taken back; so it is there that a worker says what it begins, before user code hears of it.
"""

from __future__ import annotations

import mmap
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import UNSET, Struct, field

from oloproof.errors import BrokenError, Problem, UsageError
from oloproof.model.case import Attempt, AttemptError, Case, State
from oloproof.model.judgment import Judgment
from oloproof.model.project import UserEvaluatorSpec
from oloproof.model.trajectory import Trajectory
from oloproof.record.journal import Event

MAX_LINE_BYTES = 64 * 1024 * 1024
"""What one attempt may send, and what is read of its slot; a larger output is that case's error."""

NESTING_LEFT = 400
"""How many levels more than its own what was received could be nested in and still be written and read again."""


class Declared(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the decorator says of the system; None where it says nothing. ``code`` identifies what it is made of, or the
    evaluators are, "" where nobody looked."""

    name: str | None = None
    version: str | None = None
    records: tuple[str, ...] | None = None
    code: str = ""


# --- orders: parent to worker --------------------------------------------------------------------------------------


class LoadSystem(Struct, frozen=True, tag="load_system"):
    """Load the system. ``directory`` is a path in the file system's own bytes, which need not be text. ``memory_mb`` is
    how many mebibytes of address space the worker may have, None as many as it likes. Of texts with a limit so many
    ``spare_chars`` more are sent."""

    target: str
    directory: bytes
    timeout_s: float
    memory_mb: int | None = None
    spare_chars: int = 0


class LoadEvaluators(Struct, frozen=True, tag="load_evaluators"):
    """Load what judges cases."""

    functions: tuple[UserEvaluatorSpec, ...]
    directory: bytes
    timeout_s: float
    spare_chars: int = 0


class RunCase(Struct, frozen=True, omit_defaults=True, tag="run"):
    """Run the system on one case. What is expected of the case is not there to be seen."""

    n: int
    case_id: str
    input: Any
    seed: int
    trial: int = 1
    metadata: dict[str, Any] = field(default_factory=dict)


class JudgeCase(Struct, frozen=True, omit_defaults=True, tag="judge"):
    """Ask the user's evaluators about one attempt: all but those of the criteria in ``had``, which had their turn."""

    n: int
    case: Case
    attempt: Attempt
    had: tuple[str, ...] = ()


class Halt(Struct, frozen=True, tag="halt"):
    """Launch nothing more; answer with what was not launched."""


class Stop(Struct, frozen=True, tag="stop"):
    """End normally, exit hooks included."""


Order = LoadSystem | LoadEvaluators | RunCase | JudgeCase | Halt | Stop


# --- words: worker to parent ---------------------------------------------------------------------------------------


class Ready(Struct, frozen=True, omit_defaults=True, tag="ready"):
    """The user's code is loaded; ``printed`` is what it printed meanwhile. ``tears_down``: it has something to do at
    its end."""

    declared: Declared
    printed: str = ""
    tears_down: bool = False


class Failed(Struct, frozen=True, omit_defaults=True, tag="failed"):
    """The user's code could not be loaded. ``usage``: the name is wrong, rather than what it names."""

    usage: bool
    code: str
    message: str
    hint: str = ""

    def error(self, config: str) -> UsageError | BrokenError:
        """The same as an error; a wrong name was written in the configuration."""
        if self.usage:
            return UsageError(Problem(self.code, self.message, self.hint, file=config))
        return BrokenError(self.message, code=self.code, hint=self.hint)


class Began(Struct, frozen=True, tag="began"):
    """Attempt ``n`` begins at ``at`` on the monotonic clock, which all processes share."""

    n: int
    at: float


class Ran(Struct, frozen=True, omit_defaults=True, tag="ran"):
    """What one attempt left. ``printed_before``: what was printed since the attempt before it, which is no case's."""

    n: int
    output: Any = UNSET
    error: AttemptError | None = None
    trajectory: Trajectory | None = None
    state: State | None = None
    log: str = ""
    printed_before: str = ""
    duration_ms: float | None = None


class Judged(Struct, frozen=True, tag="judged"):
    """The user's verdicts on one attempt, by criterion."""

    n: int
    judgments: dict[str, Judgment]


class Reached(Struct, frozen=True, tag="reached"):
    """One verdict on the attempt that is being judged, noted in its slot."""

    criterion: str
    judgment: Judgment


class Dropped(Struct, frozen=True, tag="dropped"):
    """The orders that a halt kept from being launched."""

    numbers: tuple[int, ...]


class TornDown(Struct, frozen=True, omit_defaults=True, tag="torn_down"):
    """The system has done what it does after its last case; ``problem`` is what went wrong, "" for nothing."""

    problem: str = ""


Result = Ran | Judged
Word = Ready | Failed | Began | Ran | Judged | Dropped | TornDown


class Garbled(Struct, frozen=True):
    """What came over the link and is no word, for the reason ``why``."""

    why: str


# --- bytes ---------------------------------------------------------------------------------------------------------

_encoder = msgspec.json.Encoder()
encode = _encoder.encode
decode_order = msgspec.json.Decoder(Order).decode
decode_word = msgspec.json.Decoder(Word).decode


def encoded(result: Result | Judgment, *, shared_by: int = 1) -> bytes | str:
    """A result as bytes, or why it cannot be sent: it is too large, or holds what JSON cannot carry.

    ``shared_by`` is how many results share the room of one.
    """
    most = MAX_LINE_BYTES // shared_by
    try:
        line = encode(result)
    except Exception as exc:
        return f"{type(exc).__name__}: {exc}"
    if len(line) > most:
        return f"it takes {len(line)} bytes, and at most {most} are taken"
    return line


def heard(line: bytes) -> Word | Garbled:
    """The word that a line says."""
    try:
        refuse_deep(line)
        return decode_word(line)
    except Exception as exc:  # beside what is no JSON: RecursionError, MemoryError
        return Garbled(str(exc))


def refuse_deep(line: bytes) -> None:
    """Errors: RecursionError when what the line holds could be decoded here and not be encoded elsewhere."""
    if len(line) > NESTING_LEFT and line.count(b"[") + line.count(b"{") > NESTING_LEFT:
        msgspec.json.decode(b"[" * NESTING_LEFT + line + b"]" * NESTING_LEFT)


class Lines:
    """Cuts a stream of bytes into lines.

    Errors: ValueError for a line longer than ``limit`` bytes, the beginning of which is forgotten.
    """

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
                self._parts, self._size = [], 0
                raise ValueError(f"a line of more than {self._limit} bytes")
            return []
        *lines, rest = b"".join(self._parts).split(b"\n")
        self._parts, self._size = [rest], len(rest)
        return lines


# --- slots ---------------------------------------------------------------------------------------------------------


Entry = Event | Reached
"""What is noted of an attempt after it began."""


_MAPPED_BYTES = 64 * 1024
"""What is mapped of a slot at first."""


class Slot:
    """The worker's end of a slot: a best effort. Where it cannot be written, only a killed process loses by it.

    Entries go into memory that is shared with the file, which costs an agent nothing of what a call of the kernel
    does, and outlives the process all the same. What an earlier attempt left behind them is cut off by a zero byte; the
    first byte of an entry is written last, so that whoever is killed in the middle has not written any of it.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._end = 0
        self._map: mmap.mmap | bytearray = bytearray()
        self._mapped = 0
        self._outgrown: list[object] = []
        """Never closed: each has a file's number, which user code may have closed and given to a file of its own."""
        self._map_more(_MAPPED_BYTES)

    def begin(self, began: Began) -> None:
        """Forget the attempt before, and say that this one begins."""
        try:
            if self._mapped:
                self._map[0] = 0  # a zero byte cuts off what lies behind it, and the attempt before is forgotten
            else:
                os.ftruncate(self._fd, 0)
        except OSError:
            return
        if isinstance(self._map, mmap.mmap) and self._mapped > _MAPPED_BYTES:
            with suppress(OSError):
                self._map.madvise(mmap.MADV_REMOVE)  # a long trace keeps no memory for all times
        self._end = 0
        self.write(began)

    def write(self, entry: Began | Entry) -> None:
        """Keep the entry outside of this process, whatever becomes of it."""
        self.keep(encode(entry))

    def keep(self, line: bytes) -> None:
        """The same of one that is encoded."""
        start = self._end
        end = start + len(line) + 1
        if end >= self._mapped:
            self._map_more(min(2 * end, MAX_LINE_BYTES))
        rest = line[1:] + b"\n\0"
        if end < self._mapped:
            self._map[start + 1 : end + 1] = rest
            self._map[start] = line[0]
        elif end < MAX_LINE_BYTES:
            try:
                os.pwrite(self._fd, rest, start + 1)
                os.pwrite(self._fd, line[:1], start)
            except OSError:
                return
        self._end = end

    def _map_more(self, size: int) -> None:
        """Where a file lies on a disk that may be full, writing to its memory would kill the process: not so here."""
        if sys.platform != "linux" or size <= self._mapped:
            return
        with suppress(OSError, ValueError):
            os.ftruncate(self._fd, size)
            larger = mmap.mmap(self._fd, size)
            self._outgrown.append(self._map)
            self._map, self._mapped = larger, size


_READ_BYTES = 1024 * 1024
_decode_entry = msgspec.json.Decoder(Began | Entry).decode


def read_slot(fd: int) -> tuple[Began, list[Entry]] | None:
    """What the slot of a dead worker holds, up to the first entry that is none; None when nothing had begun.

    User code may have made the file as long as it liked: what is past :data:`MAX_LINE_BYTES` is not read.
    """
    entries = _entries(_lines_of(fd))
    began = next(entries, None)
    if not isinstance(began, Began):
        return None
    return began, [entry for entry in entries if not isinstance(entry, Began)]


def _lines_of(fd: int) -> Iterator[bytes]:
    lines = Lines()
    for start in range(0, min(os.fstat(fd).st_size, MAX_LINE_BYTES), _READ_BYTES):
        yield from lines.feed(os.pread(fd, min(_READ_BYTES, MAX_LINE_BYTES - start), start))


def _entries(lines: Iterable[bytes]) -> Iterator[Began | Entry]:
    for line in lines:
        try:
            refuse_deep(line)
            yield _decode_entry(line)
        except Exception:  # cut short by the worker's end, or written by user code
            return
