"""Whatever user code does to end the interpreter, a run that must block blocks, and the other cases are judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from fakes.projects import RIGHT, answered, case, oloproof, project, spawned

ALLOW = '{"format": "oloproof.report/v1", "gate": {"outcome": "ALLOW", "exit_code": 0}}'
DEEP = "type('Deep', (), {'__getattr__': lambda self, name: getattr(self, name)})().x"
ENDS = {
    "sys-exit": "sys.exit(0)",
    "system-exit": "raise SystemExit(0)",
    "os-exit": "os._exit(0)",
    "interrupt": "raise KeyboardInterrupt",
    "interrupt-signal": "signal.raise_signal(signal.SIGINT); sys.exit(0)",
    "exit-hook": "atexit.register(os._exit, 0); sys.exit(0)",
    "exit-in-a-thread": "threading.Thread(target=os._exit, args=(0,)).start(); threading.Event().wait()",
    "generator-exit": "raise GeneratorExit",
    "recursion": "return run(case)",
    "deep-recursion": "sys.setrecursionlimit(10**9); " + DEEP,
    "abort": "os.abort()",
    "kill": "os.kill(os.getpid(), signal.SIGKILL)",
    "kill-group": "os.killpg(0, signal.SIGKILL)",
    "exec": "os.execv('/bin/true', ['true'])",
    "memory": "return 'y' * 10**15",
    "close-files": "os.closerange(3, 2048); os._exit(0)",
}
KEEPS_ON = {
    "close-stdout": "sys.stdout.close(); os.close(1)",
    "close-all": "os.closerange(0, 3)",
    "report": f"print('{ALLOW}', flush=True); os.write(1, b'{ALLOW}')",
    "exit-hook": "atexit.register(os._exit, 0)",
    "endless-thread": "threading.Thread(target=threading.Event().wait).start()",
    "no-stdout": "sys.stdout = sys.stderr = None",
    "hooks": "sys.excepthook = threading.excepthook = lambda *a: os._exit(0)",
    "child": "os.fork() or os._exit(0)",
}
APP = """
import atexit, os, signal, sys, threading

def run(case):
    if case == "end":
        STATEMENT
    return {"answer": "yes" if case == "end" else case}
"""
CASES = answered("yes", "end", "no", "yes", "yes")


def with_case(statement: str) -> str:
    """A system that answers what it is asked, after doing this when asked to end."""
    return APP.replace("STATEMENT", statement)


def judged(directory: Path, app: str) -> tuple[int, tuple[int, int, int, int]]:
    """The exit code, and what became of the cases."""
    done = oloproof(project(directory, app=app, cases=CASES), "run", "--json")
    assert done.json["gate"]["outcome"] == "BLOCK"
    return done.code, done.verdict("right")


@pytest.mark.parametrize("end", ENDS)
def test_a_case_that_ends_the_interpreter_is_missing_and_the_others_are_judged(tmp_path: Path, end: str) -> None:
    app = with_case(ENDS[end])
    assert judged(tmp_path / "blocks", app) == (1, (3, 1, 1, 0))
    only = oloproof(project(tmp_path / "open", app=app, cases=answered("yes", "end", "yes")), "run")
    assert only.code == 3
    assert "0 failures observed, 0 allowed; 1 case missing could hide more" in " ".join(only.out.split())


@pytest.mark.parametrize("end", ["sys-exit", "system-exit", "os-exit", "interrupt", "exit-hook", "kill"])
def test_likewise_in_a_coroutine(tmp_path: Path, end: str) -> None:
    app = with_case(ENDS[end]).replace("def run", "async def run")
    assert judged(tmp_path, app) == (1, (3, 1, 1, 0))


def test_likewise_in_a_task_that_nobody_awaits(tmp_path: Path) -> None:
    app = """
import asyncio, sys

async def end():
    sys.exit(0)

async def run(case):
    if case == "end":
        task = asyncio.ensure_future(end())
        await asyncio.sleep(0)
    return {"answer": "yes" if case == "end" else case}
