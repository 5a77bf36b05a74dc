"""``collect``: a process that is sent telemetry and stopped."""

from __future__ import annotations

import fcntl
import json
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from fakes.projects import oloproof
from fakes.telemetry import agent, chat, otlp, says, tool


def collecting(directory: Path, end: signal.Signals, *bodies: bytes) -> str:
    """What a receiver says that goes on with traces.jsonl, is sent these bodies, and is ended."""
    command = [sys.executable, "-m", "oloproof", "collect", "--port", "0", "-o", "traces.jsonl"]
    with subprocess.Popen(command, cwd=directory, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        address = re.search(r"http://\S+", process.stderr.readline())
        assert address is not None
        for body in bodies:
            request = urllib.request.Request(f"{address[0]}/v1/traces", body, {"Content-Type": "application/json"})
            with urllib.request.urlopen(request, timeout=60) as answer:
                assert answer.status == 200
        process.send_signal(end)
        said = process.stderr.read()
        assert process.wait(60) == (0 if end != signal.SIGKILL else -signal.SIGKILL)
    return said


def truncated(directory: Path) -> dict[str, bool]:
    """Of each case in traces.jsonl, which is sound, whether it is truncated."""
    done = oloproof(directory, "import", "jsonl", "traces.jsonl", "-o", "again.jsonl")
    assert done.code == 0, done.err
    found = [json.loads(line) for line in (directory / "again.jsonl").read_text().splitlines()]
    return {each["case"]: each["trajectory"].get("truncated", False) for each in found}


def body(*names: str, more: bool = False) -> bytes:
    """The traces of these names; ``more``: a call in each, which follows."""
    spans = [agent("a", "a", trace=name) for name in names if not more]
    spans += [chat("m", "a", 10, said=[says("Hi.")], trace=name) for name in names if not more]
    spans += [tool("delete", "x", "a", 20, trace=name) for name in names if more]
    return json.dumps(otlp(*spans)).encode()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_what_was_sent_is_written_when_it_is_stopped(tmp_path: Path, how: signal.Signals) -> None:
    assert "wrote traces.jsonl: 1 trajectories, 2 steps" in collecting(tmp_path, how, body("t1"))
    assert truncated(tmp_path) == {"t1": False}
    assert sorted(file.name for file in tmp_path.iterdir()) == ["again.jsonl", "traces.jsonl"]


def test_the_next_process_knows_what_was_written_and_of_what_something_was_lost(tmp_path: Path) -> None:
    collecting(tmp_path, signal.SIGTERM, body("written", "quiet"))
    collecting(tmp_path, signal.SIGKILL, body("lost"))
    said = collecting(tmp_path, signal.SIGTERM, body("written", "lost", more=True), body("new"))
    assert "traces.jsonl: going on after 2 trajectories" in said
    assert "1 trajectory marked as truncated" in said
    assert truncated(tmp_path) == {"written": True, "quiet": False, "lost": True, "new": False}
    assert not (tmp_path / "traces.jsonl.begun").exists()


def test_what_is_refused_at_the_door(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "old.jsonl").write_text('{"case": "a", "output": 1}\n')
    (tmp_path / "null.jsonl").symlink_to("/dev/null")
    taken = (tmp_path / "taken.jsonl").open("w")
    fcntl.flock(taken, fcntl.LOCK_EX)
    for arguments, message in (
        (("-o", "old.jsonl"), "line 1 is none that collect wrote"),
        (("-o", "null.jsonl"), "is no file"),
        (("-o", "taken.jsonl"), "is being written by another process"),
        (("-o", "new.jsonl", "--host", "0.0.0.0"), "needs a --token-env"),
        (("-o", "new.jsonl", "--token-env", "NO_SUCH_NAME"), "is not set"),
        (("-o", "new.jsonl", "--host", "192.0.2.1", "--token-env", "TOKEN"), "cannot listen"),
    ):
        monkeypatch.setenv("TOKEN", "x")
        done = oloproof(tmp_path, "collect", *arguments)
        assert (done.code, message in done.err.replace("\n", " ")) == (2, True), done.err
    taken.close()
    assert not (tmp_path / "new.jsonl").exists()
    assert "output" in (tmp_path / "old.jsonl").read_text()
