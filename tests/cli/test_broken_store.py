"""Exit 5: the store cannot be made, opened or read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fakes.projects import oloproof, project, spawned


def test_a_file_in_the_stores_place(tmp_path: Path) -> None:
    directory = project(tmp_path)
    (directory / ".oloproof").write_text("mine")
    done = spawned(directory, "run")
    assert done.code == 5
    problem = "cannot be opened for writing (.oloproof is not a directory) [OLO502]"
    assert f"the store .oloproof/oloproof.db {problem}" in done.lines
    assert done.err.splitlines()[-1].startswith("  make its directory writable")
    assert (directory / ".oloproof").read_text() == "mine"


@pytest.mark.parametrize("command", ["run", "runs", "gate", "inspect"])
def test_a_file_that_is_no_store(tmp_path: Path, command: str) -> None:
    directory = project(tmp_path)
    (directory / ".oloproof").mkdir()
    path = directory / ".oloproof" / "oloproof.db"
    path.write_bytes(b"garbage" * 1000)
    done = oloproof(directory, command)
    assert done.code == 5
    assert "the store .oloproof/oloproof.db is damaged (file is not a database) [OLO501]" in done.lines
    assert done.err.splitlines()[-1].startswith("  move oloproof.db (and oloproof.db-wal, oloproof.db-shm) away")
    assert path.read_bytes() == b"garbage" * 1000


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_that_cannot_be_written(tmp_path: Path) -> None:
    directory = project(tmp_path)
    directory.chmod(0o500)
    try:
        done = oloproof(directory, "run")
    finally:
        directory.chmod(0o700)
    assert done.code == 5
    assert "cannot be opened for writing (Permission denied) [OLO502]" in done.err


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc here")
def test_a_directory_that_nobody_can_write(tmp_path: Path) -> None:
    directory = project(tmp_path)
    (directory / ".oloproof").symlink_to("/proc/self")
    done = oloproof(directory, "run")
    assert done.code == 5
    assert "cannot be opened for writing" in done.err
    assert done.err.splitlines()[0].endswith("[OLO502]")
    assert done.err.splitlines()[-1].startswith("  make its directory writable")


def test_under_json_it_is_a_document(tmp_path: Path) -> None:
    directory = project(tmp_path)
    (directory / ".oloproof").write_text("mine")
    done = oloproof(directory, "run", "--json")
    assert done.code == 5
    (problem,) = done.json["problems"]
    assert problem["code"] == "OLO502"
    assert problem["hint"].startswith("make its directory writable")
