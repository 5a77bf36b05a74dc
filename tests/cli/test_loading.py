"""Exit 5: a system that exists and does not load, whatever it does instead; its exit hooks change nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from fakes.projects import ECHO, answered, oloproof, project, spawned

HOOK = "import atexit, os\natexit.register(os._exit, 0)\n"


@pytest.mark.parametrize(
    ("app", "told"),
    [
        ("raise RuntimeError('boom')", "importing app failed: RuntimeError: boom [OLO404]"),
        ("import sys\nsys.exit(0)", "importing app failed: the code called sys.exit(0) [OLO404]"),
        ("raise KeyboardInterrupt", "importing app failed: the code raised KeyboardInterrupt [OLO404]"),
        (
            "import no_such_module",
            "importing app failed: ModuleNotFoundError: No module named 'no_such_module' [OLO404]",
        ),
        ("def run(case:", "importing app failed: SyntaxError: '(' was never closed (app.py, line 1) [OLO404]"),
        ("import os\nos._exit(0)", "the worker process ended with exit status 0 while it loaded app:run [OLO405]"),
        (HOOK + "raise RuntimeError('boom')", "importing app failed: RuntimeError: boom [OLO404]"),
        (
            "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
            "the worker process was killed by SIGKILL while it loaded app:run [OLO405]",
        ),
    ],
    ids=["raises", "sys-exit", "interrupt", "import", "syntax", "os-exit", "exit-hook", "killed"],
)
def test_a_system_that_fails_to_load_is_broken(tmp_path: Path, app: str, told: str) -> None:
    directory = project(tmp_path, app=app)
    done = oloproof(directory, "run")
    assert done.code == 5
    assert told in done.lines
    assert [run["status"] for run in oloproof(directory, "runs", "--json").json["runs"]] == ["broken"]


def test_a_system_that_fails_to_load_does_not_leave_the_gate_to_an_older_run(tmp_path: Path) -> None:
    directory = project(tmp_path)
    assert oloproof(directory, "run").code == 0
    (directory / "app.py").write_text("raise RuntimeError('boom')\n")
    assert oloproof(directory, "run").code == 5
    assert oloproof(directory, "gate", "latest").code == 5


def test_the_traceback_shows_the_users_lines(tmp_path: Path) -> None:
    done = spawned(project(tmp_path, app="def boom():\n    raise RuntimeError('boom')\nboom()\n"), "run")
    assert done.code == 5
    assert "Traceback (most recent call last):" in done.lines
    assert "boom()" in done.lines
    assert "oloproof/runner" not in done.err


def test_what_a_dead_worker_printed_last_is_told(tmp_path: Path) -> None:
    done = oloproof(project(tmp_path, app="import os\nprint('out of quota', flush=True)\nos._exit(0)\n"), "run")
    assert "out of quota" in done.lines


@pytest.mark.parametrize(("answer", "code"), [("yes", 0), ("no", 1)])
def test_an_exit_hook_does_not_change_the_verdict(tmp_path: Path, answer: str, code: int) -> None:
    assert spawned(project(tmp_path, app=HOOK + ECHO, cases=answered("yes", answer)), "run").code == code


def test_evaluators_that_fail_to_load_are_broken(tmp_path: Path) -> None:
    directory = project(tmp_path, evaluators=[{"type": "judges:right"}])
    (directory / "judges.py").write_text("import os\nos._exit(0)\n")
    done = oloproof(directory, "run")
    assert done.code == 5
    assert "the worker process ended with exit status 0 while it loaded judges:right [OLO405]" in done.lines


def test_garbage_of_user_code_in_this_process_is_collected_at_its_end(tmp_path: Path) -> None:
    """Cycles included, though what is ours is not looked through."""
    app = """
class Notes:
    def __init__(self):
        self.myself = self
        self.file = open("notes.txt", "w")

    def __del__(self):
        self.file.write(" and gone")

notes = Notes()

def run(case):
    notes.file.write("asked")
    return {"answer": case}
"""
    directory = project(tmp_path, app=app, cases=answered("yes"), rules=None)
    assert spawned(directory, "run", "--in-process", "--no-gate").code == 0
    assert (directory / "notes.txt").read_text() == "asked and gone"
