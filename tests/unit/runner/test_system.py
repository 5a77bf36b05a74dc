"""Systems in a real worker process."""

from __future__ import annotations

import os
import threading
from contextlib import chdir, suppress

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from fakes.workers import cases, judge, project, run
from oloproof import runner
from oloproof.model.case import Attempt, Case
from oloproof.model.project import Backoff, Launching, Project, RecordedSystem, Retry, SystemSpec
from oloproof.runner import system

STEPS = """
@system(name="support", version="2")
def run(case):
    me = current_case()
    with me.trace() as trace:
        with trace.calling("search", q=case) as call:
            call.result = len(case)
        trace.finish("success")
    print("looked up", case)
    return {"answer": case, "id": me.id, "trial": me.trial, "metadata": me.metadata}
"""


def test_attempts_come_in_order_with_all_that_they_left(tmp_path):
    with runner.load(project(tmp_path, STEPS, concurrency=4)) as loaded:
        identity = loaded.identity
        attempts = list(loaded.run([Case(id=f"c{i}", input=f"in{i}", metadata={"i": i}) for i in range(100)]))
    assert (identity.name, identity.version, identity.records) == ("support", "2", ("agent_trajectory/v1",))
    assert [attempt.case_id for attempt in attempts] == [f"c{i}" for i in range(100)]
    assert attempts[7].output == {"answer": "in7", "id": "c7", "trial": 1, "metadata": {"i": 7}}
    assert attempts[7].log == "looked up in7\n"
    assert attempts[7].duration_ms >= 0
    assert attempts[7].error is None
    assert [step.kind for step in attempts[7].trajectory.steps] == ["tool_call", "tool_result"]
    assert attempts[7].trajectory.terminal_status == "success"
    assert not attempts[7].trajectory.truncated


def test_an_unmarked_function_declares_nothing(tmp_path):
    with runner.load(project(tmp_path, "def run(case): return case")) as loaded:
        assert replace(loaded.identity, code="") == runner.Declared()


def test_coroutine_functions_run_together_on_one_loop(tmp_path):
    source = """
    here, all_here = 0, asyncio.Event()
    @system
    async def run(case):
        global here
        here += 1
        if here == 8:
            all_here.set()
        await all_here.wait()
        print(case)
        return [current_case().input, len({task.get_loop() for task in asyncio.all_tasks()})]
    """
    attempts = run(project(tmp_path, source, concurrency=8), range(8))
    assert [(attempt.output, attempt.log) for attempt in attempts] == [([i, 1], f"{i}\n") for i in range(8)]


def test_plain_functions_run_together_in_threads(tmp_path):
    source = """
    barrier = threading.Barrier(4)
    def run(case):
        barrier.wait()
        return current_case().id
    """
    attempts = run(project(tmp_path, source, concurrency=4), range(8))
    assert [attempt.output for attempt in attempts] == [attempt.case_id for attempt in attempts]


def test_one_at_a_time_means_one(tmp_path):
    source = """
    running = 0
    async def run(case):
        global running
        running += 1
        most = running
        await asyncio.sleep(0)
        most = max(most, running)
        running -= 1
        return most
    """
    assert {attempt.output for attempt in run(project(tmp_path, source), range(20))} == {1}


def test_seeds(tmp_path):
    source = "def run(case): return [current_case().trial, current_case().seed]"
    the_project = project(tmp_path, source)
    with runner.load(the_project) as loaded:
        first = list(loaded.run(cases("a", "b")))
    assert [(attempt.case_id, attempt.trial, attempt.output[0]) for attempt in first] == [
        ("case_1", 1, 1),
        ("case_2", 1, 1),
    ]
    assert len({attempt.output[1] for attempt in first}) == 2
    with runner.load(the_project) as loaded:
        assert [attempt.output for attempt in loaded.run(cases("a", "b"))] == [a.output for a in first]


def test_the_system_cannot_see_what_is_expected(tmp_path):
    source = """
    def run(case):
        import gc
        me = current_case()
        seen = [me.id, me.input, me.metadata, me.seed, me.trial]
        strings = [o for o in gc.get_objects() if isinstance(o, dict) and "sec" + "ret" in map(str, o.values())]
        return [hasattr(me, "expected"), strings]
    """
    assert run(project(tmp_path, source), ["x"])[0].output == [False, []]


