"""``view`` before it listens: what it needs, and what is refused at the door."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fakes.projects import oloproof, project


@pytest.mark.parametrize("package", ["starlette", "uvicorn"])
def test_what_is_not_installed_is_named(package: str, tmp_path: Path) -> None:
    code = f"import sys; sys.modules['{package}'] = None; from oloproof.cli import main; main()"
    command = [sys.executable, "-c", code, "view", "--no-open"]
    done = subprocess.run(command, cwd=project(tmp_path), capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "starlette and uvicorn, which are not installed [OLO721]" in done.stderr
    assert "pip install 'oloproof[view]'" in done.stderr


def test_a_run_that_is_not_there_is_told_before_anything_listens(tmp_path: Path) -> None:
    project(tmp_path)
    oloproof(tmp_path, "run")
    done = oloproof(tmp_path, "view", "nothing", "--no-open")
    assert (done.code, done.out, "OLO611" in done.err) == (2, "", True)


def test_there_is_no_way_to_listen_to_others(tmp_path: Path) -> None:
    done = oloproof(project(tmp_path), "view", "--host", "0.0.0.0")
    assert (done.code, "No such option" in done.err) == (2, True)
