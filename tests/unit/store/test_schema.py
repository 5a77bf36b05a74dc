from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from fakes import stored
from oloproof.errors import BrokenError
from oloproof.store import Store, schema


def database(directory: Path, *statements: str) -> Path:
    path = directory / schema.FILE
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    return path


def refusal(directory: Path) -> tuple[str, str, str]:
    with pytest.raises(BrokenError) as caught:
        schema.connect(directory)
    problem = caught.value.problems[0]
    return problem.code, problem.message, problem.hint


def pragma(connection: sqlite3.Connection, name: str) -> object:
    return connection.execute(f"PRAGMA {name}").fetchone()[0]


def test_a_new_store_says_what_it_is(tmp_path: Path) -> None:
    connection = schema.connect(tmp_path)
    assert pragma(connection, "application_id") == schema.APPLICATION_ID
    assert pragma(connection, "user_version") == len(schema.MIGRATIONS)
    assert pragma(connection, "journal_mode") == "wal"
    assert pragma(connection, "synchronous") == 1
    connection.close()


def test_opening_again_changes_nothing(tmp_path: Path) -> None:
    schema.connect(tmp_path).close()
    before = (tmp_path / schema.FILE).read_bytes()
    schema.connect(tmp_path).close()
    assert (tmp_path / schema.FILE).read_bytes() == before


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    (tmp_path / schema.FILE).touch()
    schema.connect(tmp_path).close()
    assert (tmp_path / schema.FILE).stat().st_size > 0


def test_migrations_run_once_each_from_where_the_file_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store.open(tmp_path) as store:
        store.begin(stored.run())

    def add_a_column(connection: sqlite3.Connection) -> None:
        connection.execute("ALTER TABLE runs ADD COLUMN note TEXT")

    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, add_a_column))
    for _ in range(2):
        connection = schema.connect(tmp_path)
        assert pragma(connection, "user_version") == len(schema.MIGRATIONS)
        assert connection.execute("SELECT id, note FROM runs").fetchall() == [(stored.run().id, None)]
        connection.close()


def test_a_migration_that_fails_leaves_the_old_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    schema.connect(tmp_path).close()

    def fail(connection: sqlite3.Connection) -> None:
        connection.execute("CREATE TABLE half (done)")
        raise sqlite3.DatabaseError("half way")

    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, fail))
    assert refusal(tmp_path)[0] == "OLO504"
    connection = sqlite3.connect(tmp_path / schema.FILE)
    assert pragma(connection, "user_version") == len(schema.MIGRATIONS) - 1
    assert connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'half'").fetchone() == (0,)
    connection.close()


def test_a_newer_format_is_refused_with_the_way_out(tmp_path: Path) -> None:
    path = database(tmp_path, f"PRAGMA application_id = {schema.APPLICATION_ID}", "PRAGMA user_version = 99")
    assert refusal(tmp_path) == (
        "OLO506",
        f"the store {path} has format 99, and this oloproof knows formats up to {len(schema.MIGRATIONS)}",
        "upgrade oloproof (pip install --upgrade oloproof), or move the store away to start a new one",
    )


@pytest.mark.parametrize(
    "statement", ["CREATE TABLE theirs (x)", "PRAGMA application_id = 7", "PRAGMA user_version = 3"]
)
def test_another_programs_database_is_left_alone(tmp_path: Path, statement: str) -> None:
    path = database(tmp_path, "CREATE TABLE theirs_too (x)", statement)
    before = path.read_bytes()
    assert refusal(tmp_path)[0] == "OLO507"
    assert path.read_bytes() == before
