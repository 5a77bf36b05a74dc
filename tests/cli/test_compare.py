"""``compare``, ``baseline`` and rules that compare, through the command."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from click import Option
from msgspec.structs import replace

from fakes.projects import RIGHT, Done, Row, answered, case, oloproof, project, spawned, write_lines
from oloproof.cli import run_command
from oloproof.cli.asked import OPTIONS
from oloproof.pipeline import stored_report
from oloproof.pipeline.world import VALUED, name_of_baseline
from oloproof.store import Store

pytestmark = pytest.mark.usefixtures("system_at_hand")


NO_NEW = {"id": "no-new", "metric": "right", "kind": "max_new_failures", "max_new_failures": 0}
NO_WORSE = {"id": "no-worse", "metric": "right", "kind": "non_inferiority", "margin": 0.3}


def runs(
    directory: Path, before: list[Row], after: list[Row], rules: list[dict[str, Any]] | None, **config: Any
) -> Path:
    """A project with two runs: over the cases as they were, then as they are."""
    project(directory, cases=before, rules=rules, **config)
    assert oloproof(directory, "run", "--no-gate").code == 0
    write_lines(directory / "cases.jsonl", after)
    assert oloproof(directory, "run", "--no-gate").code == 0
    return directory


def compared(directory: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    done = oloproof(directory, "compare", "latest", "latest~1", "--json", *arguments)
    return done.code, done.json


REFERENCE = [case(f"c{number}", "yes", answer="yes") for number in range(40)]


def told(answers: dict[int, str]) -> list[Row]:
    """The reference cases, answered otherwise where ``answers`` says so: the echo says what its input says."""
    return [case(f"c{number}", answers.get(number, "yes")) for number in range(40)]


def test_what_is_broken_is_named_and_blocks(tmp_path: Path) -> None:
    """The input itself changes here, so the pairs are accepted by a system that reads a file instead."""
    app = "import json\ndef run(case):\n    return {'answer': json.load(open('answers.json')).get(case, 'yes')}\n"
    cases = [case(f"c{number}", f"c{number}") for number in range(40)]
    (tmp_path / "answers.json").write_text('{"c3": "no"}')
    project(tmp_path, app=app, cases=cases, rules=[NO_NEW, NO_WORSE])
    assert oloproof(tmp_path, "run", "--no-gate").code == 0
    (tmp_path / "answers.json").write_text('{"c5": "no", "c6": "no"}')
    assert oloproof(tmp_path, "run", "--no-gate").code == 0
    code, found = compared(tmp_path)
    (criterion,) = found["criteria"]
    assert (criterion["fixed_cases"], criterion["broken_cases"]) == (["c3"], ["c5", "c6"])
    assert (criterion["both_pass"], criterion["fixed"], criterion["broken"], criterion["both_fail"]) == (37, 1, 2, 0)
    assert criterion["difference"] == pytest.approx(-0.025)
    states = {each["rule"]: (each["state"], each["reason"]) for each in found["decisions"]}
    assert states["no-new"] == ("FAIL", "new_failures_exceed_limit")
    assert states["no-worse"] == ("PASS", "difference_within_margin")
    assert (code, found["gate"]["outcome"]) == (1, "BLOCK")


def test_deleting_the_case_that_breaks_does_not_turn_the_gate_green(tmp_path: Path) -> None:
    kept = [row for row in REFERENCE if row["id"] != "c7"]
    code, found = compared(runs(tmp_path, REFERENCE, kept, [NO_NEW]))
    assert found["only_in_baseline"] == ["c7"]
    assert found["criteria"][0]["missing_pairs"] == 1
    assert (code, found["decisions"][0]["reason"]) == (3, "missing_could_hide_new_failures")


def test_a_changed_reference_does_not_either(tmp_path: Path) -> None:
    softened = [case(row["id"], "yes", answer="es") if row["id"] == "c7" else row for row in REFERENCE]
    code, found = compared(runs(tmp_path, REFERENCE, softened, [NO_NEW]))
    assert (found["changed"], code) == (["c7"], 3)


def test_a_case_that_crashes_now_is_named(tmp_path: Path) -> None:
    app = """
    def run(case):
        if open("mode").read() == case:
            raise ValueError(case)
        return {"answer": "yes"}
    """
    (tmp_path / "mode").write_text("")
    project(tmp_path, app=app, cases=[case(f"c{number}", f"c{number}") for number in range(25)], rules=[NO_NEW])
    assert oloproof(tmp_path, "run", "--no-gate").code == 0
    (tmp_path / "mode").write_text("c8")
    assert oloproof(tmp_path, "run", "--no-gate").code == 0
    code, found = compared(tmp_path)
    assert (code, found["criteria"][0]["lost_cases"]) == (3, ["c8"])
    drawn = oloproof(tmp_path, "compare", "latest", "latest~1")
    assert "missing, was known" in drawn.out


def test_accepted_changes_are_named_in_the_policy(tmp_path: Path) -> None:
    directory = runs(tmp_path, REFERENCE, REFERENCE[1:], [NO_NEW])
    policy = {"version": 1, "rules": [NO_NEW], "accept_changed_cases": ["c0"]}
    (directory / "release.yaml").write_text(json.dumps(policy))
    code, found = compared(directory)
    assert (code, found["accepted"]) == (0, ["c0"])


def test_what_is_accepted_in_advance_is_told(saved: Path) -> None:
    policy = {"version": 1, "rules": [NO_NEW], "accept_changed_cases": ["c0", "c1", "c99"]}
    project(saved, cases=REFERENCE[1:], rules=[NO_NEW])
    (saved / "release.yaml").write_text(json.dumps(policy))
    told = "accept_changed_cases names 'c1', 'c99', neither gone nor changed"
    for command in (["run", "--baseline", "base.json"], ["compare", "latest", "base.json"], ["gate"]):
        done = oloproof(saved, *command)
        assert (done.code, told in done.out) == (0, True)
    (saved / "release.yaml").write_text(json.dumps(policy | {"accept_changed_cases": ["c0"]}))
    assert "accept_changed_cases" not in oloproof(saved, "compare", "latest", "base.json").out


def test_what_the_policy_accepts_no_more_was_not_compared(tmp_path: Path) -> None:
    directory = project(tmp_path, cases=REFERENCE, rules=[NO_NEW])
    assert oloproof(directory, "run").code == 3
    oloproof(directory, "baseline", "save", "-o", "base.json")
    policy = {"version": 1, "rules": [NO_NEW]}
    accepting = json.dumps(policy | {"accept_changed_cases": ["c0"]})
    project(directory, cases=REFERENCE[1:], rules=[NO_NEW])
    (directory / "release.yaml").write_text(accepting)
    assert oloproof(directory, "run", "--baseline", "base.json").code == 0
    (directory / "release.yaml").write_text(json.dumps(policy))
    done = oloproof(directory, "gate", "latest", "--json")
    assert (done.code, done.json["decisions"][0]["reason"]) == (3, "no_baseline")


def test_a_run_gates_against_a_baseline_file(tmp_path: Path) -> None:
    directory = project(tmp_path, cases=REFERENCE, rules=[NO_NEW])
    assert oloproof(directory, "run").code == 3  # nothing to compare with
    assert oloproof(directory, "baseline", "save", "-o", "base.json").code == 0
    done = oloproof(directory, "run", "--baseline", "base.json", "--json")
    assert (done.code, done.json["decisions"][0]["state"]) == (0, "PASS")
    assert oloproof(directory, "gate", "latest").code == 0  # the comparison was kept
    text = (directory / "base.json").read_text()
    assert "yes" not in text  # no content
    assert oloproof(directory, "baseline", "show", "base.json").lines[1] == "right: 40 passed, 0 failed, 0 missing"


def test_the_run_says_what_changed_since_the_baseline(tmp_path: Path) -> None:
    app = "import json\ndef run(case):\n    return {'answer': json.load(open('answers.json')).get(case, 'yes')}\n"
    project(tmp_path, app=app, cases=[case(f"c{number}", f"c{number}") for number in range(40)], rules=[NO_NEW])
    (tmp_path / "answers.json").write_text('{"c3": "no"}')
    oloproof(tmp_path, "run")
    oloproof(tmp_path, "baseline", "save", "-o", "base.json")
    (tmp_path / "answers.json").write_text('{"c5": "no"}')
    assert "baseline" not in oloproof(tmp_path, "run", "--json").json
    found = oloproof(tmp_path, "run", "--baseline", "base.json", "--json").json["baseline"]
    (criterion,) = found["criteria"]
    assert (found["pairs"], criterion["fixed_cases"], criterion["broken_cases"]) == (40, ["c3"], ["c5"])
    assert criterion["lower"] < criterion["difference"] == 0.0 < criterion["upper"]
    done = oloproof(tmp_path, "run", "--baseline", "base.json", "--markdown", "report.md")
    assert "1 fixed · 1 broken · 38 the same · 0 missing" in done.out
    written = (tmp_path / "report.md").read_text()
    assert "### Against the baseline" in written
    assert "| `right` | `broken` | `c5` |" in written


def test_a_difference_of_two_rates_is_told_in_points_and_never_in_per_cent(tmp_path: Path) -> None:
    app = "import json\ndef run(case):\n    return {'answer': json.load(open('answers.json')).get(case, 'yes')}\n"
    margins = {"metric": "right", "margin": 0.025}
    rules = [{"id": kind, "kind": kind, **margins} for kind in ("non_inferiority", "equivalence")]
    project(tmp_path, app=app, cases=[case(f"c{number}", f"c{number}") for number in range(40)], rules=rules)
    (tmp_path / "answers.json").write_text('{"c3": "no"}')
    oloproof(tmp_path, "run")
    oloproof(tmp_path, "baseline", "save", "-o", "base.json")
    (tmp_path / "answers.json").write_text("{}")
    written = ("--markdown", "a.md", "--html", "a.html", "--junit", "a.xml", "--sarif", "a.sarif")
    texts = [oloproof(tmp_path, "run", "--baseline", "base.json", *written).out]
    texts += [(tmp_path / name).read_text() for name in written[1::2]]
    texts += [oloproof(tmp_path, "compare", "latest", "latest~1", *written).out]
    texts += [(tmp_path / name).read_text() for name in written[1::2]]
    texts += [oloproof(tmp_path, "gate").out, oloproof(tmp_path, "plan", "--difference", "-0.01").out]
    assert [re.findall(r"[-+±−][0-9][0-9.]*\s?%", text) for text in texts] == [[]] * len(texts)
    assert ["2.5 pp" in text for text in texts[:-1]] == [True] * (len(texts) - 1)
    assert ["pp: percentage points" in text for text in texts[:10]] == [True, True, True, False, False] * 2
    assert "-1 pp" in texts[-1]


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A project with a baseline file, whose cases have metadata that a slice places them by."""
    cases = [row | {"metadata": {"kind": "a"}} for row in REFERENCE]
    project(tmp_path, cases=cases, rules=[NO_NEW], slices=["metadata.kind"])
    assert oloproof(tmp_path, "run", "--no-gate").code == 0
    assert oloproof(tmp_path, "baseline", "save", "-o", "base.json").code == 0
    return tmp_path


