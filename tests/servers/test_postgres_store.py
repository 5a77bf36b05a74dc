"""The store in Postgres against a real server: the laws of all stores, crashes of either side, and what it says."""

from __future__ import annotations

import signal
import subprocess
import sys
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from fakes.postgres import Server, postgres
from fakes.projects import oloproof
from fakes.runtime import acts, killed_in_a_call
from fakes.store_laws import Opened, StoreLaws, a_state
from oloproof.runtime import Agent, JsonlAuditSink, PostgresStore, StoreError, read_audit, verify_audit

psycopg = pytest.importorskip("psycopg")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with postgres() as running:
        yield running


@pytest.fixture
def address(server: Server) -> str:
    """A place for tables of the test's own."""
    with psycopg.connect(server.address, autocommit=True) as connection:
        count = connection.execute("SELECT count(*) FROM pg_namespace").fetchone()[0]
        connection.execute(f"CREATE SCHEMA test_{count}")
    return f"{server.address}&options=-csearch_path%3Dtest_{count}"


@pytest.fixture
def opened(address: str) -> Iterator[Opened]:
    handles: list[PostgresStore] = []

    def another() -> PostgresStore:
        handles.append(PostgresStore(address))
        return handles[-1]

    yield another
    for handle in handles:
        handle.close()


class TestPostgres(StoreLaws):
    pass


def test_many_open_a_new_database_at_once(opened: Opened) -> None:
    with ThreadPoolExecutor(8) as pool:
        stores = list(pool.map(lambda _: opened(), range(8)))
    state = a_state()
    stores[0].save(state)
    assert stores[7].load(*state.key) == state


def test_a_save_that_has_returned_survives_a_crash_of_the_server(server: Server, opened: Opened) -> None:
    store, state = opened(), a_state()
    store.save(state)
    server.stop()
    server.start()
    assert store.load(*state.key) == state  # over a new connection
    store.save(replace(state, revision=1))


def test_a_server_that_is_away_is_told_and_nothing_is_done(server: Server, address: str, opened: Opened) -> None:
    store, state = opened(), a_state()
    store.save(state)
    server.stop()
    try:
        for use in (lambda: store.save(replace(state, revision=1)), lambda: store.load(*state.key)):
            with pytest.raises(StoreError, match="cannot be used"):
                use()
        with pytest.raises(StoreError, match="cannot be used"):
            PostgresStore(address)
    finally:
        server.start()
    assert store.load(*state.key) == state


def test_a_store_that_is_switched_to_be_hasty_still_waits_for_the_disk(address: str) -> None:
    store = PostgresStore(f"{address}%20-csynchronous_commit%3Doff")
    with store._connection() as connection:
        assert connection.execute("SHOW synchronous_commit").fetchone() == ("on",)
    store.close()


@pytest.mark.parametrize("address", ["postgresql://u:hunter2@h:x/d", "password=hunter2 nothing", "hunter2"])
def test_a_password_is_repeated_nowhere(address: str) -> None:
    with pytest.raises(StoreError) as raised:
        PostgresStore(address)
    assert "hunter2" not in "".join(traceback.format_exception(raised.value))


SAVING = """
import os, sys
from msgspec.structs import replace
from oloproof.runtime import Agent, Decision, PostgresStore
store = PostgresStore(sys.argv[1])
state = Agent([], lambda state, tools: Decision.finish("x" * 200_000), tenant="acme").run("goal", run_id="r")
for number in range(100_000):
    store.save(replace(state, revision=number, goal=f"goal {number}"))
    os.write(1, b"%d\\n" % number)
"""


def test_kill_9_in_the_middle_of_saves_leaves_a_whole_state(address: str, opened: Opened) -> None:
    with subprocess.Popen([sys.executable, "-c", SAVING, address], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(40)]
        process.send_signal(signal.SIGKILL)
        said += process.stdout.readlines()
    last = int([line for line in said if line.endswith("\n")][-1])
    state = opened().load("acme", "r")
    assert state is not None
    assert state.revision in (last, last + 1)  # the one that was being saved may have come through
    assert (state.goal, state.answer) == (f"goal {state.revision}", "x" * 200_000)
    opened().save(replace(state, revision=state.revision + 1))


def test_kill_9_during_a_call_loses_nothing_and_repeats_nothing(tmp_path: Path, address: str, opened: Opened) -> None:
    killed_in_a_call(tmp_path, f"PostgresStore({address!r})")
    sink = JsonlAuditSink(tmp_path / "audit.jsonl")
    state = Agent([], acts(), store=opened(), audit=sink).resume("r")
    assert ([step.outcome.value for step in state.steps], state.answer) == (["interrupted"], "done")
    assert verify_audit(sink.records, heads=[state]) == []


def test_the_agent_command_keeps_its_runs_there(tmp_path: Path, address: str, opened: Opened, monkeypatch: Any) -> None:
    monkeypatch.setenv("RUNS", address)
    done = oloproof(tmp_path, "agent", "anything", "--tenant", "acme", "--store-env", "RUNS")
    assert (done.code, done.out.splitlines()[-1]) == (0, "Nothing could be retrieved.")
    (run_id,) = {record.run_id for record in read_audit(tmp_path / ".oloproof" / "agent" / "audit.jsonl")}
    state = opened().load("acme", run_id)
    assert state is not None
    assert state.status.value == "completed"
    assert not (tmp_path / ".oloproof" / "agent" / "runs.db").exists()
    again = oloproof(tmp_path, "agent", "--resume", run_id, "--tenant", "acme", "--store", address)
    assert (again.code, "is over" in again.err) == (5, True)
    lost = oloproof(tmp_path, "agent", "anything", "--store", "postgresql://nobody@127.0.0.1:1/none")
    assert (lost.code, "OLO757" in lost.err, lost.out) == (5, True, "")
