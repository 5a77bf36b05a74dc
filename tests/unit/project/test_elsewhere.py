"""A key that another tool has, or that belongs elsewhere, is answered with where it goes."""

from __future__ import annotations

from pathlib import Path

import pytest

from oloproof.errors import UsageError
from oloproof.project import load, read_cases
from oloproof.project.elsewhere import _CONFIG, _ROW, _RULE

CONFIG = """\
version: 1
project: p
dataset: d.jsonl
system: {callable: app:run}
evaluators: [{type: contains, criterion: right, value: yes}]
"""
RULE = "policy: {version: 1, rules: [{id: r, metric: right, min: 0.5, %s: x}]}\n"


def hint(directory: Path, config: str, rows: str = '{"id": "c", "input": 1}\n') -> str:
    (directory / "oloproof.yaml").write_text(config)
    (directory / "d.jsonl").write_text(rows)
    with pytest.raises(UsageError) as caught:
        read_cases(load(directory / "oloproof.yaml"))
    (problem,) = caught.value.problems
    assert problem.message.startswith("unknown key")
    return problem.hint


@pytest.mark.parametrize("key", _CONFIG)
def test_in_the_configuration(tmp_path: Path, key: str) -> None:
    assert hint(tmp_path, f"{CONFIG}{key}: x\n") == _CONFIG[key]


@pytest.mark.parametrize("key", _ROW)
def test_in_a_row(tmp_path: Path, key: str) -> None:
    assert hint(tmp_path, CONFIG, f'{{"id": "c", "input": 1, "{key}": "x"}}\n') == _ROW[key]


@pytest.mark.parametrize("key", _RULE)
def test_in_a_rule(tmp_path: Path, key: str) -> None:
    assert hint(tmp_path, CONFIG + RULE % key) == _RULE[key]


def test_a_slip_is_taken_for_one(tmp_path: Path) -> None:
    assert hint(tmp_path, f"{CONFIG}slcies: x\n") == "did you mean 'slices'?"
    assert hint(tmp_path, CONFIG + RULE % "maxx") == "did you mean 'max'?"
