"""User exceptions as text."""

from __future__ import annotations

import bdb

import pytest

from oloproof import AgentStep
from oloproof.runner.tracebacks import MAX_MESSAGE, MAX_TRACEBACK, has_users_frames, message_of, users_traceback


def raised(function):
    try:
        function()
    except BaseException as exc:
        return exc
    raise AssertionError("nothing was raised")


def fail():
    raise ValueError("no such order")


def test_our_frames_are_left_out():
    told = users_traceback(raised(lambda: AgentStep(index=0, kind="final")))
    assert "test_tracebacks.py" in told
    assert "oloproof/record" not in told
    assert told.endswith("RecordError: step 0: indexes count from 1 [OLO701]")


def test_causes_are_told():
    def twice():
        try:
            fail()
        except ValueError as exc:
            raise KeyError("order") from exc

    told = users_traceback(raised(twice))
    assert "direct cause" in told
    assert told.count("test_tracebacks.py") == 4


def test_deep_recursion_is_told_in_short():
    def deeper(n):
        return deeper(n + 1) + 1

    exc = raised(lambda: deeper(0))
    assert len(users_traceback(exc)) < 3_000
    assert message_of(exc).startswith("RecursionError: maximum recursion depth exceeded")


def test_long_texts_are_cut():
    def long():
        raise ValueError("x" * 100_000)

    exc = raised(long)
    assert len(message_of(exc)) == MAX_MESSAGE + 1
    assert len(users_traceback(exc)) <= MAX_TRACEBACK + 10


def test_an_exception_that_cannot_be_shown_is_not():
    class Hostile(Exception):
        def __str__(self):
            raise SystemExit(0)

    def hostile():
        raise Hostile

    with pytest.raises(SystemExit):
        str(Hostile())
    users_traceback(raised(hostile))
    assert message_of(raised(hostile)) == "Hostile: (its text cannot be read)"


@pytest.mark.parametrize(
    ("exc", "message"),
    [
        (SystemExit(0), "the code called sys.exit(0)"),
        (SystemExit(), "the code called sys.exit()"),
        (KeyboardInterrupt(), "the code raised KeyboardInterrupt"),
        (ValueError("\ud800"), "ValueError: \\ud800"),
        (ValueError(), "ValueError"),
    ],
)
def test_what_ends_the_interpreter_is_named(exc, message):
    assert message_of(exc) == message


def test_frames_are_the_users_or_not():
    assert has_users_frames(raised(fail).__traceback__)
    assert not has_users_frames(None)


def test_a_breakpoint_that_reaches_no_terminal_says_where_it_would():
    assert message_of(bdb.BdbQuit()) == (
        "BdbQuit: the debugger was left. A breakpoint reaches the terminal with `oloproof run --case ID --in-process`"
    )
