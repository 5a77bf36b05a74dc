"""Killed writers, several at once, full disks and damaged files: nothing stored is lost, and the error says what."""

from __future__ import annotations

import os
import resource
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from fakes import stored
from oloproof.errors import BrokenError
from oloproof.store import Store

TESTS = Path(__file__).parents[1]

WRITER = """
import os, signal, sys
from pathlib import Path
from fakes import stored
from oloproof.store import Store

directory, name, batches, end = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]
with Store.open(directory) as store:
    store.begin(stored.run(name))
    for batch in range(batches):
        store.append(name, [stored.row(number) for number in range(batch * 20, batch * 20 + 20)])
    if end == "killed":
        store._db.execute("BEGIN IMMEDIATE")
        store._db.execute("DELETE FROM cases")
        os.kill(os.getpid(), signal.SIGKILL)
    store.finish(stored.run(name), stored.measured(batches * 20), None)
"""


def writer(directory: Path, name: str, *, batches: int, end: str = "finished") -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(directory), name, str(batches), end],
        env={**os.environ, "PYTHONPATH": str(TESTS)},
    )


def test_runs_written_at_once_all_succeed(tmp_path: Path) -> None:
    """They also race for making the store, which none of them finds."""
    names = [f"run-{number}" for number in range(4)]
    writers = [writer(tmp_path / ".oloproof", name, batches=25) for name in names]
    assert [process.wait() for process in writers] == [0, 0, 0, 0]
    with Store.open(tmp_path / ".oloproof", create=False) as store:
        assert sorted(run.id for run in store.runs()) == names
        for name in names:
            assert [row.case_id for row in store.verdicts(name)] == [stored.case(number).id for number in range(500)]
            assert [detail.attempt for detail in stored.records(store, name)] == [
                stored.attempt(number) for number in range(500)
            ]
            assert store.aggregates(name) == stored.measured(500)


def test_a_killed_writer_leaves_what_it_had_appended(tmp_path: Path) -> None:
    assert writer(tmp_path, "run", batches=2, end="killed").wait() == -signal.SIGKILL
    with Store.open(tmp_path, create=False) as store:
        run = store.find("latest")
        assert (run.id, run.status) == ("run", "running")
        assert len(stored.records(store, "run")) == 40
        store.begin(stored.run("next"))
        assert store.find("latest").id == "next"


def test_a_reader_sees_what_is_finished_while_another_writes(tmp_path: Path) -> None:
    with Store.open(tmp_path) as one, Store.open(tmp_path) as other:
        one.begin(stored.run("a"))
        with one._transaction():
            assert [run.id for run in other.runs()] == ["a"]


def test_a_store_that_stays_locked_is_told(tmp_path: Path) -> None:
    with Store.open(tmp_path) as one, Store.open(tmp_path) as other:
        other._db.execute("PRAGMA busy_timeout = 1")
        with one._transaction(), pytest.raises(BrokenError) as caught:
            other.begin(stored.run())
        assert caught.value.problems[0].code == "OLO505"
        other.begin(stored.run())


@pytest.mark.parametrize(
    "content", [b"not a database, but long enough to be one" * 100, b"SQLite format 3\x00garbage" * 9]
)
def test_a_damaged_file_is_told_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "oloproof.db"
    path.write_bytes(content)
    with pytest.raises(BrokenError, match="is damaged") as caught:
        Store.open(tmp_path).runs()
    assert caught.value.problems[0].code == "OLO501"
    assert caught.value.problems[0].hint == (
        "move oloproof.db (and oloproof.db-wal, oloproof.db-shm) away: the next run starts a new store"
    )
    assert path.read_bytes() == content


def filled(directory: Path) -> Path:
    with Store.open(directory) as store:
        store.begin(stored.run())
        store.append(stored.run().id, [stored.row(number) for number in range(500)])
        store.finish(stored.run(), stored.measured(500), None)
    return directory / "oloproof.db"


