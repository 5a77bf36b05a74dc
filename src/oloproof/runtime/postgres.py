"""Where the states of runs live when many machines share them: a table in Postgres, through psycopg 3."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore
from typing import Any, Final
from weakref import finalize

from oloproof.errors import Problem, UsageError
from oloproof.runtime.errors import StateError, StoreError
from oloproof.runtime.state import RunState
from oloproof.runtime.stores import refused

MOST_CONNECTIONS: Final = 8
LONGEST_WAIT_S: Final = 10
"""For the server to take a connection, and over a network to acknowledge what it was sent."""

_TABLE: Final = (
    "CREATE TABLE IF NOT EXISTS oloproof_runs (tenant text NOT NULL, run_id text NOT NULL, revision bigint NOT NULL,"
    " state bytea NOT NULL, PRIMARY KEY (tenant, run_id))"
)
_INSERT: Final = (
    "INSERT INTO oloproof_runs (tenant, run_id, revision, state)"
    " VALUES (%(tenant)s, %(run)s, %(revision)s, %(state)s) ON CONFLICT DO NOTHING"
)
_UPDATE: Final = (
    "UPDATE oloproof_runs SET revision = %(revision)s, state = %(state)s"
    " WHERE tenant = %(tenant)s AND run_id = %(run)s AND revision = %(revision)s - 1"
)
_SELECT: Final = "SELECT state FROM oloproof_runs WHERE tenant = %s AND run_id = %s"
_DELETE: Final = "DELETE FROM oloproof_runs WHERE tenant = %s AND run_id = %s"
_DURABLE: Final = (
    "SELECT set_config('synchronous_commit', 'on', false)"
    " WHERE current_setting('synchronous_commit') IN ('off', 'local')"
)
_LOCK: Final = 0x6F6C6F70726F6F66
"""Whoever makes the table holds this advisory lock: two sessions that make it at once would disturb one another."""


class PostgresStore:
    """States in the table ``oloproof_runs`` of a Postgres database, for threads, processes and machines to share.

    ``address`` is a connection string of libpq: ``postgresql://user@host/database`` or ``host=… dbname=…``. What it
    leaves out, a password say, libpq takes from its own variables and files. A save that has returned survives a crash
    of either side. A connection that broke is replaced before the next use; one that breaks during a save raises, for
    nobody knows then whether the state was kept, and a resume finds out.

    Errors: UsageError where psycopg is not installed, StoreError where the database cannot be used.
    """

    def __init__(self, address: str) -> None:
        try:
            import psycopg  # an extra
        except ImportError:
            hint = "pip install 'oloproof[postgres]'"
            raise UsageError(Problem("OLO756", "a store in Postgres needs psycopg", hint)) from None
        self._psycopg = psycopg
        try:
            given = psycopg.conninfo.conninfo_to_dict(address)
        except psycopg.ProgrammingError:  # its words would repeat the address, and the password in it
            raise StoreError("the address of the database is no connection string") from None
        waits = {"connect_timeout": LONGEST_WAIT_S, "tcp_user_timeout": 1000 * LONGEST_WAIT_S}
        self._options = waits | {"application_name": "oloproof"} | given
        self._idle: list[Any] = []
        finalize(self, _close, self._idle)
        self._turns = BoundedSemaphore(MOST_CONNECTIONS)
        with self._connection() as connection, connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
            connection.execute(_TABLE)

    def save(self, state: RunState) -> None:
        """Keep a state, the first of its run or the next. Errors: StateError where it does not follow the stored."""
        if _unspeakable(*state.key):
            raise StateError("in Postgres neither a tenant nor a run's id may hold the character NUL")
        values = {"tenant": state.tenant, "run": state.run_id, "revision": state.revision, "state": state.to_json()}
        with self._connection() as connection:
            saved = connection.execute(_INSERT if state.revision == 0 else _UPDATE, values).rowcount
        if saved != 1:
            raise refused(state)

    def load(self, tenant: str, run_id: str) -> RunState | None:
        """The stored state, None when there is none."""
        if _unspeakable(tenant, run_id):
            return None
        with self._connection() as connection:
            row = connection.execute(_SELECT, (tenant, run_id)).fetchone()
        return None if row is None else RunState.from_json(row[0])

    def delete(self, tenant: str, run_id: str) -> None:
        """Forget a run."""
        if not _unspeakable(tenant, run_id):
            with self._connection() as connection:
                connection.execute(_DELETE, (tenant, run_id))

    def close(self) -> None:
        """Close the connections that nobody uses; whoever uses the store again opens new ones."""
        _close(self._idle)

    @contextmanager
    def _connection(self) -> Iterator[Any]:
        """A connection that nobody else uses. Errors: StoreError for what the database says."""
        with self._turns:
            try:
                connection = self._sound() or self._new()
                try:
                    yield connection
                except BaseException:
                    connection.close()
                    raise
            except self._psycopg.Error as error:
                words = " ".join(str(error).split())
                raise StoreError(f"the database that keeps the runs cannot be used: {words}") from None
            self._idle.append(connection)

    def _sound(self) -> Any:
        """A connection of before that the server still knows, None where there is none."""
        while self._idle:
            connection = self._idle.pop()
            try:
                connection.execute("")
            except self._psycopg.Error:
                connection.close()
            else:
                return connection
        return None

    def _new(self) -> Any:
        connection = self._psycopg.connect(**self._options, autocommit=True, client_encoding="utf8")
        connection.execute(_DURABLE)
        return connection


def _close(connections: list[Any]) -> None:
    while connections:
        connections.pop().close()


def _unspeakable(*texts: str) -> bool:
    """Whether Postgres cannot hold one of the texts."""
    return any("\0" in text for text in texts)
