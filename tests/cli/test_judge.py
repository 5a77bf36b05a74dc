"""``judge``: trajectories recorded earlier, with a dataset and without one."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fakes.projects import NONE_WRONG, RIGHT, Row, answered, oloproof, project, spawned, write_lines
from oloproof import pipeline
from oloproof.model.run import Run
from oloproof.pipeline.world import real_ports
from oloproof.project import load
from oloproof.store import Store

LOOKS = {"type": "agent_tool_called", "criterion": "looks", "tool_name": "look"}
NONE_BLIND = NONE_WRONG | {"metric": "looks"}
LOOK = {"index": 1, "kind": "tool_call", "tool_name": "look", "arguments": {}}


def recording(name: str, *, answer: str = "yes", **keys: Any) -> Row:
    trajectory = {"steps": [LOOK], "terminal_status": "success"}
    return {"case": name, "output": {"answer": answer}, "trajectory": trajectory} | keys


def own(name: str, **keys: Any) -> Row:
    """A recording that brings its own case."""
    return recording(name, input=name, expected={"answer": "yes"}, **keys)


def squeezed(text: str) -> str:
    """A table's words, wherever its cells are folded."""
    return " ".join(text.replace("│", " ").split())


def recorded(directory: Path, *recordings: Row, **config: Any) -> Path:
    """A project of recordings."""
    keys: dict[str, Any] = {"evaluators": [RIGHT, LOOKS], "system": {"recorded": "traces.jsonl"}}
    project(directory, **(keys | config))
    write_lines(directory / "traces.jsonl", recordings)
    return directory


def test_recordings_are_joined_to_the_dataset_and_gated(tmp_path: Path) -> None:
    directory = recorded(tmp_path, *(recording(f"c{number}") for number in (3, 1, 2)))
    assert spawned(directory, "judge").code == 0
    write_lines(directory / "traces.jsonl", [recording("c1"), recording("c2"), recording("c3", answer="no")])
    done = spawned(directory, "judge")
    assert done.code == 1
    assert "BLOCK (exit 1): none-wrong FAIL" in done.lines


def test_files_named_on_the_command_line_stand_in_for_the_system(tmp_path: Path) -> None:
    directory = project(tmp_path, rules=[NONE_BLIND], evaluators=[LOOKS])
    write_lines(directory / "first.jsonl", [recording("c1"), recording("c2")])
    write_lines(directory / "second.jsonl", [recording("c3")])
    done = oloproof(directory, "judge", "first.jsonl", "second.jsonl", "--json")
    assert done.code == 0
    assert done.verdict("looks") == (3, 0, 0, 0)


def test_a_case_without_a_recording_is_missing_and_blocks(tmp_path: Path) -> None:
    directory = recorded(tmp_path, recording("c1"), recording("c2"), rules=[NONE_BLIND])
    done = oloproof(directory, "judge")
    assert done.code == 3
    assert "BLOCK (exit 3): none-wrong INSUFFICIENT_EVIDENCE" in done.lines
    assert "0 failures observed, 0 allowed; 1 case missing could hide more │" in done.out
    judged = oloproof(directory, "inspect", "--case", "c3", "--json").json["judgments"]
    assert [(each["criterion"], each["verdict"]) for each in judged] == [("right", "missing"), ("looks", "missing")]
    assert judged[1]["reason"] == "no_trajectory"


def test_a_recording_without_a_case_is_refused_where_it_stands(tmp_path: Path) -> None:
    directory = recorded(tmp_path, recording("c1"), recording("c9"), recording("c2"), recording("c8"))
    done = oloproof(directory, "judge")
    assert done.code == 2
    told = "a recording of 'c9', and the dataset has no such case; the same of 1 more recording, of 'c8' [OLO311]"
    assert f"traces.jsonl:2: {told}" in done.lines
    assert [run["status"] for run in oloproof(directory, "runs", "--json").json["runs"]] == ["broken"]
    assert oloproof(directory, "gate", "latest").code == 5


@pytest.mark.parametrize("cases", [[*answered("yes", "yes", "yes")], None], ids=["dataset", "own-dataset"])
def test_a_case_that_is_recorded_twice_is_refused(tmp_path: Path, cases: list[Row] | None) -> None:
    row = recording if cases else own
    directory = recorded(tmp_path, row("c1"), row("c2"), row("c1"), cases=cases)
    done = oloproof(directory, "judge")
    assert done.code == 2
    assert "traces.jsonl:3: case 'c1', trial 1, was recorded already at traces.jsonl:1 [OLO310]" in done.lines
    assert [run["status"] for run in oloproof(directory, "runs", "--json").json["runs"]] == ["broken"]
    assert oloproof(directory, "gate", "latest").code == 5


