"""The system in this process, for debuggers."""

from __future__ import annotations

import os
import sys

import pytest

from fakes.workers import cases, project, run
from oloproof import runner
from oloproof.errors import BrokenError, UsageError

SOURCE = """
@system(name="local")
def run(case):
    if case == 2:
        raise ValueError("two")
    with current_case().trace() as trace:
        trace.final()
    return (case, os.getpid(), threading.current_thread() is threading.main_thread())
"""


def test_it_runs_here_on_the_main_thread_and_leaves_the_same(tmp_path, capsys):
    first, second = run(project(tmp_path, SOURCE), [1, 2], in_process=True)
    assert first.output == [1, os.getpid(), True]
    assert first.trajectory.terminal_status == "unknown"
    assert second.error.message == "ValueError: two"
    assert "oloproof/" not in second.error.traceback
    assert str(tmp_path) not in sys.path


def test_it_declares_and_stops(tmp_path):
    with runner.load(project(tmp_path, SOURCE), in_process=True) as loaded:
        assert loaded.identity.name == "local"
        attempts = []
        for attempt in loaded.run(cases(1, 3, 4)):
            attempts.append(attempt)
            loaded.stop()
    assert [attempt.error.kind if attempt.error else "ran" for attempt in attempts] == ["ran", "not_run", "not_run"]


def test_coroutine_functions_run_too(tmp_path):
    source = "async def run(case):\n    await asyncio.sleep(0)\n    return current_case().id"
    assert [attempt.output for attempt in run(project(tmp_path, source), [1, 2], in_process=True)] == [
        "case_1",
        "case_2",
    ]


def test_loading_fails_as_in_a_worker(tmp_path):
    with pytest.raises(UsageError, match="OLO402"):
        run(project(tmp_path, "", target="app:absent"), [], in_process=True)
    sys.modules.pop("app", None)
    with pytest.raises(BrokenError, match="importing app failed: ZeroDivisionError"):
        run(project(tmp_path, "1 / 0"), [], in_process=True)


def test_it_may_not_keep_the_streams(tmp_path, capsys):
    source = """
    sys.stdout = None
    def run(case):
        sys.stdout = sys.stderr = None
        return case
    """
    streams = sys.stdout, sys.stderr
    assert [attempt.output for attempt in run(project(tmp_path, source), [1, 2], in_process=True)] == [1, 2]
    assert (sys.stdout, sys.stderr) == streams
