"""Systems that are classes, in real workers: made once, set up, called, torn down."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from fakes.workers import cases, project
from oloproof import runner
from oloproof.errors import BrokenError
from oloproof.model.case import Attempt
from oloproof.model.project import CallableSystem, Project
from oloproof.runner import process

AGENT = """
def note(what):
    with open("noted", "a") as file:
        print(what, os.getpid(), file=file)

class Agent:
    def __init__(self):
        note("made")

    def setup(self):
        print("setting up")
        self.calls = 0
        note("up")

    def run(self, case):
        self.calls += 1
        return self.calls

    def teardown(self):
        print("tearing down")
        note("down")
"""
ASYNC = AGENT.replace("    def setup", "    async def setup").replace("    def run", "    async def run").replace(
    "    def teardown", "    async def teardown"
).replace('note("up")', 'self.loop = asyncio.get_running_loop(); note("up")').replace(
    'note("down")', 'assert self.loop is asyncio.get_running_loop(); note("down")'
)  # fmt: skip


def of(directory: Path, source: str = AGENT, **kind: Any) -> Project:
    made = project(directory, source, target="app:Agent")
    assert isinstance(made.system.kind, CallableSystem)
    return replace(made, system=replace(made.system, kind=replace(made.system.kind, **kind)))


def noted(directory: Path) -> list[list[str]]:
    return [line.split() for line in (directory / "noted").read_text().splitlines()]


def ran(project: Project, count: int = 3, **options: Any) -> tuple[list[Attempt], Any]:
    with runner.load(project, **options) as loaded:
        attempts = list(loaded.run(cases(*range(count))))
    return attempts, loaded


@pytest.mark.parametrize("source", [AGENT, ASYNC], ids=["sync", "async"])
@pytest.mark.parametrize("in_process", [False, True])
def test_once_before_and_once_after_all_cases(
    tmp_path: Path, source: str, in_process: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    attempts, loaded = ran(of(tmp_path, source), in_process=in_process)
    assert [attempt.output for attempt in attempts] == [1, 2, 3]
    assert [what for what, _ in noted(tmp_path)] == ["made", "up", "down"]
    assert len({pid for _, pid in noted(tmp_path)}) == 1
    assert loaded.warnings == ()
    if not in_process:
        assert loaded.log == "setting up\ntearing down\n"
        assert [attempt.log for attempt in attempts] == [""] * 3


def test_each_process_of_its_own_has_its_object(tmp_path: Path) -> None:
    source = AGENT.replace("return self.calls", "time.sleep(600) if case == 1 else None; return os.getpid()")
    attempts, _ = ran(of(tmp_path, source, isolation="process", timeout_s=1))
    assert attempts[1].error is not None
    lived = [pid for what, pid in noted(tmp_path) if what == "up"]
    assert [str(attempts[0].output), str(attempts[2].output)] == lived
    assert [pid for what, pid in noted(tmp_path) if what == "down"] == lived[1:], "the first was killed"


def test_a_stopped_run_is_torn_down(tmp_path: Path) -> None:
    with runner.load(of(tmp_path)) as loaded:
        attempts = loaded.run(cases(*range(500)), runner.Launch(window=1))
        assert next(attempts).output == 1
        loaded.stop()
        assert {attempt.error and attempt.error.kind for attempt in attempts} == {"not_run"}
    assert [what for what, _ in noted(tmp_path)] == ["made", "up", "down"]


def test_a_run_that_breaks_is_torn_down_and_one_that_is_ended_is_not(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), runner.load(of(tmp_path)):
        raise ZeroDivisionError
    assert [what for what, _ in noted(tmp_path)] == ["made", "up", "down"]
    with pytest.raises(KeyboardInterrupt), runner.load(of(tmp_path)):
        raise KeyboardInterrupt
    assert [what for what, _ in noted(tmp_path)][3:] == ["made", "up"]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("raise ValueError('locked')", "app:Agent.teardown failed: ValueError: locked"),
        ("sys.exit(2)", "app:Agent.teardown failed: the code called sys.exit(2)"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "the worker process was killed by SIGKILL in teardown"),
        ("threading.Event().wait()", "teardown took more than 0.3 s and was ended"),
        ("os.closerange(3, 5000); threading.Event().wait()", None),
    ],
)
def test_a_teardown_that_goes_wrong_is_told_and_holds_nothing_up(
    tmp_path: Path, body: str, told: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "TEARDOWN_S", 0.3)
    attempts, loaded = ran(of(tmp_path, AGENT.replace('note("down")', body)))
    assert [attempt.output for attempt in attempts] == [1, 2, 3]
    (warning,) = loaded.warnings
    assert told is None or warning == told


@pytest.mark.parametrize("kind", [{}, {"isolation": "process"}, {"in_process": True}])
def test_a_setup_that_raises_breaks_the_run(
    tmp_path: Path, kind: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    in_process = kind.pop("in_process", False)
    broken = of(tmp_path, AGENT.replace("self.calls = 0", "raise OSError('no database')"), **kind)
    with pytest.raises(BrokenError) as caught, runner.load(broken, in_process=in_process):
        raise AssertionError
    (problem,) = caught.value.problems
    assert problem.code == "OLO420"
    assert problem.message.startswith("app:Agent.setup failed: OSError: no database\n")
    assert [what for what, _ in noted(tmp_path)] == ["made"]


def test_a_worker_that_replaces_another_is_set_up_too(tmp_path: Path) -> None:
    source = AGENT.replace("return self.calls", "os._exit(3) if case == 1 else None; return self.calls")
    attempts, _ = ran(of(tmp_path, source))
    assert [attempt.output for attempt in attempts if attempt.error is None] == [1, 1]
    assert [what for what, _ in noted(tmp_path)] == ["made", "up", "made", "up", "down"]
    assert str(os.getpid()) not in {pid for _, pid in noted(tmp_path)}
