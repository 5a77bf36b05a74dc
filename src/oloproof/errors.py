"""The error tree, by who must act, the one table of exit codes, and the hint that a misspelt name gets.

Every error carries the exit code that the door returns for it. Errors about files carry *problems*: located, coded,
with a hint, and all of them at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import ClassVar

from msgspec import Struct


class ExitCode(IntEnum):
    """What the process tells CI. When several apply, see :data:`PRECEDENCE`."""

    ALLOW = 0
    FAIL = 1
    USAGE = 2
    INSUFFICIENT_EVIDENCE = 3
    MANUAL_REVIEW = 4
    BROKEN = 5
    INTERNAL = 70
    INTERRUPTED = 130


PRECEDENCE = (
    ExitCode.INTERNAL,
    ExitCode.BROKEN,
    ExitCode.USAGE,
    ExitCode.FAIL,
    ExitCode.MANUAL_REVIEW,
    ExitCode.INSUFFICIENT_EVIDENCE,
    ExitCode.ALLOW,
)


class Problem(Struct, frozen=True, order=True):
    """One thing wrong with something the user wrote.

    ``file`` is the path as the user would type it, or None when the problem is in no file (a command-line option);
    ``line`` and ``column`` count from 1, 0 when unknown. ``code`` (``OLO104``) has an anchor in docs/errors.md.
    ``hint`` says what to do next, "" when the message already does.
    """

    file: str | None
    line: int
    column: int
    code: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        place = ""
        if self.file is not None:
            place = self.file
            if self.line:
                place += f":{self.line}"
                if self.column:
                    place += f":{self.column}"
            place += ": "
        return f"{place}{self.message} [{self.code}]"


def did_you_mean(wrong: str, known: Iterable[str], *, otherwise: str = "") -> str:
    """A hint that names the nearest known word; where none is near, ``otherwise`` and the list of them all."""
    from difflib import get_close_matches  # only where a name is wrong

    words = list(known)
    near = get_close_matches(wrong.lower(), [word.lower() for word in words], n=1)
    if near:
        return f"did you mean {next(word for word in words if word.lower() == near[0])!r}?"
    return f"{otherwise}: {', '.join(words)}" if otherwise and words else ""


class OloproofError(Exception):
    """Base of everything that oloproof raises on purpose."""

    exit_code: ClassVar[ExitCode] = ExitCode.INTERNAL


class UsageError(OloproofError):
    """The author of the suite must act: configuration, dataset or command line (exit 2)."""

    exit_code = ExitCode.USAGE

    def __init__(self, problems: Problem | Iterable[Problem]) -> None:
        self.problems: tuple[Problem, ...] = (problems,) if isinstance(problems, Problem) else tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class BrokenError(OloproofError):
    """Infrastructure must act: the run could not be completed (exit 5)."""

    exit_code = ExitCode.BROKEN

    def __init__(self, message: str, *, code: str, hint: str = "") -> None:
        self.problem = Problem(None, 0, 0, code, message, hint)
        super().__init__(message)


class RecordError(OloproofError, ValueError):
    """The author of the agent must act: a record contradicts itself. Raised at the line that recorded it."""

    exit_code = ExitCode.BROKEN
