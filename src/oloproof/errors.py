"""The error tree, by who must act, the one table of exit codes, and the words that messages share.

Every error carries the exit code that the door returns for it, and *problems*: coded, with a hint, located where they
are in a file, and all of them at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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


CLUSTERED_PAIRS = "OLO635"
"""Told by the project before a run, and by the gates after it."""
MOST_PROBLEMS = 50
"""How many problems of one input are told; whoever has more of them has one cause."""

MOST_QUOTED = 200
"""Characters of a text that a message quotes."""

PRECEDENCE = (
    ExitCode.INTERNAL,
    ExitCode.BROKEN,
    ExitCode.USAGE,
    ExitCode.FAIL,
    ExitCode.MANUAL_REVIEW,
    ExitCode.INSUFFICIENT_EVIDENCE,
    ExitCode.ALLOW,
)


class Problem(Struct, frozen=True):
    """One thing wrong with something the user wrote.

    ``code`` (``OLO104``) has an anchor in docs/errors.md. ``hint`` says what to do next, "" when the message already
    does. ``file`` is the path as the user would type it, None when the problem is in no file (a command-line option);
    ``line`` and ``column`` count from 1, 0 when unknown.
    """

    code: str
    message: str
    hint: str = ""
    file: str | None = None
    line: int = 0
    column: int = 0

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


def shown(text: str) -> str:
    """A value that somebody wrote, quoted; of a longer one how long it is, and nothing of it: secrets are taken out of
    messages later, and what is cut in two by then is found by no rule."""
    quoted = repr(text)
    return quoted if len(quoted) <= MOST_QUOTED else f"'…' ({len(text):,} characters)"


def with_article(noun: str) -> str:
    """``an int``, ``a list``."""
    return f"{'an' if noun[:1].lower() in tuple('aeiou') else 'a'} {noun}"


def either(words: Sequence[str]) -> str:
    """``a``, ``a or b``, ``a, b or c``: what may stand somewhere; at least one word."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def counted(count: int, noun: str, plural: str = "") -> str:
    """``1 case``, ``2,000 cases``; ``plural`` where an s does not make it. Every count in a sentence is written so."""
    return f"{count} {noun}" if count == 1 else f"{count:,} {plural or noun + 's'}"


class OloproofError(Exception):
    """Base of everything that oloproof raises on purpose: one problem or several, and who must act."""

    exit_code: ClassVar[ExitCode] = ExitCode.INTERNAL

    def __init__(self, problems: Problem | Iterable[Problem]) -> None:
        self.problems: tuple[Problem, ...] = (problems,) if isinstance(problems, Problem) else tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))


class UsageError(OloproofError):
    """The author of the suite must act: configuration, dataset or command line (exit 2)."""

    exit_code = ExitCode.USAGE


class BrokenError(OloproofError):
    """Infrastructure must act: the run could not be completed (exit 5)."""

    exit_code = ExitCode.BROKEN

    def __init__(self, message: str, *, code: str, hint: str = "") -> None:
        super().__init__(Problem(code, message, hint))


class RecordError(OloproofError, ValueError):
    """The author of the agent must act: a record contradicts itself. Raised at the line that recorded it."""

    exit_code = ExitCode.BROKEN

    def __init__(self, message: str, *, code: str) -> None:
        super().__init__(Problem(code, message))
