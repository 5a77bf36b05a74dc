"""The audit file and the stores: what survives, what is refused, and half a line."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from fakes.runtime import Counted, acts, killed_in_a_call
from oloproof.runtime import (
    Agent,
    AuditError,
    JsonlAuditSink,
    MemoryAuditSink,
    MemoryStore,
    RunState,
    SqliteStore,
    StateError,
    TornAuditWarning,
    read_audit,
    sinks,
    verify_audit,
)
from oloproof.runtime.audit import AuditRecord, chained


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


def test_kill_9_during_a_call_loses_nothing_and_repeats_nothing(tmp_path: Path) -> None:
    killed_in_a_call(tmp_path, "SqliteStore('runs.db')")
    store, sink = SqliteStore(tmp_path / "runs.db"), JsonlAuditSink(tmp_path / "audit.jsonl")
    state = Agent([], acts(), store=store, audit=sink).resume("r")
    assert ([step.outcome.value for step in state.steps], state.answer) == (["interrupted"], "done")
    assert verify_audit(sink.records, heads=[state]) == []
    store.close()


@pytest.mark.parametrize("chunk", [1, 7, 1000])
def test_a_trail_is_read_in_parts_however_they_fall(
    tmp_path: Path, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = JsonlAuditSink(tmp_path / "audit.jsonl")
    states = [one_run(first), one_run(first)]
    monkeypatch.setattr(sinks, "_CHUNK", chunk)
    second = JsonlAuditSink(tmp_path / "audit.jsonl")
    assert [second.head(state.key) for state in states] == [state.audit_head for state in states]
    states.append(one_run(first))
    assert second.head(states[2].key) == states[2].audit_head
    with (tmp_path / "audit.jsonl").open("ab") as file:
        file.write(b'{"half')
    with pytest.warns(TornAuditWarning, match="6 bytes"):
        assert second.head(states[2].key) == states[2].audit_head
    assert verify_audit(read_audit(tmp_path / "audit.jsonl"), heads=states) == []
    first.close()
    second.close()


def test_what_is_added_after_the_end_of_a_run_is_found() -> None:
    """Somebody who can compute a digest can write one more record; the run was over."""
    agent = Agent([], acts())
    state = agent.run("goal")
    forged = chained(state.key, state.audit_head, "approval", {"granted": True, "approver": "the boss"})
    (problem,) = verify_audit([*agent.audit.records, forged], heads=[state])
    assert (problem.seq, problem.fault) == (forged.seq, "added")


class Overtaken(MemoryAuditSink):
    """A trail whose records another session, which found them in the saved state, has written a moment before."""

    def append(self, records: Sequence[AuditRecord]) -> None:
        super().append(records)
        super().append(records)


def test_records_that_another_session_brought_up_meanwhile_are_no_reason_to_fail() -> None:
    audit = Overtaken()
    state = Agent([Counted().tool()], acts("a"), store=MemoryStore(), audit=audit).run("goal")
    assert (state.status.value, verify_audit(audit.records, heads=[state])) == ("completed", [])
    with pytest.raises(StateError):  # without a store nothing says which of the two goes on
        Agent([Counted().tool()], acts("a"), audit=Overtaken()).run("goal")
