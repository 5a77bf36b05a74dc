"""The traces of which something has come and that may not be written yet, in a file beside the output.

Whoever starts after a process that was killed learns there of which traces something is lost.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final

from oloproof.receiver.earlier import MOST_REMEMBERED

SUFFIX: Final = ".begun"


class Begun:
    """The file: an id a line, as JSON. It is removed once nothing stands in it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines = 0
        self._most = MOST_REMEMBERED
        self._file: int | None = None

    def known(self) -> set[str]:
        """The traces that a process which was killed had begun, the latest :data:`MOST_REMEMBERED` of them. What
        stands there unfinished was never kept. Empty where there is no file."""
        try:
            lines = list(filter(None, self._path.read_bytes().split(b"\n")[:-1]))
        except FileNotFoundError:
            return set()
        self._lines = len(lines)
        found: set[str] = set()
        for line in lines[-MOST_REMEMBERED:]:
            try:
                found.add(str(json.loads(line)))
            except ValueError:
                continue
        return found

    def add(self, trace_ids: Collection[str]) -> None:
        """More of them. Once this returns they are there, even if the process is killed. Errors: OSError."""
        if not trace_ids:
            return
        if self._file is None:
            self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        data = b"\n" + _lines(trace_ids)  # what was not written to its end is no beginning of this
        while data:
            data = data[os.write(self._file, data) :]
        self._lines += len(trace_ids)

    @property
    def is_long(self) -> bool:
        """Most of what stands in it is over."""
        return self._lines > self._most

    def keep(self, trace_ids: Collection[str]) -> None:
        """Only these may not be written yet; all at once, or not at all. Errors: OSError."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
        if trace_ids:
            made = self._path.with_name(f"{self._path.name}.new")
            made.write_bytes(_lines(trace_ids))
            made.replace(self._path)
        else:
            self._path.unlink(missing_ok=True)
        self._lines = len(trace_ids)
        self._most = 2 * self._lines + MOST_REMEMBERED


def _lines(trace_ids: Iterable[str]) -> bytes:
    return b"".join(json.dumps(trace_id).encode() + b"\n" for trace_id in trace_ids)
