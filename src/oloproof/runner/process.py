"""A worker seen from outside: its process, the link to it, its slots, and what it prints."""

from __future__ import annotations

import os
import select
import selectors
import signal
import socket
import subprocess
import sys
from contextlib import ExitStack, suppress
from math import ceil, inf
from time import monotonic, sleep

from msgspec import Struct

from oloproof.runner.launching import HEARD_S
from oloproof.runner.output import LOG_BYTES, kept_text
from oloproof.runner.protocol import (
    MAX_LINE_BYTES,
    Entry,
    Garbled,
    Lines,
    Order,
    Stop,
    TornDown,
    Word,
    encode,
    heard,
    read_slot,
)
from oloproof.runner.spool import anonymous_file, seal, spool_file, unread

TEARDOWN_S = 30.0
"""How long what a system does after its last case may take, until it is ended."""

GOODBYE_S = 2.0
"""How long a worker may take to end normally (exit hooks, threads of its own) before it is killed."""

GATHER_S = 0.001
"""How long words are let come together that come a few at a time, one behind the other, while the worker waits for
none: each time that this process is woken costs both as much as a short case does."""

_FEW = 32
_READ_BYTES = 256 * 1024
_LAST_READS = 16
"""How often a dead worker's link is read: a process that it left behind may write to it without end."""

_LONGEST_S = 3600.0


class WorkerEnded(Exception):
    """The worker's process is there no more. The text says how it ended."""


_TOLD_TO_SERVERS = frozenset({"GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STATE", "GITHUB_STEP_SUMMARY"})
"""Variables that name files in which a job speaks to GitHub: an agent writes no summary of its own run, and sets no
output that a later step takes for a verdict."""


class RunLog:
    """The first 64 KiB of what workers printed that belongs to no case."""

    def __init__(self, spare: int = 0) -> None:
        self._kept = b""
        self.spare = spare
        """How many bytes more than that are kept."""

    def write(self, data: bytes) -> None:
        self._kept += data[: LOG_BYTES + self.spare + 1 - len(self._kept)]

    def text(self, more: bytes = b"") -> str:
        """What was kept, and ``more`` behind it."""
        return kept_text(self._kept + more, self.spare)


class Remains(Struct, frozen=True):
    """What a dead worker leaves: what it said last, what was recorded or judged by the order's number, and what it had
    printed since it last answered."""

    words: list[Word | Garbled]
    noted: dict[int, list[Entry]]
    printed: bytes


class Waker:
    """Ends the wait of :meth:`WorkerProcess.receive` from a signal handler or another thread."""

    def __init__(self) -> None:
        self._open = True
        self.reader, self._writer = os.pipe()
        os.set_blocking(self.reader, False)
        os.set_blocking(self._writer, False)

    def wake(self) -> None:
        if self._open:
            with suppress(BlockingIOError):  # full: it will wake as it is
                os.write(self._writer, b".")

    def wait(self, seconds: float) -> None:
        """Wait so long, or until woken."""
        poll = select.poll()
        poll.register(self.reader, select.POLLIN)
        if poll.poll(ceil(min(seconds, _LONGEST_S) * 1000)):
            self.drain()

    def drain(self) -> None:
        with suppress(BlockingIOError):
            os.read(self.reader, 4096)

    def close(self) -> None:
        if self._open:
            self._open = False
            os.close(self.reader)
            os.close(self._writer)


