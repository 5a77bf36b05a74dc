"""``export``: a stored run as traces of another format, and what that has no place for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fakes.projects import NONE_WRONG, oloproof, project, write_lines
from oloproof.exporters.registry import FORMATS, exporter


def recorded(directory: Path) -> Path:
    """A project that judged two recordings."""
    call = {"index": 1, "kind": "tool_call", "tool_name": "look", "arguments": {"n": 1}, "agent": "a"}
    back = {"index": 2, "kind": "tool_result", "tool_name": "look", "result": {"found": 1}, "error": None, "agent": "a"}
    run = {"trajectory": {"steps": [call, back]}, "output": {"answer": "yes"}, "metadata": {"m": "\x1b[31m"}}
    traces = [{"case": name, **run} for name in ("a", "b")]
    right = {"type": "exact_match", "criterion": "right", "field": "answer", "value": "yes"}
    system = {"recorded": "traces.jsonl"}
    made = project(directory, cases=None, evaluators=[right], system=system, rules=[NONE_WRONG])
    write_lines(made / "traces.jsonl", traces)
    assert oloproof(made, "judge", "--json").out
    return made


def test_recordings_come_back_and_are_judged_alike(tmp_path: Path) -> None:
    directory = recorded(tmp_path)
    first = oloproof(directory, "inspect", "--verdicts", "--json").out
    done = oloproof(directory, "export", "latest", "-o", "again.jsonl")
    assert (done.code, done.lines[-1]) == (0, "wrote again.jsonl")
    rows = [json.loads(line) for line in (directory / "again.jsonl").read_text().splitlines()]
    assert [row["case"] for row in rows] == ["a", "b"]
    assert rows[0]["metadata"] == {"m": "\x1b[31m"}
    oloproof(directory, "judge", "again.jsonl")
    assert oloproof(directory, "inspect", "--verdicts", "--json").out == first


def test_what_atif_has_no_place_for_is_told(tmp_path: Path) -> None:
    directory = recorded(tmp_path)
    done = oloproof(directory, "export", "--format", "atif", "-o", "atif.jsonl")
    assert done.code == 0
    assert "not carried over: 2 × results that are no text: written as JSON" in done.lines
    assert "not carried over: 4 × steps that name their agent" in done.lines
    assert "\x1b" not in done.out
    assert oloproof(directory, "import", "auto", "atif.jsonl", "-o", "back.jsonl").code == 0
    told = json.loads(oloproof(directory, "export", "--format", "atif", "-o", "atif.jsonl", "--json").out)
    assert (told["as"], told["losses"]["result"]) == ("atif", 2)


def test_cases_whose_recording_is_gone_are_told(tmp_path: Path) -> None:
    directory = recorded(tmp_path)
    (directory / "traces.jsonl").unlink()
    done = oloproof(directory, "export", "-o", "again.jsonl")
    assert (done.code, (directory / "again.jsonl").read_text()) == (0, "")
    assert "not carried over: 2 × cases whose recorded file is not what it was, or is gone: left out" in done.lines


@pytest.mark.parametrize("name", FORMATS)
def test_every_loss_is_documented(name: str) -> None:
    page = (Path(__file__).parents[2] / "docs/reference/formats.md").read_text()
    assert all(f"| {meaning} | `{kind}` |" in page for kind, meaning in exporter(name).losses.items())