def test_a_baseline_file_that_is_not_there_is_no_run_of_that_name(saved: Path) -> None:
    done = oloproof(saved, "run", "--baseline", "bsae.json")
    assert (done.code, "there is no baseline file 'bsae.json' [OLO611]" in done.err) == (2, True)
    assert "`oloproof baseline save -o FILE` writes one" in done.err


def test_a_run_is_not_compared_with_itself(saved: Path) -> None:
    for name in ("latest", "base.json"):
        done = oloproof(saved, "compare", "latest", name)
        assert (done.code, "would be compared with itself [OLO619]" in done.err) == (2, True)


@pytest.mark.parametrize("baseline", ["base.json", "latest"])
@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({"cases": [case(f"d{number}") for number in range(9)]}, "have no case in common"),
        ({"cases": REFERENCE, "evaluators": [RIGHT | {"criterion": "other"}]}, "have no criterion in common"),
        ({"cases": REFERENCE, "project": "another"}, "is of project 'another'"),
    ],
)
def test_what_cannot_be_compared_is_not_run(saved: Path, config: dict[str, Any], told: str, baseline: str) -> None:
    name = json.loads((saved / "base.json").read_text())["run"] if baseline == "latest" else baseline
    criterion = config.get("evaluators", [RIGHT])[0]["criterion"]
    project(saved, rules=[NO_NEW | {"metric": criterion}], **config)
    done = oloproof(saved, "run", "--baseline", name)
    assert (done.code, told in done.err, "[OLO619]" in done.err) == (2, True, True)
    assert len(oloproof(saved, "runs", "--json").json["runs"]) == 1


