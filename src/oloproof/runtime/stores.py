"""Where the states of runs live: memory, SQLite, or a database server (:mod:`oloproof.runtime.postgres`).

A run is known by its tenant and its id, and nothing else finds it.

A save counts only if it follows the state that is stored (its revision is one higher), decided and written in one
step; so of two sessions that resume one run, one is refused before it does anything.
"""

from __future__ import annotations

import os
import sqlite3
from threading import Lock
from typing import Protocol

from oloproof.runtime.errors import StateError
from oloproof.runtime.state import RunState


class RunStore(Protocol):
    """What keeps the last state of each run."""

    def save(self, state: RunState) -> None:
        """Keep a state, the first of its run or the next. Errors: StateError where it does not follow the stored."""

    def load(self, tenant: str, run_id: str) -> RunState | None:
        """The stored state, None when there is none."""

    def delete(self, tenant: str, run_id: str) -> None:
        """Forget a run."""


class MemoryStore:
    """States in memory, gone with the process. They are kept in their saved form: nothing of a caller's is shared."""

    def __init__(self) -> None:
        self._saved: dict[tuple[str, str], tuple[int, bytes]] = {}
        self._lock = Lock()

    def save(self, state: RunState) -> None:
        """Keep a state, the first of its run or the next. Errors: StateError where it does not follow the stored."""
        saved = state.to_json()
        with self._lock:
            stored, _ = self._saved.get(state.key, (-1, b""))
            if state.revision != stored + 1:
                raise refused(state)
            self._saved[state.key] = (state.revision, saved)

    def load(self, tenant: str, run_id: str) -> RunState | None:
        """The stored state, None when there is none."""
        with self._lock:
            found = self._saved.get((tenant, run_id))
        return None if found is None else RunState.from_json(found[1])

    def delete(self, tenant: str, run_id: str) -> None:
        """Forget a run."""
        with self._lock:
            self._saved.pop((tenant, run_id), None)


class SqliteStore:
    """States in a SQLite file that threads and processes may share. A save that has returned survives a crash."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._lock = Lock()
        self._database = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30)
        self._database.execute("PRAGMA journal_mode=WAL")
        self._database.execute("PRAGMA synchronous=FULL")
        self._database.execute(
            "CREATE TABLE IF NOT EXISTS runs (tenant TEXT NOT NULL, run_id TEXT NOT NULL, revision INTEGER NOT NULL,"
            " state BLOB NOT NULL, PRIMARY KEY (tenant, run_id)) STRICT, WITHOUT ROWID"
        )

    def save(self, state: RunState) -> None:
        """Keep a state, the first of its run or the next. Errors: StateError where it does not follow the stored."""
        values = {"tenant": state.tenant, "run": state.run_id, "revision": state.revision, "state": state.to_json()}
        if state.revision == 0:
            statement = "INSERT OR IGNORE INTO runs VALUES (:tenant, :run, :revision, :state)"
        else:
            statement = (
                "UPDATE runs SET revision = :revision, state = :state"
                " WHERE tenant = :tenant AND run_id = :run AND revision = :revision - 1"
            )
        with self._lock:
            if self._database.execute(statement, values).rowcount != 1:
                raise refused(state)

    def load(self, tenant: str, run_id: str) -> RunState | None:
        """The stored state, None when there is none."""
        with self._lock:
            query = "SELECT state FROM runs WHERE tenant = ? AND run_id = ?"
            row = self._database.execute(query, (tenant, run_id)).fetchone()
        return None if row is None else RunState.from_json(row[0])

    def delete(self, tenant: str, run_id: str) -> None:
        """Forget a run."""
        with self._lock:
            self._database.execute("DELETE FROM runs WHERE tenant = ? AND run_id = ?", (tenant, run_id))

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._database.close()


def refused(state: RunState) -> StateError:
    """The error where a state does not follow the stored one."""
    if state.revision == 0:
        return StateError(f"there is a run {state.run_id!r} already", hint="resume it, or give another run_id")
    return StateError(
        f"the stored state of the run {state.run_id!r} is not the one before this",
        hint="it is older than the stored one, or another session has gone on with the run",
    )
