"""``report`` and ``--html``: a stored run as one file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fakes.pages import Tags, unpacked
from fakes.projects import AGENT, NONE_WRONG, RIGHT, answered, case, oloproof, project, write_lines

pytestmark = pytest.mark.usefixtures("system_at_hand")


EVALUATORS = [RIGHT, {"type": "agent_tool_sequence"}]


@pytest.fixture
def agent(tmp_path: Path) -> Path:
    cases = [case("c1", ["look"], tools=["look"]), case("c2", ["look", "delete"], tools=["look"])]
    return project(tmp_path, app=AGENT, cases=cases, evaluators=EVALUATORS, slices=["first_tool"])


def done_run(directory: Path) -> str:
    """The latest run's id."""
    return oloproof(directory, "runs", "--json").json["runs"][0]["id"]


def test_what_was_written_is_told_as_a_document_too(agent: Path) -> None:
    oloproof(agent, "run")
    name = done_run(agent)
    done = oloproof(agent, "report", "--html", "page.html", "--json")
    assert done.json == {"format": "oloproof.written/v1", "files": ["page.html"], "run": name}
    done = oloproof(agent, "baseline", "save", "-o", "base.json", "--json")
    assert done.json == {"format": "oloproof.written/v1", "files": ["base.json"], "run": name}
    shown = oloproof(agent, "baseline", "show", "base.json", "--json").json
    counted = {each.pop("id"): each for each in shown.pop("criteria")}
    assert counted["agent_tool_sequence"] == {"passed": 1, "failed": 1, "missing": 0, "excluded": 0}
    assert counted.keys() == {"right", "agent_tool_sequence"}
    assert (shown["run"], shown["cases"], shown["trials"]) == (name, 2, 1)


def test_a_run_writes_the_page_that_the_stored_run_writes_again(agent: Path) -> None:
    assert oloproof(agent, "run", "--html", "run.html").code == 0
    done = oloproof(agent, "report", "--html", "again.html")
    assert (done.code, done.lines) == (0, [f"wrote again.html: run {done_run(agent)}"])
    assert (agent / "run.html").read_bytes() == (agent / "again.html").read_bytes()


@pytest.mark.parametrize("command", ["gate", "inspect"])
def test_whatever_ends_in_a_report_writes_it(command: str, agent: Path) -> None:
    oloproof(agent, "run")
    assert oloproof(agent, command, "--html", "report.html").code == 0
    assert "ALLOW" in Tags((agent / "report.html").read_text()).text


def test_the_page_says_what_the_terminal_says_and_holds_every_case(agent: Path) -> None:
    oloproof(agent, "run", "--html", "report.html")
    text = (agent / "report.html").read_text()
    assert "0 failures observed and 0 cases missing, 0 allowed" in Tags(text).text
    parts = unpacked(text)
    assert [(row[0], row[2]) for row in parts["index"]["rows"]] == [("c1", "pp"), ("c2", "pf")]
    assert parts["index"]["values"] == [["look"]]
    steps = parts["block-0"][1]["view"]["steps"]
    assert [step["offends"] for step in steps] == [[], ["agent_tool_sequence"]]
    (beside,) = parts["block-0"][1]["view"]["alignments"]
    assert "delete" in str(beside["rows"][1])


def test_a_blocked_run_is_written_and_exits_with_0(tmp_path: Path) -> None:
    project(tmp_path, cases=answered("yes", "no"))
    assert oloproof(tmp_path, "run").code == 1
    assert oloproof(tmp_path, "report", "--html", "report.html").code == 0
    assert "BLOCK" in Tags((tmp_path / "report.html").read_text()).text


def test_no_content(tmp_path: Path) -> None:
    project(tmp_path, cases=answered("yes", "hunter2"), rules=[NONE_WRONG])
    oloproof(tmp_path, "run")
    assert oloproof(tmp_path, "report", "--no-content", "--html", "report.html").code == 0
    text = (tmp_path / "report.html").read_text()
    assert "hunter2" not in text + str(unpacked(text))
    assert "are left out of this file" in Tags(text).text


def test_trials_are_rows_of_their_own(tmp_path: Path) -> None:
    project(tmp_path, trials=2)
    oloproof(tmp_path, "run", "--html", "report.html")
    rows = unpacked((tmp_path / "report.html").read_text())["index"]["rows"]
    assert [(row[0], row[1]) for row in rows[:3]] == [("c1", 1), ("c1", 2), ("c2", 1)]


def test_recordings_that_changed_since_leave_the_verdicts(tmp_path: Path) -> None:
    recording = {"case": "c1", "input": "yes", "expected": {"answer": "yes"}, "output": {"answer": "yes"}}
    project(tmp_path, cases=None, rules=None, system={"recorded": "traces.jsonl"}, policy="none")
    write_lines(tmp_path / "traces.jsonl", [recording])
    assert oloproof(tmp_path, "judge").code == 0
    write_lines(tmp_path / "traces.jsonl", [recording | {"output": {"answer": "no"}}])
    assert oloproof(tmp_path, "report", "--html", "report.html").code == 0
    parts = unpacked((tmp_path / "report.html").read_text())
    assert parts == {
        "index": {
            "criteria": ["right"],
            "slices": [],
            "tries": 1,
            "rows": [["c1", 1, "p", [], -2, 0, ""]],
            "values": [],
        }
    }


def test_a_file_must_be_named(agent: Path) -> None:
    done = oloproof(agent, "report")
    assert done.code == 2
    assert "Missing option '--html'" in done.err


def test_what_needs_no_page_imports_no_templates(agent: Path) -> None:
    code = "import sys; from oloproof.cli import main\ntry: main()\nfinally: assert 'jinja2' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code, "run"], cwd=agent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