def test_a_slice_or_a_criterion_that_only_one_run_has_is_told(saved: Path) -> None:
    other = RIGHT | {"criterion": "other"}
    rules = [NO_NEW, NO_NEW | {"id": "no-other", "metric": "other"}]
    project(saved, cases=REFERENCE, rules=rules, evaluators=[RIGHT, other], slices=["metadata.other"])
    done = oloproof(saved, "run", "--baseline", "base.json")
    for what in ("criterion 'other' is new", "slice 'metadata.other' is new", "slice 'metadata.kind' is gone"):
        assert f"not compared with the baseline: {what}" in done.lines
    assert done.code == 3
    assert "the baseline was not judged by this criterion" in done.out
    assert "name one judged by the same criteria: oloproof run --baseline BASELINE" in done.lines
    found = oloproof(saved, "compare", "latest", "base.json", "--json").json
    assert [criterion["id"] for criterion in found["criteria"]] == ["right"]
    assert found["slices"] == []


@pytest.mark.parametrize(
    ("change", "is_compared"),
    [
        ({"field": "other"}, False),
        ({"on_system_error": "fail"}, False),
        ({"type": "exact_match"}, False),
        ({"on_system_error": "missing"}, True),  # the default, written out
        ({"only": "metadata.kind != b"}, True),  # to which cases it applies is told case by case
    ],
)
def test_a_criterion_of_the_same_name_that_is_judged_otherwise_is_another_one(
    tmp_path: Path, change: dict[str, Any], is_compared: bool
) -> None:
    """Else a change could turn the gate green by the judge that it brings along."""
    both, name = [RIGHT, RIGHT | {"criterion": "same"}], "criterion 'right' is judged otherwise now"
    rows = [row | {"metadata": {"kind": "a"}} for row in answered("yes", "yes")]
    app = "def run(case):\n    return {'answer': case, 'other': 'yes'}\n"
    project(tmp_path, app=app, cases=rows, rules=[NO_NEW], evaluators=both)
    oloproof(tmp_path, "run", "--no-gate")
    oloproof(tmp_path, "baseline", "save", "-o", "base.json")
    project(tmp_path, app=app, cases=rows, rules=[NO_NEW], evaluators=[RIGHT | change, both[1]])
    for command in (("run", "--baseline", "base.json"), ("compare", "latest", "latest~1")):
        done = oloproof(tmp_path, *command)
        assert (done.code == 0, name not in done.out) == (is_compared, is_compared)


