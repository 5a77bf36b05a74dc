"""``compare --html``: two runs as one file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fakes.pages import Tags, unpacked
from fakes.projects import case, oloproof, project, write_lines

pytestmark = pytest.mark.usefixtures("system_at_hand")

AGENT = """
import json
from oloproof import *


@system(records=("agent_trajectory/v1",))
def run(name):
    said = json.load(open("answers.json")).get(name, ["look"])
    with current_case().trace() as trace:
        for tool in said:
            trace.tool_call(tool, {"for": "hunter2"})
    return {"answer": "no" if "delete" in said else "yes"}
"""
NO_NEW = {"id": "no-new", "metric": "right", "kind": "max_new_failures", "max_new_failures": 0}


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """Four cases, of which the second run breaks c1 and fixes c2."""
    cases = [case(f"c{number}", f"c{number}") for number in range(4)]
    project(tmp_path, app=AGENT, cases=cases, rules=[NO_NEW], slices=["first_tool"])
    for answers in ({"c2": ["delete"]}, {"c1": ["look", "delete"]}):
        (tmp_path / "answers.json").write_text(json.dumps(answers))
        assert oloproof(tmp_path, "run", "--no-gate").code == 0
    return tmp_path


def page(directory: Path) -> str:
    return (directory / "compared.html").read_text()


def test_changed_cases_lie_in_the_file_with_the_calls_of_both_runs(two: Path) -> None:
    done = oloproof(two, "compare", "latest", "latest~1", "--html", "compared.html")
    assert done.code == 1
    parts = unpacked(page(two))
    assert [(row[0], row[2], row[3]) for row in parts["index"]["rows"]] == [("c1", "f", [0]), ("c2", "p", [1])]
    assert (parts["index"]["slices"], parts["index"]["values"]) == (["right"], [["broken", "fixed"]])
    broken, fixed = parts["block-0"]
    same = '1. look {"for": "hunter2"}'
    assert broken["calls"] == [["same", same, same], ["found", "", '2. delete {"for": "hunter2"}']]
    assert [line[0] for line in fixed["calls"]] == ["expected", "found"]


def test_the_page_says_what_the_terminal_says(two: Path) -> None:
    printed = oloproof(two, "compare", "latest", "latest~1", "--html", "compared.html").out
    text = Tags(page(two)).text
    for each in ("no-new", "1 newly broken, 0 allowed", "1 fixed · 1 broken", "step 2: delete is new", "first_tool"):
        assert each in printed
        assert each in text
    assert "cases that moved between slices" in text.lower()


def test_without_content_no_argument_is_in_the_file(two: Path) -> None:
    assert oloproof(two, "compare", "latest", "latest~1", "--html", "compared.html", "--no-content").code == 1
    parts = unpacked(page(two))
    assert "hunter2" not in page(two) + str(parts)
    assert parts["block-0"][0]["calls"][1] == ["found", "", "2. delete"]


def test_a_baseline_file_keeps_no_calls(two: Path) -> None:
    oloproof(two, "baseline", "save", "latest~1", "-o", "baseline.json")
    assert oloproof(two, "compare", "latest", "baseline.json", "--html", "compared.html").code == 1
    assert [shown["calls"] for shown in unpacked(page(two))["block-0"]] == [[], []]
    assert "a baseline file keeps no calls" in Tags(page(two)).text


def test_a_case_that_is_gone_is_named_and_has_no_steps(two: Path) -> None:
    write_lines(two / "cases.jsonl", [case(f"c{number}", f"c{number}") for number in (0, 2, 3)])
    oloproof(two, "run", "--no-gate")
    oloproof(two, "compare", "latest", "latest~2", "--html", "compared.html")
    assert [row[0] for row in unpacked(page(two))["index"]["rows"]] == ["c2"]
    assert "only in the baseline, so a missing pair: c1" in Tags(page(two)).text


def test_nothing_to_leave_content_out_of(two: Path) -> None:
    done = oloproof(two, "compare", "latest", "latest~1", "--no-content")
    assert done.code == 2
    assert "OLO720" in done.err