def test_a_raising_system_is_that_cases_error(tmp_path):
    source = """
    def look_up(case):
        raise KeyError(case)
    def run(case):
        with current_case().trace() as trace:
            trace.message("hello")
            return look_up(case) if case == 2 else case
    """
    first, second, third = run(project(tmp_path, source), [1, 2, 3])
    assert (first.output, third.output) == (1, 3)
    assert second.output is UNSET
    assert (second.error.kind, second.error.message) == ("system_error", "KeyError: 2")
    assert second.error.traceback.splitlines()[0] == "Traceback (most recent call last):"
    assert "in look_up" in second.error.traceback
    assert "oloproof/" not in second.error.traceback
    assert second.trajectory.truncated
    assert len(second.trajectory.steps) == 1


def test_what_was_handed_over_before_the_error_stays_finished(tmp_path):
    source = """
    def run(case):
        current_case().agent_trajectory(AgentTrajectory(steps=steps("a"), terminal_status="success"))
        raise OSError
    """
    attempt = run(project(tmp_path, source), [1])[0]
    assert attempt.error.message == "OSError"
    assert (attempt.trajectory.terminal_status, attempt.trajectory.truncated) == ("success", False)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("sys.exit(0)", "the code called sys.exit(0)"),
        ("raise KeyboardInterrupt", "the code raised KeyboardInterrupt"),
        ("raise GeneratorExit", "GeneratorExit"),
        ("return (n for n in range(3))", "the system returned a generator, not a value"),
        ("return asyncio.sleep(0)", "the system returned a coroutine"),
        ("return run(case)", "RecursionError: maximum recursion depth exceeded"),
        ("input()", "EOFError"),
        ("breakpoint()", "BdbQuit: the debugger was left. A breakpoint reaches the terminal with `oloproof run"),
        ("current_case().trace(); current_case().trace()", "RecordError: this case has been recorded already"),
        ("AgentStep(index=2, kind='x')", "RecordError: step 2: its kind is 'x'"),
        ("return Exits()", "the code called sys.exit(0)"),
    ],
)
def test_whatever_it_does_is_that_cases_alone(tmp_path, body, message):
    source = f"""
    class Exits:
        def model_dump(self):
            sys.exit(0)
    def run(case):
        if case == 1:
            {body}
        return case
    """
    first, second = run(project(tmp_path, source), [1, 2])
    assert first.error.message.startswith(message)
    assert first.output is UNSET
    assert second.output == 2


def test_an_async_system_may_do_the_same(tmp_path):
    source = """
    async def leave():
        sys.exit(0)
    async def run(case):
        match case:
            case "exit": sys.exit(0)
            case "cancel": raise asyncio.CancelledError
            case "interrupt": raise KeyboardInterrupt
            case "in a task": await asyncio.create_task(leave())
            case "left alone": asyncio.create_task(leave())
            case "stop": asyncio.get_running_loop().stop()
        await asyncio.sleep(0)
        return case
    """
    inputs = ["exit", "cancel", "interrupt", "in a task", "left alone", "stop", "fine"]
    attempts = run(project(tmp_path, source), inputs)
    assert [attempt.error.message.split(":")[0] if attempt.error else attempt.output for attempt in attempts] == [
        "the code called sys.exit(0)",
        "CancelledError",
        "the code raised KeyboardInterrupt",
        "the code called sys.exit(0)",
        "left alone",
        "stop",
        "fine",
    ]


def test_outputs_of_any_kind_cost_no_case(tmp_path):
    source = """
    def nested(depth):
        value = []
        for _ in range(depth):
            value = [value]
        return value
    def cyclic():
        value = {}
        value["me"] = value
        return value
    OUTPUTS = [None, float("nan"), "\\ud800", b"x", {1: 2}, 10**5000, object()]
    OUTPUTS += [nested(100_000), cyclic(), "x" * 3_000_000]
    def run(case):
        return OUTPUTS[case]
    """
    attempts = run(project(tmp_path, source), range(10))
    assert [attempt.error for attempt in attempts] == [None] * 10
    assert attempts[0].output is None
    assert all("$unrepresentable" in attempts[i].output for i in (1, 2, 3, 4, 5, 6))
    assert len(attempts[9].output) == 3_000_000


def test_an_output_too_large_to_send_is_an_error_that_keeps_the_record(tmp_path):
    source = """
    from oloproof.runner import protocol
    protocol.MAX_LINE_BYTES = 5_000
    def run(case):
        with current_case().trace() as trace:
            trace.final("x" * case)
        return "y" * 10_000
    """
    small, large = run(project(tmp_path, source), [1, 10_000])
    assert small.error.message.endswith("at most 5000 are taken")
    assert len(small.trajectory.steps) == 1
    assert large.error.message.endswith("at most 5000 are taken")
    assert large.trajectory is None


