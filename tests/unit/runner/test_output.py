"""Prints go to the log of the case that prints."""

from __future__ import annotations

import contextlib
import contextvars
import sys

import pytest

from oloproof.runner.output import LOG_BYTES, CaseLog, kept_text, log_here, route_prints


@contextlib.contextmanager
def routed():
    """Streams routed for the length of a block, and what is beyond them."""
    before = sys.stdout, sys.stderr
    beyond = []
    route_prints(beyond.append)
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
    return log.end()


def test_each_context_has_its_own_log():
    with routed() as beyond:
        assert logged(lambda: print("a")) == "a\n"
        assert logged(lambda: print("b", file=sys.stderr)) == "b\n"
        print("nobody's")
    assert b"".join(beyond) == b"nobody's\n"


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


def test_only_text_is_written():
    with routed(), pytest.raises(TypeError, match="must be str, not bytes"):
        sys.stdout.write(b"x")


def test_the_streams_keep_their_numbers_for_child_processes():
    with routed():
        assert (sys.stdout.fileno(), sys.stderr.fileno()) == (1, 2)


def test_the_first_64_kib_are_kept():
    log = CaseLog()
    log.write("x" * LOG_BYTES)
    assert log.end() == "x" * LOG_BYTES
    log.write("y")
    assert log.end() == "x" * LOG_BYTES + "\n[what was printed past 64 KiB was not kept]"


def test_bytes_count_not_characters():
    log = CaseLog()
    log.write("é" * LOG_BYTES)
    kept, note = log.end().rsplit("\n", 1)
    assert len(kept.encode()) == LOG_BYTES
    assert "not kept" in note


def test_text_that_utf8_cannot_carry_is_escaped():
    log = CaseLog()
    log.write("a\ud800")
    assert log.end() == "a\\ud800"
    assert CaseLog().end() == ""


def test_bytes_of_any_kind_are_kept_within_the_bound():
    assert kept_text(b"caf\xe9 \xc3\xa9") == "caf\\xe9 é"
    kept, note = kept_text(b"\xff" * LOG_BYTES).rsplit("\n", 1)
    assert len(kept) == LOG_BYTES
    assert "not kept" in note


def test_a_character_that_the_bound_cuts_in_two_is_left_out():
    kept = kept_text(b"x" + "é".encode() * LOG_BYTES).rsplit("\n", 1)[0]
    assert kept == "x" + "é" * (LOG_BYTES // 2 - 1)
