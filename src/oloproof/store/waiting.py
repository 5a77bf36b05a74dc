"""Attempts that wait to be made again: kept by whatever thread sees them, before they wait."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from threading import Lock

from oloproof.model.case import Attempt
from oloproof.store.codec import from_json, to_json
from oloproof.store.kept import Key
from oloproof.store.schema import connect


class WaitingAttempts:
    """A handle of its own on the store's file, since the store's is its thread's. What is kept here the store forgets
    with what the attempts came to."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lock = Lock()
        self._db: sqlite3.Connection | None = None

    def keep(self, run: str, attempt: Attempt) -> None:
        """Keep one more attempt of a run that has begun, whatever becomes of this process."""
        with self._lock:
            self._db = self._db or connect(self._directory, any_thread=True)
            self._db.execute(
                "INSERT INTO waiting SELECT run, ?, ?, ? FROM runs WHERE id = ?",
                (attempt.case_id, attempt.trial, to_json(attempt), run),
            )

    def close(self) -> None:
        with self._lock:
            if self._db is not None:
                self._db.close()
                self._db = None


def waiting_of(db: sqlite3.Connection, row: int) -> dict[Key, tuple[Attempt, ...]]:
    """What is kept so of the run, by case id and trial, in the order in which it ended."""
    found: dict[Key, tuple[Attempt, ...]] = {}
    for (text,) in db.execute("SELECT attempt FROM waiting WHERE run = ? ORDER BY rowid", (row,)):
        attempt = from_json(text, kind=Attempt)
        key = attempt.case_id, attempt.trial
        found[key] = (*found.get(key, ()), attempt)
    return found