@pytest.mark.parametrize("again", ["traces.jsonl", "./traces.jsonl", "same.jsonl"])
def test_a_file_that_is_named_twice_is_refused(tmp_path: Path, again: str) -> None:
    directory = recorded(tmp_path, own("c1"), own("c2"), cases=None)
    (directory / "same.jsonl").symlink_to("traces.jsonl")
    done = oloproof(directory, "judge", "traces.jsonl", again)
    assert done.code == 2
    told = "case 'c1', trial 1, was recorded already at traces.jsonl:1; the same of 1 more recording, of 'c2' [OLO310]"
    assert [line for line in done.lines if "OLO310" in line] == [f"{Path(again)}:1: {told}"]


def test_recordings_of_another_dataset_are_told_once(tmp_path: Path) -> None:
    """And not with as many lines as there are recordings, each of which says the same."""
    rows = [recording(f"d{number}") for number in range(60)] + [recording("d0", trial=2), recording("d1", trial=1)]
    done = oloproof(recorded(tmp_path, *rows, cases=answered("yes")), "judge", "--json")
    assert [(each["code"], each["line"], each["message"].partition("; ")[2]) for each in done.json["problems"]] == [
        ("OLO311", 1, "the same of 61 more recordings, of 'd1', 'd2', 'd3' …"),
        ("OLO310", 62, ""),
    ]


def test_recordings_as_their_own_dataset_are_gated_only_with_the_number_that_must_be_there(tmp_path: Path) -> None:
    rows = [own(f"c{number}") for number in range(3)]
    done = oloproof(recorded(tmp_path / "open", *rows, cases=None), "judge")
    assert done.code == 3
    why = "the recordings are their own dataset: write `cases: N`, the number that must be there"
    assert f"NOT GATED (exit 3): {why}" in done.lines
    assert any(line.endswith("none: the recordings are their own") for line in done.lines)


@pytest.mark.parametrize(
    ("number", "code", "last"),
    [
        (3, 0, "ALLOW (exit 0)"),
        (4, 3, "NOT GATED (exit 3): `cases: 4` must be there, and 3 were recorded"),
        (2, 3, "NOT GATED (exit 3): `cases: 2` must be there, and 3 were recorded"),
    ],
)
def test_the_number_that_must_be_there(tmp_path: Path, number: int, code: int, last: str) -> None:
    directory = recorded(tmp_path, *(own(f"c{number}") for number in range(3)), cases=None)
    config = (directory / "oloproof.yaml").read_text()
    (directory / "oloproof.yaml").write_text(f'{{"cases": {number}, {config[1:]}')
    done = oloproof(directory, "judge")
    assert done.code == code
    assert last in done.lines
    assert oloproof(directory, "gate").code == code


@pytest.mark.parametrize(("number", "told"), [(3, 0), (4, 1)], ids=["all", "one-too-few"])
def test_the_number_that_must_be_there_is_missed_also_where_nothing_is_gated(
    tmp_path: Path, number: int, told: int
) -> None:
    directory = recorded(tmp_path, *(own(f"c{number}") for number in range(3)), cases=None)
    config = (directory / "oloproof.yaml").read_text()
    (directory / "oloproof.yaml").write_text(f'{{"cases": {number}, {config[1:]}')
    done = oloproof(directory, "judge", "--no-gate")
    assert done.lines.count(f"`cases: {number}` must be there, and 3 were recorded") == told


@pytest.mark.parametrize("least", [1, 2, 3])
def test_recordings_that_leave_themselves_out_of_a_gated_criterion_are_told(tmp_path: Path, least: int) -> None:
    rows = own("c1"), own("c2"), recording("c3", answer="no", input="c3")
    rules = [NONE_WRONG | {"min_cases": least}]
    directory = recorded(tmp_path, *rows, cases=None, rules=rules)
    config = (directory / "oloproof.yaml").read_text()
    (directory / "oloproof.yaml").write_text(f'{{"cases": 3, {config[1:]}')
    done = oloproof(directory, "judge")
    assert done.code == (3 if least == 3 else 0)
    told = "rule 'none-wrong' leaves out 1 case by what the recordings say of themselves"
    assert (told in squeezed(done.out)) == (least == 1)


