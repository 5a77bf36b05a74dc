"""Systems that are commands, in real processes."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from msgspec import UNSET

from fakes.processes import is_ended
from fakes.workers import cases
from oloproof import runner
from oloproof.errors import UsageError
from oloproof.model.case import Attempt, Case
from oloproof.model.project import Backoff, CommandSystem, Launching, Project, Retry, SystemSpec
from oloproof.runner import command

HEADER = """
import json, os, signal, subprocess, sys, threading
case = json.loads(sys.stdin.readline())
def say(**line):
    print(json.dumps(line), flush=True)
def call(index, tool="search"):
    say(step={"index": index, "kind": "tool_call", "tool_name": tool, "arguments": {}})
"""


def project(directory: Path, source: str, *, header: str = HEADER, **kind: Any) -> Project:
    """A project whose command is the Python program ``source``, below the usual lines."""
    (directory / "agent.py").write_text(header + dedent(source))
    named: dict[str, Any] = {"command": (sys.executable, "-S", "-E", "agent.py"), "directory": str(directory)} | kind
    return Project(
        name="test",
        config="oloproof.yaml",
        directory=str(directory),
        system=SystemSpec(kind=CommandSystem(**named)),
        evaluators=(),
    )


def run(project: Project, *inputs: Any) -> list[Attempt]:
    with runner.load(project) as loaded:
        return list(loaded.run(cases(*inputs)))


def only(project: Project) -> Attempt:
    (attempt,) = run(project, "in")
    return attempt


def test_attempts_come_in_order_with_all_that_they_left(tmp_path: Path) -> None:
    source = """
    call(1)
    print("looked up", case["input"], file=sys.stderr)
    say(case=case["case"], output={"answer": case["input"], "here": os.path.exists("agent.py")})
    """
    attempts = run(project(tmp_path, source, concurrency=3), *range(12))
    assert [attempt.case_id for attempt in attempts] == [f"case_{n}" for n in range(1, 13)]
    assert [attempt.output for attempt in attempts] == [{"answer": n, "here": True} for n in range(12)]
    last = attempts[-1]
    assert last.error is None
    assert last.log == "looked up 11\n"
    assert last.duration_ms is not None
    assert last.trajectory is not None
    assert [step.tool_name for step in last.trajectory.steps] == ["search"]
    assert not last.trajectory.truncated


def test_a_program_that_fails_leaves_what_it_streamed_and_says_why(tmp_path: Path) -> None:
    attempt = only(project(tmp_path, "call(1)\nraise ValueError('no such order')"))
    assert attempt.error is not None
    assert attempt.error.kind == "system_error"
    assert attempt.error.message == "the command ended with exit status 1: ValueError: no such order"
    assert "Traceback" in attempt.log
    assert attempt.trajectory is not None
    assert attempt.trajectory.truncated


def test_of_a_program_in_node_the_error_is_told_and_not_the_version_behind_it(tmp_path: Path) -> None:
    said = "agent.js:1\n\nError: no such order\n    at main (agent.js:1:7)\n\nNode.js v20.20.2\n"
    attempt = only(project(tmp_path, f"sys.stderr.write({said!r})\nsys.exit(1)"))
    assert attempt.error is not None
    assert attempt.error.message == "the command ended with exit status 1: Error: no such order"


def test_an_answer_before_a_failing_status_is_not_trusted(tmp_path: Path) -> None:
    attempt = only(project(tmp_path, "say(output=1)\nsys.exit(3)"))
    assert attempt.output is UNSET
    assert attempt.error is not None
    assert attempt.error.message == "the command ended with exit status 3"


def test_a_program_that_is_killed_mid_line(tmp_path: Path) -> None:
    source = """
    call(1)
    sys.stdout.write('{"step": {"ind')
    sys.stdout.flush()
    os.kill(os.getpid(), signal.SIGSEGV)
    """
    attempt = only(project(tmp_path, source))
    assert attempt.error is not None
    assert attempt.error.message.startswith("the command was killed by SIGSEGV")
    assert attempt.trajectory is not None
    assert len(attempt.trajectory.steps) == 1


def test_a_program_that_never_ends_is_ended_at_the_deadline(tmp_path: Path) -> None:
    step = json.dumps({"step": {"index": 1, "kind": "tool_call", "tool_name": "search", "arguments": {}}})
    program = ("sh", "-c", f"echo '{step}'; exec sleep 1000")  # which has said it long before Python would have begun
    late, *_ = run(project(tmp_path, "", command=program, timeout_s=2, concurrency=2), 1, 2)
    assert late.error is not None
    assert (late.error.kind, late.error.message) == ("timeout", "no answer within 2 s")
    assert late.trajectory is not None
    assert len(late.trajectory.steps) == 1


def test_a_program_that_closes_its_output_and_goes_on_is_late(tmp_path: Path) -> None:
    source = "say(output=1)\nos.close(1)\nos.close(2)\nthreading.Event().wait()"
    attempt = only(project(tmp_path, source, timeout_s=0.5))
    assert attempt.error is not None
    assert attempt.error.kind == "timeout"


def test_what_a_program_leaves_behind_holds_nobody_up_and_is_ended(tmp_path: Path) -> None:
    source = """
    child = subprocess.Popen([sys.executable, "-S", "-c", "import threading; threading.Event().wait()"])
    say(output=child.pid)
    """
    attempt = only(project(tmp_path, source))
    assert attempt.error is None
    assert is_ended(attempt.output)


def test_a_program_need_not_read_what_it_is_asked(tmp_path: Path) -> None:
    attempts = run(project(tmp_path, "print('{\"output\": 1}')", header=""), "x" * 1_000_000)
    assert attempts[0].output == 1


def test_a_large_case_arrives_whole(tmp_path: Path) -> None:
    attempts = run(project(tmp_path, "say(output=len(case['input']))"), "x" * 1_000_000)
    assert attempts[0].output == 1_000_000


def test_of_what_is_told_without_end_the_beginning_is_kept(tmp_path: Path) -> None:
    attempt = only(project(tmp_path, "sys.stderr.write('x' * 1_000_000)\nsay(output=1)"))
    assert attempt.output == 1
    assert 64 * 1024 <= len(attempt.log) < 65 * 1024


def test_an_answer_without_end_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "MAX_ANSWER_BYTES", 100_000)
    attempt = only(project(tmp_path, "while True: print('x' * 10_000)"))
    assert attempt.error is not None
    assert attempt.error.message == "its answer takes more than 100000 bytes"


def test_a_program_that_is_not_there_is_a_wrong_name(tmp_path: Path) -> None:
    for name in ("no-such-program-anywhere", "./agent.py"):
        with pytest.raises(UsageError) as caught, runner.load(project(tmp_path, "", command=(name,))):
            pass
        (problem,) = caught.value.problems
        assert problem.code == "OLO409"
        assert name in problem.message


def test_a_program_that_disappears_is_each_cases_error(tmp_path: Path) -> None:
    program = tmp_path / "agent"
    program.write_text("#!/bin/sh\nrm agent\necho '{\"output\": 1}'\n")
    program.chmod(0o755)
    first, second = run(project(tmp_path, "", command=("./agent",)), 1, 2)
    assert first.output == 1
    assert second.error is not None
    assert second.error.message == "the command could not be started: No such file or directory"


def test_after_a_stop_nothing_more_is_asked(tmp_path: Path) -> None:
    with runner.load(project(tmp_path, "say(output=1)")) as loaded:
        given = iter(loaded.run(Case(id=f"c{n}") for n in range(300)))
        first = next(given)
        loaded.stop()
        rest = list(given)
    assert first.output == 1
    assert len(rest) == 299
    assert rest[-1].error is not None
    assert rest[-1].error.kind == "not_run"


def test_no_process_outlives_an_interrupted_run(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pid")
    pids: list[int] = []

    def interrupted() -> Iterator[Case]:
        yield Case(id="c1")
        pids.append(int((tmp_path / "pid").read_text()))  # it runs now
        raise KeyboardInterrupt

    source = "with open('pid', 'w') as file: file.write(str(os.getpid()))\nthreading.Event().wait()"
    with (
        pytest.raises(KeyboardInterrupt),
        runner.load(project(tmp_path, source, timeout_s=600.0, concurrency=2)) as loaded,
    ):
        list(loaded.run(interrupted()))
    assert is_ended(*pids)


@pytest.mark.parametrize(
    ("source", "kind", "made"),
    [
        ("sys.exit(75)", "unavailable", 3),
        ("sys.exit(1)", None, 1),
        ('say(error={"kind": "system_error", "message": "429", "infrastructure": "rate_limit"})', "rate_limit", 3),
        (
            'say(error={"kind": "system_error", "message": "", "infrastructure": "rate_limit", "retry_after_s": 9.5})',
            "rate_limit",
            1,
        ),
        ('say(error="429")', None, 1),
        ('say(error={"kind": "system_error", "message": "", "infrastructure": "moon"})', None, 1),
    ],
)
def test_what_was_in_the_way_is_tried_again(tmp_path: Path, source: str, kind: str | None, made: int) -> None:
    launching = Launching(retry=Retry(backoff=Backoff(first_s=0.001, max_s=1)))
    attempt = only(project(tmp_path, source, launching=launching))
    assert attempt.error is not None
    assert (attempt.error.kind, attempt.error.infrastructure) == ("system_error", kind)
    assert len(attempt.earlier) + 1 == made
