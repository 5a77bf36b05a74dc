"""What a CI server is given: SARIF, TAP, a job summary and annotations that point at the lines of the repository."""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from fakes.projects import AGENT, RIGHT, answered, case, oloproof, project, spawned, write_lines

pytestmark = pytest.mark.usefixtures("system_at_hand")


POLICY = """version: 1
rules:
  - id: none-wrong
    metric: right
    kind: observed_count
    max_failures: 0
  - {id: no-new, metric: right, kind: max_new_failures, max_new_failures: 0}
block_on: [FAIL]
warn_on: [INSUFFICIENT_EVIDENCE]
"""
NO_BASELINE = "there is no baseline to compare with: `run --baseline BASELINE`"
SEQUENCE = {"type": "agent_tool_sequence"}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project in a directory of a repository; its second case fails, its third breaks the agent."""
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "TF_BUILD", "TEAMCITY_VERSION"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / ".git").mkdir()
    app = AGENT.replace('"yes"', '"no" if "delete" in tools else "yes"') + "    \n"
    cases = [case("c1", ["look"], tools=["look"]), case("c 2", ["delete"], tools=["look"]), case("c3", 3)]
    project(tmp_path / "agent", app=app, cases=cases, evaluators=[RIGHT, SEQUENCE], rules=None)
    (tmp_path / "agent" / "release.yaml").write_text(POLICY)
    return tmp_path / "agent"


@pytest.fixture
def job(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same in a job of GitHub Actions."""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(home / "summary.md"))
    return home


