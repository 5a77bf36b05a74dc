"""The file under a worker's standard streams."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack

import pytest

from oloproof.runner.output import LOG_BYTES
from oloproof.runner.spool import Spool, SpooledLog, seal, spool_file, unread


@pytest.fixture
def fd():
    with ExitStack() as opened:
        yield spool_file(opened)


def test_all_that_is_printed_meanwhile_is_the_log_in_its_order(fd):
    spool = Spool(fd)
    os.write(fd, b"before\n")
    log = SpooledLog(spool)
    log.write("one ")
    os.write(fd, b"two ")
    spool.write(b"three ")
    log.write("four")
    assert log.before == "before\n"
    assert log.end() == "one two three four"
    os.write(fd, b"after")
    assert SpooledLog(spool).before == "after"


def test_a_log_that_has_ended_stays_as_it_was_and_takes_nothing_from_the_next(fd):
    spool = Spool(fd)
    first = SpooledLog(spool)
    first.write("first")
    assert first.end() == "first"
    second = SpooledLog(spool)
    first.write("late")
    second.write("second")
    assert first.end() == "first"
    assert second.end() == "second"


def test_the_first_64_kib_are_kept_whoever_prints(fd):
    log = SpooledLog(Spool(fd))
    os.write(fd, b"x")
    for _ in range(3):
        log.write("y" * LOG_BYTES)
    assert os.fstat(fd).st_size == LOG_BYTES + 2
    kept, note = log.end().rsplit("\n", 1)
    assert kept == "x" + "y" * (LOG_BYTES - 1)
    assert "not kept" in note


def test_what_prints_without_end_is_cut(fd):
    spool = Spool(fd)
    for _ in range(3):
        os.write(fd, b"x" * LOG_BYTES)
    spool.cut()
    assert os.fstat(fd).st_size == LOG_BYTES + 1
    os.write(fd, b"y")
    spool.cut()
    assert spool.take() == b"x" * (LOG_BYTES + 1)
    spool.cut()
    assert os.fstat(fd).st_size == 0


def test_the_other_side_reads_what_was_not_taken(fd):
    spool = Spool(fd)
    os.write(fd, b"taken")
    spool.take()
    os.write(fd, b"left")
    assert (unread(fd), unread(fd)) == (b"left", b"left")


def test_a_file_that_user_code_closed_is_no_error():
    reader, writer = os.pipe()
    os.close(reader)
    os.close(writer)
    spool = Spool(writer)
    spool.write(b"x")
    spool.cut()
    assert spool.take() == b""


def test_a_fork_takes_nothing_away(fd):
    spool = Spool(fd)
    os.write(fd, b"kept")
    child = os.fork()
    if child == 0:
        spool.take()
        os._exit(0)
    os.waitpid(child, 0)
    assert spool.take() == b"kept"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can refuse to write to an open file")
def test_who_outlives_the_worker_can_print_no_more(fd):
    os.write(fd, b"x")
    seal(fd)
    with pytest.raises(PermissionError):
        os.write(fd, b"y")
    assert unread(fd) == b"x"
