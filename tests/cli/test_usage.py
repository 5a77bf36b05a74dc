"""Exit 2: everything that is wrong, at once, where it stands, and nothing run or written."""

from __future__ import annotations

from pathlib import Path

import pytest

from fakes.projects import Done, answered, oloproof, project, spawned, write_lines

CONFIG = """\
version: 1
project: small
dataset: cases.jsonl
system: {callable: app:run, timout_s: 5}
evaluators:
  - {type: contains, criterion: right, field: answer, expected_field: answer}
  - {type: agent_max_steps, max_steps: "2"}
min_slice_support: 0
min_slice_support: 3
"""
RELEASE = """\
version: 1
block_on: [INSUFFICIENT_EVIDENCE]
rules:
  - {id: floor, metric: right, min: 0.7}
  - {id: floor, metric: right, min: 70}
"""
CASES = """\
{"id": "c1", "input": 1, "expected": {"answr": "yes"}}
{"id": "c1", "inputt": 2}
{"id": 3}
not json
"""


def wrong(directory: Path) -> Path:
    project(directory)
    (directory / "oloproof.yaml").write_text(CONFIG)
    (directory / "release.yaml").write_text(RELEASE)
    return directory


def refused(directory: Path, *arguments: str) -> Done:
    """Exit 2, and nothing written."""
    before = sorted(path.name for path in directory.iterdir())
    done = oloproof(directory, *arguments)
    assert done.code == 2
    assert sorted(path.name for path in directory.iterdir()) == before
    return done


@pytest.mark.parametrize("command", ["run", "check", "judge"])
def test_all_problems_of_the_configuration_and_the_policy_are_told_at_once(tmp_path: Path, command: str) -> None:
    done = refused(wrong(tmp_path), command)
    assert done.out == ""
    assert done.err.splitlines() == [
        "oloproof.yaml:4:29: unknown key 'timout_s' [OLO105]",
        "  did you mean 'timeout_s'?",
        "oloproof.yaml:7:40: max_steps must be an integer, found the string '2' [OLO107]",
        "  write it without quotes: 2",
        "oloproof.yaml:8:20: min_slice_support must be at least 1, found 0 [OLO108]",
        "oloproof.yaml:9:1: duplicate key 'min_slice_support', first on line 8 [OLO109]",
        "  keep one of them",
        "release.yaml:2:11: block_on must contain FAIL [OLO118]",
        "  add FAIL to the list",
        "release.yaml:5:10: two rules have the id 'floor', the first on line 4 [OLO112]",
        "  give each rule an id of its own",
        "release.yaml:5:37: min must be a share between 0 and 1, found 70 [OLO108]",
        "  write 0.7 for 70 %",
    ]


def test_under_json_the_problems_are_a_document(tmp_path: Path) -> None:
    done = spawned(wrong(tmp_path), "run", "--json")
    assert done.code == 2
    assert done.err == ""
    assert done.json["format"] == "oloproof.problems/v1"
    assert len(done.json["problems"]) == 7
    assert done.json["problems"][0] == {
        "file": "oloproof.yaml",
        "line": 4,
        "column": 29,
        "code": "OLO105",
        "message": "unknown key 'timout_s'",
        "hint": "did you mean 'timeout_s'?",
    }


def test_all_problems_of_the_dataset_are_told_at_once(tmp_path: Path) -> None:
    directory = project(tmp_path)
    (directory / "cases.jsonl").write_text(CASES)
    assert refused(directory, "run").err.splitlines() == [
        "cases.jsonl:1: nothing reads expected.answr, which is nearly expected.answer (1 case) [OLO212]",
        "  did you mean 'answer'? a note to yourself belongs in metadata",
        "cases.jsonl:2:14: unknown key 'inputt' [OLO205]",
        "  did you mean 'input'?",
        "cases.jsonl:3:8: id must be a string, found the integer 3 [OLO207]",
        '  write it in quotes: "3"',
        "cases.jsonl:4:1: not valid JSON: not is not a JSON value [OLO203]",
    ]


def test_a_rule_on_a_metric_that_does_not_exist(tmp_path: Path) -> None:
    rule = {"id": "floor", "metric": "rigth", "min": 0.5}
    done = refused(project(tmp_path, rules=[rule]), "run")
    assert done.err.splitlines() == [
        "release.yaml:1:52: rule 'floor' names no metric 'rigth' [OLO104]",
        "  did you mean 'right'?",
    ]


