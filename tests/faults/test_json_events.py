"""Events that nobody reads, that cannot be written, and that end with the run, however it ends."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from fakes.projects import answered, oloproof, project, spawned, started


def test_a_reader_that_goes_away_changes_nothing(tmp_path: Path) -> None:
    directory = project(tmp_path, cases=answered(*["yes"] * 60))
    reader, writer = os.pipe()
    os.close(reader)
    with started(directory, "run", "--json-events", stdout=writer) as process:
        os.close(writer)
        _, err = process.communicate()
    assert process.returncode == 0
    assert "ALLOW (exit 0)" in err
    assert "Traceback" not in err
    assert oloproof(directory, "gate").code == 0


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/full is Linux's")
def test_events_that_cannot_be_written_are_no_success(tmp_path: Path) -> None:
    directory = project(tmp_path)
    with open("/dev/full", "w") as full:
        done = spawned(directory, "run", "--json-events", stdout=full)
    assert done.code == 5
    assert "No space left" in done.err
    assert oloproof(directory, "gate").code == 0


BLOCKED = """
import os
def run(case):
    os.close(os.open("release", os.O_RDONLY))
    return {"answer": "yes"}
"""


def read(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.removesuffix("\n").split("\n")]


@pytest.mark.parametrize("times", [1, 2])
def test_an_interrupted_run_says_so_last(tmp_path: Path, times: int) -> None:
    directory = project(tmp_path, app=BLOCKED, cases=answered(*["yes"] * 200))
    os.mkfifo(directory / "release")
    with started(directory, "run", "--json-events", "--concurrency", "2") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        told = [process.stdout.readline() for _ in range(3)]
        process.send_signal(signal.SIGINT)
        while not process.stderr.readline().startswith("stopping"):
            assert process.poll() is None
        if times == 2:
            process.send_signal(signal.SIGINT)
        else:
            writer = os.open(directory / "release", os.O_RDWR)  # open until the end, so that no case can miss it
        out, _ = process.communicate()
    if times == 1:
        os.close(writer)
    events = read("".join(told) + out)
    names = [event["event"] for event in events]
    assert names[0] == "run_started"
    assert names.index("run_finished") == len(names) - 1
    begun = {event["case"] for event in events if event["event"] == "case_started"}
    ended = [event["case"] for event in events if event["event"] == "case_finished"]
    assert len(set(ended)) == len(ended)
    assert set(ended) <= begun
    assert (begun == set(ended)) == (times == 1)
    assert events[-1]["status"] == "interrupted"
    assert events[-1]["exit_code"] == process.returncode == (5 if times == 1 else 130)
    assert (events[-1]["report"] is None) == (times == 2)


def test_a_budget_that_is_spent_and_a_case_that_is_late_are_told_like_any_other(tmp_path: Path) -> None:
    app = """
    import threading
    def run(case):
        if case == "late":
            threading.Event().wait()
        return {"answer": case}
    """
    system = {"callable": "app:run", "timeout_s": 3, "concurrency": 2}
    directory = project(tmp_path, app=app, cases=answered("late", *["late"] * 9), system=system)
    done = spawned(directory, "run", "--json-events", "--max-wall-s", "2")
    events = read(done.out)
    assert events[-1]["event"] == "run_finished"
    assert events[-1]["exit_code"] == done.code == 5
    ended = [event for event in events if event["event"] == "case_finished"]
    assert {event["error"]["kind"] for event in ended} == {"timeout"}
    assert {event["outcome"] for event in ended} == {"missing"}
    assert {event["case"] for event in events if event["event"] == "case_started"} == {event["case"] for event in ended}


def test_user_code_that_ends_its_worker_cannot_speak_in_the_stream(tmp_path: Path) -> None:
    app = """
    import os
    def run(case):
        print('{"event": "run_finished", "exit_code": 0}', flush=True)
        if case == "end":
            os._exit(0)
        return {"answer": case}
    """
    directory = project(tmp_path, app=app, cases=answered("yes", "end", "yes"))
    done = spawned(directory, "run", "--json-events")
    events = read(done.out)
    assert [event["event"] for event in events].count("run_finished") == 1
    assert events[-1]["exit_code"] == done.code == 3
    assert {event["case"]: event["outcome"] for event in events if event["event"] == "case_finished"} == {
        "c1": "pass",
        "c2": "missing",
        "c3": "pass",
    }