def test_a_baseline_of_criteria_that_are_all_judged_otherwise_is_refused(saved: Path) -> None:
    project(saved, cases=REFERENCE, rules=[NO_NEW], evaluators=[RIGHT | {"field": "other"}])
    done = oloproof(saved, "run", "--baseline", "base.json")
    assert (done.code, "no criterion in common that is judged the same way [OLO619]" in done.err) == (2, True)


def test_a_baseline_that_does_not_say_how_it_was_judged_is_compared(saved: Path) -> None:
    text = (saved / "base.json").read_text().splitlines(keepends=True)
    (saved / "base.json").write_text("".join(line for line in text if "judged_by" not in line))
    project(saved, cases=REFERENCE, rules=[NO_NEW], evaluators=[RIGHT | {"field": "other"}])
    assert oloproof(saved, "run", "--baseline", "base.json").code == 1


def test_other_code_of_the_functions_that_judge_is_told_of_on_every_surface(tmp_path: Path) -> None:
    """Else a milder function of the same name looks like no regression."""
    judge = "def mine(output):\n    return output['answer'] == 'yes'\n"
    (tmp_path / "judges.py").write_text(judge)
    (tmp_path / "traces.jsonl").write_text(json.dumps({"case": "c1", "output": {"answer": "no"}}) + "\n")
    rules = [NO_NEW | {"metric": name, "id": name} for name in ("mine", "right")]
    evaluators: list[Row] = [{"type": "judges:mine"}, RIGHT]
    project(tmp_path, cases=answered("no"), rules=rules, evaluators=evaluators, system={"recorded": "traces.jsonl"})
    oloproof(tmp_path, "run")
    assert oloproof(tmp_path, "baseline", "save", "-o", "base.json").code == 0
    told = "the code of the functions that judge 'mine', or of what they import, is not what it was for the baseline"
    assert told not in oloproof(tmp_path, "run", "--baseline", "base.json").out
    (tmp_path / "judges.py").write_text(judge.replace("== 'yes'", "!= ''"))
    written = ("--markdown", "a.md", "--html", "a.html")
    run = oloproof(tmp_path, "run", "--baseline", "base.json", *written)
    assert (run.code, told in run.out) == (0, True)
    texts = [(tmp_path / name).read_text() for name in written[1::2]]
    compared = ["compare", "latest", "latest~2"]
    texts += [oloproof(tmp_path, *command).out for command in (["gate"], [*compared, *written], ["inspect", "latest"])]
    texts += [(tmp_path / name).read_text() for name in written[1::2]]
    assert [told in text.replace("&#39;", "'") for text in texts] == [True] * len(texts)
    for command in (["gate"], compared, ["compare", "latest", "base.json"]):
        assert [told in each for each in oloproof(tmp_path, *command, "--json").json["warnings"]].count(True) == 1
    text = (tmp_path / "base.json").read_text().splitlines(keepends=True)
    (tmp_path / "base.json").write_text("".join(line for line in text if "judging_code" not in line))
    assert told not in oloproof(tmp_path, "compare", "latest", "base.json").out  # nobody knows


