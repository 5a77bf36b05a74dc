"""Whatever ends the worker costs the cases that it had begun, and no others."""

from __future__ import annotations

import os
import signal

import pytest
from msgspec import UNSET

from fakes.processes import is_ended
from fakes.workers import cases, judge, project, run
from oloproof import runner
from oloproof.model.case import Attempt, Case


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("os._exit(0)", "ended with exit status 0"),
        ("os._exit(7)", "ended with exit status 7"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "was killed by SIGKILL"),
        ("os.kill(os.getpid(), signal.SIGTERM)", "was killed by SIGTERM"),
        ("os.abort()", "was killed by SIGABRT"),
        ("import ctypes; ctypes.string_at(0)", "was killed by SIGSEGV"),
        ("sys.setrecursionlimit(10**6); repr(nested(200_000))", "was killed by SIGSEGV"),
        ("os.closerange(0, 4096)", "ended with exit status 74"),
        ("os.killpg(0, signal.SIGKILL)", "was killed by SIGKILL"),
    ],
)
def test_a_case_that_ends_the_worker_is_that_cases_error(tmp_path, body, message):
    source = f"""
    def nested(depth):
        value = []
        for _ in range(depth):
            value = [value]
        return value
    def run(case):
        if case in (2, 3):
            {body}
        return [case, os.getpid()]
    """
    attempts = run(project(tmp_path, source), [1, 2, 3, 4, 5])
    assert [attempt.output if attempt.output is UNSET else attempt.output[0] for attempt in attempts] == [
        1,
        UNSET,
        UNSET,
        4,
        5,
    ]
    for attempt in attempts[1:3]:
        assert attempt.error.kind == "system_error"
        assert attempt.error.message == f"the worker process {message} while this case ran"
    assert attempts[3].output[1] == attempts[4].output[1] != attempts[0].output[1]


def test_what_was_recorded_before_the_end_is_kept(tmp_path):
    source = """
    def run(case):
        me = current_case()
        if case == "handed over":
            me.agent_trajectory(AgentTrajectory(steps=steps("a", "b"), terminal_status="success"))
            os._exit(0)
        if case == "nothing":
            os._exit(0)
        with me.trace(step_limit=9) as trace:
            trace.check("safe", False)
            if case == "opened":
                os._exit(0)
            trace.message("hello")
            trace.checkpoint("c1", step_index=1)
            trace.check("whole", True)
            with trace.calling("delete", id=1):
                if case == "traced":
                    os._exit(0)
        os._exit(0)
    """
    handed_over, nothing, opened, traced, finished = run(
        project(tmp_path, source), ["handed over", "nothing", "opened", "traced", "finished"]
    )
    assert (handed_over.trajectory.terminal_status, handed_over.trajectory.truncated) == ("success", False)
    assert len(handed_over.trajectory.steps) == 2
    assert nothing.trajectory is None
    assert opened.trajectory.truncated
    assert [(c.name, c.step_index) for c in opened.trajectory.constraints] == [("safe", None)]
    assert traced.trajectory.truncated
    assert traced.trajectory.step_limit == 9
    assert [(s.kind, s.arguments) for s in traced.trajectory.steps] == [("message", "hello"), ("tool_call", {"id": 1})]
    assert [(c.name, c.step_index) for c in traced.trajectory.constraints] == [("safe", 2), ("whole", 2)]
    assert [c.checkpoint_id for c in traced.trajectory.checkpoints] == ["c1"]
    assert not finished.trajectory.truncated
    assert {a.error.kind for a in (handed_over, nothing, opened, traced, finished)} == {"system_error"}


def test_what_was_printed_before_the_end_is_kept(tmp_path):
    source = """
    import ctypes
    print("imported")
    def run(case):
        print("looking up", case)
        if case == 2:
            os.system("echo from a child")
            ctypes.string_at(0)
        if case == 3:
            os._exit(0)
    """
    with runner.load(project(tmp_path, source)) as loaded:
        first, second, third, fourth = loaded.run(cases(1, 2, 3, 4))
    assert (first.log, third.log, fourth.log) == ("looking up 1\n", "looking up 3\n", "looking up 4\n")
    assert second.log.startswith("looking up 2\nfrom a child\nFatal Python error: Segmentation fault\n")
    assert "in run" in second.log
    assert loaded.log == "imported\n" * 3


def test_only_what_had_begun_is_lost_to_those_who_run_together(tmp_path):
    source = """
    begun = threading.Semaphore(0)
    async def run(case):
        if case < 4:
            begun.release()
            if case == 3:
                os._exit(0)
            await asyncio.Event().wait()
        return case
    """
    attempts = run(project(tmp_path, source, concurrency=4), range(40))
    assert [attempt.error is not None for attempt in attempts] == [True] * 4 + [False] * 36
    assert [attempt.output for attempt in attempts[4:]] == list(range(4, 40))


