"""Where user code's prints go: to the log of the case that prints, by context variable, else to the worker's spool."""

from __future__ import annotations

import codecs
import io
import sys
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from typing import Protocol

LOG_BYTES = 64 * 1024
CUT = "[what was printed past 64 KiB was not kept]"

_LAST_CHARS = 2000
_C_UNBUFFERED = 2  # _IONBF

_current_log: ContextVar[Log] = ContextVar("oloproof_case_log")


class Log(Protocol):
    """What one case prints. ``before`` is what was printed since the case before it, and belongs to no case."""

    @property
    def before(self) -> str: ...

    def write(self, text: str) -> None:
        """Keep a print of the case's own. After the end it is not kept."""

    def end(self) -> str:
        """Nothing more is listened to. What was printed, however often that is asked."""


class CaseLog:
    """What one of several cases prints through Python, each in a context of its own."""

    before = ""

    def __init__(self, spare: int = 0) -> None:
        self._parts: list[str] = []
        self._spare = spare
        self._left = LOG_BYTES + spare + 1

    def write(self, text: str) -> None:
        if self._left > 0:
            self._parts.append(text[: self._left])
        self._left -= len(text)

    def end(self) -> str:
        return kept_text(to_bytes("".join(self._parts)), self._spare)


def to_bytes(text: str) -> bytes:
    """Any text as UTF-8: lone surrogates become escapes."""
    return text.encode("utf-8", "backslashreplace")


def kept_text(data: bytes, spare: int = 0) -> str:
    """The first 64 KiB of what was printed, or so many bytes more, and a line that says so where there was more."""
    if not data:
        return ""
    most = LOG_BYTES + spare
    is_cut = len(data) > most
    text = codecs.getincrementaldecoder("utf-8")("backslashreplace").decode(data[:most], final=not is_cut)
    if len(text) > most // 4:  # a byte that is no UTF-8 takes four characters
        told = text.encode()
        is_cut = is_cut or len(told) > most
        text = told[:most].decode("utf-8", "ignore")
    return f"{text}\n{CUT}" if is_cut else text


def last_of(printed: str, spare: int = 0) -> str:
    """The last that was printed. With ``spare`` secrets are taken out afterwards, and nothing is cut before: all of it,
    or nothing of what is longer than is kept of any log."""
    if not spare:
        return printed[-_LAST_CHARS:]
    return printed if len(to_bytes(printed)) <= LOG_BYTES else CUT


def log_here(log: Log) -> None:
    """What this context prints from now on goes to ``log``."""
    _current_log.set(log)


def route_prints(beyond: Callable[[bytes], None]) -> None:
    """Put routers in the place of ``sys.stdout`` and ``sys.stderr``; ``beyond`` is given what no case's context prints.

    The C library is told to keep nothing back either, so that what it prints stands in its place among the rest.
    """
    sys.stdout = _Router(1, beyond)
    sys.stderr = _Router(2, beyond)
    with suppress(Exception):  # another system names its stream otherwise: there, C prints come when the process ends
        import ctypes

        library = ctypes.CDLL(None)
        library.setvbuf(ctypes.c_void_p.in_dll(library, "stdout"), None, _C_UNBUFFERED, ctypes.c_size_t(0))


class _Router(io.TextIOBase):
    """A text stream that asks, at each write, whose it is. Closing it closes nothing."""

    encoding = "utf-8"
    errors = "backslashreplace"

    def __init__(self, fd: int, beyond: Callable[[bytes], None]) -> None:
        self._fd = fd
        self._beyond = beyond
        self.buffer = _Bytes(self)

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        log = _current_log.get(None)
        if log is None:
            self._beyond(to_bytes(text))
        else:
            log.write(text)
        return len(text)

    def flush(self) -> None:
        """Nothing is held back."""

    def close(self) -> None:
        """A program may close its streams; the next case prints to them again."""

    def fileno(self) -> int:
        return self._fd

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return False

    def reconfigure(self, **settings: object) -> None:
        """Accepted, since programs set an encoding at their start; text stays text here."""


class _Bytes(io.RawIOBase):
    """``sys.stdout.buffer`` of a router."""

    def __init__(self, router: _Router) -> None:
        self._router = router

    def writable(self) -> bool:
        return True

    def write(self, data: bytes | bytearray | memoryview) -> int:  # type: ignore[override]  # typeshed wants any buffer
        self._router.write(bytes(data).decode("utf-8", "backslashreplace"))
        return len(data)

    def close(self) -> None:
        """As the router's."""
