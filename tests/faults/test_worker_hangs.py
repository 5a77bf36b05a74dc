"""What never ends is given up at its deadline, with what it had recorded; nothing else waits for it."""

from __future__ import annotations

import pytest

from fakes.workers import judge, project, run
from oloproof.model.case import Attempt, Case
from oloproof.runner import supervisor


@pytest.mark.parametrize(
    "hang",
    [
        "threading.Event().wait()",
        "while True: pass",
        "threading.Thread(target=threading.Event().wait).start(); threading.Event().wait()",
        "os.read(os.pipe()[0], 1)",
    ],
)
def test_a_plain_function_that_never_ends(tmp_path, hang):
    source = f"""
    def run(case):
        with current_case().trace() as trace:
            trace.message("hello")
            print("started")
            if case in (2, 3):
                {hang}
        return case
    """
    attempts = run(project(tmp_path, source, timeout_s=1), [1, 2, 3, 4])
    assert [attempt.error and attempt.error.kind for attempt in attempts] == [None, "timeout", "timeout", None]
    late = attempts[1]
    assert late.error.message == "no answer within 1 s"
    assert late.log == "started\n"
    assert late.trajectory.truncated
    assert len(late.trajectory.steps) == 1
    assert attempts[3].trajectory.steps[0].arguments == "hello"
    assert not attempts[3].trajectory.truncated


@pytest.mark.parametrize(
    "hang", ["await asyncio.Event().wait()", "while True: pass", "threading.Event().wait()", "time.sleep(1000)"]
)
def test_a_coroutine_function_that_never_ends(tmp_path, hang):
    source = f"""
    async def run(case):
        with current_case().trace() as trace:
            trace.message("hello")
            if case in (2, 3):
                {hang}
        await asyncio.sleep(0)
        return case
    """
    attempts = run(project(tmp_path, source, timeout_s=1), [1, 2, 3, 4])
    assert [attempt.error and attempt.error.kind for attempt in attempts] == [None, "timeout", "timeout", None]
    assert len(attempts[1].trajectory.steps) == 1


def test_a_late_task_is_cancelled_and_the_others_go_on(tmp_path):
    source = """
    cancelled = 0
    async def run(case):
        global cancelled
        if case == 0:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled += 1
                raise
        await asyncio.sleep(0)
        return cancelled
    """
    attempts = run(project(tmp_path, source, timeout_s=1), range(3))
    assert attempts[0].error.kind == "timeout"
    assert [attempt.output for attempt in attempts[1:]] == [1, 1]


def test_a_thread_given_up_can_record_no_more(tmp_path):
    source = """
    told = []
    def run(case):
        if case == 1:
            with current_case().trace() as trace:
                try:
                    while True:
                        trace.index
                except BaseException:
                    try:
                        trace.message("late")
                    except RecordError as exc:
                        told.append(str(exc))
        while not told:
            pass
        return told[0]
    """
    first, second = run(project(tmp_path, source, timeout_s=4), [1, 2])
    assert first.error.kind == "timeout"
    assert first.trajectory.steps == ()
    assert "the case timed out (no answer within 4 s)" in second.output


def test_what_was_handed_over_before_the_deadline_stays_finished(tmp_path):
    source = """
    def run(case):
        current_case().agent_trajectory(AgentTrajectory(steps=steps("a"), terminal_status="success"))
        threading.Event().wait()
    """
    attempt = run(project(tmp_path, source, timeout_s=0.2), [1])[0]
    assert attempt.error.kind == "timeout"
    assert not attempt.trajectory.truncated


@pytest.mark.parametrize(
    "freeze",
    ["os.kill(os.getpid(), signal.SIGSTOP); threading.Event().wait()", "import re; re.match('(a|a)*b', 'a' * 60)"],
)
def test_a_worker_that_is_stuck_as_a_whole_is_killed(tmp_path, monkeypatch, freeze):
    monkeypatch.setattr(supervisor, "GRACE_S", 0.5)
    source = f"""
    def run(case):
        with current_case().trace() as trace:
            trace.message("hello")
            if case == 2:
                {freeze}
        return case
    """
    first, second, third = run(project(tmp_path, source, timeout_s=1), [1, 2, 3])
    assert second.error.kind == "timeout"
    assert second.error.message == "the worker process was stuck and had to be killed while this case ran"
    assert len(second.trajectory.steps) == 1
    assert (first.output, third.output) == (1, 3)