def test_a_dataset_that_is_a_directory(tmp_path: Path) -> None:
    directory = project(tmp_path)
    (directory / "cases.jsonl").unlink()
    (directory / "cases.jsonl").mkdir()
    assert "the dataset 'cases.jsonl' is a directory [OLO116]" in refused(directory, "run").err


def test_a_policy_that_is_named_and_not_there(tmp_path: Path) -> None:
    done = refused(project(tmp_path, policy="gone.yaml"), "run")
    assert "the policy 'gone.yaml' does not exist [OLO116]" in done.err
    assert "to gate nothing: policy: none" in done.lines


def test_a_dataset_without_cases(tmp_path: Path) -> None:
    done = refused(project(tmp_path, cases=[]), "run")
    assert "cases.jsonl: the dataset has no cases [OLO204]" in done.lines


def test_a_configuration_that_is_not_there(tmp_path: Path) -> None:
    done = refused(tmp_path, "run")
    assert done.err.splitlines() == [
        "oloproof.yaml: the configuration does not exist [OLO101]",
        "  `oloproof init` writes one; --config names it",
    ]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["run", "--frob"], "No such option"),
        (["run", "--limit", "0"], "Invalid value for '--limit': 0 is not in the range 1<=x<=2147483647."),
        (["frob"], "No such command 'frob'."),
        (["eval"], "No such command 'eval'. Did you mean 'run'?"),
        (
            ["run", "oloproof.yaml"],
            "Got unexpected extra argument (oloproof.yaml). The configuration is named with --config FILE",
        ),
        (["insepct"], "No such command 'insepct'. Did you mean 'inspect'?"),
        (["run", "--slice", "first_tool=search"], "--slice 'first_tool=search' is not metadata.KEY=VALUE"),
        (["run", "--case", "c4"], "--case 'c4': the dataset has no such case"),
        (["judge"], "the system is run, not recorded"),
        (["judge", "gone.jsonl"], "the file of recordings does not exist"),
        (["run", "--config", "."], "Invalid value for '--config': File '.' is a directory."),
        (["run", "--slice", "metadata.size=bigg"], "--slice metadata.size=bigg: the dataset has no such case"),
        (["inspect", "--csv"], "--csv goes with --failures or --missing or --verdicts"),
        (["inspect", "--case", "c1", "--failures"], "--case and --failures do not go together"),
        (["inspect", "--trial", "2"], "--trial goes with --case"),
        (["inspect", "--all-steps"], "--all-steps goes with --case"),
        (["inspect", "--verdicts", "--markdown", "r.md"], "--markdown goes with the report alone"),
        (["inspect", "--verdicts", "--slices"], "--slices goes with the report alone"),
        (["gate", "--approve", "none-wrong"], "--approve RULE and --by NAME go together"),
        (["gate", "--by", "Ada"], "--approve RULE and --by NAME go together"),
        (["inspect"], "no run has been stored here"),
        (["gate"], "no run has been stored here"),
        (["import", "openai", "gone.json", "-o", "t.jsonl"], "cannot be read: No such file or directory"),
        (
            ["import", "cases.jsonl", "-o", "t.jsonl"],
            "name the format and then the files: oloproof import auto",
        ),
        (["schema", "frob"], "'frob' is not one of 'oloproof', 'release', 'dataset', 'events'."),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_command_line_that_cannot_be_obeyed(tmp_path: Path, arguments: list[str], told: str) -> None:
    directory = project(tmp_path)
    assert told in refused(directory, *arguments).err
    problems = refused(directory, *arguments, "--json").json["problems"] if arguments[0] != "schema" else []
    assert all(problem["message"].startswith(told) for problem in problems)


def test_a_hint_that_many_problems_have_is_told_once(tmp_path: Path) -> None:
    directory = project(tmp_path, cases=answered("yes"), system={"recorded": "t.jsonl"})
    nameless = [{"case": "", "output": {}, "trajectory": {"steps": []}} for _ in range(3)]
    write_lines(directory / "t.jsonl", nameless)
    done = oloproof(directory, "judge")
    assert sum("an empty id" in line for line in done.lines) == 3
    assert [line for line in done.lines if "name the case" in line] == done.lines[-1:]
    assert [problem["hint"] for problem in oloproof(directory, "judge", "--json").json["problems"]].count(None) == 0


