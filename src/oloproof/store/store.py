"""What survives a run: its header, verdicts, aggregates and details, in one SQLite file that several processes share.

Counts and conclusions are read without touching a case; verdicts are rows; details (outputs, trajectories, evidence)
lie compressed in blocks, or in the recorded files that a run refers to. Nothing is written outside the directory.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from os import fsdecode, fsencode
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from oloproof.errors import BrokenError, Problem, UsageError
from oloproof.model.case import Attempt
from oloproof.model.comparison import Comparison
from oloproof.model.decision import Approval, Policy
from oloproof.model.measured import Measured
from oloproof.model.run import Run, RunStatus
from oloproof.store.cases import StoredCases
from oloproof.store.codec import (
    Detail,
    Placed,
    StoredCase,
    pack,
    pack_sides,
    to_json,
)
from oloproof.store.faults import store_errors
from oloproof.store.kept import Kept, discard
from oloproof.store.locks import RunLock
from oloproof.store.schema import make_directory, synchronized, transaction
from oloproof.store.sources import Checked
from oloproof.store.waiting import WaitingAttempts


class _Writing(Struct):
    """A run being written: its row, whether recordings are its dataset, and the numbers given to recorded files."""

    row: int
    own_dataset: bool
    sources: dict[tuple[str, str], int]
    resumed: bool = False


class Store(StoredCases):
    """The runs that :class:`StoredCases` reads. A run is written by one process from its beginning to its end.

    What writes also raises :class:`BrokenError` when the file is unwritable or full.
    """

    def __init__(self, directory: Path, checked: Checked | None = None) -> None:
        super().__init__(directory, checked)
        self._writing: dict[str, _Writing] = {}
        self._locks: dict[str, RunLock] = {}
        self._waiting = WaitingAttempts(directory)

    def close(self) -> None:
        """Give back the file, every recorded file that was read, and the runs that only this process could write."""
        for lock in self._locks.values():
            lock.release()
        self._waiting.close()
        super().close()

    def begin(self, run: Run, policy: Policy | None = None) -> None:
        """Note that a run starts. From now on ``latest`` means it. ``policy`` is kept where the run stops by it."""
        kept = (run.id, run.project, to_json(run), None if policy is None else to_json(policy))
        self._lock(run.id)
        with self._transaction() as db:
            try:
                cursor = db.execute("INSERT INTO runs (id, project, header, policy) VALUES (?, ?, ?, ?)", kept)
            except sqlite3.IntegrityError as error:
                raise BrokenError(f"there is a run {run.id} already", code="OLO509", hint="run it again") from error
        self._writing[run.id] = _Writing(int(cursor.lastrowid or 0), run.own_dataset, {})

    def hold(self, run_id: str) -> Run:
        """Keep everyone else from writing a run that was cut short; its header as it stands now.

        Raises :class:`UsageError` while another process writes it.
        """
        if not self._lock(run_id):
            hint = "wait for it, or end it first"
            raise UsageError(Problem("OLO415", f"run {run_id} is going on in another process", hint))
        return self._header(run_id)

    def resume(self, run: Run, kept: Kept) -> None:
        """Note that a run goes on that was cut short, under this header. What it came to is forgotten, and what is not
        ``kept`` has room."""
        row, stand = self._row(run.id), {ordinal for ordinal, _ in kept.ordinals()}
        with self._transaction() as db:
            stored = db.execute("SELECT ordinal FROM cases WHERE run = ?", (row,))
            discard(db, row, {ordinal for (ordinal,) in stored if ordinal not in stand})
            db.execute(
                "UPDATE runs SET header = ?, measured = NULL, warnings = NULL, comparison = NULL WHERE id = ?",
                (to_json(run), run.id),
            )
        self._writing[run.id] = _Writing(row, run.own_dataset, {}, resumed=True)

    def append(self, run_id: str, cases: Sequence[StoredCase], *, synced: bool = False) -> None:
        """Keep the next attempts of a run, all or none of them: whatever becomes of this process, and with ``synced``
        whatever becomes of the machine. An attempt takes the place of one that stands there already."""
        writing = self._writing.get(run_id) or self._begun_elsewhere(run_id)
        details = [_detail(case, writing) for case in cases]
        blocks = list(pack(details))
        with self._transaction(synced=synced) as db:
            if writing.resumed:
                discard(db, writing.row, {case.ordinal for case in cases})
            db.executemany(
                "INSERT OR IGNORE INTO sources VALUES (?, ?, ?, ?)",
                [(writing.row, number, fsencode(path), digest) for (path, digest), number in writing.sources.items()],
            )
            again = [case.attempt for case in cases if isinstance(case.attempt, Attempt) and case.attempt.earlier]
            if again:
                waited = [(writing.row, attempt.case_id, attempt.trial) for attempt in again]
                db.executemany("DELETE FROM waiting WHERE run = ? AND case_id = ? AND trial = ?", waited)
            rest = iter(cases)
            for block in blocks:
                inside = list(islice(rest, len(block.spans)))
                number = db.execute("INSERT INTO blocks (data) VALUES (?)", (block.data,)).lastrowid
                db.execute(
                    "INSERT INTO sides VALUES (?, ?, ?)",
                    (number, writing.row, pack_sides([case.side for case in inside])),
                )
                db.executemany(
                    "INSERT INTO cases VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    [
                        (writing.row, case.ordinal, case.side.case_id, case.trial, case.side.codes, number, start, size)
                        for (start, size), case in zip(block.spans, inside, strict=True)
                    ],
                )

    def keep_waiting(self, run_id: str, attempt: Attempt) -> None:
        """Keep an attempt that waits to be made again, until :meth:`append` is given what that comes to, and the
        attempt with it. For any thread."""
        with store_errors(self._path):
            self._waiting.keep(run_id, attempt)

    def finish(
        self, run: Run, measured: Measured, policy: Policy | None, *, warnings: Sequence[str] = (), log: str = ""
    ) -> None:
        """Keep a run's final header and what it concluded. ``policy`` None means that it was not gated; ``log`` is what
        user code printed outside of any case."""
        kept = (
            to_json(run),
            to_json(measured),
            None if policy is None else to_json(policy),
            to_json(list(warnings)),
            log,
            run.id,
        )
        with self._transaction(synced=True) as db:
            done = db.execute(
                "UPDATE runs SET header = ?, measured = ?, policy = ?, warnings = ?, log = ? WHERE id = ?", kept
            )
        if done.rowcount != 1 or not self._is_there():
            raise BrokenError(
                f"run {run.id} was taken out of {self._path} while it ran",
                code="OLO511",
                hint="nothing but oloproof may write in .oloproof/; run again",
            )

    def set_status(self, run_id: str, status: RunStatus, *, log: str = "") -> None:
        """Say how a run ended that concluded nothing, and what user code had printed by then outside of any case."""
        with self._transaction() as db:
            header = to_json(replace(self._header(run_id), status=status))
            db.execute("UPDATE runs SET header = ?, log = ? WHERE id = ?", (header, log, run_id))

    def keep_comparison(self, run_id: str, comparison: Comparison) -> None:
        """Keep what the run came to beside its baseline."""
        with self._transaction() as db:
            db.execute("UPDATE runs SET comparison = ? WHERE id = ?", (to_json(comparison), run_id))

    def approve(self, run_id: str, approval: Approval) -> None:
        """Keep a person's approval beside the run."""
        with self._transaction() as db:
            db.execute("INSERT INTO approvals VALUES (?, ?)", (self._row(run_id), to_json(approval)))

    # --- beneath -----------------------------------------------------------------------------------------------------

    @contextmanager
    def _transaction(self, *, synced: bool = False) -> Iterator[sqlite3.Connection]:
        with store_errors(self._path), synchronized(self._db, synced), transaction(self._db):
            yield self._db

    def _is_there(self) -> bool:
        """Nobody has taken the file away."""
        return self._path.exists()

    def _lock(self, run_id: str) -> bool:
        """Whether this process alone writes the run from now on."""
        with store_errors(self._path):
            make_directory(self.directory)
            return self._locks.setdefault(run_id, RunLock(self.directory, run_id)).take()

    def _begun_elsewhere(self, run_id: str) -> _Writing:
        """What :meth:`begin` would have noted, of a run that another process or handle began."""
        row = self._row(run_id)
        with store_errors(self._path):
            rows = self._db.execute("SELECT path, digest, source FROM sources WHERE run = ?", (row,)).fetchall()
        writing = _Writing(
            row, self._header(run_id).own_dataset, {(fsdecode(path), digest): at for path, digest, at in rows}
        )
        self._writing[run_id] = writing
        return writing


def _detail(case: StoredCase, writing: _Writing) -> Detail:
    """What goes into the block: recorded attempts are numbered places, and bring their case where it is theirs."""
    attempt = case.attempt
    if isinstance(attempt, Attempt):
        return Detail(attempt, case.case, case.judgments)
    number = writing.sources.setdefault((attempt.path, attempt.digest), len(writing.sources))
    place = Placed(number, attempt.offset, attempt.length)
    return Detail(place, None if writing.own_dataset else case.case, case.judgments)
