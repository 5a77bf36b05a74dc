"""``run --failed RUN``: what failed there, or lacks a verdict, is run again, and gates nothing."""

from __future__ import annotations

import json
from pathlib import Path

from fakes.projects import answered, oloproof, project, write_lines

APP = """
import os
from oloproof import system

@system(name="agent", version="1", records=[])
def run(case):
    if case == "broken":
        raise ValueError(case)
    return {"answer": "yes" if os.path.exists("mended") else case}
"""


def suite(directory: Path, *answers: str) -> Path:
    return project(directory, app=APP, cases=answered(*answers))


def ran(directory: Path, *options: str) -> list[str]:
    done = oloproof(directory, "run", *options, "--json")
    assert done.code == 3, done.err
    lines = oloproof(directory, "inspect", "latest", "--verdicts", "--json").lines
    return [json.loads(line)["case"] for line in lines]


def test_what_failed_or_is_missing_is_run_again_in_the_dataset_s_order(tmp_path: Path) -> None:
    suite(tmp_path, "yes", "no", "broken", "yes", "no")
    assert oloproof(tmp_path, "run").code == 1
    assert ran(tmp_path, "--failed", "latest") == ["c2", "c3", "c5"]
    (tmp_path / "mended").touch()
    assert ran(tmp_path, "--failed", "latest") == ["c2", "c3", "c5"]
    assert ran(tmp_path, "--failed", "latest") == ["c3"]
    assert ran(tmp_path, "--failed", "latest~3", "--limit", "1") == ["c2"]
    assert ran(tmp_path, "--failed", "latest~4", "--case", "c1") == ["c1", "c2", "c3", "c5"]


def test_where_nothing_failed_nothing_is_run(tmp_path: Path) -> None:
    suite(tmp_path, "yes", "yes")
    assert oloproof(tmp_path, "run").code == 0
    done = oloproof(tmp_path, "run", "--failed", "latest")
    assert (done.code, "no case of the dataset failed [OLO603]" in done.err) == (2, True)
    assert len(oloproof(tmp_path, "runs", "--json").json["runs"]) == 1


def test_a_case_that_the_dataset_has_no_more_is_left_out(tmp_path: Path) -> None:
    suite(tmp_path, "no", "no")
    oloproof(tmp_path, "run")
    write_lines(tmp_path / "cases.jsonl", answered("no", "no")[1:])
    assert ran(tmp_path, "--failed", "latest") == ["c2"]
    write_lines(tmp_path / "cases.jsonl", answered("yes"))
    assert oloproof(tmp_path, "run", "--failed", "latest").code == 2


def test_a_run_that_is_resumed_knows_its_cases(tmp_path: Path) -> None:
    suite(tmp_path, "no")
    oloproof(tmp_path, "run")
    done = oloproof(tmp_path, "run", "--failed", "latest", "--resume", "latest")
    assert (done.code, "--failed: a run that is resumed" in done.err) == (2, True)
    assert oloproof(tmp_path, "run", "--failed", "gone").code == 2
