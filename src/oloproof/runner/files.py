"""Files of foreign traces, opened for the importers, which open nothing themselves."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import BinaryIO, Final

from oloproof.errors import Problem, UsageError
from oloproof.importers.source import MOST_BYTES

_HEAD: Final = 64 * 1024


class File:
    """A file on disk. Whatever cannot be done with it is a UsageError that names it."""

    def __init__(self, name: str, *, most_bytes: int = MOST_BYTES) -> None:
        self.name = name
        self._most_bytes = most_bytes

    def head(self) -> bytes:
        with self._reading() as file:
            return file.read(_HEAD)

    def lines(self) -> Iterator[bytes]:
        with self._reading() as file:
            number = 0
            while line := file.readline(self._most_bytes + 1):
                number += 1
                if len(line) > self._most_bytes:
                    raise UsageError(self._too_long("the line", number))
                yield line

    def read(self) -> bytes:
        with self._reading() as file:
            data = file.read(self._most_bytes + 1)
        if len(data) > self._most_bytes:
            raise UsageError(self._too_long("the file"))
        return data

    def open(self) -> BinaryIO:
        try:
            return open(self.name, "rb")
        except OSError as error:
            raise unreadable(self.name, error) from error

    @contextmanager
    def _reading(self) -> Iterator[BinaryIO]:
        with self.open() as file:
            try:
                yield file
            except OSError as error:
                raise unreadable(self.name, error) from error

    def _too_long(self, what: str, line: int = 0) -> Problem:
        message = f"{what} is longer than {self._most_bytes:,} bytes"
        return Problem("OLO693", message, "export fewer runs a file, or one run a line", file=self.name, line=line)


def unreadable(name: str, error: OSError) -> UsageError:
    """The error for a file of recordings or traces that the system does not let us read."""
    return UsageError(Problem("OLO313", f"cannot be read: {error.strerror or error}", file=name))


def files(names: Iterable[str]) -> list[File]:
    """The files, each once, however often and by whatever name it is given: what is there twice would count twice."""
    first = {os.path.realpath(name): name for name in reversed(list(names))}
    return [File(name) for name in reversed(first.values())]
