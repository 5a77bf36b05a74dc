"""Ctrl-C, once and twice, and a killed parent: the run is told as what it is, and no worker is left behind."""

from __future__ import annotations

import os
import select
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from fakes.projects import answered, oloproof, project, started

PATIENCE_S = 30
BLOCKED = """
import os
alive = []

def run(case):
    if not alive:
        alive.append(os.open("alive", os.O_WRONLY))  # stays open for as long as this process lives
    os.close(os.open("release", os.O_RDONLY))  # waits for a writer
    return {"answer": case}
"""
LOADING = """
import os
alive = os.open("alive", os.O_WRONLY)
os.open("release", os.O_RDONLY)
"""


@contextmanager
def under_way(directory: Path, app: str, *, cases: int = 40) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A run whose worker waits inside user code, and a file that ends when the worker does."""
    project(directory, app=app, cases=answered(*["yes"] * cases))
    for name in ("alive", "release"):
        os.mkfifo(directory / name)
    with started(directory, "run") as process:
        alive = os.open(directory / "alive", os.O_RDONLY)  # waits for the worker to open it too
        try:
            yield process, alive
        finally:
            process.kill()
            os.close(alive)


def release(directory: Path) -> None:
    """Let the case that waits now, if one does, go on."""
    with suppress(OSError):
        os.close(os.open(directory / "release", os.O_WRONLY | os.O_NONBLOCK))


def has_ended(alive: int) -> bool:
    """Whether the worker is gone, or goes soon."""
    ready, _, _ = select.select([alive], [], [], PATIENCE_S)
    return bool(ready) and os.read(alive, 1) == b""


def interrupt(process: subprocess.Popen[str]) -> None:
    """Ctrl-C, until it is acknowledged."""
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    while not (line := process.stderr.readline()).startswith("stopping"):
        assert line.startswith("run ")


def test_the_first_interrupt_lets_running_cases_finish_and_starts_no_more(tmp_path: Path) -> None:
    with under_way(tmp_path, BLOCKED) as (process, alive):
        interrupt(process)
        while process.poll() is None:
            release(tmp_path)
        out, _ = process.communicate()
        assert process.returncode == 5
        assert "NOT GATED (exit 5): the run is interrupted: what was not run is missing" in out.splitlines()
        assert has_ended(alive)
    for gate in (["gate"], ["gate", "--as-judged"]):
        done = oloproof(tmp_path, *gate)
        assert done.code == 5
        assert "NOT GATED (exit 5): the run is interrupted: what was not run is missing" in done.lines
        assert "the run did not complete; complete it: oloproof run --resume" in done.out
    done = oloproof(tmp_path, "inspect", "--json")
    assert done.json["gate"]["exit_code"] == 5
    passed, failed, missing, excluded = done.verdict("right")
    assert (passed + missing, failed, excluded) == (40, 0, 0)
    assert passed >= 1
    assert missing >= 1
    last = oloproof(tmp_path, "inspect", "--case", "c40", "--json").json["judgments"][0]
    assert (last["verdict"], last["reason"]) == ("missing", "not_run")


def test_the_second_interrupt_ends_at_once_and_leaves_no_worker(tmp_path: Path) -> None:
    with under_way(tmp_path, BLOCKED) as (process, alive):
        interrupt(process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
        assert process.returncode == 130
        assert (out, err) == ("", "")
        assert has_ended(alive)
    (run,) = oloproof(tmp_path, "runs", "--json").json["runs"]
    assert (run["status"], run["gate"]) == ("interrupted", None)
    for command in ("gate", "inspect"):
        done = oloproof(tmp_path, command)
        assert done.code == 5
        assert f"run {run['id']} ended before its results were counted [OLO510]" in done.lines


def test_an_interrupt_while_the_system_loads_ends_at_once(tmp_path: Path) -> None:
    with under_way(tmp_path, LOADING) as (process, alive):
        process.send_signal(signal.SIGINT)
        process.communicate()
        assert process.returncode == 130
        assert has_ended(alive)
    assert oloproof(tmp_path, "runs", "--json").json["runs"] == []


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_run_is_never_taken_for_a_finished_one(tmp_path: Path, number: signal.Signals) -> None:
    with under_way(tmp_path, BLOCKED) as (process, alive):
        process.send_signal(number)
        process.communicate()
        assert process.returncode == -number
        assert has_ended(alive)
    for command in ("gate", "inspect"):
        done = oloproof(tmp_path, command)
        assert done.code == 5
        assert done.err.splitlines()[0].endswith("was started and never finished [OLO604]")
    (run,) = oloproof(tmp_path, "runs", "--json").json["runs"]
    assert (run["status"], run["gate"]) == ("running", None)
