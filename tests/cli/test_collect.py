"""``collect``: a process that is sent telemetry and stopped."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from fakes.projects import oloproof
from fakes.telemetry import agent, chat, otlp, says

BODY = json.dumps(otlp(agent("a", "a"), chat("m", "a", 10, said=[says("Hi.")]))).encode()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_what_was_sent_is_written_when_it_is_stopped(tmp_path: Path, how: signal.Signals) -> None:
    command = [sys.executable, "-m", "oloproof", "collect", "--port", "0", "-o", "traces.jsonl"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        address = re.search(r"http://\S+", process.stderr.readline())
        assert address is not None
        request = urllib.request.Request(f"{address[0]}/v1/traces", BODY, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            assert answer.status == 200
        process.send_signal(how)
        said = process.stderr.read()
        assert process.wait(60) == 0
    assert "wrote traces.jsonl: 1 trajectories, 2 steps" in said
    done = oloproof(tmp_path, "import", "jsonl", "traces.jsonl", "-o", "again.jsonl")
    assert done.code == 0
    assert json.loads((tmp_path / "traces.jsonl").read_text())["case"] == "t1"


def test_what_is_refused_at_the_door(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "old.jsonl").write_text("")
    for arguments, message in (
        (("-o", "old.jsonl"), "is there already"),
        (("-o", "new.jsonl", "--host", "0.0.0.0"), "needs a --token-env"),
        (("-o", "new.jsonl", "--token-env", "NO_SUCH_NAME"), "is not set"),
        (("-o", "new.jsonl", "--host", "192.0.2.1", "--token-env", "TOKEN"), "cannot listen"),
    ):
        monkeypatch.setenv("TOKEN", "x")
        done = oloproof(tmp_path, "collect", *arguments)
        assert (done.code, message in done.err.replace("\n", " ")) == (2, True), done.err
    assert not (tmp_path / "new.jsonl").exists()
