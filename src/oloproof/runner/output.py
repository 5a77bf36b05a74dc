"""Where user code's prints go: to the log of the case that prints, by context variable."""

from __future__ import annotations

import io
import sys
from contextvars import ContextVar
from typing import TextIO

LOG_BYTES = 64 * 1024

_current_log: ContextVar[CaseLog] = ContextVar("oloproof_case_log")


class CaseLog:
    """The first 64 KiB of what one case printed."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._left = LOG_BYTES

    def write(self, text: str) -> None:
        if self._left > 0:
            self._parts.append(text[: self._left])
        self._left -= len(text)

    def text(self) -> str:
        if not self._parts:
            return ""
        data = "".join(self._parts).encode("utf-8", "backslashreplace")
        kept = data[:LOG_BYTES].decode("utf-8", "ignore")
        if len(data) > LOG_BYTES or self._left < 0:
            kept += "\n[what was printed past 64 KiB was not kept]"
        return kept


def log_here(log: CaseLog) -> None:
    """What this context prints from now on goes to ``log``."""
    _current_log.set(log)


def route_prints() -> None:
    """Put routers in the place of ``sys.stdout`` and ``sys.stderr``. What no case prints goes where it went before."""
    sys.stdout = _Router(sys.stdout)
    sys.stderr = _Router(sys.stderr)


class _Router(io.TextIOBase):
    """A text stream that asks, at each write, whose it is. Closing it closes nothing."""

    encoding = "utf-8"
    errors = "backslashreplace"

    def __init__(self, beyond: TextIO) -> None:
        self._beyond = beyond
        self.buffer = _Bytes(self)

    def write(self, text: str) -> int:
        log = _current_log.get(None)
        if log is not None and isinstance(text, str):
            log.write(text)
            return len(text)
        try:
            return self._beyond.write(text)
        except (OSError, ValueError):  # closed by user code
            return len(text)

    def flush(self) -> None:
        try:
            self._beyond.flush()
        except (OSError, ValueError):
            return

    def close(self) -> None:
        self.flush()

    def fileno(self) -> int:
        return self._beyond.fileno()

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
        self._router.flush()
