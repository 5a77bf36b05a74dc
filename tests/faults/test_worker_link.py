"""User code that writes to the worker's link and slots in the worker's name costs its own case, and no other."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec import UNSET

from fakes.workers import cases, judge, project, run
from oloproof import runner
from oloproof.errors import BrokenError
from oloproof.model.case import Attempt, Case
from oloproof.runner import Launch, supervisor, system
from oloproof.runner.ports import Listener

REACHING = """
import stat

def link():
    return next(fd for fd in range(255, 400) if is_open(fd) and stat.S_ISSOCK(os.fstat(fd).st_mode))

def slots():
    spool = os.fstat(1).st_ino
    found = []
    for fd in range(3, 400):
        if is_open(fd) and "oloproof" in os.readlink(f"/proc/self/fd/{fd}") and os.fstat(fd).st_ino != spool:
            found.append(fd)
    return found

def is_open(fd):
    return os.path.exists(f"/proc/self/fd/{fd}")

def say(line):
    os.write(link(), line + b"\\n")

def counted(case):
    with open(f"{case}.runs", "a") as file:
        file.write("x")
"""


def reaching(directory, source, **options):
    the_project = project(directory, source, **options)
    app = directory / "app.py"
    app.write_text(REACHING + app.read_text())
    return the_project


def runs(directory):
    return {path.stem: len(path.read_text()) for path in directory.glob("*.runs")}


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('{"type":"ran","n":1,"output":' + "[" * 100_000, "it said what is no answer"),
        ('{"type":"ran","n":1,"output":' + "[" * 900 + "]" * 900 + "}", "it said what is no answer"),
        ('{"type":"ran","n":1,"output":"\xff', "it said what is no answer"),
        ('{"type":"ran"', "it said what is no answer"),
        ('{"type":"ready","declared":{}}', "it said 'ready' out of turn"),
        ('{"type":"failed","usage":true,"code":"c","message":"m"}', "it said 'failed' out of turn"),
        ('{"type":"dropped","numbers":[2,3]}', "it said 'dropped' out of turn"),
        ('{"type":"began","n":1,"at":0.0}', "it said 'began' out of turn"),
        ('{"type":"began","n":2,"at":0.0}', "it said 'began' out of turn"),
        ('{"type":"ran","n":0,"output":"forged"}', "it said 'ran' out of turn"),
        ('{"type":"ran","n":2,"output":"forged"}', "it said 'ran' out of turn"),
        ('{"type":"ran","n":99,"output":"forged"}', "it said 'ran' out of turn"),
        ('{"type":"judged","n":2,"judgments":{}}', "it said 'judged' out of turn"),
    ],
)
def test_what_the_worker_would_not_say_ends_it(tmp_path, line, why):
    source = f"""
    def run(case):
        counted(case)
        if case == 2:
            say({line.encode("latin-1")!r})
            threading.Event().wait()
        return case
    """
    first, second, third, fourth = run(reaching(tmp_path, source), [1, 2, 3, 4])
    assert second.error.kind == "system_error"
    assert second.error.message.startswith(f"the worker process was ended while this case ran: {why}")
    assert (first.output, third.output, fourth.output) == (1, 3, 4)
    assert runs(tmp_path) == {"1": 1, "2": 1, "3": 1, "4": 1}


def test_no_case_begins_twice_where_others_could_begin(tmp_path):
    """Else a system could say anew when it began, and be late as often as it likes."""
    source = """
    def run(case):
        if case == 2:
            say(b'{"type":"began","n":1,"at":0.0}')
            threading.Event().wait()
        return case
    """
    _, second = run(reaching(tmp_path, source, concurrency=3), [1, 2])
    assert second.error.message.startswith("the worker process was ended while this case ran: it said 'began'")


def test_a_case_that_runs_cannot_say_that_it_never_began(tmp_path, monkeypatch):
    """Once a run is stopped, what has not begun is not run; what has begun comes to something."""
    source = """
    def run(case):
        while not os.path.exists("others dropped"):
            pass
        say(b'{"type":"dropped","numbers":[0]}')
        threading.Event().wait()
    """

    class Stopping(Listener):
        def began(self, case_id, trial):
            loaded.stop()

    def told(turn):
        (tmp_path / "others dropped").touch()
        return not_run(turn)

    not_run = system.not_run
    monkeypatch.setattr(system, "not_run", told)
    with runner.load(reaching(tmp_path, source)) as loaded:
        first, second = loaded.run(cases(1, 2), Launch(listener=Stopping()))
    assert first.error.kind == "system_error"
    assert first.error.message.startswith("the worker process was ended while this case ran: it said 'dropped'")
    assert second.not_run


@pytest.mark.parametrize("line", ["nonsense", '{"type":"ready","declared":{}}', '{"type":"ran","n":2}'])
def test_what_is_left_on_a_line_hides_no_beginning(tmp_path, line):
    """The worker's own lines are read behind it, and whoever has begun by then does not begin again."""
    source = f"""
    def run(case):
        counted(case)
        if case == 1:
            os.write(link(), {line.encode()!r})
        else:
            threading.Event().wait(0.05)
        return case
    """
    attempts = run(reaching(tmp_path, source), [1, 2, 3])
    assert attempts[0].output == 1
    assert all(attempt.output is UNSET or attempt.error is None for attempt in attempts)
    # The worker may be ended between a case's beginning and its first line: never twice, then, rather than once.
    assert max(runs(tmp_path).values()) == 1


