"""Closed, full and broken streams: never exit 0 for a run that blocks, and never the bug of someone else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fakes.projects import answered, project

FAILS = answered("yes", "no")


def with_streams(directory: Path, redirection: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    shell = ["sh", "-c", f'exec "$@" {redirection}', "sh", sys.executable, "-m", "oloproof", *arguments]
    return subprocess.run(shell, cwd=directory, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("redirection", [">&-", "2>&-", "<&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_does_not_change_the_verdict(tmp_path: Path, redirection: str) -> None:
    done = with_streams(project(tmp_path / "fails", cases=FAILS), redirection, "run")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert with_streams(project(tmp_path / "passes"), redirection, "run").returncode == 0


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")
@pytest.mark.parametrize("arguments", [["run"], ["run", "--json"], ["check"], ["schema"]])
def test_a_stdout_without_room_is_exit_5(tmp_path: Path, arguments: list[str]) -> None:
    done = with_streams(project(tmp_path), ">/dev/full", *arguments)
    assert done.returncode == 5
    assert done.stderr.splitlines()[-1] == "reading or writing failed: [Errno 28] No space left on device [OLO615]"


@pytest.mark.parametrize("arguments", [["run"], ["run", "--json"], ["schema"]])
def test_a_reader_that_has_left_is_exit_5_without_a_word(tmp_path: Path, arguments: list[str]) -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    done = subprocess.run(
        [sys.executable, "-m", "oloproof", *arguments],
        cwd=project(tmp_path),
        stdout=theirs,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(theirs)
    assert done.returncode == 5
    assert [line for line in done.stderr.splitlines() if not line.startswith("run ")] == []


def test_a_report_may_go_to_a_device(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    reader = os.open(tmp_path / "fifo", os.O_RDONLY | os.O_NONBLOCK)
    done = with_streams(project(tmp_path), "", "run", "--junit", "fifo")
    assert done.returncode == 0
    assert os.read(reader, 65536).startswith(b"<?xml")
    os.close(reader)
    assert (tmp_path / "fifo").is_fifo()
