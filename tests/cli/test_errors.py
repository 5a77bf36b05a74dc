"""What goes wrong in a few cases is seen: in the report, in its advice, in the lists and in JUnit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fakes.projects import NONE_WRONG, RIGHT, answered, case, oloproof, project

RAISES = """
def run(case):
    if case == "boom":
        raise ValueError("no such order")
    return {"answer": case}
"""


@pytest.fixture
def crashed(tmp_path: Path) -> Path:
    """25 cases, of which the seventh raises; the project lies in a directory below."""
    answers: list[Any] = ["yes"] * 25
    answers[6] = "boom"
    return project(tmp_path / "sub", app=RAISES, cases=answered(*answers), rules=[NONE_WRONG]).parent


def test_a_case_that_raises_is_told_with_a_command_that_can_be_pasted(crashed: Path) -> None:
    where = ("--config", "sub/oloproof.yaml")
    done = oloproof(crashed, "run", *where)
    assert done.code == 3
    run_id = done.err.splitlines()[0].removeprefix("run ")
    assert "system_error in 1 case: ValueError: no such order" in done.lines
    assert f"oloproof inspect {run_id} --case c7 --config sub/oloproof.yaml" in done.lines
    advice = "see why 1 of 25 cases is missing (system_error in 1 case: ValueError: no such order)"
    assert any(line.startswith(advice) for line in done.lines)
    assert not any("add cases" in line for line in done.lines)
    commands = [line[line.index("oloproof ") :] for line in done.out.splitlines() if "oloproof " in line]
    assert all(command.endswith(" --config sub/oloproof.yaml") for command in commands)


def test_it_is_in_the_document_and_in_the_files(crashed: Path) -> None:
    files = ("--markdown", crashed / "report.md", "--junit", crashed / "junit.xml")
    done = oloproof(crashed / "sub", "run", "--json", *files)
    group = {"kind": "system_error", "message": "ValueError: no such order", "cases": 1, "first": "c7"}
    assert done.json["errors"] == [group]
    assert oloproof(crashed / "sub", "inspect", "--json").json["errors"] == [group]
    assert "- `system_error in 1 case: ValueError: no such order`:" in (crashed / "report.md").read_text()
    assert 'skipped message="ValueError: no such order (system_error)"' in (crashed / "junit.xml").read_text()


def test_missing_verdicts_have_a_list_and_failures_point_at_it(crashed: Path) -> None:
    directory = crashed / "sub"
    oloproof(directory, "run")
    done = oloproof(directory, "inspect", "--failures")
    assert "failures: none" in done.lines
    assert any(line.startswith("1 verdict is missing: oloproof inspect ") for line in done.lines)
    done = oloproof(directory, "inspect", "--missing")
    assert "│ c7   │ right     │ ValueError: no such order (system_error) │" in done.lines
    (line,) = oloproof(directory, "inspect", "--missing", "--json").out.splitlines()
    assert '"verdict": "missing"' in line


def test_an_evaluator_that_raises_is_told_and_its_traceback_drawn_by_lines(tmp_path: Path) -> None:
    directory = project(tmp_path, cases=[case("c1"), case("c2")], evaluators=[RIGHT, {"type": "judges:polite"}])
    (directory / "judges.py").write_text("def polite(output):\n    return output['tone']\n")
    done = oloproof(directory, "run")
    assert "evaluator_error in 2 cases: polite: KeyError: 'tone'" in done.lines
    done = oloproof(directory, "inspect", "--case", "c1")
    assert any("KeyError: 'tone' (evaluator_error) " in line for line in done.lines)
    assert "traceback of criterion polite" in done.lines
    assert "return output['tone']" in done.lines


def test_a_slice_that_holds_no_case_names_the_values_there_are(tmp_path: Path) -> None:
    cases = [{**case(f"c{size}"), "metadata": {"size": size}} for size in ("big", "small")]
    done = oloproof(project(tmp_path, cases=cases), "run", "--slice", "metadata.size=bigg")
    assert done.code == 2
    assert "did you mean 'big'?" in done.lines
    done = oloproof(tmp_path, "run", "--slice", "metadata.size=xxl")
    assert "the values are: big, small" in done.lines
    done = oloproof(tmp_path, "run", "--slice", "metadata.siez=big")
    assert "did you mean 'metadata.size'?" in done.lines
    done = oloproof(tmp_path, "run", "--slice", "size=big")
    assert "only metadata is known before a case has run: did you mean metadata.size=big?" in done.lines
    done = oloproof(tmp_path, "run", "--slice", "first_tool=big")
    assert "only metadata is known before a case has run" in done.lines
    assert not (tmp_path / ".oloproof").exists()


def test_a_rule_that_does_not_exist_cannot_be_approved_and_those_that_do_are_named(tmp_path: Path) -> None:
    directory = project(tmp_path)
    oloproof(directory, "run")
    done = oloproof(directory, "gate", "--approve", "nope", "--by", "Ada")
    assert done.code == 2
    assert "the policy's rules are: none-wrong" in done.lines
