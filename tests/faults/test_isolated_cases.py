"""Cases in processes of their own: what hangs, crashes or eats memory costs its own case and no other."""

from __future__ import annotations

import os
import select
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from fakes import wild
from fakes.projects import answered, oloproof, project, started

APP = """
import os
from wild import behave
from oloproof import current_case, system

@system(records=["agent_trajectory/v1"])
def run(case):
    with current_case().trace() as trace:
        trace.tool_call("work", {"pid": os.getpid()})
        behave(case)
    return {"answer": case, "pid": os.getpid()}
"""


def suite(directory: Path, *answers: str, concurrency: int = 1, **system: Any) -> Path:
    kind = {"callable": "app:run", "isolation": "process", "concurrency": concurrency, "timeout_s": 1} | system
    project(directory, app=APP, cases=answered(*answers), system=kind)
    shutil.copy(wild.__file__, directory)
    return directory


@pytest.mark.parametrize("concurrency", [1, 3])
@pytest.mark.parametrize("bad", ["hang", "exit", "crash", "eat"])
def test_a_bad_case_costs_itself_alone(tmp_path: Path, bad: str, concurrency: int) -> None:
    suite(tmp_path, "yes", bad, "yes", "yes", concurrency=concurrency, memory_mb=4096)
    done = oloproof(tmp_path, "run", "--json")
    assert done.code == 3
    assert done.verdict("right") == (3, 0, 1, 0)
    case = oloproof(tmp_path, "inspect", "--case", "c2", "--json").json
    assert case["error"]["kind"] == ("timeout" if bad == "hang" else "system_error")
    assert [step["tool_name"] for step in case["trajectory"]["steps"]] == ["work"]
    assert case["trajectory"]["truncated"]
    assert "log" in oloproof(tmp_path, "inspect", "--case", "c2").out


def test_a_worker_is_used_again_until_it_is_late(tmp_path: Path) -> None:
    suite(tmp_path, "yes", "yes", "hang", "yes", "yes")
    oloproof(tmp_path, "run")
    shown = (oloproof(tmp_path, "inspect", "--case", f"c{number}", "--json").json for number in range(1, 6))
    pids = [case["trajectory"]["steps"][0]["arguments"]["pid"] for case in shown]
    assert pids[0] == pids[1] == pids[2] != pids[3] == pids[4]
    with pytest.raises(ProcessLookupError):
        os.kill(pids[2], 0)


def test_a_second_interrupt_leaves_no_worker(tmp_path: Path) -> None:
    suite(tmp_path, *["wait"] * 4, concurrency=2, timeout_s=600)
    for name in ("alive", "release"):
        os.mkfifo(tmp_path / name)
    with started(tmp_path, "run") as process:
        alive = os.open(tmp_path / "alive", os.O_RDONLY)  # waits for a worker to open it too
        assert process.stderr is not None
        assert process.stderr.readline().startswith("run ")
        process.send_signal(signal.SIGINT)
        assert process.stderr.readline().startswith("stopping")
        process.send_signal(signal.SIGINT)
        process.communicate()
        ready, _, _ = select.select([alive], [], [], 30)
        assert ready
        assert os.read(alive, 1) == b""
        os.close(alive)
    assert process.returncode == 130


@pytest.mark.parametrize(
    ("system", "message"),
    [
        ({"callable": "app:run", "memory_mb": 512}, "memory_mb bounds the process of one case"),
        ({"command": ["cat"], "isolation": "process"}, "isolation is about a callable"),
        ({"callable": "app:run", "isolation": "process", "memory_mb": 1}, "memory_mb"),
    ],
)
def test_keys_that_have_nothing_to_act_on_are_refused(tmp_path: Path, system: dict[str, Any], message: str) -> None:
    project(tmp_path, system=system)
    done = oloproof(tmp_path, "check")
    assert done.code == 2
    assert message in done.err
