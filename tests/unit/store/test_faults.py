from __future__ import annotations

import errno
import sqlite3
from pathlib import Path

import pytest

from oloproof.errors import BrokenError, ExitCode, UsageError
from oloproof.store.codec import Unreadable
from oloproof.store.faults import store_errors

PATH = Path(".oloproof/oloproof.db")


def sqlite_error(kind: type[sqlite3.Error], text: str, code: int) -> sqlite3.Error:
    error = kind(text)
    error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (sqlite_error(sqlite3.DatabaseError, "malformed", sqlite3.SQLITE_CORRUPT), "OLO501"),
        (sqlite_error(sqlite3.DatabaseError, "file is not a database", sqlite3.SQLITE_NOTADB), "OLO501"),
        (sqlite_error(sqlite3.OperationalError, "no such table: runs", sqlite3.SQLITE_ERROR), "OLO501"),
        (Unreadable("a block starts with b'?'"), "OLO501"),
        (sqlite_error(sqlite3.OperationalError, "readonly", sqlite3.SQLITE_READONLY_DBMOVED), "OLO502"),
        (sqlite_error(sqlite3.OperationalError, "unable to open", sqlite3.SQLITE_CANTOPEN), "OLO502"),
        (PermissionError(errno.EACCES, "Permission denied"), "OLO502"),
        (sqlite_error(sqlite3.OperationalError, "database or disk is full", sqlite3.SQLITE_FULL), "OLO503"),
        (OSError(errno.ENOSPC, "No space left on device"), "OLO503"),
        (sqlite_error(sqlite3.OperationalError, "disk I/O error", sqlite3.SQLITE_IOERR_WRITE), "OLO504"),
        (sqlite3.ProgrammingError("without a code"), "OLO504"),
        (sqlite_error(sqlite3.OperationalError, "database is locked", sqlite3.SQLITE_BUSY), "OLO505"),
    ],
)
def test_each_fault_has_its_code_and_says_what_to_do(error: Exception, code: str) -> None:
    with pytest.raises(BrokenError) as caught, store_errors(PATH):
        raise error
    problem = caught.value.problems[0]
    assert problem.code == code
    assert str(PATH) in problem.message
    assert problem.hint
    assert caught.value.exit_code == ExitCode.BROKEN
    assert caught.value.__cause__ is error


def test_other_errors_pass() -> None:
    with pytest.raises(UsageError), store_errors(PATH):
        raise UsageError(())
