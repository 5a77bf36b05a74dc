"""The runs of a store and what each of them concluded: no case is touched."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from oloproof.errors import BrokenError, Problem, UsageError
from oloproof.model.comparison import Comparison
from oloproof.model.decision import Approval, Policy
from oloproof.model.measured import Measured
from oloproof.model.run import Run
from oloproof.store import codes, names
from oloproof.store.codec import from_json
from oloproof.store.faults import store_errors
from oloproof.store.schema import FILE, connect, make_directory

T = TypeVar("T")


class StoredRuns:
    """The runs of the projects that share a store, for reading. Use it in one thread, and close it (it is a context
    manager).

    Every method raises :class:`BrokenError` when the file is damaged or locked by another process, and
    :class:`UsageError` when a name means no run.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._path = directory / FILE
        self._connection: sqlite3.Connection | None = None

    @property
    def _db(self) -> sqlite3.Connection:
        if self._connection is None:
            with store_errors(self._path):
                make_directory(self.directory)
            self._connection = connect(self.directory)
        return self._connection

    def close(self) -> None:
        """Give back the file."""
        if self._connection is not None:
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()

    def find(self, name: str, *, project: str | None = None) -> Run:
        """The run that a name means: an id, a unique part of one, ``latest`` (the newest started), ``latest~2``.

        Raises :class:`UsageError` with the candidates when the name is ambiguous or unknown.
        """
        return self._header(names.resolve(name, self._ids(project)))

    def runs(self, project: str | None = None, limit: int | None = None) -> list[Run]:
        """The newest ``limit`` runs, the newest first; of one project, or of all that share this store."""
        newest = "SELECT header FROM runs WHERE ?1 IS NULL OR project = ?1 ORDER BY run DESC LIMIT ?2"
        with store_errors(self._path):
            rows = self._db.execute(newest, (project, -1 if limit is None else limit))
            return [from_json(header, kind=Run) for (header,) in rows]

    def aggregates(self, run_id: str) -> Measured:
        """Everything that was counted. Raises :class:`BrokenError` for a run that ended before its conclusion."""
        text = self._column(run_id, "measured")
        if text is None:
            raise BrokenError(
                f"run {run_id} ended before its results were counted",
                code="OLO510",
                hint=f"complete it: `oloproof run --resume {run_id}`",
            )
        return self._decoded(text, kind=Measured)

    def policy(self, run_id: str) -> Policy | None:
        """The policy that the run was judged under, None when it was not gated."""
        text = self._column(run_id, "policy")
        return None if text is None else self._decoded(text, kind=Policy)

    def comparison(self, run_id: str) -> Comparison | None:
        """What the run came to beside its baseline; None where it had none."""
        text = self._column(run_id, "comparison")
        return None if text is None else self._decoded(text, kind=Comparison)

    def warnings(self, run_id: str) -> tuple[str, ...]:
        """What the run warned about."""
        text = self._column(run_id, "warnings")
        return () if text is None else self._decoded(text, kind=tuple[str, ...])

    def log(self, run_id: str) -> str:
        """What user code printed outside of any case, "" where it printed nothing."""
        return str(self._column(run_id, "log"))

    def approvals(self, run_id: str) -> tuple[Approval, ...]:
        """The run's approvals, in the order in which they were given."""
        with store_errors(self._path):
            rows = self._db.execute(
                "SELECT approval FROM approvals WHERE run = ? ORDER BY rowid", (self._row(run_id),)
            ).fetchall()
            return tuple(from_json(approval, kind=Approval) for (approval,) in rows)

    # --- beneath -----------------------------------------------------------------------------------------------------

    def _ids(self, project: str | None) -> list[str]:
        with store_errors(self._path):
            rows = self._db.execute("SELECT id FROM runs WHERE ?1 IS NULL OR project = ?1 ORDER BY run", (project,))
            return [run_id for (run_id,) in rows]

    def _row(self, run_id: str) -> int:
        return int(self._column(run_id, "run"))

    def _header(self, run_id: str) -> Run:
        return self._decoded(self._column(run_id, "header"), kind=Run)

    def _column(self, run_id: str, column: str) -> Any:
        """What one column holds of a run, None where it has not concluded."""
        with store_errors(self._path):
            found = self._db.execute(f"SELECT {column} FROM runs WHERE id = ?", (run_id,)).fetchone()
        if found is None:
            names.resolve(run_id, self._ids(None))
            raise UsageError(Problem(codes.NO_RUN, f"{run_id!r} is no run's whole id"))
        return found[0]

    def _decoded(self, text: str, *, kind: type[T]) -> T:
        with store_errors(self._path):
            return from_json(text, kind=kind)