def test_recorded_trials_are_gated_by_the_case(tmp_path: Path) -> None:
    trials = [recording(name, trial=trial) for name in ("c1", "c2", "c3") for trial in (1, 2)]
    assert oloproof(recorded(tmp_path, *trials), "judge").code == 0
    write_lines(tmp_path / "traces.jsonl", [*trials[:-1], recording("c3", trial=2, answer="no")])
    assert oloproof(tmp_path, "judge", "--json").code == 1


def test_run_over_a_part_of_the_recordings_is_partial(tmp_path: Path) -> None:
    directory = recorded(tmp_path, *(recording(f"c{number}") for number in (1, 2, 3)))
    done = oloproof(directory, "run", "--case", "c2", "--json")
    assert done.code == 3
    assert done.verdict("looks") == (1, 0, 0, 0)
    assert oloproof(directory, "run", "--limit", "2", "--json").verdict("looks") == (2, 0, 0, 0)
    assert oloproof(directory, "run", "--json").code == 0


def test_a_constraint_that_was_not_recorded_is_missing_and_stays_in_the_denominator(tmp_path: Path) -> None:
    kept = {"name": "no_deletion", "passed": True}
    rows = [recording("c1"), recording("c2"), recording("c3")]
    for row in rows[:2]:
        row["trajectory"]["constraints"] = [kept]
    evaluators = [{"type": "agent_constraints_satisfied", "criterion": "kept", "constraints": ["no_deletion"]}]
    directory = recorded(tmp_path, *rows, evaluators=evaluators, rules=[NONE_WRONG | {"metric": "kept"}])
    done = oloproof(directory, "judge", "--json")
    assert done.code == 3
    assert done.verdict("kept") == (2, 0, 1, 0)
    (judged,) = oloproof(directory, "inspect", "--case", "c3", "--json").json["judgments"]
    assert (judged["verdict"], judged["reason"]) == ("missing", "constraint_not_recorded")


def test_a_pattern_that_matches_no_file(tmp_path: Path) -> None:
    done = oloproof(recorded(tmp_path, system={"recorded": "none/*.jsonl"}), "judge")
    assert done.code == 2
    assert "recorded: 'none/*.jsonl' matches no file [OLO116]" in done.err


def test_a_line_that_is_no_recording_is_told_where_it_stands(tmp_path: Path) -> None:
    directory = recorded(tmp_path, recording("c1"), {"case": "c2", "ouput": 1})
    with (directory / "traces.jsonl").open("a") as file:
        file.write("{not json\n")
    done = oloproof(directory, "judge")
    assert done.code == 2
    assert "traces.jsonl:2: unknown key 'ouput' [OLO302]" in done.lines
    assert any(line.startswith("traces.jsonl:3:2: the line is not JSON") for line in done.lines)


def test_a_stop_before_the_end_leaves_an_interrupted_run(tmp_path: Path) -> None:
    directory = recorded(tmp_path, *(own(f"c{number}") for number in range(3)), cases=None)
    project_read = load(directory / "oloproof.yaml")
    with Store.open(directory / ".oloproof") as store:
        report = pipeline.run(project_read, None, pipeline.Request(), real_ports(store), _StoppingAtOnce())
        assert report.run.status == store.find("latest").status == "interrupted"
    assert report.gate.exit_code == 5


class _StoppingAtOnce(pipeline.Watch):
    def started(self, run: Run, stop: Callable[[], None]) -> None:
        stop()


def test_what_recordings_bring_beside_a_dataset_is_told(tmp_path: Path) -> None:
    directory = recorded(tmp_path, own("c1"), recording("c2"), own("c3"))
    done = oloproof(directory, "judge")
    assert done.code == 0
    told = "2 recordings bring input, expected or metadata, which are ignored beside a dataset"
    assert told in done.lines


def test_a_key_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    directory = recorded(tmp_path, recording("c1"))
    line = '{"case": "c2", "output": {"answer": "no"}, "output": {"answer": "yes"}}\n'
    (directory / "traces.jsonl").write_text(line)
    done = oloproof(directory, "judge")
    assert done.code == 2
    assert "traces.jsonl:1: the key 'output' is there twice [OLO305]" in done.lines


@pytest.mark.parametrize(("key", "value"), [("trial", 2**63), ("error", {"kind": "not_run", "message": ""})])
def test_what_cannot_have_been_recorded_is_refused(tmp_path: Path, key: str, value: Any) -> None:
    done = oloproof(recorded(tmp_path, recording("c1") | {key: value}), "judge")
    assert done.code == 2
    assert "OLO303" in done.err