class WorkerProcess:
    """A worker's process. It runs in a session of its own, in ``directory``, and is killed with all that it started.

    Errors: OSError when it cannot be started.
    """

    def __init__(self, directory: bytes, *, slots: int, log: RunLog, waker: Waker) -> None:
        self._log = log
        self.heading = b""
        self._waker = waker
        self._lines = Lines(2 * MAX_LINE_BYTES)
        self._unsent = bytearray()
        self._dismissed_at: float | None = None
        self._heard_few_at = -inf
        self._opened = ExitStack()
        with ExitStack() as ours, ExitStack() as theirs:
            self._link, link = socket.socketpair()
            ours.callback(self._link.close)
            theirs.callback(link.close)
            self._spool = spool_file(ours)
            self._slots = [anonymous_file(ours) for _ in range(slots)]
            passed = [link.fileno(), self._spool, *self._slots]
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-u", "-m", "oloproof.runner.worker", *map(str, passed)],
                stdin=subprocess.DEVNULL,
                stdout=self._spool,
                stderr=self._spool,
                cwd=directory,
                env=environment(),
                pass_fds=passed,
                start_new_session=True,
            )
            self._opened = ours.pop_all()
        self._link.setblocking(False)
        self._selector = self._opened.enter_context(selectors.DefaultSelector())
        self._selector.register(self._link, selectors.EVENT_READ)
        self._selector.register(waker.reader, selectors.EVENT_READ)
        self._ending = end_of(self._process, self._opened)
        if self._ending is not None:
            self._selector.register(self._ending, selectors.EVENT_READ)

    def send(self, orders: list[Order]) -> None:
        """Send orders, now or while receiving: the worker may be too busy to take them."""
        self._unsent += b"".join(encode(order) + b"\n" for order in orders)
        self._flush()

    def receive(self, wait_s: float, *, has_orders: bool = False) -> list[Word | Garbled]:
        """What the worker says; an empty list after ``wait_s`` seconds, or when woken. A worker that ``has_orders``
        enough waits for nothing, and may be heard a little later.

        Errors: WorkerEnded, after everything that it said before has been received.
        """
        now = monotonic()
        until = now + wait_s
        if has_orders and now < self._heard_few_at + GATHER_S:
            sleep(GATHER_S)
        while True:
            left = max(0.0, until - monotonic())
            ready = {key.fd for key, _ in self._selector.select(min(left, HEARD_S))}
            if self._unsent:
                self._flush()
            ended = self._ending in ready if self._ending is not None else self._process.poll() is not None
            if self._link.fileno() in ready or ended:
                data = self._read()
                words = self._words_in(data or b"")
                if words:
                    self._heard_few_at = monotonic() if len(words) < _FEW else -inf
                    return words
                if data == b"" or (ended and data is None):
                    raise WorkerEnded(self._how_it_ended())
            if self._waker.reader in ready:
                self._waker.drain()
                return []
            if monotonic() >= until:
                return []

    def printed(self) -> bytes:
        """What it printed and has not told in an answer, below :attr:`heading`."""
        data = unread(self._spool, self._log.spare)
        return self.heading + data if data else b""

    def bury(self) -> Remains:
        """End the process for good, and say what it was doing."""
        self._end_and_reap()
        found = [slot for fd in self._slots if (slot := read_slot(fd)) is not None]
        remains = Remains(self._last_words(), {began.n: entries for began, entries in found}, self.printed())
        self._close()
        return remains

    def dismiss(self) -> None:
        """Tell the worker to end normally, and wait for nothing."""
        if self._dismissed_at is None:
            self._dismissed_at = monotonic()
            with suppress(OSError):
                self.send([Stop()])

    def say_goodbye(self, *, tears_down: bool) -> str:
        """Let the worker end normally, and kill what is left of it after a while. What went wrong where it
        ``tears_down``, "" for nothing."""
        try:
            self.dismiss()
            problem = self._torn_down() if tears_down else ""
            until = monotonic() + GOODBYE_S
            with suppress(WorkerEnded, OSError):
                while (left := until - monotonic()) > 0:
                    self.receive(left)
        finally:
            self.kill()
        return problem

    def _torn_down(self) -> str:
        until = (self._dismissed_at or monotonic()) + TEARDOWN_S
        try:
            while (left := until - monotonic()) > 0:
                for word in self.receive(left):
                    if isinstance(word, TornDown):
                        return word.problem
        except WorkerEnded as exc:
            return f"the worker process {exc} in teardown"
        self.end()
        return f"teardown took more than {TEARDOWN_S:g} s and was ended"

    def kill(self) -> None:
        """End the process and all that it started."""
        self._end_and_reap()
        self._log.write(self.printed())
        self._close()

    def end(self) -> None:
        """End the process and all that it started; whoever waits for it is told."""
        if self._process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def _end_and_reap(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _close(self) -> None:
        seal(self._spool)
        self._opened.close()

    def _last_words(self) -> list[Word | Garbled]:
        words: list[Word | Garbled] = []
        for _ in range(_LAST_READS):
            data = self._read()
            if not data:
                break
            words += self._words_in(data)
        return words

    def _read(self) -> bytes | None:
        """Some of what is there to be read: None when nothing is, empty when nothing will be."""
        try:
            return self._link.recv(_READ_BYTES)
        except BlockingIOError:
            return None
        except ConnectionError:
            return b""

    def _words_in(self, data: bytes) -> list[Word | Garbled]:
        try:
            return [heard(line) for line in self._lines.feed(data) if line]
        except ValueError as exc:
            return [Garbled(str(exc))]

    def _flush(self) -> None:
        try:
            while self._unsent:
                sent = self._link.send(self._unsent)
                del self._unsent[:sent]
        except BlockingIOError:
            pass
        except ConnectionError:
            self._unsent.clear()  # its end will be received
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if self._unsent else 0)
        if self._selector.get_key(self._link).events != wanted:
            self._selector.modify(self._link, wanted)

    def _how_it_ended(self) -> str:
        try:
            status = self._process.wait(timeout=GOODBYE_S)
        except subprocess.TimeoutExpired:
            return "closed its link to this process"
        return how_it_ended(status)


def how_it_ended(status: int) -> str:
    """What a process's exit status says, as the end of a sentence."""
    if status < 0:
        with suppress(ValueError):
            return f"was killed by {signal.Signals(-status).name}"
        return f"was killed by signal {-status}"
    return f"ended with exit status {status}"


def environment() -> dict[str, str]:
    """What user code is given of this process's environment: all but the files in which a CI server is told things."""
    return {name: value for name, value in os.environ.items() if name not in _TOLD_TO_SERVERS}


def end_of(process: subprocess.Popen[bytes], opened: ExitStack) -> int | None:
    """A file that becomes readable when the process ends, None where there are no such files.

    The link's end alone would not do: a process that user code forked holds it open.
    """
    if sys.platform != "linux":
        return None
    try:
        fd = os.pidfd_open(process.pid)
    except OSError:
        return None
    opened.callback(os.close, fd)
    return fd