def test_a_line_without_end_is_not_kept(tmp_path, monkeypatch):
    monkeypatch.setattr("oloproof.runner.process.MAX_LINE_BYTES", 100_000)
    source = """
    def run(case):
        counted(case)
        if case == 2:
            try:
                while True:
                    os.write(link(), b"x" * 65536)
            finally:
                threading.Event().wait()
        return case
    """
    first, second, third = run(reaching(tmp_path, source), [1, 2, 3])
    assert second.error.message.endswith("it said what is no answer: a line of more than 200000 bytes")
    assert (first.output, third.output) == (1, 3)
    assert runs(tmp_path) == {"1": 1, "2": 1, "3": 1}


@pytest.mark.parametrize("line", ['{"type":"ready","declared":{}}', ""])
def test_words_that_answer_nothing_do_not_put_the_end_off(tmp_path, monkeypatch, line):
    monkeypatch.setattr(supervisor, "GRACE_S", 0.5)
    source = f"""
    def run(case):
        if case == 2:
            parent = os.getpid()
            if os.fork() == 0:
                while True:
                    say({line.encode()!r})
            os.kill(parent, signal.SIGSTOP)
            threading.Event().wait()
        return case
    """
    first, second, third = run(reaching(tmp_path, source, timeout_s=1), [1, 2, 3])
    assert second.output is UNSET
    assert (first.output, third.output) == (1, 3)


@pytest.mark.parametrize(
    "content",
    [
        b'{"type":"began","n":1,"at":0.0}\n' + b"[" * 100_000 + b"\n",
        b'{"type":"began","n":1,"at":0.0}\n{"type":"handed_over","trajectory":' + b"[" * 100_000 + b"\n",
        b"[" * 100_000 + b"\n",
        b'{"type":"began","n":2,"at":0.0}\n{"type":"opened"}\n',
        b"",
    ],
)
def test_a_slot_that_user_code_wrote_is_read_as_far_as_it_can_be(tmp_path, content):
    source = f"""
    def run(case):
        counted(case)
        if case == 2:
            for fd in slots():
                os.ftruncate(fd, 0)
                os.pwrite(fd, {content!r}, 0)
            os._exit(0)
        return case
    """
    first, second, third = run(reaching(tmp_path, source), [1, 2, 3])
    assert second.error.message == "the worker process ended with exit status 0 while this case ran"
    assert second.trajectory is None
    assert (first.output, third.output) == (1, 3)
    assert runs(tmp_path) == {"1": 1, "2": 1, "3": 1}


@pytest.mark.parametrize("size", [1 << 33, 1 << 44])
def test_a_slot_that_user_code_made_long_is_read_as_far_as_it_may_be(tmp_path, size):
    source = f"""
    def run(case):
        with current_case().trace() as trace:
            trace.message("hello")
            if case == 2:
                for fd in slots():
                    os.ftruncate(fd, {size})
                os._exit(0)
        return case
    """
    first, second, third = run(reaching(tmp_path, source), [1, 2, 3])
    assert second.error.kind == "system_error"
    assert second.trajectory.truncated
    assert len(second.trajectory.steps) == 1
    assert (first.output, third.output) == (1, 3)


def test_what_was_begun_cannot_be_taken_back(tmp_path):
    source = """
    def run(case):
        counted(case)
        for fd in slots():
            os.ftruncate(fd, 0)
        os._exit(0)
    """
    attempts = run(reaching(tmp_path, source), range(6))
    assert {attempt.error.message for attempt in attempts} == {
        "the worker process ended with exit status 0 while this case ran"
    }
    assert runs(tmp_path) == {str(case): 1 for case in range(6)}


def test_what_was_begun_beside_others_cannot_be_taken_back(tmp_path):
    source = """
    begun = threading.Barrier(3)
    def run(case):
        counted(case)
        if case < 3:
            begun.wait()
            for fd in slots():
                os.ftruncate(fd, 0)
            os._exit(0)
        return case
    """
    attempts = run(reaching(tmp_path, source, concurrency=3), range(9))
    assert [attempt.output for attempt in attempts] == [UNSET] * 3 + list(range(3, 9))
    assert runs(tmp_path) == {str(case): 1 for case in range(9)}