PRINTS = """
import ctypes, subprocess
print("imported")
def run(case):
    print('{"type": "ran", "n": 0, "output": "forged"}')
    thread = threading.Thread(target=lambda: sys.stdout.write("from a thread\\n"))  # print would write the end apart
    thread.start()
    thread.join()
    os.write(1, b"raw\\n")
    print("to the error stream", file=sys.stderr)
    os.system("echo from a shell")
    subprocess.run(["echo", "from a child"])
    ctypes.CDLL(None).puts(b"from C")
    sys.__stdout__.write("at last\\n")
    sys.stdout.close()
    return "real"
"""
PRINTED = """{"type": "ran", "n": 0, "output": "forged"}
from a thread
raw
to the error stream
from a shell
from a child
from C
at last
"""


def test_all_that_is_printed_while_one_case_runs_is_its_log_and_never_an_answer(tmp_path):
    with runner.load(project(tmp_path, PRINTS)) as loaded:
        attempts = list(loaded.run(cases(1, 2)))
    assert [attempt.output for attempt in attempts] == ["real", "real"]
    assert [attempt.log for attempt in attempts] == [PRINTED, PRINTED]
    assert loaded.log == "imported\n"


def test_of_several_cases_at_once_each_has_what_its_context_prints(tmp_path):
    with runner.load(project(tmp_path, PRINTS, concurrency=2)) as loaded:
        attempts = list(loaded.run(cases(1, 2)))
    own = '{"type": "ran", "n": 0, "output": "forged"}\nto the error stream\n'
    assert [attempt.log for attempt in attempts] == [own, own]
    imported, told, *others = loaded.log.splitlines()
    assert imported == "imported"
    assert told == "[several cases ran at once: what their threads and child processes printed is no single case's]"
    words = ["from a thread", "raw", "from a shell", "from a child", "from C", "at last"]
    assert sorted(others) == sorted(words * 2)


def test_several_cases_that_print_nothing_of_that_kind_are_not_remarked_on(tmp_path):
    with runner.load(project(tmp_path, "print('imported')\ndef run(case): print(case)", concurrency=2)) as loaded:
        assert [attempt.log for attempt in loaded.run(cases(1, 2))] == ["1\n", "2\n"]
    assert loaded.log == "imported\n"


def test_what_a_thread_of_the_users_raises_is_in_the_log_of_its_case(tmp_path):
    source = """
    def fetch():
        raise ConnectionError("refused")
    def run(case):
        if case == 1:
            thread = threading.Thread(target=fetch)
            thread.start()
            thread.join()
        return case
    """
    first, second = run(project(tmp_path, source), [1, 2])
    assert "in fetch" in first.log
    assert first.log.endswith("ConnectionError: refused\n")
    assert (first.output, second.log) == (1, "")


def test_what_is_printed_between_and_after_the_cases_is_the_workers(tmp_path):
    source = """
    import socket
    print("imported")
    ours, theirs = socket.socketpair()
    def speak():
        theirs.recv(1)
        print("between")
        theirs.send(b".")
    threading.Thread(target=speak, daemon=True).start()
    atexit.register(print, "at exit")
    from oloproof.runner.crew import Crew
    settle = Crew.settle
    def settle_and_speak(self, job, result):
        counts = settle(self, job, result)
        if job.n == 0:
            ours.send(b".")
            ours.recv(1)
        return counts
    Crew.settle = settle_and_speak
    def run(case):
        print(case)
        return case
    """
    with runner.load(project(tmp_path, source)) as loaded:
        attempts = list(loaded.run(cases(1, 2)))
    assert [attempt.log for attempt in attempts] == ["1\n", "2\n"]
    assert loaded.log == "imported\nbetween\nat exit\n"


def test_the_log_of_a_case_is_bounded_whoever_prints(tmp_path):
    source = """
    def run(case):
        os.write(1, b"x" * 60_000)
        print("y" * 60_000)
        os.write(2, b"z" * 3_000_000)
    """
    for attempt in run(project(tmp_path, source), [1, 2]):
        kept, note = attempt.log.rsplit("\n", 1)
        assert kept == "x" * 60_000 + "y" * 5_536
        assert "not kept" in note


def test_evaluators_print_to_their_workers_log(tmp_path):
    source = """
    def check(output):
        print("checked", output)
        os.write(1, b"raw\\n")
        return True
    """
    with judge(project(tmp_path, source, evaluators={"check": "app:check"})) as user_judge:
        list(user_judge.judge((Case(id="c"), Attempt(case_id="c", output=i)) for i in (1, 2)))
    assert user_judge.log == "checked 1\nraw\nchecked 2\nraw\n"


