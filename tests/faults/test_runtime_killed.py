"""A run of the runtime that is killed at any point between two effects, or while it waits: nothing runs twice that must
not, nothing is lost, and the trail verifies."""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from fakes.runtime import closed, script
from oloproof.runtime import (
    Agent,
    Approval,
    Decision,
    JsonlAuditSink,
    Policy,
    SqliteStore,
    StateError,
    Tool,
    ToolEffect,
    TornAuditWarning,
    read_audit,
    verify_audit,
)

PROGRAM = """
import os, signal, sys
from pathlib import Path
from oloproof.runtime import Agent, Approval, Decision, JsonlAuditSink, Policy, SqliteStore, Tool

point, number = sys.argv[1], int(sys.argv[2])
keeps = -1

def die(now):
    if (now, keeps) == (point, number):
        os.kill(os.getpid(), signal.SIGKILL)

class Store(SqliteStore):
    def save(self, state):
        global keeps
        keeps += 1
        die("before the save")
        super().save(state)
        die("after the save")

class Sink(JsonlAuditSink):
    def append(self, records):
        if (point, number) == ("half a record", keeps):
            with self.path.open("ab") as trail:
                trail.write(b'{"tenant":"default","run_id":"r","seq":')
            die("half a record")
        super().append(records)
        die("after the record")

def write(text):
    with open("calls", "a") as calls:
        calls.write(text + "\\\\n")
    return "written"

def planner(state, tools):
    return Decision.finish("done") if state.steps else Decision.act("write", {"text": "a"})

schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"],
          "additionalProperties": False}
approver = None if point == "the pause" else lambda request: Approval(request.digest, True, "rule")
Agent([Tool("write", write, parameters=schema, effect="write")], planner, store=Store("runs.db"),
      audit=Sink("audit.jsonl"), policy=Policy(allow_effects={"read", "write"}), approver=approver,
).run("goal", run_id="r")
os.kill(os.getpid(), signal.SIGKILL)
""".replace("\\\\n", "\\n")
POINTS = ("before the save", "after the save", "half a record", "after the record")
KEEPS = ("begun", "asking", "calling", "returned", "completed")
"""The states that the run keeps, in order."""


class Place:
    """Where the killed run left its store and its trail; in this process it goes on."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.store = SqliteStore(directory / "runs.db")
        self.audit = JsonlAuditSink(directory / "audit.jsonl")

    @property
    def calls(self) -> int:
        path = self.directory / "calls"
        return len(path.read_text().splitlines()) if path.exists() else 0

    def write(self, text: str) -> str:
        with (self.directory / "calls").open("a") as calls:
            calls.write(text + "\n")
        return "written"

    def agent(self, **fields: Any) -> Agent:
        tool = Tool("write", self.write, parameters=closed(text={"type": "string"}), effect=ToolEffect.WRITE)
        policy = Policy(allow_effects=frozenset({"read", "write"}))
        planner = script(Decision.act("write", {"text": "a"}))
        return Agent([tool], planner, store=self.store, audit=self.audit, policy=policy, **fields)


def killed(directory: Path, point: str, number: int = -1) -> Place:
    command = [sys.executable, "-c", PROGRAM, point, str(number)]
    done = subprocess.run(command, cwd=directory, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (-signal.SIGKILL, b"")
    with pytest.warns(TornAuditWarning) if point == "half a record" else nullcontext():
        return Place(directory)


@pytest.mark.parametrize("number", range(len(KEEPS)), ids=KEEPS)
@pytest.mark.parametrize("point", POINTS)
def test_killed_at_a_save(tmp_path: Path, point: str, number: int) -> None:
    place = killed(tmp_path, point, number)
    kept = KEEPS[number - (point == "before the save")] if number or point != "before the save" else None
    agent = place.agent(approver=lambda request: Approval(request.digest, True, "rule"))
    if kept is None or kept == "completed":
        with pytest.raises(StateError, match="is over" if kept else "no run"):
            agent.resume("r")
        assert place.calls == (1 if kept else 0)
        last = place.store.load("default", "r")
        assert verify_audit(read_audit(place.audit.path), heads=[last] if last else []) == []
        return
    before = place.calls
    done = agent.resume("r")
    outcome = done.steps[0].outcome.value
    assert (done.status.value, len(done.steps)) == ("completed", 1)
    assert outcome == ("interrupted" if kept == "calling" else "executed")
    assert place.calls == (before if kept == "calling" else 1)  # what it did is unknown, and it is not done again
    assert place.calls <= 1
    assert verify_audit(read_audit(place.audit.path), heads=[done]) == []
    place.store.close()


def test_killed_while_it_waits(tmp_path: Path) -> None:
    place = killed(tmp_path, "the pause")
    state = place.store.load("default", "r")
    assert state is not None
    assert state.pending is not None
    assert place.calls == 0
    approval = Approval(state.pending.digest, granted=True, approver="allen")
    done = place.agent().resume("r", approvals=[approval])
    with pytest.raises(StateError):
        place.agent().resume(state, approvals=[approval])
    assert (done.answer, done.steps[0].outcome.value, place.calls) == ("done", "executed", 1)
    assert verify_audit(read_audit(place.audit.path), heads=[done]) == []
    place.store.close()
