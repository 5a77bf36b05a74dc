"""Gathers everything that is wrong with one file, so that all of it is told at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from oloproof.errors import MOST_PROBLEMS, Problem, UsageError, counted
from oloproof.project.codes import CONFIG, MORE, FileCodes

MOST_OF_A_KIND = 10
"""So many problems of a file with one code and one hint are told: a mistake that every row repeats hides no other."""


class Place(Protocol):
    """Anything that knows where in its file it stands (``line`` and ``column`` count from 1)."""

    @property
    def line(self) -> int: ...

    @property
    def column(self) -> int: ...


class Problems:
    """The problems of one file, in the order in which they were found; ``codes`` are those of its kind of file."""

    def __init__(self, file: str, *, codes: FileCodes = CONFIG) -> None:
        self.file = file
        self.codes = codes
        self.found: list[Problem] = []

    def at(self, place: Place, code: str, message: str, *, hint: str = "") -> None:
        """Note a problem at a node."""
        self.on(place.line, place.column, code, message, hint=hint)

    def on(self, line: int, column: int, code: str, message: str, *, hint: str = "") -> None:
        """Note a problem at a line and column (0 where there is none)."""
        self.found.append(Problem(code, message, hint, file=self.file, line=line, column=column))

    def raise_any(self) -> None:
        """Raise a :class:`UsageError` if anything was found."""
        refuse(self.found)


def refuse(found: Iterable[Problem]) -> None:
    """Raise the problems, file by file as given and sorted by place within each: the first 10 of a kind in a file, the
    first 50 in all, and the number of the others."""
    unique = list(dict.fromkeys(found))
    files = {file: number for number, file in enumerate(dict.fromkeys(problem.file for problem in unique))}
    unique.sort(key=lambda problem: (files[problem.file], problem.line, problem.column))
    if not unique:
        return
    of_a_kind: Counter[tuple[str | None, str, str]] = Counter()
    told: list[Problem] = []
    for problem in unique:
        kind = (problem.file, problem.code, problem.hint)
        of_a_kind[kind] += 1
        if of_a_kind[kind] <= MOST_OF_A_KIND and len(told) < MOST_PROBLEMS:
            told.append(problem)
    if len(told) < len(unique):
        told.append(Problem(MORE, f"and {counted(len(unique) - len(told), 'more problem')}"))
    raise UsageError(told)


def read_bytes(path: Path, *, what: str, codes: FileCodes, hint: str = "") -> bytes:
    """The file's bytes; a UsageError when it is missing (then with ``hint``), a directory or unreadable."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        message = f"{what} does not exist"
    except IsADirectoryError:
        message, hint = f"{what} is a directory", "name a file in it"
    except (OSError, ValueError) as error:
        message, hint = f"{what} cannot be read: {reason(error)}", ""
    raise UsageError(Problem(codes.unreadable, message, hint, file=str(path)))


def reason(error: OSError | ValueError) -> str:
    """What the operating system said, without the path, which the problem already names."""
    text = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return text[:1].lower() + text[1:]