def test_a_value_that_only_one_run_has_is_a_row_of_its_own(saved: Path) -> None:
    cases = [row | {"metadata": {"kind": "b" if row["id"] == "c1" else "a"}} for row in REFERENCE]
    project(saved, cases=cases, rules=[NO_NEW], slices=["metadata.kind"])
    oloproof(saved, "run")
    found = oloproof(saved, "compare", "latest", "base.json", "--json").json
    assert [(group["value"], group["support"]) for group in found["slices"]] == [("a", 39), ("b", 1)]
    assert [(move["from"], move["to"], move["cases"]) for move in found["migrations"]] == [("a", "b", 1)]


def test_pairs_that_are_missing_are_looked_at_where_they_are_told(saved: Path) -> None:
    project(saved, cases=REFERENCE[1:], rules=[NO_NEW])
    done = oloproof(saved, "run", "--baseline", "base.json")
    assert done.code == 3
    run = oloproof(saved, "runs", "--json").json["runs"][0]["id"]
    assert f"see which 1 of 40 pairs is missing: oloproof compare {run} base.json" in done.lines


_COMPARE = "oloproof compare "


def hints(done: Done) -> list[str]:
    """The commands that compare the run with its baseline."""
    return [line[line.index(_COMPARE) :] for line in done.lines if _COMPARE in line]


def pasted(directory: Path, command: str) -> Done:
    return oloproof(directory, *shlex.split(command)[1:])


def test_the_hint_to_compare_can_be_pasted_where_it_is_printed(saved: Path) -> None:
    (saved / "base.json").rename(saved / "a base.json")
    (saved / "below").mkdir()
    (hint,) = hints(oloproof(saved, "run", "--baseline", "a base.json"))
    assert hint.endswith(" 'a base.json'")
    config = ("--config", "../oloproof.yaml")
    for where, command in (
        (saved, ["run", "--baseline", "latest"]),
        (saved, ["inspect"]),
        (saved, ["inspect", "latest~1"]),
        (saved / "below", ["inspect", "latest~1", *config]),
        (saved / "below", ["gate", "latest~1", *config]),
    ):
        (hint,) = hints(oloproof(where, *command))
        assert pasted(where, hint).code == 0, hint


def test_a_judged_run_names_its_baseline_too(saved: Path) -> None:
    write_lines(saved / "traces.jsonl", [{"case": row["id"], "output": {"answer": "yes"}} for row in REFERENCE])
    for baseline in ("base.json", "latest"):
        (hint,) = hints(oloproof(saved, "judge", "traces.jsonl", "--baseline", baseline))
        assert pasted(saved, hint).code == 0, hint


