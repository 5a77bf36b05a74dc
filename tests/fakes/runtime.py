"""What the runtime's tests share: tools that count their calls, planners that follow a script, a clock."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from oloproof.runtime import Decision, RunState, Tool

Planner = Callable[[RunState, list[dict[str, Any]]], Any]


def closed(**properties: Any) -> dict[str, Any]:
    """A closed schema that requires all of its properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": sorted(properties),
        "additionalProperties": False,
    }


class Counted:
    """A function of one text that counts its calls and returns what it is told to, or raises it."""

    def __init__(self, returns: Any = "ok") -> None:
        self.calls: list[str] = []
        self.returns = returns

    def __call__(self, text: str) -> Any:
        self.calls.append(text)
        if isinstance(self.returns, BaseException):
            raise self.returns
        return self.returns

    def tool(self, name: str = "tool", **fields: Any) -> Tool:
        return Tool(name, self, parameters=closed(text={"type": "string"}), **fields)


def script(*decisions: Any) -> Planner:
    """A planner that decides by the number of steps taken, and finishes when the script is at its end."""

    def planner(state: RunState, _: Any) -> Any:
        number = len(state.steps)
        return decisions[number] if number < len(decisions) else Decision.finish("done")

    return planner


def acts(*texts: str, tool: str = "tool") -> Planner:
    return script(*(Decision.act(tool, {"text": text}) for text in texts))


class Ticking:
    """A clock that moves by the given seconds each time it is read."""

    def __init__(self, by: float) -> None:
        self.now, self.by = 0.0, by

    def __call__(self) -> float:
        self.now += self.by
        return self.now


def events(records: Iterable[Any]) -> list[str]:
    return [record.event for record in records]


_KILLED = """
import os, signal
from oloproof.runtime import Agent, Decision, JsonlAuditSink, PostgresStore, SqliteStore, Tool
def tool():
    os.write(1, b"x")
    os.kill(os.getpid(), signal.SIGKILL)
def planner(state, tools):
    return Decision.finish(len(state.steps)) if state.steps else Decision.act("tool")
kept = {{"store": {store}, "audit": JsonlAuditSink("audit.jsonl")}}
Agent([Tool("tool", tool, idempotent=False)], planner, **kept).run("goal", run_id="r")
"""


def killed_in_a_call(directory: Path, store: str) -> None:
    """A run "r" of another process that SIGKILL ended within its only call; its trail is ``audit.jsonl``."""
    command = [sys.executable, "-c", _KILLED.format(store=store)]
    done = subprocess.run(command, cwd=directory, stdout=subprocess.PIPE, check=False)
    assert (done.returncode, done.stdout) == (-signal.SIGKILL, b"x")