def test_an_output_beside_an_error_is_not_trusted(tmp_path: Path) -> None:
    rows = [recording("c1", error="it broke"), recording("c2"), recording("c3")]
    done = oloproof(recorded(tmp_path, *rows), "judge", "--json")
    assert (done.verdict("right"), done.verdict("looks")) == ((2, 0, 1, 0), (3, 0, 0, 0))


def test_a_name_that_is_no_text_is_kept_and_opened_again(tmp_path: Path) -> None:
    directory = recorded(tmp_path, *(recording(f"c{number}") for number in (1, 2, 3)))
    (directory / "traces.jsonl").rename(os.fsdecode(os.fsencode(directory) + b"/t\xff.jsonl"))
    (directory / "oloproof.yaml").write_text((directory / "oloproof.yaml").read_text().replace("traces", "t*"))
    assert oloproof(directory, "judge").code == 0
    assert oloproof(directory, "judge", os.fsdecode(b"t\xff.jsonl"), "--markdown", "report.md").code == 0
    done = oloproof(directory, "inspect", "--case", "c1", "--json")
    assert (done.code, done.json["output"]) == (0, {"answer": "yes"})
    os.unlink(os.fsencode(directory) + b"/t\xff.jsonl")
    done = oloproof(directory, "inspect", "--case", "c1")
    assert (done.code, "OLO508" in done.err) == (5, True)


@pytest.mark.parametrize("name", ["traces.jsonl", "cases.jsonl"])
def test_a_pipe_is_not_waited_for(tmp_path: Path, name: str) -> None:
    directory = recorded(tmp_path, recording("c1"))
    (directory / name).unlink()
    os.mkfifo(directory / name)
    done = oloproof(directory, "judge")
    assert done.code == 2
    assert "oloproof.yaml" in done.err or "cases.jsonl: the dataset is no regular file [OLO201]" in done.lines


def test_declared_arguments_are_judged_and_a_malformed_one_is_told_at_its_place(tmp_path: Path) -> None:
    order = {"tool": "look", "arguments": {"id": {"regex": "^ord-"}}}
    traces = [
        recording(name, trajectory={"steps": [LOOK | {"arguments": arguments}]})
        for name, arguments in (("c1", {"id": "ord-1"}), ("c2", {"id": 1}), ("c3", None))
    ]
    cases = [{"id": f"c{number}", "expected": {"tools": [order]}} for number in (1, 2, 3)]
    directory = recorded(
        tmp_path, *traces, cases=cases, rules=None, policy="none", evaluators=[{"type": "agent_tool_sequence"}]
    )
    assert oloproof(directory, "judge", "--json").verdict("agent_tool_sequence") == (1, 1, 1, 0)
    shown = oloproof(directory, "inspect", "--case", "c2", "--json").json["judgments"]
    near = 'step 1: id: expected {"regex":"^ord-"}, found 1'
    assert shown[0]["detail"] == f"""expected 'look' with {{"id":{{"regex":"^ord-"}}}}, found 'look' ({near})"""
    [row] = shown[0]["alignment"]["calls"]
    assert (row["status"], row["step"], row["declared"]) == ("changed", 1, order)
    assert 'id: expected {"regex":"^ord-"}, found 1' in squeezed(oloproof(directory, "inspect", "--case", "c2").out)
    assert "not recorded" in oloproof(directory, "inspect", "--case", "c3").out

    write_lines(directory / "cases.jsonl", [{"id": "c1", "expected": {"tools": [order | {"argument": {}}]}}])
    done = oloproof(directory, "check")
    assert done.code == 2
    place, _ = done.err.split(": case 'c1': expected.tools.0.argument is no key here: the keys are tool and arguments")
    assert place.endswith("cases.jsonl:1:107")


def test_a_malformed_reference_of_recordings_that_are_their_own_dataset_is_told_at_its_place(tmp_path: Path) -> None:
    directory = recorded(
        tmp_path,
        recording("c1", expected={"tools": ["look"]}),
        recording("c2", expected={"tools": ["look", 3]}),
        cases=None,
        rules=None,
        policy="none",
        evaluators=[{"type": "agent_tool_sequence"}, {"type": "agent_no_undeclared_tool"}],
    )
    done = oloproof(directory, "judge")
    assert done.code == 2
    column = (directory / "traces.jsonl").read_text().splitlines()[1].index("3]") + 1
    message = "expected.tools.1 must be a tool's name, {tool, arguments} or {parallel: […]} [OLO312]"
    assert done.err.splitlines()[1:] == [f"traces.jsonl:2:{column}: case 'c2': {message}"]
