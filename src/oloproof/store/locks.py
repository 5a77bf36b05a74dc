"""Which runs are being written: a locked file for each, which its process lets go of whatever becomes of it."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path


class RunLock:
    """Held by the process that writes a run. A file system that knows no locks is taken at its word that nobody else
    is there."""

    def __init__(self, directory: Path, run_id: str) -> None:
        self._path = directory / f"{run_id}.running"
        self._fd: int | None = None

    def take(self) -> bool:
        """Hold it from now on; False while another process does."""
        while self._fd is None:
            fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(fd)
                return False
            except OSError:
                pass
            if _is_at(fd, self._path):
                self._fd = fd
            else:  # whoever held it took the file away in this very moment
                os.close(fd)
        return True

    def release(self) -> None:
        """Let go, and leave no file behind."""
        if self._fd is not None:
            with suppress(OSError):
                self._path.unlink()
            os.close(self._fd)
            self._fd = None


def _is_at(fd: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), path.stat())
    except FileNotFoundError:
        return False
