"""What can go wrong with the store, in words that say whose turn it is: SQLite's result codes become our errors."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from oloproof.errors import BrokenError
from oloproof.store import codes
from oloproof.store.codec import Unreadable

_NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def corrupt(path: Path, why: object) -> BrokenError:
    """The file is damaged, or never was a store."""
    return BrokenError(
        f"the store {path} is damaged ({why})",
        code="OLO501",
        hint=f"move {path.name} (and {path.name}-wal, {path.name}-shm) away: the next run starts a new store",
    )


def unwritable(path: Path, why: object) -> BrokenError:
    """It cannot be opened or written."""
    return BrokenError(
        f"the store {path} cannot be opened for writing ({why})",
        code="OLO502",
        hint="make its directory writable for the user who runs oloproof, or move what is in its place away",
    )


def full(path: Path, why: object) -> BrokenError:
    """The device or the quota is full."""
    return BrokenError(
        f"there is no room left for the store {path} ({why})",
        code="OLO503",
        hint="free some space on this device and run again; what was stored before is kept",
    )


@contextmanager
def store_errors(path: Path) -> Iterator[None]:
    """Raise whatever the database, the codec or the file system says as a :class:`BrokenError` about ``path``."""
    try:
        yield
    except sqlite3.Error as error:
        raise _from_sqlite(path, error) from error
    except Unreadable as error:
        raise corrupt(path, error) from error
    except OSError as error:
        why = error.strerror or error
        raise (full if error.errno in _NO_SPACE else unwritable)(path, why) from error


def _from_sqlite(path: Path, error: sqlite3.Error) -> BrokenError:
    primary = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    match primary:
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return corrupt(path, error)
        case sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
            return unwritable(path, error)
        case sqlite3.SQLITE_FULL:
            return full(path, error)
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return BrokenError(
                f"another process kept the store {path} locked for too long",
                code=codes.LOCKED,
                hint="wait for the other run or end it, then run again",
            )
        case sqlite3.SQLITE_ERROR if "no such" in str(error) or "UTF-8" in str(error):
            return corrupt(path, error)  # the format number says ours, the tables or texts do not
        case _:
            return BrokenError(
                f"the store {path} cannot be read or written ({error})",
                code="OLO504",
                hint="look for a failing disk, a size limit or a network file system, and run again",
            )
