"""The conformance corpus: this harness agrees with every case, and its runner tells where one does not."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from oloproof.testing.conformance import FORMAT, cases, difference, main

CORPUS = Path(__file__).parents[3] / "conformance"
FILES = sorted(CORPUS.glob("*.json"))

EMPTY: dict[str, Any] = {
    "name": "no call",
    "why": "nothing was called",
    "evaluator": {"type": "agent_max_tool_calls", "max_calls": 0},
    "trajectory": {"steps": []},
    "verdict": "pass",
}


def written(directory: Path, *entries: Any, form: str = FORMAT) -> Path:
    (directory / "x.json").write_text(json.dumps({"format": form, "about": "x", "cases": entries}))
    return directory


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_case_agrees(file: Path):
    assert [told for case in cases(file) if (told := difference(case)) is not None] == []


def test_the_corpus_is_there_and_says_why():
    names = [(file.stem, case["name"]) for file in FILES for case in cases(file)]
    assert len(set(names)) == len(names) > 200
    assert all(case["why"] for file in FILES for case in cases(file))
    page = (CORPUS.parent / "docs" / "reference" / "conformance.md").read_text()
    assert re.findall(r"\d+ of \d+ cases agree", page) == [f"{len(names)} of {len(names)} cases agree"]


def test_it_tells_how_many_agree(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main([str(written(tmp_path, EMPTY))]) == 0
    assert capsys.readouterr().out == "1 of 1 cases agree\n"


@pytest.mark.parametrize(
    ("case", "told"),
    [
        (EMPTY | {"verdict": "fail"}, "expected fail, found pass"),
        (
            EMPTY | {"trajectory": {"steps": [], "truncated": True}},
            "expected pass, found missing (truncated_trajectory)",
        ),
        (EMPTY | {"reason": "x"}, "expected pass (x), found pass"),
        (EMPTY | {"trajectory": {"step": []}}, "expected pass, found refused (Object contains unknown field `step`"),
        (EMPTY | {"evaluator": {"type": "agent_tool_called"}}, "expected pass, found refused (Object missing required"),
        (
            EMPTY | {"evaluator": {"type": "agent_tool_called", "tool_name": "a", "min_calls": 0}},
            "expected pass, found refused (min_calls",
        ),
        (EMPTY | {"evaluator": {"type": "x"}}, "expected pass, found refused (unknown evaluator type 'x')"),
        (
            EMPTY | {"records": [{"trajectory": {"step": []}}], "counts": {"passed": 1}},
            "expected 1 passed, found refused (Object contains unknown field `step`",
        ),
        (
            {"name": "x", "why": "y", "evaluator": EMPTY["evaluator"], "records": [{"trajectory": {}}, {}]}
            | {"counts": {"passed": 1, "failed": 0, "missing": 0, "excluded": 0}},
            "expected 1 passed, 0 failed, 0 missing, 0 excluded, found 1 passed, 0 failed, 1 missing, 0 excluded",
        ),
    ],
)
def test_it_tells_where_a_verdict_differs(case: Any, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main([str(written(tmp_path, case))]) == 1
    assert capsys.readouterr().out.startswith(f"x.json: {case['name']}: {told}")


@pytest.mark.parametrize(
    "case",
    [
        1,
        {},
        EMPTY | {"wy": ""},
        {"name": "x", "why": "y"},
        {key: value for key, value in EMPTY.items() if key != "verdict"},
        EMPTY | {"evaluator": "agent_max_tool_calls"},
        EMPTY | {"evaluator": {"max_calls": 0}},
        EMPTY | {"records": [{}]},
        EMPTY | {"records": {}, "counts": {}},
        EMPTY | {"records": [1], "counts": {}},
    ],
)
def test_what_is_no_case_is_refused(case: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main([str(written(tmp_path, case))]) == 2
    assert "not a case" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["."], ["a", "b"]])
def test_nothing_to_judge_is_an_error(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    assert capsys.readouterr().err.startswith("usage: ")


def test_another_format_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main([str(written(tmp_path, form="x"))]) == 2
    (tmp_path / "x.json").write_text("[")
    assert main([str(tmp_path)]) == 2
    assert "its format is not" in capsys.readouterr().err


@pytest.mark.parametrize("document", [{}, {"cases": {}}, {"cases": None}, {"cases": []}])
def test_files_without_a_case_agree_with_nothing(
    document: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "x.json").write_text(json.dumps({"format": FORMAT} | document))
    assert main([str(tmp_path)]) == 2
    told = capsys.readouterr()
    assert (told.out, "case" in told.err) == ("", True)