def test_the_directory_comes_first_on_the_path_and_is_the_working_directory(tmp_path):
    (tmp_path / "prompt.txt").write_text("be kind")
    (tmp_path / "helper.py").write_text("def text(): return open('prompt.txt').read()")
    source = "import helper\ndef run(case): return [helper.text(), sys.path[0], sys.argv]"
    assert run(project(tmp_path, source), [1])[0].output == ["be kind", str(tmp_path), ["app:run"]]


def test_stop_launches_nothing_more_and_says_so(tmp_path):
    source = """
    def run(case):
        return case
    """
    with runner.load(project(tmp_path, source)) as loaded:
        attempts = []
        for attempt in loaded.run(cases(*range(2_000))):
            attempts.append(attempt)
            if len(attempts) == 3:
                loaded.stop()
    assert len(attempts) == 2_000
    assert [attempt.output for attempt in attempts[:3]] == [0, 1, 2]
    kinds = [attempt.error.kind if attempt.error else "ran" for attempt in attempts]
    assert kinds[-1] == "not_run"
    assert kinds.count("not_run") > 1_000
    assert attempts[-1].error.message == "the run was stopped before this case began"


def test_stop_from_another_thread_wakes_a_waiting_run(tmp_path, monkeypatch):
    source = """
    def run(case):
        if case == 0:
            open("started", "w").close()
            while not os.path.exists("go on"):
                pass
        return case
    """

    def stop_when_started():
        while not (tmp_path / "started").exists():
            pass
        loaded.stop()

    def go_on_when_stopped(case):
        (tmp_path / "go on").touch()
        return not_run(case)

    not_run = system.not_run
    monkeypatch.setattr(system, "not_run", go_on_when_stopped)
    with runner.load(project(tmp_path, source)) as loaded:
        stopper = threading.Thread(target=stop_when_started)
        stopper.start()
        attempts = list(loaded.run(cases(*range(10))))
        stopper.join()
    assert attempts[0].output == 0
    assert [attempt.error.kind for attempt in attempts[1:]] == ["not_run"] * 9


def test_cases_are_read_as_they_are_needed(tmp_path):
    read = 0

    def many():
        nonlocal read
        for i in range(5_000):
            read += 1
            yield Case(id=f"c{i}", input=i)

    with runner.load(project(tmp_path, "def run(case): return case")) as loaded:
        for given, attempt in enumerate(loaded.run(many())):
            assert attempt.output == given
            assert read - given <= 260


def test_no_cases_are_no_attempts(tmp_path):
    assert run(project(tmp_path, "def run(case): return case"), []) == []


def test_a_run_that_is_left_early_leaves_no_worker(tmp_path):
    with (
        suppress(ZeroDivisionError),
        runner.load(project(tmp_path, "def run(case): return os.getpid()")) as loaded,
    ):
        pid = next(loaded.run(cases(1, 2, 3))).output
        raise ZeroDivisionError
    assert not _is_running(pid)


def test_exit_hooks_run_at_the_end(tmp_path):
    source = "atexit.register(lambda: open('ended', 'w').close())\ndef run(case): return case"
    run(project(tmp_path, source), [1])
    assert (tmp_path / "ended").exists()


def test_a_recorded_system_is_not_run(tmp_path):
    kind = RecordedSystem(patterns=(), files=())
    recorded = Project(name="p", config="c", directory=str(tmp_path), system=SystemSpec(kind=kind), evaluators=())
    with pytest.raises(ValueError, match="is not run"):
        runner.load(recorded)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_with_a_window_of_one_nothing_begins_before_the_last_attempt_was_taken(tmp_path):
    source = """
    def run(case):
        with open("begun", "a") as file:
            file.write(f"{case} ")
    """
    with chdir(tmp_path), runner.load(project(tmp_path, source)) as loaded:
        attempts = loaded.run(cases(*range(5)), runner.Launch(window=1))
        next(attempts)
        next(attempts)
        loaded.stop()
        rest = list(attempts)
    assert (tmp_path / "begun").read_text() == "0 1 "
    assert [attempt.error.kind for attempt in rest] == ["not_run"] * 3


def test_a_window_holds_back_what_lies_too_far_behind_the_oldest_case(tmp_path):
    """The first case waits for all that may overtake it: with a window of five, four."""
    source = """
    overtaken = threading.Semaphore(0)
    def run(case):
        if case == 0:
            for _ in range(4):
                overtaken.acquire()
            return overtaken.acquire(blocking=False)
        overtaken.release()
    """
    with runner.load(project(tmp_path, source, concurrency=3)) as loaded:
        attempts = list(loaded.run(cases(*range(30)), runner.Launch(window=5)))
    assert [attempt.case_id for attempt in attempts] == [case.id for case in cases(*range(30))]
    assert attempts[0].output is False


