"""The file under a worker's standard streams: C code, threads without a context and child processes print there.

A file keeps them in the order in which they wrote, holds nobody up while nobody reads, and outlives the worker. While
a worker runs one case at a time, that case's own prints go there too, so all that is printed meanwhile is its log.
"""

from __future__ import annotations

import fcntl
import os
import sys
from contextlib import ExitStack, suppress
from threading import Lock

from oloproof.runner.output import LOG_BYTES, kept_text, to_bytes

_MOST = LOG_BYTES + 1
"""One byte more than is kept of any log tells that there was more."""


class Spool:
    """The worker's end of the file. Nothing in it raises, since user code may have closed the file."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._lock = Lock()
        self._pid = os.getpid()
        self.spare = 0
        """How many bytes more than any log has are kept."""

    def write(self, data: bytes) -> None:
        """Append at once, whatever a print is in the middle of elsewhere."""
        with suppress(OSError):
            os.write(self._fd, data)

    def take(self) -> bytes:
        """What was printed since the last time, which is forgotten now."""
        with suppress(OSError), self._lock:
            data = os.pread(self._fd, _MOST + self.spare, 0)
            if data and os.getpid() == self._pid:  # a child that user code forked must not empty its parent's file
                os.ftruncate(self._fd, 0)
                return data
        return b""

    def cut(self) -> None:
        """Throw away what is past any log's length: a program that prints without end must not fill the memory."""
        with suppress(OSError), self._lock:
            if os.fstat(self._fd).st_size > _MOST + self.spare:
                os.ftruncate(self._fd, _MOST + self.spare)


class SpooledLog:
    """The log of the only case that runs: everything that is printed meanwhile, by whatever means."""

    def __init__(self, spool: Spool) -> None:
        self.before = kept_text(spool.take(), spool.spare)
        self._spool = spool
        self._lock = Lock()
        self._left = _MOST + spool.spare
        self._text: str | None = None

    def write(self, text: str) -> None:
        if self._left > 0 and self._text is None:
            self._spool.write(to_bytes(text[: self._left]))
        self._left -= len(text)

    def end(self) -> str:
        with self._lock:
            if self._text is None:
                self._text = kept_text(self._spool.take(), self._spool.spare)
            return self._text


def spool_file(opened: ExitStack) -> int:
    """A file for a worker's standard streams, closed with ``opened``."""
    fd = anonymous_file(opened)
    fcntl.fcntl(fd, fcntl.F_SETFL, os.O_APPEND)
    return fd


def unread(fd: int, spare: int = 0) -> bytes:
    """What the file holds, which the worker has not taken."""
    return os.pread(fd, min(os.fstat(fd).st_size, _MOST + spare), 0)


def seal(fd: int) -> None:
    """Refuse what is still to come from those who outlive the worker, as a closed pipe would."""
    if sys.platform == "linux":
        with suppress(OSError):
            fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE)


def anonymous_file(opened: ExitStack) -> int:
    """A file without a name, which this process can still read when the worker that wrote it is gone."""
    if sys.platform == "linux":
        fd = os.memfd_create("oloproof", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        opened.callback(os.close, fd)
        return fd
    import tempfile  # and half a dozen modules with it

    return opened.enter_context(tempfile.TemporaryFile()).fileno()