def results(file: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(file.read_text())["runs"][0]["results"]
    return found


def places(file: Path) -> dict[tuple[str, str], tuple[str, str, int | None]]:
    """By rule and case: level, file and line."""
    found = {}
    for result in results(file):
        location = result.get("locations", [{}])[0]
        physical = location.get("physicalLocation", {"artifactLocation": {"uri": ""}})
        names = [each["name"] for each in location.get("logicalLocations", [{"name": ""}])]
        line = physical.get("region", {}).get("startLine")
        found[result["ruleId"], "/".join(names)] = (result["level"], physical["artifactLocation"]["uri"], line)
    return found


def commands(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.lstrip().startswith("::")]


def test_sarif_points_at_the_lines_of_cases_and_rules_and_names_the_steps(home: Path) -> None:
    assert oloproof(home, "run", "--sarif", "report.sarif").code == 1
    assert places(home / "report.sarif") == {
        ("rule/none-wrong", ""): ("error", "agent/release.yaml", 3),
        ("rule/no-new", ""): ("note", "agent/release.yaml", 7),
        ("criterion/right", "c 2"): ("error", "agent/cases.jsonl", 2),
        ("criterion/agent_tool_sequence", "c 2/step 1"): ("warning", "agent/cases.jsonl", 2),
        ("criterion/right", "c3"): ("note", "agent/cases.jsonl", 3),
    }


def test_what_sarif_says_of_a_case_is_recognised_in_the_next_run(home: Path) -> None:
    for name in ("one", "two"):
        assert oloproof(home, "run", "--sarif", name).code == 1
        rows = (home / "cases.jsonl").read_text().splitlines()
        write_lines(home / "cases.jsonl", [case("new", 7), *map(json.loads, rows)])
    one, two = (
        {each["partialFingerprints"]["oloproof/v1"] for each in results(home / name)} for name in ("one", "two")
    )
    assert len(one) == 5
    assert one < two


def test_lines_of_a_dataset_that_has_changed_are_not_told(home: Path) -> None:
    oloproof(home, "run")
    with (home / "cases.jsonl").open("a") as file:
        file.write("\n")
    assert oloproof(home, "inspect", "--sarif", "report.sarif").code == 0
    assert places(home / "report.sarif")["criterion/right", "c 2"] == ("error", "agent/cases.jsonl", None)
    assert places(home / "report.sarif")["rule/none-wrong", ""] == ("error", "agent/release.yaml", 3)


@pytest.mark.parametrize(("config", "file"), [("version: [", "agent/oloproof.yaml"), (None, "")])
def test_a_run_whose_configuration_cannot_be_read_has_results_all_the_same(
    config: str | None, file: str, home: Path
) -> None:
    run = oloproof(home, "run", "--json").json["run"]["id"]
    (home / "oloproof.yaml").write_text(config) if config else (home / "oloproof.yaml").unlink()
    assert oloproof(home, "inspect", run, "--sarif", "report.sarif").code == 0
    assert len(results(home / "report.sarif")) == 5
    assert {place for _, place, _ in places(home / "report.sarif").values()} == {file}


def test_files_that_are_named_to_judge_point_into_dataset_and_policy(home: Path) -> None:
    row = {"case": "c 2", "output": {"answer": "no"}}
    write_lines(home / "traces.jsonl", [row])
    assert oloproof(home, "judge", "traces.jsonl", "--sarif", "report.sarif").code == 1
    told = places(home / "report.sarif")
    assert told["criterion/right", "c 2"] == ("error", "agent/cases.jsonl", 2)
    assert told["rule/none-wrong", ""] == ("error", "agent/release.yaml", 3)


def test_a_file_outside_of_the_repository_is_no_place(home: Path) -> None:
    (home.parent / ".git").rmdir()
    (home / ".git").mkdir()
    (home / "cases.jsonl").rename(home.parent / "cases.jsonl")
    config = json.loads((home / "oloproof.yaml").read_text()) | {"dataset": "../cases.jsonl"}
    (home / "oloproof.yaml").write_text(json.dumps(config, indent=1))
    assert oloproof(home, "run", "--sarif", "report.sarif").code == 1
    told = places(home / "report.sarif")
    assert told["rule/none-wrong", ""] == ("error", "release.yaml", 3)
    assert told["criterion/right", "c 2"] == ("error", "oloproof.yaml", 8)  # its evaluator


def test_recordings_that_are_their_own_dataset_are_pointed_at(home: Path) -> None:
    rows = [{"case": f"c{number}", "expected": {"answer": "yes"}, "output": {"answer": "no"}} for number in (1, 2)]
    (home / "traces.jsonl").write_text("".join(f"{json.dumps(row)}\n\n" for row in rows))
    config = {"version": 1, "project": "small", "system": {"recorded": "traces.jsonl"}, "evaluators": [RIGHT]}
    (home / "oloproof.yaml").write_text(json.dumps(config | {"cases": 2}))
    assert oloproof(home, "judge", "--sarif", "report.sarif").code == 1
    told = places(home / "report.sarif")
    assert told["criterion/right", "c1"] == ("error", "agent/traces.jsonl", 1)
    assert told["criterion/right", "c2"] == ("error", "agent/traces.jsonl", 3)


def test_tap_says_the_verdict_first_and_no_missing_case_is_ok(home: Path) -> None:
    assert oloproof(home, "run", "--tap", "report.tap").code == 1
    assert (home / "report.tap").read_text().splitlines() == [
        "TAP version 13",
        "not ok 1 - gate: BLOCK (exit 1): none-wrong FAIL",
        "not ok 2 - rule none-wrong: FAIL: 1 failure observed, 0 allowed",
        f"not ok 3 - rule no-new: INSUFFICIENT_EVIDENCE: {NO_BASELINE} # TODO it does not block",
        "ok 4 - right: c1",
        "ok 5 - agent_tool_sequence: c1",
        'not ok 6 - right: c 2: fail: "yes" → "no"',
        "not ok 7 - agent_tool_sequence: c 2: fail: expected 'look', found 'delete'",
        "not ok 8 - right: c3: missing: TypeError: 'int' object is not iterable (system_error)",
        "1..8",
    ]


def test_a_job_on_github_gets_a_summary_and_annotations(job: Path) -> None:
    (job / "summary.md").write_text("# Before\n")
    done = oloproof(job, "run", "--github")
    assert done.code == 1
    assert (job / "summary.md").read_text().startswith("# Before\n## BLOCK · `small`\n")
    told = [line.partition(",line=")[0] + "," + line.partition(",line=")[2] for line in commands(done.out)]
    assert [line.split("::")[1] for line in told] == [
        "error title=oloproof rule/none-wrong,file=agent/release.yaml,3",
        "error title=oloproof criterion/right,file=agent/cases.jsonl,2",
        "warning title=oloproof criterion/agent_tool_sequence,file=agent/cases.jsonl,2",
        "notice title=oloproof rule/no-new,file=agent/release.yaml,7",
        "notice title=oloproof criterion/right,file=agent/cases.jsonl,3",
    ]
    again = oloproof(job, "gate", "--github")
    assert (again.code, commands(again.out)) == (1, commands(done.out))


@pytest.mark.usefixtures("in_a_worker")
def test_an_agent_is_not_told_where_a_job_speaks_to_github(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT", "GITHUB_ENV"):
        monkeypatch.setenv(name, str(tmp_path / "told"))
    read = "[name for name in ('GITHUB_STEP_SUMMARY', 'GITHUB_OUTPUT', 'GITHUB_ENV', 'PATH') if name in os.environ]"
    app = f"import os\ndef run(case):\n    return {{'answer': {read}}}\n"
    command = [sys.executable, "-S", "-c", f"import os, json; print(json.dumps({{'output': {{'answer': {read}}}}}))"]
    for name, system in (("worker", {"callable": "app:run"}), ("command", {"command": command})):
        made = project(tmp_path / name, app=app, cases=[case("c1")], rules=None, policy="none", system=system)
        oloproof(made, "run")
        shown = oloproof(made, "inspect", "latest", "--case", "c1", "--json")
        assert shown.json["output"] == {"answer": ["PATH"]}


def test_with_a_baseline_what_is_newly_broken_is_told_first(job: Path) -> None:
    app = (job / "app.py").read_text()
    asked = [case(f"c{number:02}", ["delete"] if number < 20 else ["look"], tools=[]) for number in range(21)]
    write_lines(job / "cases.jsonl", asked)
    assert oloproof(job, "run", "--no-gate").code == 0
    (job / "app.py").write_text(app.replace('"delete"', '"look"'))
    done = oloproof(job, "run", "--baseline", "latest", "--github")
    told = [line.rpartition("::")[2] for line in commands(done.out) if line.startswith("::error")]
    assert [line.split(" ")[0] for line in told] == ["none-wrong", "no-new", "c20"]
    (job / "app.py").write_text(app.replace('"no" if "delete" in tools else "yes"', '"no"'))
    done = oloproof(job, "run", "--baseline", "latest~1", "--github")
    told = [line.rpartition("::")[2] for line in commands(done.out) if line.startswith("::error")]
    assert [line.split(" ")[0] for line in told[:5]] == ["none-wrong", "no-new", "c20", "c00", "c01"]
    assert told[-1].startswith("and 14 more, in oloproof inspect ")


def test_beside_one_document_annotations_go_to_stderr(job: Path) -> None:
    done = oloproof(job, "run", "--github", "--json")
    assert done.json["gate"]["exit_code"] == done.code == 1
    assert len(commands(done.err)) == 5


def test_elsewhere_the_option_says_that_it_does_nothing(home: Path) -> None:
    done = oloproof(home, "run", "--github")
    assert done.code == 1
    assert "--github: this is no job of GitHub Actions, so there is no summary to write" in done.lines
    assert commands(done.out + done.err) == []


def test_a_summary_that_cannot_be_written_is_no_pass(job: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_lines(job / "cases.jsonl", [case("c1", ["look"], tools=["look"])])
    assert oloproof(job, "run", "--github").code == 0
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(job))
    done = oloproof(job, "run", "--github")
    assert done.code == 5
    assert "OLO605" in done.err


@pytest.mark.parametrize("server", ["GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION"])
def test_no_case_commands_the_server_that_reads_the_log(
    server: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(server, "true")
    said = [
        "::add-mask::a",
        "  ::stop-commands::x",
        "x ##[error]y",
        "##vso[task.complete result=Succeeded]",
        "##teamcity[x]",
    ]
    write_lines(home / "cases.jsonl", answered(*said))
    ids = [row | {"id": text} for row, text in zip(answered(*said), said, strict=True)]
    project(home, cases=ids)
    views = (["--failures"], ["--verdicts", "--csv"], ["--verdicts", "--json"], ["--json"], ["--case", said[0]])
    texts = [oloproof(home, "run"), *(oloproof(home, "inspect", *view) for view in views)]
    for each in texts:
        assert commands(each.out + each.err) == []
        assert not [mark for mark in ("##[", "##vso[", "##teamcity[") if mark in each.out + each.err]
    assert [json.loads(line)["case"] for line in texts[3].out.splitlines()] == said


def test_in_a_job_a_mistake_on_the_command_line_is_told_as_anywhere(job: Path) -> None:
    told = spawned(job, "run", "--bogus\n::error::x")
    assert told.code == 2
    assert "No such option" in told.err
    assert commands(told.err) == []
    assert spawned(job, "run", "--help").out.startswith("Usage: ")


def test_a_comparison_says_what_broke_on_the_pull_request(job: Path) -> None:
    app = (job / "app.py").read_text()
    (job / "app.py").write_text(app.replace("delete", "nothing"))
    oloproof(job, "run", "--no-gate")
    (job / "app.py").write_text(app)
    oloproof(job, "run", "--no-gate")
    written = ("--markdown", "compared.md", "--junit", "compared.xml", "--sarif", "compared.sarif")
    done = oloproof(job, "compare", "latest", "latest~1", "--github", *written)
    text = (job / "compared.md").read_text()
    assert (job / "summary.md").read_text() == text
    assert text.startswith("## BLOCK · `small`\n\n`BLOCK (exit 1): no-new FAIL`\n\n`since the baseline ")
    assert ": cases: 1 broken`" in text
    assert "| `right` | `broken` | `c 2` |" in text
    rule, broke = commands(done.out)
    assert rule.startswith("::error title=oloproof rule/no-new,file=agent/release.yaml,line=7::no-new is FAIL")
    assert broke == (
        "::error title=oloproof criterion/right,file=agent/cases.jsonl,line=2::"
        "c 2: right passed in the baseline and fails now; where the calls part: nowhere: the calls are the same"
    )
    assert places(job / "compared.sarif") == {
        ("rule/no-new", ""): ("error", "agent/release.yaml", 7),
        ("criterion/right", "c 2"): ("error", "agent/cases.jsonl", 2),
    }
    log = json.loads((job / "compared.sarif").read_text())
    assert log["runs"][0]["automationDetails"]["id"] == "oloproof/small/comparison/"
    rules, changes = ET.parse(job / "compared.xml").getroot()
    assert [test.get("name") for test in rules if test.find("failure") is not None] == ["no-new"]
    (broken,) = changes
    assert (broken.get("classname"), broken.get("name"), changes.get("failures")) == ("right", "c 2", "1")
    assert [each.get("message", "").partition(";")[0] for each in broken] == ["passed in the baseline and fails now"]
