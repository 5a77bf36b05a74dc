"""The audit file and the stores: what survives, what is refused, and half a line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from fakes.runtime import Counted, acts
from oloproof.runtime import (
    Agent,
    AuditError,
    JsonlAuditSink,
    MemoryStore,
    RunState,
    SqliteStore,
    StateError,
    TornAuditWarning,
    read_audit,
    verify_audit,
)


def one_run(sink: JsonlAuditSink, **fields: Any) -> RunState:
    return Agent([Counted().tool()], acts("a"), audit=sink, **fields).run("goal")


@pytest.mark.parametrize("fsync", [False, True])
def test_a_trail_reads_back_as_it_was_written(tmp_path: Path, fsync: bool) -> None:
    sink = JsonlAuditSink(tmp_path / "audit.jsonl", fsync=fsync)
    states = [one_run(sink), one_run(sink)]
    assert read_audit(sink.path) == sink.records
    assert verify_audit(read_audit(sink.path), heads=states) == []
    again = JsonlAuditSink(sink.path)
    assert [again.head(state.key) for state in states] == [state.audit_head for state in states]


def test_a_changed_character_is_found_and_named(tmp_path: Path) -> None:
    sink = JsonlAuditSink(tmp_path / "audit.jsonl")
    one_run(sink)
    text = sink.path.read_text()
    sink.path.write_text(text.replace('"goal":"goal"', '"goal":"gaol"'))
    assert [(problem.seq, problem.fault) for problem in verify_audit(read_audit(sink.path))] == [(0, "changed")]
    sink.path.write_text(text.replace('"seq":2', '"seq":x'))
    with pytest.raises(AuditError, match=r"audit\.jsonl:3:"):
        read_audit(sink.path)
    with pytest.raises(AuditError, match=r"audit\.jsonl:3:"):
        JsonlAuditSink(sink.path)


def test_half_a_line_is_told_and_mended_and_a_resume_writes_the_record_again(tmp_path: Path) -> None:
    path, store, function = tmp_path / "audit.jsonl", MemoryStore(), Counted(KeyboardInterrupt())

    def agent() -> Agent:
        return Agent([function.tool()], acts("a"), audit=JsonlAuditSink(path), store=store)

    with pytest.raises(KeyboardInterrupt):
        agent().run("goal", run_id="r")
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.warns(TornAuditWarning, match="half a line"):
        assert len(read_audit(path)) == 2
    function.returns = "ok"
    with pytest.warns(TornAuditWarning, match="half a line"):
        mended = agent()
    done = mended.resume("r")
    assert (done.answer, function.calls) == ("done", ["a", "a"])
    assert verify_audit(read_audit(path), heads=[done]) == []


def test_a_file_that_became_shorter_is_no_crash(tmp_path: Path) -> None:
    sink = JsonlAuditSink(tmp_path / "audit.jsonl")
    one_run(sink)
    os.truncate(sink.path, 10)
    with pytest.raises(AuditError, match="shorter"):
        one_run(sink)


def test_two_sinks_on_one_file_see_one_another_and_refuse_a_fork(tmp_path: Path) -> None:
    first, second = (JsonlAuditSink(tmp_path / "audit.jsonl") for _ in range(2))
    state = one_run(first)
    assert second.head(state.key) == state.audit_head
    with pytest.raises(StateError, match="goes on otherwise"):
        second.append(state.outbox)
    one_run(second)
    assert verify_audit(first.records, heads=[state]) == []
    first.close()
    second.close()


def test_a_file_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(AuditError, match="cannot be opened"):
        JsonlAuditSink(tmp_path / "no" / "audit.jsonl")
    with pytest.raises(AuditError, match="cannot be read"):
        read_audit(tmp_path / "no")


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_store_keeps_the_last_state_and_refuses_any_other_order(kind: str, tmp_path: Path) -> None:
    store = MemoryStore() if kind == "memory" else SqliteStore(tmp_path / "runs.db")
    state = Agent([], acts()).run("goal")
    for number in (0, 1, 2):
        store.save(replace(state, revision=number))
    for number in (0, 1, 2, 4):
        with pytest.raises(StateError):
            store.save(replace(state, revision=number))
    assert store.load(*state.key) == replace(state, revision=2)
    assert store.load("other", state.run_id) is None
    store.delete("other", state.run_id)
    store.delete(*state.key)
    assert store.load(*state.key) is None


KILLED = """
import os, signal, sys
from oloproof.runtime import Agent, Decision, JsonlAuditSink, SqliteStore, Tool
def tool():
    os.write(1, b"x")
    os.kill(os.getpid(), signal.SIGKILL)
def planner(state, tools):
    return Decision.finish(len(state.steps)) if state.steps else Decision.act("tool")
Agent([Tool("tool", tool, idempotent=False)], planner, store=SqliteStore("runs.db"), audit=JsonlAuditSink("audit.jsonl")
).run("goal", run_id="r")
"""


def test_kill_9_during_a_call_loses_nothing_and_repeats_nothing(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED], cwd=tmp_path, stdout=subprocess.PIPE, check=False)
    assert (done.returncode, done.stdout) == (-signal.SIGKILL, b"x")
    store, sink = SqliteStore(tmp_path / "runs.db"), JsonlAuditSink(tmp_path / "audit.jsonl")
    state = Agent([], acts(), store=store, audit=sink).resume("r")
    assert ([step.outcome.value for step in state.steps], state.answer) == (["interrupted"], "done")
    assert verify_audit(sink.records, heads=[state]) == []
    store.close()