def test_each_case_is_run_once_whatever_happens(tmp_path):
    source = """
    def run(case):
        with open(f"{case}.runs", "a") as file:
            file.write("x")
        if case % 7 == 3:
            os._exit(0)
        return case
    """
    attempts = run(project(tmp_path, source, concurrency=3), range(60))
    assert {path.read_text() for path in tmp_path.glob("*.runs")} <= {"", "x"}
    for i, attempt in enumerate(attempts):
        assert attempt.error is not None if i % 7 == 3 else attempt.output in (i, UNSET)


@pytest.mark.parametrize(
    "body",
    [
        "atexit.register(os._exit, 0)",
        "atexit.register(lambda: sys.exit(3))",
        "threading.Thread(target=threading.Event().wait).start()",
        "threading.Thread(target=threading.Event().wait, daemon=True).start()",
        "import _thread; _thread.interrupt_main()",
        "os.kill(os.getpid(), signal.SIGINT)",
        "os.closerange(1, 3)",
        "sys.stdout = sys.stderr = None",
        "import gc; gc.disable(); threading.Thread(target=sys.exit).start()",
    ],
)
def test_what_comes_after_the_cases_costs_none(tmp_path, body):
    source = f"""
    def run(case):
        {body}
        return case
    """
    assert [attempt.output for attempt in run(project(tmp_path, source), [1, 2, 3])] == [1, 2, 3]


def test_a_handler_of_the_users_that_raises_in_the_main_thread_costs_nothing(tmp_path):
    source = """
    def handler(number, frame):
        raise KeyboardInterrupt
    signal.signal(signal.SIGUSR1, handler)
    def run(case):
        os.kill(os.getpid(), signal.SIGUSR1)
        return case
    """
    assert [attempt.output for attempt in run(project(tmp_path, source), [1, 2, 3])] == [1, 2, 3]


def test_a_fork_that_comes_back_is_not_a_second_answer(tmp_path):
    source = """
    def run(case):
        child = os.fork()
        if child:
            os.waitpid(child, 0)
        return [case, child != 0]
    """
    assert [attempt.output for attempt in run(project(tmp_path, source), [1, 2, 3])] == [
        [1, True],
        [2, True],
        [3, True],
    ]


def test_a_fork_that_lives_on_does_not_hide_the_end(tmp_path):
    source = """
    def run(case):
        if case == 1:
            child = os.fork()
            if child == 0:
                signal.pause()
            open("child", "w").write(str(child))
            os._exit(0)
        return case
    """
    first, second = run(project(tmp_path, source), [1, 2])
    assert first.error.message == "the worker process ended with exit status 0 while this case ran"
    assert second.output == 2
    assert is_ended(int((tmp_path / "child").read_text()))


def test_a_worker_that_says_nonsense_is_ended(tmp_path):
    source = """
    import socket, stat
    def run(case):
        if case == 2:
            for fd in range(3, 400):
                try:
                    if stat.S_ISSOCK(os.fstat(fd).st_mode):
                        os.write(fd, b'{"type": "ran"}\\n')
                except OSError:
                    pass
            threading.Event().wait()
        return case
    """
    first, second, third = run(project(tmp_path, source), [1, 2, 3])
    assert second.error.message.startswith(
        "the worker process was ended while this case ran: it said what is no answer"
    )
    assert (first.output, third.output) == (1, 3)


def test_a_worker_that_ends_between_cases_is_replaced(tmp_path):
    source = "def run(case): return os.getpid()"
    with runner.load(project(tmp_path, source)) as loaded:
        (first,) = loaded.run(cases(1))
        os.kill(first.output, signal.SIGKILL)
        second, third = loaded.run(cases(1, 2))
    assert second.output == third.output != first.output


def test_workers_that_never_begin_anything_are_given_up(tmp_path):
    source = """
    from oloproof.runner.crew import Crew
    Crew.submit = lambda self, orders, lane: os._exit(0)
    def run(case):
        return case
    """
    for attempt in run(project(tmp_path, source), range(5)):
        assert attempt.error.message == (
            "this case never began, since no worker process could be put to work any more: "
            "the worker process ended with exit status 0"
        )


def test_an_evaluator_that_ends_its_process_costs_its_own_verdict_alone(tmp_path):
    source = """
    def check(output):
        if output == 3:
            os._exit(0)
        return True
    def other(output):
        return output != 3
    """
    for recorded in (True, False):
        the_project = project(
            tmp_path, source, evaluators={"check": "app:check", "other": "app:other"}, recorded=recorded
        )
        with judge(the_project) as user_judge:
            pairs = [(Case(id="c"), Attempt(case_id="c", output=i)) for i in range(10)]
            judged = list(user_judge.judge(pairs))
        assert [j["check"].verdict for j in judged] == ["pass"] * 3 + ["missing"] + ["pass"] * 6
        assert [j["other"].verdict for j in judged] == ["pass"] * 3 + ["fail"] + ["pass"] * 6
        assert judged[3]["check"].detail == "the worker process ended with exit status 0 while this case ran"
