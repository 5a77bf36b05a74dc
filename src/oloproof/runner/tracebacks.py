"""Exceptions of user code as text: the user's frames, without ours around them."""

from __future__ import annotations

import importlib
import traceback
from bdb import BdbQuit
from os.path import dirname
from types import TracebackType

from oloproof.record.steps import exception_text, printable

MAX_MESSAGE = 2_000
MAX_TRACEBACK = 16_000
_OURS = (dirname(dirname(__file__)), dirname(importlib.__file__), "<frozen ")


def message_of(exc: BaseException, spare: int = 0) -> str:
    """``ValueError: no such order``, or what the exception did to the interpreter; cut so many characters later."""
    if isinstance(exc, SystemExit):
        return f"the code called sys.exit({exc.code if isinstance(exc.code, int) else ''})"
    if isinstance(exc, KeyboardInterrupt):
        return "the code raised KeyboardInterrupt"
    if isinstance(exc, BdbQuit):
        return (
            "BdbQuit: the debugger was left. A breakpoint reaches the terminal with `oloproof run --case ID "
            "--in-process`"
        )
    return excerpt(exception_text(exc), spare)


def users_traceback(exc: BaseException, spare: int = 0) -> str | None:
    """The traceback cut to the user's frames, its causes included; None when there are none, or none can be shown."""
    try:
        told = traceback.TracebackException.from_exception(exc, compact=True)
        pending, seen = [told], 0
        while pending:
            part = pending.pop()
            part.stack = traceback.StackSummary.from_list([frame for frame in part.stack if not _is_ours(frame)])
            seen += len(part.stack)
            pending += [cause for cause in (part.__cause__, part.__context__) if cause is not None]
        if not seen and not isinstance(exc, SyntaxError):
            return None
        text = printable("".join(told.format()).rstrip())
    except BaseException:  # an exception's own code may raise anything, and must not end more than its case
        return None
    most = MAX_TRACEBACK + 4 * spare
    if len(text) > most:
        text = f"{text[: most // 4]}\n[…]\n{text[-most * 3 // 4 :]}"
    return text


def raised_text(exc: BaseException, spare: int = 0) -> str:
    """Both, one below the other."""
    message, told = message_of(exc, spare), users_traceback(exc, spare)
    return message if told is None else f"{message}\n{told}"


def has_users_frames(frames: TracebackType | None) -> bool:
    """Some of the frames are neither ours nor the import system's."""
    return any(not _is_ours(frame) for frame in traceback.extract_tb(frames))


def excerpt(text: str, spare: int = 0) -> str:
    """Text that fits on a screen, or so many characters more."""
    most = MAX_MESSAGE + spare
    return printable(text if len(text) <= most else f"{text[:most]}…")


def _is_ours(frame: traceback.FrameSummary) -> bool:
    return frame.filename.startswith(_OURS)
