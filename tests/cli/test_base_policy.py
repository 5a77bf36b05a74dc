"""``--base-policy``: what a change relaxed, where it stands, and who must look."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fakes.projects import NONE_WRONG, Row, answered, oloproof, project

pytestmark = pytest.mark.usefixtures("system_at_hand")


FLOOR = "  - {id: floor, metric: right, min: 0.70}\n"
COUNT = "  - {id: none-wrong, metric: right, kind: observed_count, max_failures: 0}\n"
BASE = "version: 1\nrules:\n" + FLOOR + COUNT


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """A project whose policy and base policy are the same."""
    project(tmp_path, cases=answered(*["yes"] * 30))
    (tmp_path / "base.yaml").write_text(BASE)
    (tmp_path / "release.yaml").write_text(BASE)
    return tmp_path


def relax(suite: Path, text: str) -> Path:
    (suite / "release.yaml").write_text(text)
    return suite


def test_a_lower_bar_and_a_removed_rule_are_listed_with_their_places(suite: Path) -> None:
    relax(suite, BASE.replace("0.70", "0.60").replace(COUNT, ""))
    done = oloproof(suite, "check", "--base-policy", "base.yaml")
    assert done.code == 0
    assert (
        "relaxed: release.yaml:3:37: rule 'floor': min is 0.60, and was 0.70 in base.yaml:3:37 [OLO643]" in done.lines
    )
    assert "relaxed: base.yaml:4:5: rule 'none-wrong' is gone, of kind observed_count [OLO643]" in done.lines
    document = oloproof(suite, "check", "--base-policy", "base.yaml", "--json").json
    assert [(each["file"], each["line"], each["column"]) for each in document["relaxed"]] == [
        ("release.yaml", 3, 37),
        ("base.yaml", 4, 5),
    ]


def test_nothing_relaxed_is_said_too(suite: Path) -> None:
    done = oloproof(suite, "check", "--base-policy", "base.yaml", "--fail-on-relaxed")
    assert done.code == 0
    assert "nothing was relaxed against base.yaml" in done.lines
    assert oloproof(suite, "check", "--base-policy", "base.yaml", "--json").json["relaxed"] == []
    assert "relaxed" not in oloproof(suite, "check", "--json").json


def test_a_person_must_look_where_that_is_asked_for(suite: Path) -> None:
    relax(suite, BASE.replace("0.70", "0.60"))
    assert oloproof(suite, "check", "--base-policy", "base.yaml", "--fail-on-relaxed").code == 4
    assert oloproof(suite, "run").code == 0
    told = oloproof(suite, "gate", "--base-policy", "base.yaml")
    assert (told.code, "min is 0.60, and was 0.70" in told.out) == (0, True)
    held = oloproof(suite, "gate", "--base-policy", "base.yaml", "--fail-on-relaxed", "--json")
    assert (held.code, held.json["gate"]["outcome"], held.json["gate"]["exit_code"]) == (4, "BLOCK", 4)
    assert held.json["gate"]["why"] == "the policy was relaxed in one way: a person must look"
    assert held.json["relaxed"][0]["code"] == "OLO643"
    assert oloproof(suite, "gate").code == 0


def test_what_fails_still_fails(suite: Path) -> None:
    project(suite, cases=answered("no"), rules=[NONE_WRONG])
    assert oloproof(suite, "run").code == 1
    assert oloproof(suite, "gate", "--base-policy", "base.yaml", "--fail-on-relaxed").code == 1


def test_a_policy_that_is_gone_or_switched_off(suite: Path) -> None:
    (suite / "release.yaml").unlink()
    done = oloproof(suite, "check", "--base-policy", "base.yaml", "--fail-on-relaxed")
    assert (done.code, "relaxed: base.yaml:1:1: the policy is gone, with 2 rules [OLO643]" in done.lines) == (4, True)
    project(suite, cases=answered("yes"), rules=None, policy="none")
    assert oloproof(suite, "run").code == 0
    assert oloproof(suite, "gate", "--base-policy", "base.yaml", "--fail-on-relaxed").code == 4


def test_policies_that_are_written_into_configurations(suite: Path) -> None:
    rule: Row = {"id": "floor", "metric": "right", "min": 0.9}
    project(suite, rules=None, policy={"rules": [rule]})
    (suite / "oloproof.yaml").rename(suite / "old.yaml")
    project(suite, rules=None, policy={"rules": [rule | {"min": 0.5}]})
    (suite / "release.yaml").unlink()
    (found,) = oloproof(suite, "check", "--base-policy", "old.yaml", "--json").json["relaxed"]
    assert found["file"] == "oloproof.yaml"
    assert found["message"].startswith("rule 'floor': min is 0.5, and was 0.9 in old.yaml:1:")
    assert (suite / "oloproof.yaml").read_text()[found["column"] - 1 :].startswith("0.5")


def test_the_policy_of_a_stored_run_stands_in_no_file(suite: Path) -> None:
    relax(suite, BASE.replace("0.70", "0.60"))
    oloproof(suite, "run")
    (found,) = oloproof(suite, "gate", "--as-judged", "--base-policy", "base.yaml", "--json").json["relaxed"]
    assert (found["file"], found["line"]) == (None, None)
    assert found["message"] == "rule 'floor': min is 0.60, and was 0.70 in base.yaml:3:37"


def test_a_base_may_be_about_metrics_that_are_gone(suite: Path) -> None:
    (suite / "base.yaml").write_text(BASE.replace("metric: right", "metric: gone"))
    found = oloproof(suite, "check", "--base-policy", "base.yaml", "--json").json["relaxed"]
    assert [each["message"].split(", and")[0] for each in found] == [
        "rule 'floor': metric is right",
        "rule 'none-wrong': metric is right",
    ]


@pytest.mark.parametrize(
    ("text", "code"),
    [(None, "OLO101"), ("", "OLO103"), ("version: 1\nrules: []\n", "OLO108"), ("policy: release.yaml\n", "OLO107")],
)
def test_a_base_that_is_no_policy_is_refused(suite: Path, text: str | None, code: str) -> None:
    if text is not None:
        (suite / "no.yaml").write_text(text)
    done = oloproof(suite, "check", "--base-policy", "no.yaml", "--json")
    assert done.code == 2
    assert [(problem["file"], problem["code"]) for problem in done.json["problems"]] == [("no.yaml", code)]


def test_failing_needs_a_base(suite: Path) -> None:
    done = oloproof(suite, "check", "--fail-on-relaxed")
    assert (done.code, "OLO644" in done.err) == (2, True)


def test_a_hostile_rule_is_shown_inert(suite: Path) -> None:
    (suite / "base.yaml").write_text(
        json.dumps({"version": 1, "rules": [NONE_WRONG | {"id": "\x1b[31mred", "metric": "gone"}]})
    )
    done = oloproof(suite, "check", "--base-policy", "base.yaml")
    assert "\x1b" not in done.out
    assert "is gone" in done.out
