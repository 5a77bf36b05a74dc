"""Where nothing can be printed the exit code still says how the command ended, and never FAIL for a full disk."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fakes.projects import answered, project

FULL = Path("/dev/full")

pytestmark = pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full here")


def ended(directory: Path, *arguments: str, out: bool, err: bool) -> int:
    with FULL.open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "oloproof", *arguments],
            cwd=directory,
            stdout=full if out else subprocess.DEVNULL,
            stderr=full if err else subprocess.DEVNULL,
            check=False,
        )
    return done.returncode


@pytest.mark.parametrize(("out", "err"), [(True, False), (False, True), (True, True)])
@pytest.mark.parametrize(
    "arguments",
    [["run"], ["run", "--json"], ["run", "--config", "nope.yaml"], ["gate", "nope", "--json"], ["gate", "latest"]],
)
def test_a_full_stream_is_never_taken_for_a_verdict(tmp_path: Path, arguments: list[str], out: bool, err: bool) -> None:
    project(tmp_path, cases=answered("yes", "yes"))
    assert ended(tmp_path, *arguments, out=out, err=err) in (0, 2, 5)
    project(tmp_path / "wrong", cases=answered("yes", "no"))
    assert ended(tmp_path / "wrong", *arguments, out=out, err=err) in (1, 2, 5)
