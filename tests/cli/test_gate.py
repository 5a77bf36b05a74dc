"""``gate``: a stored run decided again, and a person's approval."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from fakes.projects import NONE_WRONG, REVIEWED, answered, oloproof, project, spawned

pytestmark = pytest.mark.usefixtures("system_at_hand")


WAITING = "BLOCK (exit 4): none-wrong MANUAL_REVIEW"


def change(directory: Path, **keys: object) -> None:
    path = directory / "oloproof.yaml"
    path.write_text(json.dumps(json.loads(path.read_text()) | keys))


def rule(directory: Path, **keys: object) -> None:
    (directory / "release.yaml").write_text(json.dumps({"version": 1, "rules": [NONE_WRONG | keys]}))


def test_a_rule_that_asks_for_a_person_is_exit_4_until_one_approves(tmp_path: Path) -> None:
    directory = project(tmp_path, rules=[REVIEWED])
    done = spawned(directory, "run")
    assert done.code == 4
    assert WAITING in done.lines
    assert "--approve none-wrong --by NAME" in done.lines[done.lines.index(WAITING) + 1]
    assert oloproof(directory, "gate").code == 4
    assert spawned(directory, "gate", "--approve", "none-wrong", "--by", "Ada Lovelace").code == 0
    assert oloproof(directory, "gate").code == 0


@pytest.mark.parametrize("command", ["gate", "inspect"])
def test_the_approver_is_named_in_every_report(tmp_path: Path, command: str) -> None:
    directory = project(tmp_path, rules=[REVIEWED])
    oloproof(directory, "run")
    oloproof(directory, "gate", "--approve", "none-wrong", "--by", "Ada Lovelace")
    done = oloproof(directory, command, "--markdown", "report.md", "--junit", "report.xml")
    assert any(line.startswith("none-wrong approved by Ada Lovelace at 20") for line in done.lines)
    assert not any("not counted" in line for line in done.lines)
    assert "none-wrong approved by Ada Lovelace at 20" in (directory / "report.md").read_text()
    assert "approved by Ada Lovelace" in (directory / "report.xml").read_text()
    decision = oloproof(directory, command, "--json").json["decisions"][0]
    assert (decision["state"], decision["approved_by"]) == ("PASS", "Ada Lovelace")


def test_what_the_stored_policy_deserved_is_not_said_of_another(tmp_path: Path) -> None:
    directory = project(tmp_path, cases=answered("yes"))
    release = {"version": 1, "rules": [NONE_WRONG], "confidence_level": 0.8}
    (directory / "release.yaml").write_text(json.dumps(release))
    weak = "confidence_level 0.8 is below 0.9: rules settle on weak evidence"
    assert oloproof(directory, "check", "--json").json["warnings"] == [weak]
    assert oloproof(directory, "run", "--json").json["warnings"].count(weak) == 1
    rule(directory)
    assert weak not in oloproof(directory, "gate", "--json").json["warnings"]
    assert weak in oloproof(directory, "gate", "--as-judged", "--json").json["warnings"]


def test_an_approval_holds_for_its_run_alone(tmp_path: Path) -> None:
    directory = project(tmp_path, rules=[REVIEWED])
    oloproof(directory, "run")
    oloproof(directory, "gate", "--approve", "none-wrong", "--by", "Ada")
    assert oloproof(directory, "run").code == 4
    assert oloproof(directory, "gate").code == 4
    assert oloproof(directory, "gate", "latest~1").code == 0


def test_an_approval_of_other_content_does_not_count(tmp_path: Path) -> None:
    directory = project(tmp_path, rules=[REVIEWED])
    oloproof(directory, "run")
    oloproof(directory, "gate", "--approve", "none-wrong", "--by", "Ada")
    with sqlite3.connect(directory / ".oloproof" / "oloproof.db") as store:
        (kept,) = store.execute("SELECT approval FROM approvals").fetchone()
        store.execute("UPDATE approvals SET approval = ?", (json.dumps(json.loads(kept) | {"run_digest": "other"}),))
    store.close()
    done = oloproof(directory, "gate")
    assert done.code == 4
    assert WAITING in done.lines
    assert any(line.endswith("for other content: not counted") for line in done.lines)


@pytest.mark.parametrize(
    ("cases", "rules", "approved", "told"),
    [
        (answered("yes"), [NONE_WRONG], "none-wrong", "rule 'none-wrong' is PASS, not MANUAL_REVIEW [OLO608]"),
        (answered("no"), [REVIEWED], "none-wrong", "rule 'none-wrong' is FAIL, not MANUAL_REVIEW [OLO608]"),
        (answered("yes"), [REVIEWED], "other", "--approve 'other': the policy has no such rule [OLO608]"),
    ],
    ids=["passed", "failed", "unknown"],
)
def test_only_a_rule_that_waits_can_be_approved(
    tmp_path: Path, cases: list[object], rules: list[object], approved: str, told: str
) -> None:
    directory = project(tmp_path, cases=cases, rules=rules)  # type: ignore[arg-type]
    before = oloproof(directory, "run").code
    done = oloproof(directory, "gate", "--approve", approved, "--by", "Ada")
    assert done.code == 2
    assert told in done.lines
    assert oloproof(directory, "gate").code == before


@pytest.mark.parametrize("by", ["", " ", "\u200b", "-", "\u202e\t"])
def test_nobody_approves_nothing(tmp_path: Path, by: str) -> None:
    directory = project(tmp_path, rules=[REVIEWED])
    assert oloproof(directory, "run").code == 4
    done = oloproof(directory, "gate", "--approve", "none-wrong", "--by", by)
    assert (done.code, "[OLO607]" in done.err) == (2, True)
    assert oloproof(directory, "gate").code == 4


def test_who_approves_a_rule_twice_approves_it(tmp_path: Path) -> None:
    directory = project(tmp_path, rules=[REVIEWED])
    oloproof(directory, "run")
    twice = ["--approve", "none-wrong"] * 2
    assert oloproof(directory, "gate", *twice, "--by", "李").code == 0
    refused = oloproof(directory, "gate", *twice, "--by", "Ada")
    assert refused.err.count("[OLO608]") == 1


def test_the_policy_at_hand_decides_a_stored_run(tmp_path: Path) -> None:
    directory = project(tmp_path, cases=answered("yes", "no"))
    assert oloproof(directory, "run").code == 1
    rule(directory, max_failures=1)
    assert oloproof(directory, "gate").code == 0
    assert oloproof(directory, "gate", "--as-judged").code == 1


def test_a_run_of_another_configuration_is_refused(tmp_path: Path) -> None:
    directory = project(tmp_path)
    assert oloproof(directory, "run").code == 0
    change(directory, min_slice_support=7)
    done = oloproof(directory, "gate")
    assert done.code == 2
    assert "was judged with configuration" in done.err
    assert done.err.rstrip().splitlines()[0].endswith("[OLO606]")
    assert "run again, or decide with what was stored: --as-judged" in done.lines
    assert oloproof(directory, "gate", "--as-judged").code == 0


def test_a_run_without_a_gate_can_be_gated_later(tmp_path: Path) -> None:
    directory = project(tmp_path, cases=answered("no"))
    assert oloproof(directory, "run", "--no-gate").code == 0
    done = oloproof(directory, "gate")
    assert done.code == 1
    assert "BLOCK (exit 1): none-wrong FAIL" in done.lines
    assert oloproof(directory, "gate", "--as-judged").code == 3


def test_gate_under_policy_none_gates_nothing_and_says_so(tmp_path: Path) -> None:
    directory = project(tmp_path, rules=None, policy="none")
    oloproof(directory, "run")
    done = oloproof(directory, "gate")
    assert done.code == 0
    assert "NOT GATED (exit 0): no gate was asked for" in done.lines


def test_gate_runs_and_judges_nothing(tmp_path: Path) -> None:
    directory = project(tmp_path)
    oloproof(directory, "run")
    (directory / "app.py").write_text("raise RuntimeError\n")
    (directory / "cases.jsonl").write_text("")
    assert oloproof(directory, "gate").code == 0
    assert len(oloproof(directory, "runs", "--json").json["runs"]) == 1


def test_latest_is_of_the_configurations_project(tmp_path: Path) -> None:
    """Two projects may share a directory, and so a store."""
    directory = project(tmp_path, cases=answered("no"))
    (directory / "other.yaml").write_text((directory / "oloproof.yaml").read_text())
    change(directory, project="one")
    assert oloproof(directory, "run").code == 1
    assert oloproof(directory, "run", "--config", "other.yaml").code == 1
    for command in (["gate"], ["gate", "--as-judged"], ["inspect"]):
        assert oloproof(directory, *command, "--json").json["run"]["project"] == "one"
        other = oloproof(directory, *command, "--json", "--config", "other.yaml")
        assert other.json["run"]["project"] == "small"


def test_latest_is_of_no_other_project_where_the_configuration_cannot_be_read(tmp_path: Path) -> None:
    directory = project(tmp_path)
    assert oloproof(directory, "run").code == 0
    sound = (directory / "oloproof.yaml").read_text()
    (directory / "oloproof.yaml").write_text("version: [")
    assert oloproof(directory, "inspect").code == 0  # there is no other that could be meant
    (directory / "oloproof.yaml").write_text(sound)
    change(directory, project="other")
    assert oloproof(directory, "run").code == 0
    (directory / "oloproof.yaml").write_text("version: [")
    for command in (["inspect"], ["gate", "--as-judged"], ["inspect", "latest~1"]):
        done = oloproof(directory, *command)
        assert done.code == 2
        assert "oloproof.yaml" in done.err
        assert "[OLO103]" in done.err
        assert done.out == ""