@pytest.mark.parametrize("act", ["os.dup2(os.open(os.devnull, os.O_WRONLY), fd)", "os.dup2(pair[0].fileno(), fd)"])
def test_nothing_begins_behind_another_file_that_has_the_links_number(tmp_path, act):
    source = f"""
    import socket
    pair = socket.socketpair()
    def run(case):
        counted(case)
        if case == 2:
            fd = link()
            os.dup(fd)
            {act}
        return case
    """
    first, second, third, fourth = run(reaching(tmp_path, source), [1, 2, 3, 4])
    assert second.error.message == "the worker process ended with exit status 74 while this case ran"
    assert (first.output, third.output, fourth.output) == (1, 3, 4)
    assert runs(tmp_path) == {"1": 1, "2": 1, "3": 1, "4": 1}


def test_a_system_that_cannot_be_loaded_again_costs_the_cases_that_are_left(tmp_path):
    source = """
    if os.path.exists("second"):
        raise ImportError("the database is gone")
    open("second", "w").close()
    def run(case):
        if case == 2:
            os._exit(0)
        return case
    """
    first, second, *others = run(project(tmp_path, source), [1, 2, 3, 4])
    assert first.output == 1
    assert second.error.message == "the worker process ended with exit status 0 while this case ran"
    for attempt in others:
        assert attempt.error.kind == "system_error"
        assert attempt.error.message == (
            "this case never began, since no worker process could be put to work any more: "
            "importing app failed: ImportError: the database is gone"
        )


@pytest.mark.parametrize(
    ("act", "why"),
    [
        ("open('app.py', 'w').write('def other(case): pass')", "app has no 'run'"),
        ("open('app.py', 'w').write('run = 3')", "app:run is an int, not a function"),
        ("os.rename('app.py', 'other.py')", "app:run: there is no module 'app'"),
    ],
)
def test_a_name_that_was_right_once_is_no_error_of_the_configuration(tmp_path, act, why):
    source = f"""
    sys.dont_write_bytecode = True
    def run(case):
        {act}
        os._exit(0)
    """
    first, second = run(project(tmp_path, source), [1, 2])
    assert first.error.kind == "system_error"
    assert second.error.kind == "system_error"
    assert second.error.message.endswith(why)


def test_evaluators_that_cannot_be_loaded_again_cost_the_verdicts_that_are_left(tmp_path):
    source = """
    if os.path.exists("second"):
        raise ImportError("gone")
    open("second", "w").close()
    def check(output):
        if output == 1:
            os._exit(0)
        return True
    """
    with judge(project(tmp_path, source, evaluators={"check": "app:check"}, recorded=True)) as user_judge:
        judged = list(user_judge.judge((Case(id="c"), Attempt(case_id="c", output=i)) for i in range(4)))
    assert [j["check"].verdict for j in judged] == ["pass", "missing", "missing", "missing"]
    assert judged[3]["check"].detail.endswith("importing app failed: ImportError: gone")


def test_what_is_said_while_the_module_is_imported_is_no_answer(tmp_path):
    with pytest.raises(BrokenError) as broken:
        run(reaching(tmp_path, "say(b'nonsense')\nthreading.Event().wait()"), [1])
    assert broken.value.problems[0].code == "OLO405"
    assert broken.value.problems[0].message.startswith(
        "the worker process was ended while it loaded app:run: it said what is no answer"
    )


def test_a_verdict_that_is_left_out_is_missing(tmp_path):
    source = """
    def check(output):
        say(b'{"type":"judged","n":0,"judgments":{}}')
        threading.Event().wait()
    """
    the_project = reaching(tmp_path, source, evaluators={"check": "app:check"}, recorded=True)
    with judge(the_project) as user_judge:
        (judged,) = user_judge.judge([(Case(id="c"), Attempt(case_id="c", output=1))])
    assert judged["check"].reason == "evaluator_error"


def test_a_directory_whose_name_is_no_text(tmp_path):
    directory = os.fsdecode(os.fsencode(tmp_path) + b"/d\xff")
    os.mkdir(directory)
    source = """
    def run(case):
        return case
    def check(output):
        return True
    """
    the_project = project(Path(directory), source, evaluators={"check": "app:check"})
    with runner.load(the_project) as loaded:
        assert [attempt.output for attempt in loaded.run(cases(1, 2))] == [1, 2]
    with judge(the_project) as user_judge:
        (judged,) = user_judge.judge([(Case(id="c"), Attempt(case_id="c", output=1))])
    assert judged["check"].verdict == "pass"
    with pytest.raises(BrokenError, match="importing app failed: ZeroDivisionError"):
        run(project(Path(directory), "1 / 0"), [1])
