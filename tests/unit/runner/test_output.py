"""Prints go to the log of the case that prints."""

from __future__ import annotations

import contextlib
import contextvars
import io
import sys

from oloproof.runner.output import LOG_BYTES, CaseLog, log_here, route_prints


@contextlib.contextmanager
def routed():
    """Streams routed for the length of a block, and what is beyond them."""
    before = sys.stdout, sys.stderr
    beyond = sys.stdout = sys.stderr = io.StringIO()
    route_prints()
    try:
        yield beyond
    finally:
        sys.stdout, sys.stderr = before


def logged(function) -> str:
    log = CaseLog()

    def entered():
        log_here(log)
        function()

    contextvars.Context().run(entered)
    return log.text()


def test_each_context_has_its_own_log():
    with routed() as beyond:
        assert logged(lambda: print("a")) == "a\n"
        assert logged(lambda: print("b", file=sys.stderr)) == "b\n"
        print("nobody's")
    assert beyond.getvalue() == "nobody's\n"


def test_closing_and_configuring_change_nothing():
    def system():
        sys.stdout.reconfigure(encoding="ascii", line_buffering=True)
        sys.stdout.close()
        print("still here", flush=True)
        sys.stdout.buffer.write(b"bytes \xff\n")
        sys.stdout.buffer.close()
        sys.stdout.writelines(["x", "y"])

    with routed():
        assert logged(system) == "still here\nbytes \\xff\nxy"
        assert sys.stdout.writable()
        assert not sys.stdout.isatty()


def test_a_closed_stream_beyond_is_no_error():
    with routed() as beyond:
        beyond.close()
        print("lost", flush=True)


def test_the_first_64_kib_are_kept():
    log = CaseLog()
    log.write("x" * LOG_BYTES)
    assert log.text() == "x" * LOG_BYTES
    log.write("y")
    assert log.text() == "x" * LOG_BYTES + "\n[what was printed past 64 KiB was not kept]"


def test_bytes_count_not_characters():
    log = CaseLog()
    log.write("é" * LOG_BYTES)
    kept, note = log.text().rsplit("\n", 1)
    assert len(kept.encode()) == LOG_BYTES
    assert "not kept" in note


def test_text_that_utf8_cannot_carry_is_escaped():
    log = CaseLog()
    log.write("a\ud800")
    assert log.text() == "a\\ud800"
    assert CaseLog().text() == ""
