"""A worker seen from outside: its process, the link to it, its slots, and what it prints past any case."""

from __future__ import annotations

import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import ExitStack, suppress
from time import monotonic

from msgspec import DecodeError

from oloproof.record.journal import Event
from oloproof.runner.protocol import Began, Lines, Order, Stop, Word, decode_word, encode, read_slot

GOODBYE_S = 2.0
"""How long a worker may take to end normally (exit hooks, threads of its own) before it is killed."""

RUN_LOG_BYTES = 256 * 1024
_READ_BYTES = 256 * 1024
_TICK_S = 0.5


class WorkerEnded(Exception):
    """The worker's process is there no more. The text says how it ended."""


class RunLog:
    """The first of what workers printed outside of any case, or past Python."""

    def __init__(self) -> None:
        self._kept = bytearray()

    def write(self, data: bytes) -> None:
        self._kept += data[: RUN_LOG_BYTES - len(self._kept)]

    def text(self) -> str:
        return self._kept.decode("utf-8", "backslashreplace")


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

    def close(self) -> None:
        if self._open:
            self._open = False
            os.close(self.reader)
            os.close(self._writer)


class WorkerProcess:
    """A worker's process. It runs in a session of its own, in ``directory``, and is killed with all that it started.

    Errors: OSError when it cannot be started.
    """

    def __init__(self, directory: str, *, slots: int, log: RunLog, waker: Waker) -> None:
        self._log = log
        self._waker = waker
        self._lines = Lines()
        self._unsent = bytearray()
        self._opened = ExitStack()
        with ExitStack() as ours, ExitStack() as theirs:
            self._link, link = socket.socketpair()
            ours.callback(self._link.close)
            theirs.callback(link.close)
            self._printed, printed = os.pipe()
            ours.callback(os.close, self._printed)
            theirs.callback(os.close, printed)
            self._slots = [_anonymous_file(ours) for _ in range(slots)]
            passed = [link.fileno(), *self._slots]
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "oloproof.runner.worker", *map(str, passed)],
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=printed,
                cwd=directory,
                pass_fds=passed,
                start_new_session=True,
            )
            self._opened = ours.pop_all()
        self._link.setblocking(False)
        os.set_blocking(self._printed, False)
        self._selector = self._opened.enter_context(selectors.DefaultSelector())
        self._selector.register(self._link, selectors.EVENT_READ)
        self._selector.register(self._printed, selectors.EVENT_READ)
        self._selector.register(waker.reader, selectors.EVENT_READ)
        self._ending = _end_of(self._process, self._opened)
        if self._ending is not None:
            self._selector.register(self._ending, selectors.EVENT_READ)

    def send(self, orders: list[Order]) -> None:
        """Send orders, now or while receiving: the worker may be too busy to take them."""
        self._unsent += b"".join(encode(order) + b"\n" for order in orders)
        self._flush()

    def receive(self, wait_s: float) -> list[Word]:
        """What the worker says; an empty list after ``wait_s`` seconds, or when woken.

        Errors: WorkerEnded, after everything that it said before has been received; ValueError when it does not speak
        the protocol.
        """
        until = monotonic() + wait_s
        while True:
            left = max(0.0, until - monotonic())
            ready = {
                key.fd for key, _ in self._selector.select(left if self._ending is not None else min(left, _TICK_S))
            }
            if self._printed in ready:
                self._keep_printed()
            if self._unsent:
                self._flush()
            ended = self._ending in ready if self._ending is not None else self._process.poll() is not None
            if self._link.fileno() in ready or ended:
                words, closed = self._heard()
                if words:
                    return words
                if closed or ended:
                    raise WorkerEnded(self._how_it_ended())
            if self._waker.reader in ready:
                with suppress(BlockingIOError):
                    os.read(self._waker.reader, 4096)
                return []
            if monotonic() >= until:
                return []

    def bury(self) -> dict[int, tuple[Began, list[Event]]]:
        """End the process for good, and say what it was doing, by the order's number."""
        self._end()
        found = [slot for fd in self._slots if (slot := read_slot(fd)) is not None]
        self._close()
        return {began.n: (began, events) for began, events in found}

    def say_goodbye(self) -> None:
        """Let the worker end normally, and kill what is left of it after a while."""
        until = monotonic() + GOODBYE_S
        with suppress(WorkerEnded, ValueError, OSError):
            self.send([Stop()])
            while (left := until - monotonic()) > 0:
                self.receive(left)
        self.kill()

    def kill(self) -> None:
        """End the process and all that it started."""
        self._end()
        self._close()

    def _end(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _close(self) -> None:
        self._keep_printed()
        self._opened.close()

    def _heard(self) -> tuple[list[Word], bool]:
        """What is there to be read, and whether the link is closed behind it."""
        lines: list[bytes] = []
        closed = False
        while not closed:
            try:
                data = self._link.recv(_READ_BYTES)
            except BlockingIOError:
                break
            except ConnectionError:
                data = b""
            closed = not data
            lines += self._lines.feed(data)
            if lines and len(data) < _READ_BYTES:
                break
        try:
            return [decode_word(line) for line in lines], closed
        except DecodeError as exc:
            raise ValueError(f"it said what is no answer: {exc}") from None

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

    def _keep_printed(self) -> None:
        """Drain what was printed, so that whoever prints is never held up."""
        try:
            for _ in range(64):
                data = os.read(self._printed, _READ_BYTES)
                self._log.write(data)
                if not data:
                    self._selector.unregister(self._printed)
                    return
        except (BlockingIOError, KeyError):
            return

    def _how_it_ended(self) -> str:
        try:
            status = self._process.wait(timeout=GOODBYE_S)
        except subprocess.TimeoutExpired:
            return "closed its link to this process"
        if status < 0:
            with suppress(ValueError):
                return f"was killed by {signal.Signals(-status).name}"
            return f"was killed by signal {-status}"
        return f"ended with exit status {status}"


def _anonymous_file(opened: ExitStack) -> int:
    """A file without a name, which this process can still read when the worker that wrote it is gone."""
    if sys.platform == "linux":
        fd = os.memfd_create("oloproof-slot")
        opened.callback(os.close, fd)
        return fd
    return opened.enter_context(tempfile.TemporaryFile()).fileno()


def _end_of(process: subprocess.Popen[bytes], opened: ExitStack) -> int | None:
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
