"""``inspect`` and ``runs``: what a stored run says, and which run a name means."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fakes.projects import AGENT, RIGHT, answered, case, oloproof, project

pytestmark = pytest.mark.usefixtures("system_at_hand")


EVALUATORS = [RIGHT, {"type": "agent_tool_sequence"}]


@pytest.fixture
def agent(tmp_path: Path) -> Path:
    """Two cases, of which the second calls a tool too many."""
    cases = [case("c1", ["look"], tools=["look"]), case("c2", ["look", "delete"], tools=["look"])]
    directory = project(tmp_path, app=AGENT, cases=cases, evaluators=EVALUATORS)
    assert oloproof(directory, "run").code == 0
    return directory


def cells(lines: list[str]) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("│").split("│")] for line in lines if line.startswith("│")]


def test_a_case_is_shown_step_by_step_with_the_offending_one_marked(agent: Path) -> None:
    done = oloproof(agent, "inspect", "--case", "c2")
    assert done.code == 0
    assert "1  tool_call look" in done.lines
    assert "2  tool_call delete  ✗ agent_tool_sequence" in done.lines
    expected, found = '["look"]', '["look", "delete"]'
    row = ["agent_tool_sequence", "fail", "expected no call, found 'delete'", "2", expected, found]
    assert row in cells(done.lines)


def test_a_case_as_a_document(agent: Path) -> None:
    document = oloproof(agent, "inspect", "--case", "c2", "--json").json
    assert document["format"] == "oloproof.case/v1"
    assert [step["tool_name"] for step in document["trajectory"]["steps"]] == ["look", "delete"]
    judged = document["judgments"][1]
    assert (judged["verdict"], judged["steps"]) == ("fail", [2])
    assert (judged["expected"], judged["found"]) == (["look"], ["look", "delete"])


def test_failures_are_the_verdicts_that_failed(agent: Path) -> None:
    done = oloproof(agent, "inspect", "--failures")
    lists = '["look"] → ["look", "delete"]'
    assert cells(done.lines)[1:] == [["c2", "agent_tool_sequence", "expected no call, found 'delete'", "2", lists]]
    assert oloproof(agent, "inspect", "--failures", "--csv").out.splitlines()[1:] == ["c2,1,agent_tool_sequence,fail,"]


def test_verdicts_are_a_table_lines_of_json_or_a_spreadsheet(agent: Path) -> None:
    assert [row[:3] for row in cells(oloproof(agent, "inspect", "--verdicts").lines)[1:]] == [
        ["c1", "right", "pass"],
        ["c1", "agent_tool_sequence", "pass"],
        ["c2", "right", "pass"],
        ["c2", "agent_tool_sequence", "fail"],
    ]
    lines = oloproof(agent, "inspect", "--verdicts", "--json").out.splitlines()
    assert len(lines) == 4
    assert json.loads(lines[0]) == {"case": "c1", "trial": 1, "criterion": "right", "verdict": "pass", "reason": None}
    table = oloproof(agent, "inspect", "--verdicts", "--csv").out.splitlines()
    assert table[0] == "case,trial,criterion,verdict,reason"
    assert table[1] == "c1,1,right,pass,"


def test_formulas_are_defused(tmp_path: Path) -> None:
    directory = project(tmp_path, cases=[case("=1+1"), case("@SUM(A1)"), case("-1")])
    oloproof(directory, "run")
    table = oloproof(directory, "inspect", "--verdicts", "--csv").out.splitlines()
    assert [line.split(",")[0] for line in table[1:]] == ["'=1+1", "'@SUM(A1)", "'-1"]


@pytest.mark.usefixtures("in_a_worker")
def test_what_user_code_prints_is_in_its_cases_log_and_not_in_the_report(tmp_path: Path) -> None:
    app = "def run(case):\n    print('thinking about', case)\n    return {'answer': case}\n"
    directory = project(tmp_path, app=app, cases=answered("yes", "no"))
    done = oloproof(directory, "run")
    assert "thinking" not in done.out + done.err
    assert "thinking about no" in oloproof(directory, "inspect", "--case", "c2").lines
    assert "thinking about yes" in oloproof(directory, "inspect", "--case", "c1").lines


@pytest.mark.usefixtures("in_a_worker")
def test_what_user_code_prints_outside_of_cases_is_kept_with_the_run(tmp_path: Path) -> None:
    app = """
import atexit
from oloproof import evaluator

print("loading\x1b[31m")
atexit.register(print, "bye")

def run(case):
    return {"answer": case}

@evaluator
def kind(output):
    print("is it kind?")
    return True