"""
    code, (passed, failed, missing, excluded) = judged(tmp_path, app)
    assert (code, failed, excluded) == (1, 1, 0)
    assert passed + missing == 4
    assert passed >= 3


@pytest.mark.parametrize("end", KEEPS_ON)
def test_what_does_not_end_the_case_changes_no_verdict(tmp_path: Path, end: str) -> None:
    assert judged(tmp_path, with_case(KEEPS_ON[end])) == (1, (4, 1, 0, 0))


def test_a_report_that_user_code_prints_is_not_in_the_report(tmp_path: Path) -> None:
    app = with_case(KEEPS_ON["report"])
    done = spawned(project(tmp_path, app=app, cases=CASES), "run", "--json")
    assert done.code == 1
    assert "ALLOW" not in done.out + done.err
    assert ALLOW in oloproof(tmp_path, "inspect", "--case", "c2").out.replace("\\", "")


def test_every_case_may_end_the_interpreter(tmp_path: Path) -> None:
    directory = project(tmp_path, app="import os\ndef run(case):\n    os._exit(0)\n", cases=answered(*["yes"] * 8))
    done = spawned(directory, "run", "--json")
    assert done.code == 3
    assert done.verdict("right") == (0, 0, 8, 0)


def test_cases_in_flight_are_lost_with_the_worker_and_no_others(tmp_path: Path) -> None:
    system = {"callable": "app:run", "concurrency": 4}
    cases = answered(*(["yes"] * 10 + ["end"] + ["yes"] * 9))
    directory = project(tmp_path, app=with_case("os._exit(0)"), cases=cases, system=system)
    done = oloproof(directory, "run", "--json")
    assert done.code == 3
    passed, failed, missing, _ = done.verdict("right")
    assert (passed + missing, failed) == (20, 0)
    assert 1 <= missing <= 4


def test_a_crash_may_count_as_a_failure(tmp_path: Path) -> None:
    directory = project(tmp_path, app=with_case("os._exit(0)"), cases=answered("yes", "end"))
    config = (directory / "oloproof.yaml").read_text()
    (directory / "oloproof.yaml").write_text(config.replace('"contains",', '"contains", "on_system_error": "fail",'))
    assert oloproof(directory, "run").code == 1


def test_what_was_recorded_before_the_end_is_kept(tmp_path: Path) -> None:
    """A deletion before the crash is a failure; what the crash leaves open is missing."""
    app = """
import os
from oloproof import *

@system(records=("agent_trajectory/v1",))
def run(tools):
    with current_case().trace() as trace:
        for tool in tools:
            trace.tool_call(tool, {})
        os._exit(0)
"""
    evaluators = [RIGHT, {"type": "agent_tool_called", "criterion": "kept", "tool_name": "delete", "max_calls": 0}]
    evaluators[1] |= {"min_calls": 0}
    rules = [{"id": "kept", "metric": "kept", "kind": "observed_count", "max_failures": 0}]
    cases = [case("c1", ["look", "delete"]), case("c2", ["look"])]
    directory = project(tmp_path, app=app, cases=cases, evaluators=evaluators, rules=rules)
    done = oloproof(directory, "run", "--json")
    assert done.code == 1
    assert done.verdict("kept") == (0, 1, 1, 0)
    judged = oloproof(directory, "inspect", "--case", "c2", "--json").json["judgments"]
    assert [each["reason"] for each in judged] == ["system_error", "system_error"]


def test_a_case_that_takes_too_long_is_missing(tmp_path: Path) -> None:
    system = {"callable": "app:run", "timeout_s": 1}
    app = with_case("threading.Event().wait()")
    directory = project(tmp_path, app=app, cases=CASES, system=system)
    done = oloproof(directory, "run", "--json")
    assert done.code == 1
    assert done.verdict("right") == (3, 1, 1, 0)
    (judged,) = oloproof(directory, "inspect", "--case", "c2", "--json").json["judgments"]
    assert judged["reason"] == "timeout"