def test_a_case_that_is_called_like_an_option_names_no_baseline(saved: Path) -> None:
    """Nor does it hide the one that is named, wherever it stands."""
    oloproof(saved, "run", "--baseline", "base.json")
    named, path = ["--baseline", str(saved / "base.json")], str(saved / "cases.jsonl")
    with Store.open(saved / ".oloproof", create=False) as store:
        found = stored_report(store, store.find("latest"), None)
        for words, name in (
            (["--case", "--baseline", *named], "base.json"),
            ([*named, "--case", "--baseline", "--case", path], "base.json"),
            (["--case", "--baseline", path, "--no-gate"], found.comparison and found.comparison.baseline),
        ):
            asked = replace(found, run=replace(found.run, asked=tuple(words)))
            assert Path(name_of_baseline(store, asked)).name == name


def test_what_the_next_word_belongs_to_is_what_the_command_says() -> None:
    takes = {
        name
        for each in run_command.command.params
        if isinstance(each, Option) and not each.is_flag
        for name in each.opts
    }
    assert [option for option in OPTIONS if option in takes] == list(VALUED)


def test_a_baseline_that_is_gone_is_named_by_nothing(saved: Path) -> None:
    first = json.loads((saved / "base.json").read_text())["run"]
    for of, named in ((first, first), ("20200101-000000-abcdef", "BASELINE")):  # the run that the file was made of
        text = (saved / "base.json").read_text()
        (saved / "gone.json").write_text(text.replace(f'"{first}"', f'"{of}"'))
        oloproof(saved, "run", "--baseline", "gone.json")
        (saved / "gone.json").unlink()
        (hint,) = hints(oloproof(saved, "inspect"))
        assert hint.endswith(f" {named}")


def test_the_document_warns_as_the_text_does(saved: Path) -> None:
    rules = [NO_NEW, {"id": "floor", "metric": "other", "min": 0.5}]
    evaluators = [RIGHT | {"criterion": name} for name in ("right", "other", "third")]
    project(saved, cases=[row | {"cluster": "one"} for row in REFERENCE], rules=rules, evaluators=evaluators)
    oloproof(saved, "run")
    warnings = oloproof(saved, "compare", "latest", "base.json", "--json").json["warnings"]
    assert [warning.partition(":")[0] for warning in warnings] == [
        "a baseline file keeps no calls",
        "judged, not gated",
        "cases belong to clusters",
    ]
    lines = oloproof(saved, "compare", "latest", "base.json").lines
    assert set(warnings) <= {line.removeprefix("warning: ") for line in lines}


def test_what_another_rule_gates_is_not_told_as_ungated(tmp_path: Path) -> None:
    floor = {"id": "floor", "metric": "other", "min": 0.5}
    evaluators = [RIGHT | {"criterion": name} for name in ("right", "other", "third")]
    runs(tmp_path, REFERENCE, REFERENCE, [NO_NEW, floor], evaluators=evaluators)
    done = oloproof(tmp_path, "compare", "latest", "latest~1")
    assert (done.code, "warning: judged, not gated: third" in done.lines) == (0, True), done


def test_policy_none_asks_for_no_gate_of_a_comparison_either(tmp_path: Path) -> None:
    directory = runs(tmp_path, REFERENCE, REFERENCE, rules=None, policy="none")
    done = oloproof(directory, "compare", "latest", "latest~1")
    assert done.code == 0
    assert "NOT GATED (exit 0): no gate was asked for" in done.lines


def test_without_a_rule_that_compares_nothing_is_decided(tmp_path: Path) -> None:
    directory = runs(tmp_path, REFERENCE, REFERENCE, [{"id": "floor", "metric": "right", "min": 0.5}])
    assert compared(directory)[0] == 3
    assert compared(directory, "--no-gate")[0] == 0