def test_pages_overwritten_in_mid_file_are_told(tmp_path: Path) -> None:
    path = filled(tmp_path)
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xa5" * (len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(BrokenError) as caught, Store.open(tmp_path) as store:
        stored.records(store, store.find("latest").id)
    assert caught.value.problems[0].code == "OLO501"


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE blocks SET data = x'01ff'",
        "UPDATE blocks SET data = x'99'",
        "DELETE FROM blocks",
        "UPDATE cases SET size = size - 1",
        "UPDATE runs SET header = '{}'",
        "DROP TABLE cases",
    ],
)
def test_a_store_that_contradicts_itself_is_told(tmp_path: Path, statement: str) -> None:
    path = filled(tmp_path)
    with sqlite3.connect(path) as connection:
        connection.execute(statement)
    connection.close()
    with pytest.raises(BrokenError) as caught, Store.open(tmp_path) as store:
        stored.records(store, store.find("latest").id)
    assert caught.value.problems[0].code == "OLO501"


def test_a_directory_in_place_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "oloproof.db").mkdir()
    with pytest.raises(BrokenError, match="it is a directory") as caught:
        Store.open(tmp_path).runs()
    assert caught.value.problems[0].code == "OLO502"


@pytest.mark.parametrize("place", [".oloproof", ".oloproof/deeper"])
def test_a_file_in_place_of_the_directory(tmp_path: Path, place: str) -> None:
    (tmp_path / ".oloproof").write_text("mine")
    with pytest.raises(BrokenError) as caught:
        Store.open(tmp_path / place).runs()
    assert caught.value.problems[0].code == "OLO502"
    assert (tmp_path / ".oloproof").read_text() == "mine"


def may_write_anyway(directory: Path) -> bool:
    """The superuser may write where nobody is allowed to."""
    directory.mkdir(mode=0o500)
    return os.access(directory, os.W_OK)


@pytest.mark.parametrize("what", ["directory", "file"])
def test_what_may_not_be_written_is_told(tmp_path: Path, what: str) -> None:
    if may_write_anyway(tmp_path / "probe"):
        pytest.skip("this user may write anywhere")
    path = filled(tmp_path / ".oloproof")
    protected = path if what == "file" else path.parent
    protected.chmod(0o500)
    try:
        with pytest.raises(BrokenError) as caught:
            begin_another(path.parent)
        assert caught.value.problems[0].code == "OLO502"
    finally:
        protected.chmod(0o700)


def begin_another(directory: Path) -> None:
    with Store.open(directory) as store:
        store.begin(stored.run("next"))


def test_a_full_disk_is_told_and_what_was_stored_is_kept(tmp_path: Path) -> None:
    run = stored.run()
    with Store.open(tmp_path) as store:
        store.begin(run)
        store.append(run.id, [stored.row(0)])
        (pages,) = store._db.execute("PRAGMA page_count").fetchone()
        store._db.execute(f"PRAGMA max_page_count = {pages + 1}")
        with pytest.raises(BrokenError, match="no room left") as caught:
            store.append(run.id, [stored.row(number) for number in range(1, 2000)])
        assert caught.value.problems[0].code == "OLO503"
        assert [row.case_id for row in store.verdicts(run.id)] == ["case_00000"]
        store.set_status(run.id, "broken")
    with Store.open(tmp_path, create=False) as store:
        assert store.find("latest").status == "broken"
        assert len(stored.records(store, run.id)) == 1


def append_much(store: Store, name: str) -> None:
    for first in range(0, 20_000, 500):
        store.append(name, [stored.row(number) for number in range(first, first + 500)])


def test_a_file_that_may_not_grow_is_told(tmp_path: Path) -> None:
    path = filled(tmp_path)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        with Store.open(tmp_path) as store:
            resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size, limits[1]))
            store.begin(stored.run("next"))
            with pytest.raises(BrokenError) as caught:
                append_much(store, "next")
            assert caught.value.problems[0].code == "OLO504"
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            assert store.aggregates(stored.run().id) == stored.measured(500)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