@pytest.mark.parametrize(
    ("config", "app", "told"),
    [
        ({"system": {"callable": "ap:run"}}, "def run(case): ...", "ap:run: there is no module 'ap' [OLO401]"),
        ({"system": {"callable": "app:rum"}}, "def run(case): ...", "app has no 'rum' [OLO402]"),
        ({}, "run = 1", "app:run is an int, not a function [OLO403]"),
        ({}, "def run(): ...", "app:run() cannot be called with one argument [OLO403]"),
        (
            {"system": {"callable": "app:run", "version": "2"}},
            "from oloproof import system\n@system(version='1')\ndef run(case): ...",
            "system.version is '2' here and '1' in the decorator [OLO410]",
        ),
        (
            {"slices": ["first_tool"]},
            "def run(case): ...",
            "slice first_tool reads trajectories, and the system declares no record of them [OLO411]",
        ),
    ],
    ids=["module", "function", "not-callable", "arguments", "version", "records"],
)
def test_a_system_that_is_not_what_its_name_says(
    tmp_path: Path, config: dict[str, object], app: str, told: str
) -> None:
    directory = project(tmp_path, app=app, **config)
    done = oloproof(directory, "run")
    assert done.code == 2
    assert f"oloproof.yaml: {told}" in done.lines
    assert oloproof(directory, "runs", "--json").json["runs"] == []


def test_an_evaluator_that_does_not_exist_is_told_before_anything_runs(tmp_path: Path) -> None:
    directory = project(tmp_path, evaluators=[{"type": "judges:right"}])
    (directory / "judges.py").write_text("def write(output): ...\n")
    done = oloproof(directory, "run")
    assert done.code == 2
    assert "oloproof.yaml: judges has no 'right' [OLO402]" in done.lines
    assert oloproof(directory, "runs", "--json").json["runs"] == []


def test_outside_of_a_project_a_command_about_a_run_asks_which(tmp_path: Path) -> None:
    done = oloproof(tmp_path, "inspect")
    assert done.code == 2
    assert done.err.splitlines() == [
        ".oloproof: there are neither runs here nor oloproof.yaml [OLO610]",
        "  go to the project's directory, or name its configuration",
    ]


@pytest.mark.parametrize("command", [["run"], ["check"], ["inspect"], ["runs"], ["baseline", "save"]])
def test_in_a_directory_of_the_project_the_configuration_above_is_named(tmp_path: Path, command: list[str]) -> None:
    below = project(tmp_path) / "a" / "b"
    below.mkdir(parents=True)
    done = oloproof(below, *command)
    assert done.code == 2
    assert done.err.splitlines()[-1] == "  there is one in a directory above: --config ../../oloproof.yaml"


def test_a_configuration_with_the_other_ending_is_named(tmp_path: Path) -> None:
    directory = project(tmp_path)
    (directory / "oloproof.yaml").rename(directory / "oloproof.yml")
    for command in ("run", "inspect"):
        assert (
            "  there is oloproof.yml: --config oloproof.yml names it" in oloproof(directory, command).err.splitlines()
        )


def test_a_list_of_runs_is_of_a_project(tmp_path: Path) -> None:
    assert "there are neither runs here nor oloproof.yaml [OLO610]" in oloproof(tmp_path, "runs").err
    assert oloproof(project(tmp_path), "runs").out == "runs: none\n"


@pytest.mark.parametrize("given", [["--config", "my other.yaml"], ["--config=my other.yaml"]])
def test_a_command_in_a_hint_repeats_the_configuration(tmp_path: Path, given: list[str]) -> None:
    directory = project(tmp_path)
    (directory / "oloproof.yaml").rename(directory / "my other.yaml")
    assert "`oloproof run --config 'my other.yaml'` makes one" in oloproof(directory, "inspect", *given).err
    assert oloproof(directory, "run", "--run-id-file", "id", *given).code == 0
    run = (directory / "id").read_text().strip()
    done = oloproof(directory, "inspect", run, "--case", "zzz", *given)
    assert f"`oloproof inspect {run} --verdicts --config 'my other.yaml'` lists them" in done.err


def test_without_one_it_names_none(tmp_path: Path) -> None:
    assert "`oloproof run` makes one" in oloproof(project(tmp_path), "inspect").err
