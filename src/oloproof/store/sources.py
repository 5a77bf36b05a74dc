"""Recorded files, read back: a run refers to them, so they are looked at again, and they must not have changed."""

from __future__ import annotations

import errno
import hashlib
import os
from contextlib import ExitStack
from io import BufferedReader
from pathlib import Path

from msgspec import MsgspecError

from oloproof.errors import BrokenError
from oloproof.model.recording import Recording, read


def file_digest(path: Path) -> str:
    """SHA-256 of a regular file's bytes, in hexadecimal. Raises OSError."""
    with _opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Checked:
    """Recorded files whose content was looked at, for whoever opens a store again and again: one that is still the same
    by number, size and times is not read through once more."""

    def __init__(self) -> None:
        self._seen: set[tuple[int | str, ...]] = set()

    def holds(self, file: BufferedReader, digest: str) -> bool:
        """Whether the file has this digest."""
        stat = os.fstat(file.fileno())
        seen = (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, digest)
        if seen not in self._seen:
            if hashlib.file_digest(file, "sha256").hexdigest() != digest:
                return False
            self._seen.add(seen)
        return True


class Sources:
    """The recorded files that were opened so far. Each is checked once, and stays open, so that it stays that file."""

    def __init__(self, directory: Path, checked: Checked | None = None) -> None:
        """``directory`` is where relative paths count from."""
        self._directory = directory
        self._known = checked or Checked()
        self._open: dict[tuple[str, str], BufferedReader] = {}
        self._stack = ExitStack()

    def close(self) -> None:
        """Close every file."""
        self._open.clear()
        self._stack.close()

    def read(self, path: str, *, digest: str, offset: int, length: int) -> Recording:
        """The recording at that place. Raises :class:`BrokenError` when the file is gone, unreadable or changed."""
        file = self._open.get((path, digest))
        try:
            if file is None:
                file = self._checked(path, digest)
                self._open[path, digest] = file
            file.seek(offset)
            line = file.read(length)
        except FileNotFoundError as error:
            raise _lost(path, "is gone") from error
        except OSError as error:
            raise _lost(path, f"cannot be read ({error.strerror or error})") from error
        try:
            return read(line)
        except (MsgspecError, RecursionError) as error:
            raise _lost(path, f"holds no recording at byte {offset}") from error

    def _checked(self, path: str, digest: str) -> BufferedReader:
        file = self._stack.enter_context(_opened(self._directory / path))
        if not self._known.holds(file, digest):
            raise _lost(path, "has changed since")
        return file


def _opened(path: Path) -> BufferedReader:
    """The file; OSError also for a pipe or a device, for which one would wait."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise OSError(errno.EINVAL, "it is no regular file")
    return path.open("rb")


def _lost(path: str, what: str) -> BrokenError:
    return BrokenError(
        f"the run refers to recordings in {path}, and that file {what}",
        code="OLO508",
        hint="put the file back as it was, or judge the recordings again; verdicts and counts are stored and unharmed",
    )