REFUSED = """
class Refused(Exception):
    status_code = 429

def run(case):
    with open(f"made-{case}", "a") as file:
        file.write(".")
    made = os.path.getsize(f"made-{case}")
    if made <= case:
        with current_case().trace() as trace:
            trace.tool_call("ask", {"made": made})
            raise Refused("too many requests")
    return made
"""


@pytest.mark.parametrize(
    ("isolation", "is_async", "rate"), [("worker", False, None), ("worker", True, 60_000), ("process", False, 60_000)]
)
def test_a_refused_attempt_is_made_again_and_kept(tmp_path, isolation, is_async, rate):
    source = REFUSED.replace("def run", "async def run") if is_async else REFUSED
    kind = {"concurrency": 2, "isolation": isolation}
    attempts = run(launching(project(tmp_path, source), max_per_minute=rate, **kind), range(4))
    assert [attempt.output for attempt in attempts] == [1, 2, 3, UNSET]
    assert [len(attempt.earlier) for attempt in attempts] == [0, 1, 2, 2]
    assert [step.arguments for each in attempts[2].earlier for step in each.trajectory.steps] == [
        {"made": 1},
        {"made": 2},
    ]
    assert {each.error.infrastructure for each in (*attempts[3].earlier, attempts[3])} == {"rate_limit"}


def test_a_refused_attempt_is_made_again_in_this_process(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    attempts = run(launching(project(tmp_path, REFUSED), max_per_minute=60_000), range(3), in_process=True)
    assert [(attempt.output, len(attempt.earlier)) for attempt in attempts] == [(1, 0), (2, 1), (3, 2)]


@pytest.mark.parametrize("in_process", [False, True])
def test_stopping_ends_every_wait(tmp_path, monkeypatch, in_process):
    monkeypatch.chdir(tmp_path)
    waiting = launching(project(tmp_path, REFUSED), retry=Retry(backoff=Backoff(first_s=3600, max_s=3600)))
    with runner.load(waiting, in_process=in_process) as loaded:
        threading.Thread(target=stopped_once, args=(loaded, tmp_path / "made-1")).start()
        attempts = list(loaded.run([Case(id="a", input=0), Case(id="b", input=1)]))
    assert attempts[0].output == 1
    assert attempts[1].error.kind == "not_run"
    assert [each.error.infrastructure for each in attempts[1].earlier] == ["rate_limit"]


@pytest.mark.parametrize("in_process", [False, True])
def test_what_waits_is_given_up_once_nothing_more_may_be_launched(tmp_path, monkeypatch, in_process):
    monkeypatch.chdir(tmp_path)
    for module in ("supervisor", "inprocess"):
        monkeypatch.setattr(f"oloproof.runner.{module}.LOOK_AGAIN_S", 0.01)
    waiting = launching(project(tmp_path, REFUSED), retry=Retry(backoff=Backoff(first_s=3600, max_s=3600)))
    made = tmp_path / "made-1"
    with runner.load(waiting, in_process=in_process) as loaded:
        (attempt,) = loaded.run([Case(id="a", input=1)], runner.Launch(may_launch=lambda: not made.exists()))
    assert attempt.error.kind == "not_run"
    assert [each.error.infrastructure for each in attempt.earlier] == ["rate_limit"]


def test_the_rate_holds_back_what_could_begin(tmp_path):
    slow = launching(project(tmp_path, REFUSED), max_per_minute=0.01, concurrency=3)
    with runner.load(slow) as loaded:
        attempts = loaded.run([Case(id=name, input=0) for name in "abc"])
        assert next(attempts).output == 1
        loaded.stop()
        assert [attempt.error.kind for attempt in attempts] == ["not_run", "not_run"]
    assert (tmp_path / "made-0").read_text() == "."


QUICKLY = Retry(backoff=Backoff(first_s=0.001, max_s=0.01))


def launching(project, *, retry=QUICKLY, max_per_minute=None, **kind):
    kind |= {"launching": Launching(retry=retry, max_per_minute=max_per_minute)}
    return replace(project, system=replace(project.system, kind=replace(project.system.kind, **kind)))


def stopped_once(loaded, path):
    """Stop the system once the case was refused, which the file tells."""
    while not path.exists():
        threading.Event().wait(0.005)
    loaded.stop()
