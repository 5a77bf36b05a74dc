"""``oloproof serve`` as a process of its own, and what is asked of it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from fakes.service import OWN, body, frames

APP = '''
import os
import time

from oloproof.runtime import AgentLoop, CallTool, JsonlAuditSink, Policy, PostgresStore, ScriptedController
from oloproof.runtime import SqliteStore, Tool, ToolRegistry
from oloproof.service import Service


def store():
    return PostgresStore(os.environ["RUNS"]) if "RUNS" in os.environ else SqliteStore("runs.db")


def work(text):
    """Say that it was called, and be away for as long as nobody says to come back."""
    with open("calls", "a") as calls:
        calls.write(text + "\\n")
    while not os.path.exists("go"):
        time.sleep(0.01)
    return "worked"


def service(effect):
    schema = {
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
        "additionalProperties": False,
    }
    tool = Tool("work", work, parameters=schema, effect=effect, cost=0.0)
    loop = AgentLoop(
        controller=ScriptedController([CallTool("work", {"text": "x"})], answer="done"),
        tools=ToolRegistry([tool]),
        policy=Policy(allow_effects={"read", "write"}, approve_effects=()),
        checkpoint_store=store(),
        audit=JsonlAuditSink("audit.jsonl", fsync=True),
    )
    return Service(loop=loop)


def reading():
    return service("read")


def writing():
    return service("write")
'''


@dataclass
class Serving:
    process: subprocess.Popen[str]
    url: str
    rpc: str | None

    def rest_of_stderr(self) -> str:
        assert self.process.stderr is not None
        return self.process.stderr.read()


@contextmanager
def serving(directory: Path, *arguments: str, **environment: str) -> Iterator[Serving]:
    command = [sys.executable, "-m", "oloproof", "serve", "--port", "0", *arguments]
    process = subprocess.Popen(command, cwd=directory, stderr=subprocess.PIPE, text=True, env=os.environ | environment)
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        url = re.fullmatch(r"listening on (https?://\S+)\n", line)
        assert url is not None, line + process.stderr.read()
        rpc = process.stderr.readline().rpartition("//")[-1].strip() if "--grpc-port" in arguments else None
        yield Serving(process, url[1], rpc)
    finally:
        process.kill()
        process.wait(20)
        assert process.stderr is not None
        process.stderr.close()


def asked(url: str, headers: dict[str, str] | None = None, **fields: Any) -> Any:
    answer = httpx.post(f"{url}/v1/agent", json=body(**fields), headers=headers or OWN, timeout=60)
    assert answer.status_code == 200, answer.text
    return frames(answer.text)


@contextmanager
def begun(url: str) -> Iterator[str]:
    """A run whose tool is about to be called; its id."""
    with httpx.stream("POST", f"{url}/v1/agent", json=body(), headers=OWN, timeout=60) as response:
        for line in response.iter_lines():
            event = json.loads(line.removeprefix("data: ") or "{}")
            if event.get("kind") == "tool_started":
                yield event["run_id"]
                return


def wait_for(path: Path) -> None:
    """Until another process has written to the file: the one thing that tells that it is inside a call."""
    for _ in range(6000):
        if path.exists() and path.stat().st_size:
            return
        time.sleep(0.01)
    pytest.fail(f"{path.name} was not written within a minute")