def test_many_late_cases_leave_no_case_waiting(tmp_path):
    source = """
    def run(case):
        if case % 3 == 0:
            threading.Event().wait()
        return case
    """
    attempts = run(project(tmp_path, source, timeout_s=1, concurrency=8), range(60))
    assert [attempt.error is not None for attempt in attempts] == [i % 3 == 0 for i in range(60)]


@pytest.mark.parametrize("hang", ["threading.Event().wait()", "while True: pass"])
@pytest.mark.parametrize("concurrency", [1, 3])
def test_an_evaluator_that_never_ends_costs_its_own_verdict_alone(tmp_path, hang, concurrency):
    source = f"""
    def slow(output):
        if output == 1:
            {hang}
        return True
    def wrong(output):
        return output != 1
    """
    functions = {"slow": "app:slow", "wrong": "app:wrong"}
    the_project = project(tmp_path, source, evaluators=functions, timeout_s=5, concurrency=concurrency)
    with judge(the_project) as user_judge:
        judged = list(user_judge.judge((Case(id="c"), Attempt(case_id="c", output=i)) for i in range(5)))
    assert [j["slow"].verdict for j in judged] == ["pass", "missing", "pass", "pass", "pass"]
    assert judged[1]["slow"].detail == "no verdict within 5 s"
    assert [j["wrong"].verdict for j in judged] == ["pass", "fail", "pass", "pass", "pass"]


def test_a_verdict_outlives_the_worker_that_an_evaluator_freezes(tmp_path, monkeypatch):
    monkeypatch.setattr(supervisor, "GRACE_S", 0.5)
    source = """
    import re
    def wrong(output):
        return Verdict(False, reason="it is wrong")
    def frozen(output):
        if output == 1:
            re.match("(a|a)*b", "a" * 60)  # holds the interpreter
        return True
    def behind(output):
        return True
    """
    functions = {name: f"app:{name}" for name in ("wrong", "frozen", "behind")}
    with judge(project(tmp_path, source, evaluators=functions, timeout_s=1)) as user_judge:
        judged = list(user_judge.judge((Case(id="c"), Attempt(case_id="c", output=i)) for i in range(3)))
    assert [(j["wrong"].verdict, j["wrong"].reason) for j in judged] == [("fail", "it is wrong")] * 3
    assert [j["frozen"].verdict for j in judged] == ["pass", "missing", "pass"]
    assert [j["behind"].verdict for j in judged] == ["pass"] * 3
    assert judged[1]["frozen"].detail == "the worker process was stuck and had to be killed while this case ran"


def test_an_evaluator_given_up_notes_nothing_of_the_next_attempt(tmp_path, monkeypatch):
    monkeypatch.setattr(supervisor, "GRACE_S", 0.5)
    source = """
    import re
    again = threading.Event()
    def slow(output):
        if output == 0:
            try:
                again.wait()
            except BaseException:
                again.wait()
        return output != 0
    def freezes(output):
        if output == 1:
            again.set()
            time.sleep(0.1)
            re.match("(a|a)*b", "a" * 60)
        return False
    """
    functions = {"freezes": "app:freezes", "slow": "app:slow"}
    with judge(project(tmp_path, source, evaluators=functions, timeout_s=1)) as user_judge:
        judged = list(user_judge.judge((Case(id="c"), Attempt(case_id="c", output=i)) for i in range(3)))
    assert [j["freezes"].verdict for j in judged] == ["fail", "missing", "fail"]
    assert [j["slow"].verdict for j in judged] == ["missing", "pass", "pass"]


def test_prints_past_python_never_hold_the_worker_up(tmp_path):
    source = """
    def run(case):
        for _ in range(100):
            os.write(1, b"x" * 1_000_000)
        return case
    """
    attempts = run(project(tmp_path, source), [1, 2])
    assert [attempt.output for attempt in attempts] == [1, 2]
    assert all(60_000 < len(attempt.log) < 70_000 for attempt in attempts)


def test_a_child_that_prints_without_end_fills_nothing(tmp_path):
    source = """
    import subprocess
    def run(case):
        if case == 1:
            subprocess.run(["yes"], timeout=20)
        return os.fstat(1).st_size
    """
    first, second = run(project(tmp_path, source, timeout_s=1), [1, 2])
    assert first.error.kind == "timeout"
    assert first.log.startswith("y\ny\n")
    assert second.output < 500_000_000