@pytest.mark.parametrize(
    ("spoil", "what"),
    [
        (lambda text: "{", "is no baseline"),
        (lambda text: text.replace("baseline/v1", "baseline/v0"), "has the format 'oloproof.baseline/v0'"),
        (lambda text: text.replace('"small"', '"other"'), "of project 'small'"),
        (lambda text: text.replace('["c1", "p"', '["c1", "f"'), "contradicts itself"),
        (lambda text: text.replace('["c', '["d'), "no case in common"),
        (lambda text: text.replace('"project"', '"project": "small", "project"', 1), "a key is there twice"),
    ],
)
def test_a_baseline_that_means_nothing_is_refused(tmp_path: Path, spoil, what: str) -> None:
    directory = project(tmp_path, cases=answered("yes", "yes"), rules=[NO_NEW])
    oloproof(directory, "run")
    oloproof(directory, "baseline", "save", "-o", "base.json")
    oloproof(directory, "run")
    (directory / "base.json").write_text(spoil((directory / "base.json").read_text()))
    done = oloproof(directory, "compare", "latest", "base.json")
    assert done.code == 2
    assert what in done.err


def test_the_same_run_twice_and_unfinished_runs_are_refused(tmp_path: Path) -> None:
    directory = project(tmp_path, rules=[NO_NEW])
    oloproof(directory, "run")
    assert oloproof(directory, "compare", "latest", "latest").code == 2
    oloproof(directory, "run", "--limit", "1")
    assert oloproof(directory, "compare", "latest", "latest~1").code == 5
    assert oloproof(directory, "baseline", "save").code == 5


def test_a_run_for_a_debugger_is_no_side_of_a_comparison(tmp_path: Path) -> None:
    directory = project(tmp_path, rules=[NO_NEW])
    oloproof(directory, "run")
    assert spawned(directory, "run", "--in-process").code == 3
    for command in (
        ["compare", "latest", "latest~1"],
        ["compare", "latest~1", "latest"],
        ["baseline", "save", "-o", "base.json"],
        ["run", "--baseline", "latest"],
    ):
        done = oloproof(directory, *command)
        assert done.code == 5
        assert "is one for a debugger (--in-process)" in done.err
    assert not (directory / "base.json").exists()


def test_an_approval_holds_for_the_baseline_that_was_looked_at(tmp_path: Path) -> None:
    directory = project(tmp_path, cases=REFERENCE, rules=[NO_NEW | {"requires_manual_review": True}])
    for name in ("one.json", "two.json"):  # two runs that came out alike
        oloproof(directory, "run", "--no-gate")
        oloproof(directory, "baseline", "save", "-o", name)
    assert oloproof(directory, "run", "--baseline", "one.json").code == 4
    assert oloproof(directory, "gate", "--approve", "no-new", "--by", "Ada").code == 0
    assert oloproof(directory, "compare", "latest", "one.json").code == 0
    done = oloproof(directory, "compare", "latest", "two.json", "--json")
    assert (done.code, done.json["decisions"][0]["state"]) == (4, "MANUAL_REVIEW")


def test_the_regression_example_shows_where_the_change_breaks(tmp_path: Path) -> None:
    import shutil

    example = tmp_path / "regression"
    shutil.copytree(Path(__file__).parents[2] / "examples" / "regression", example)
    assert oloproof(example, "run", "--config", "v1.yaml", "--no-gate").code == 0
    assert oloproof(example, "run", "--config", "v2.yaml", "--no-gate").code == 0
    done = oloproof(example, "compare", "latest", "latest~1", "--config", "v2.yaml", "--json")
    answer = next(each for each in done.json["criteria"] if each["id"] == "answer_correct")
    assert (answer["fixed"], answer["broken"], answer["missing_pairs"]) == (10, 8, 0)
    assert answer["lower"] < -0.05 < 0 < answer["upper"]
    assert (done.code, done.json["decisions"][0]["state"]) == (3, "INSUFFICIENT_EVIDENCE")
    groups = {(each["slice"], each["value"]): each["criteria"][0] for each in done.json["slices"]}
    searches = groups["first_tool", "search"]
    assert (searches["fixed"], searches["broken"]) == (0, 8)
    assert searches["p"] == pytest.approx(0.5**9)
    assert groups["first_tool", "lookup_order"]["broken"] == 0


@pytest.mark.parametrize("named", [(), ("latest",)])
def test_without_two_names_it_says_how_to_name_them(tmp_path: Path, named: tuple[str, ...]) -> None:
    done = oloproof(tmp_path, "compare", *named)
    assert (done.code, done.out, "oloproof compare latest latest~1" in done.err) == (2, "", True)
