"""Exit 70: a bug of ours says that it is one, how to report it, and where it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from fakes.hostile import HOSTILE
from fakes.projects import Done, oloproof, project
from oloproof import pipeline
from oloproof.reports.inert import inert


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a run whose verdict cannot be had, since something of ours raises every hostile text at once."""
    project(tmp_path)
    assert oloproof(tmp_path, "run").code == 0

    def wrong(*_: object) -> None:
        raise TypeError("".join(HOSTILE))

    monkeypatch.setattr(pipeline, "stored_gate", wrong)
    return tmp_path


def test_it_is_told_in_few_inert_lines(broken: Path) -> None:
    done = oloproof(broken, "runs")
    assert (done.code, done.out) == (70, "")
    first, report, careful, which, *where = done.err.splitlines()
    assert first.startswith("this is a bug in oloproof, not in your project: TypeError: ")
    assert first.endswith(" [OLO624]")
    assert report == "  please report it in oloproof's issue tracker, with these lines and the command that you ran"
    assert careful == "  look through them before: they may quote what an agent said"
    assert which.startswith("  oloproof ")
    files = dict.fromkeys(line.partition(":")[0] for line in where)
    assert list(files) == ["  cli/app.py", "  cli/runs_command.py", "  cli/test_internal_errors.py"]
    assert all(inert(line, len(line)) == line for line in done.err.splitlines())


def test_with_json_it_is_a_document_and_the_place_is_on_stderr(broken: Path) -> None:
    done: Done = oloproof(broken, "runs", "--json")
    (problem,) = done.json["problems"]
    assert (done.code, problem["code"]) == (70, "OLO624")
    assert "issue tracker" in problem["hint"]
    assert "cli/runs_command.py" in done.err


def test_a_machine_without_memory_is_no_bug(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project(tmp_path)
    assert oloproof(tmp_path, "run").code == 0

    def full(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(pipeline, "stored_gate", full)
    done = oloproof(tmp_path, "runs")
    assert (done.code, done.err.splitlines()[0]) == (5, "there is not enough memory to go on [OLO625]")
