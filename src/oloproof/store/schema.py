"""The database file: its tables, its format number, and the steps from each format to the next."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from oloproof.errors import BrokenError
from oloproof.store.faults import store_errors, unwritable

FILE = "oloproof.db"
APPLICATION_ID = 0x4F4C4F50
"""``OLOP`` in the file's header, so that ``file`` and we can tell a store from another program's database."""

BUSY_TIMEOUT_S = 10.0

_TABLES = (
    # header: model.run.Run as it stands now; measured, policy, warnings: what it concluded, NULL until it finishes
    """CREATE TABLE runs (
        run INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, project TEXT NOT NULL, header TEXT NOT NULL,
        measured TEXT, policy TEXT, warnings TEXT)""",
    """CREATE TABLE approvals (run INTEGER NOT NULL, approval TEXT NOT NULL)""",
    # path: the bytes of the file's name, which need not be text
    """CREATE TABLE sources (
        run INTEGER NOT NULL, source INTEGER NOT NULL, path TEXT NOT NULL, digest TEXT NOT NULL,
        PRIMARY KEY (run, source)) WITHOUT ROWID""",
    """CREATE TABLE blocks (block INTEGER PRIMARY KEY, data BLOB NOT NULL)""",
    # a row an attempt; its detail is the `size` bytes at `start` of its inflated block
    """CREATE TABLE cases (
        run INTEGER NOT NULL, ordinal INTEGER NOT NULL, case_id TEXT NOT NULL, trial INTEGER NOT NULL,
        codes TEXT NOT NULL, block INTEGER NOT NULL, start INTEGER NOT NULL, size INTEGER NOT NULL,
        PRIMARY KEY (run, ordinal)) WITHOUT ROWID""",
)


def _create(db: sqlite3.Connection) -> None:
    for statement in _TABLES:
        db.execute(statement)


def _keep_logs(db: sqlite3.Connection) -> None:
    # what user code printed outside of any case
    db.execute("ALTER TABLE runs ADD COLUMN log TEXT NOT NULL DEFAULT ''")


def _keep_sides(db: sqlite3.Connection) -> None:
    # what a comparison needs of a block's cases, apart from it; what a comparison with a baseline came to
    db.execute("CREATE TABLE sides (block INTEGER PRIMARY KEY, run INTEGER NOT NULL, data BLOB NOT NULL)")
    db.execute("ALTER TABLE runs ADD COLUMN comparison TEXT")


def _keep_waiting(db: sqlite3.Connection) -> None:
    # an attempt that waits to be made again, for as long as nothing is stored of what that comes to
    columns = "run INTEGER NOT NULL, case_id TEXT NOT NULL, trial INTEGER NOT NULL, attempt TEXT NOT NULL"
    db.execute(f"CREATE TABLE waiting ({columns})")
    db.execute("CREATE INDEX waiting_of_case ON waiting (run, case_id, trial)")


MIGRATIONS: tuple[Callable[[sqlite3.Connection], None], ...] = (_create, _keep_logs, _keep_sides, _keep_waiting)
"""Step n leads from format n to format n + 1; the newest format is the number of steps."""


def connect(directory: Path, *, any_thread: bool = False) -> sqlite3.Connection:
    """Open (and where needed create or migrate) the store in ``directory``. Transactions are begun by hand. With
    ``any_thread`` several threads may use it, one at a time.

    Raises :class:`BrokenError` when the file cannot be opened, is damaged, another program's, or of a newer format.
    """
    path = directory / FILE
    if path.is_dir():
        raise unwritable(path, "it is a directory")
    with store_errors(path):
        db = sqlite3.connect(path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=not any_thread)
        try:
            _settle(db, path)
        except BaseException:
            db.close()
            raise
    return db


def connect_in_memory() -> sqlite3.Connection:
    """A store that is written nowhere, and gone once it is closed."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    _settle(db, Path(":memory:"))
    return db


def _settle(db: sqlite3.Connection, path: Path) -> None:
    """Bring an open database to the newest format, whoever else is opening it at this moment."""
    with transaction(db, "BEGIN"):  # without it, another process may create the store between two looks at it
        current = _format(db, path) == len(MIGRATIONS)
    if not current:
        with transaction(db):
            for step in MIGRATIONS[_format(db, path) :]:
                step(db)
            db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            db.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
    # Another process may hold the file at this instant, and SQLite does not wait here. Nothing is lost: the other one
    # makes the same change, or the next one to open the store does, and every journal mode is safe.
    with suppress(sqlite3.OperationalError):
        db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = NORMAL")


@contextmanager
def transaction(db: sqlite3.Connection, begin: str = "BEGIN IMMEDIATE") -> Iterator[None]:
    """All or nothing, and one state of the file throughout. Writers wait their turn at BEGIN IMMEDIATE, where waiting
    is safe, and never upgrade a lock."""
    db.execute(begin)
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


@contextmanager
def synchronized(db: sqlite3.Connection, on: bool) -> Iterator[None]:
    """What is committed meanwhile outlives a loss of power where this is ``on``, and else what the next such does."""
    if not on:
        yield
        return
    db.execute("PRAGMA synchronous = FULL")
    try:
        yield
    finally:
        db.execute("PRAGMA synchronous = NORMAL")


def _format(db: sqlite3.Connection, path: Path) -> int:
    """The file's format number, 0 for a new file. Looks several times, so it wants a transaction around it."""
    (application,) = db.execute("PRAGMA application_id").fetchone()
    (version,) = db.execute("PRAGMA user_version").fetchone()
    (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if application != APPLICATION_ID and (application or version or tables):
        raise BrokenError(
            f"{path} is a database of another program",
            code="OLO507",
            hint="move it away: the next run starts a new store",
        )
    if version > len(MIGRATIONS):
        raise BrokenError(
            f"the store {path} has format {version}, and this oloproof knows formats up to {len(MIGRATIONS)}",
            code="OLO506",
            hint="upgrade oloproof (pip install --upgrade oloproof), or move the store away to start a new one",
        )
    return int(version)


def make_directory(directory: Path) -> None:
    """The directory, and the line that keeps it out of version control."""
    path = directory / FILE
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise unwritable(path, f"{error.filename} is not a directory") from error
    ignore = directory / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n", encoding="utf-8")