"""
    directory = project(tmp_path, app=app, cases=answered("yes"), evaluators=[{"type": "app:kind"}], rules=None)
    done = oloproof(directory, "run", "--no-gate")
    assert "loading" not in done.out
    (fact,) = [line for line in done.lines if line.startswith("log ")]
    assert "5 lines printed outside of cases: oloproof inspect" in fact
    shown = oloproof(directory, "inspect", "--log")
    assert shown.lines == [r"loading\x1b[31m", "bye", r"loading\x1b[31m", "is it kind?", "bye"]


def test_a_run_that_printed_nothing_has_no_log(agent: Path) -> None:
    assert oloproof(agent, "inspect", "--log").out == ""
    assert "outside of cases" not in oloproof(agent, "inspect").out


def test_a_case_that_is_not_there(agent: Path) -> None:
    done = oloproof(agent, "inspect", "--case", "c3")
    assert done.code == 2
    assert "has no case 'c3'" in done.err


def test_a_run_is_named_by_its_id_a_unique_part_or_its_age(tmp_path: Path) -> None:
    directory = project(tmp_path)
    ids = [oloproof(directory, "run", "--json").json["run"]["id"] for _ in range(3)]

    def named(name: str) -> str:
        return str(oloproof(directory, "inspect", name, "--json").json["run"]["id"])

    assert [named(name) for name in ("latest", "latest~1", "latest~2")] == ids[::-1]
    assert named(ids[1]) == ids[1]
    assert named(ids[0].partition("-")[2]) == ids[0]
    listed = oloproof(directory, "runs", "--json").json["runs"]
    assert [run["id"] for run in listed] == ids[::-1]
    assert len(oloproof(directory, "runs", "--limit", "1", "--json").json["runs"]) == 1


def test_a_name_that_means_no_run_or_several(tmp_path: Path) -> None:
    directory = project(tmp_path)
    ids = [oloproof(directory, "run", "--json").json["run"]["id"] for _ in range(2)]
    ambiguous = oloproof(directory, "inspect", "20")
    assert ambiguous.code == 2
    assert "'20' is part of 2 run ids [OLO612]" in ambiguous.lines
    assert f"name one: {ids[1]}, {ids[0]}" in ambiguous.lines
    far = oloproof(directory, "gate", "latest~2")
    assert far.code == 2
    assert "latest~2 goes back too far: 2 runs stored [OLO611]" in far.lines
    unknown = oloproof(directory, "inspect", "nothing")
    assert unknown.code == 2
    assert "no run is called 'nothing' [OLO611]" in unknown.lines


def test_runs_lists_each_with_its_verdict(tmp_path: Path) -> None:
    directory = project(tmp_path, cases=answered("yes", "no"))
    oloproof(directory, "run")
    oloproof(directory, "run", "--limit", "1")
    rows = cells(oloproof(directory, "runs").lines)
    assert rows[0] == ["run", "status", "cases", "system", "started", "gate"]
    assert [(row[1], row[2], row[-1]) for row in rows[1:]] == [
        ("complete (--limit 1)", "1", "NOT GATED"),
        ("complete", "2", "BLOCK"),
    ]


def test_the_runs_id_is_told_first_and_written_to_a_file(tmp_path: Path) -> None:
    directory = project(tmp_path)
    done = oloproof(directory, "run", "--run-id-file", "id.txt", "--json")
    run_id = done.json["run"]["id"]
    assert done.err.splitlines()[0] == f"run {run_id}"
    assert (directory / "id.txt").read_text() == f"{run_id}\n"


def test_tools_that_no_case_called_are_told(tmp_path: Path) -> None:
    evaluators = [RIGHT, {"type": "agent_tool_called", "tool_name": "lok"}]
    cases = [case("c1", ["look"]), case("c2", ["look"])]
    done = oloproof(project(tmp_path, app=AGENT, cases=cases, evaluators=evaluators), "run")
    assert "criterion 'agent_tool_lok_called' names the tool 'lok', which no case called" in done.lines


def test_an_output_field_that_no_output_has_is_told(tmp_path: Path) -> None:
    done = oloproof(project(tmp_path, evaluators=[RIGHT | {"field": "anwser"}]), "run")
    assert done.code == 1
    assert "criterion 'right' reads the field 'anwser', which no output has" in done.lines


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["inspect", "latest", "--case", "c1", "--trial", "9" * 30], "'--trial'"),
        (["inspect", "latest", "--case", "\udcff"], "is no UTF-8 text"),
        (["gate", "latest", "--approve", "none-wrong", "--by", "A\udcff"], "is no UTF-8 text"),
        (["run", "--case", "\udcff"], "is no UTF-8 text"),
        (["run", "--limit", "9" * 30], "'--limit'"),
        (["runs", "--limit", "9" * 30], "'--limit'"),
    ],
)
def test_what_no_store_can_hold_is_refused_on_the_command_line(agent: Path, arguments: list[str], told: str) -> None:
    done = oloproof(agent, *arguments)
    assert done.code == 2
    assert told in done.err
