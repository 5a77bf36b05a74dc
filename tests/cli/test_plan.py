"""``oloproof plan``: before a run, and with the figures of one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fakes.projects import NONE_WRONG, answered, case, oloproof, project, write_lines

pytestmark = pytest.mark.usefixtures("system_at_hand")


FLOOR = {"id": "floor", "metric": "right", "min": 0.7}
NO_WORSE = {"id": "no-worse", "metric": "right", "kind": "non_inferiority", "margin": 0.05}
RULES = (FLOOR, NONE_WRONG, NO_WORSE)


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """Forty cases, of which seven are wrong."""
    return project(tmp_path, cases=answered(*["yes"] * 33, *["no"] * 7), rules=RULES)


def test_before_a_run(suite: Path) -> None:
    done = oloproof(suite, "plan")
    assert done.code == 0
    assert done.lines[0] == "small: 40 cases, before any run; rules decide by wilson, 95%"
    assert "if the runs agree on all pairs, a PASS takes 73 of them" in done.lines
    assert "what a PASS without a failure proves: failure rate at most 7.3% with 95% confidence" in done.lines
    assert not (suite / ".oloproof").exists()


def test_the_document(suite: Path) -> None:
    document = oloproof(suite, "plan", "--truth", "0.9", "--json").json
    assert (document["format"], document["run"], document["cases"]) == ("oloproof.plan/v1", None, 40)
    floor, none_wrong, no_worse = document["rules"]
    assert (floor["pass_from"], floor["fail_to"], floor["may_be_missing"]) == (34, 22, 6)
    assert none_wrong["proves"] == pytest.approx(1 - 0.05 ** (1 / 40))
    (truth,) = floor["truths"]
    assert (truth["assumed"], truth["truth"]) == ("90%", 0.9)
    assert truth["pass"] + truth["fail"] + truth["undecided"] == pytest.approx(1)
    assert no_worse["truths"][0]["discordant"] == pytest.approx(0.18)
    assert "gate" not in document


def test_another_number_of_cases_keeps_the_share_to_which_a_criterion_applies(tmp_path: Path) -> None:
    cases = [
        {**case, "metadata": {"kind": "chat" if at < 10 else "mail"}} for at, case in enumerate(answered(*"y" * 40))
    ]
    criterion = {"type": "contains", "criterion": "right", "field": "answer", "value": "y"}
    only = criterion | {"criterion": "in_chat", "only": "metadata.kind == chat"}
    rules = (FLOOR, FLOOR | {"id": "chat", "metric": "in_chat"})
    suite = project(tmp_path, cases=cases, evaluators=(criterion, only), rules=rules)
    document = oloproof(suite, "plan", "--cases", "1000", "--json").json
    assert [rule["cases"] for rule in document["rules"]] == [1000, 250]


def test_flips_of_the_whole_gate(suite: Path) -> None:
    document = oloproof(suite, "plan", "--truth", "right=0.99", "--aa", "--json").json
    (gate,) = document["gate"]
    assert gate["allow"][0] == 0.0  # forty pairs cannot show that nothing is worse by five in a hundred
    project(suite, cases=answered(*["yes"] * 40), rules=(FLOOR, NONE_WRONG))
    (gate,) = oloproof(suite, "plan", "--truth", "right=0.99", "--aa", "--json").json["gate"]
    none_wrong = 0.99**40
    assert gate["allow"] == pytest.approx([none_wrong] * 2)
    assert gate["flips"] == pytest.approx([2 * none_wrong * (1 - none_wrong)] * 2)
    assert "the whole gate, of a system that does not change" in oloproof(suite, "plan", "--aa").lines


def test_after_a_run(suite: Path) -> None:
    assert oloproof(suite, "run").code == 1
    done = oloproof(suite, "plan", "latest", "--aa")
    assert done.code == 0
    assert "as run" in done.lines[0]
    assert "more cases that would settle it: 3 if all pass, 17 if all fail; a fresh run of about 100" in done.out
    assert "is peeking, and errs more often than the level says" in done.out
    floor, *_ = oloproof(suite, "plan", "latest", "--json").json["rules"]
    assert floor["settling"] == {"all_pass": 3, "all_fail": 17, "likely": 60}
    assert [row["assumed"] for row in floor["truths"]] == ["as observed"]
    more = oloproof(suite, "plan", "latest", "--cases", "400", "--truth", "0.8", "--json").json
    assert [row["assumed"] for row in more["rules"][0]["truths"]] == ["as observed", "80%"]
    assert more["rules"][0]["cases"] == 400


def test_after_a_comparison_what_was_not_observed_is_not_said_to_be(tmp_path: Path) -> None:
    """Nor does an option that says it go unheard."""
    app = "import json\ndef run(case):\n    return {'answer': json.load(open('answers.json')).get(case, 'yes')}\n"
    rule = {"id": "no-worse", "metric": "right", "kind": "non_inferiority", "margin": 0.1}
    project(tmp_path, app=app, cases=[case(f"c{number}", f"c{number}") for number in range(40)], rules=[rule])
    for answers in ('{"c3": "no"}', "{}"):
        (tmp_path / "answers.json").write_text(answers)
        oloproof(tmp_path, "run", *(["--baseline", "latest"] if answers == "{}" else []))

    def row(*options: str) -> tuple[Any, ...]:
        (found,) = oloproof(tmp_path, "plan", "latest", "--json", *options).json["rules"]
        (only,) = found["truths"]
        return only["assumed"], only["discordant"], only["difference"]

    assert row() == ("pairs differ as observed", 1 / 40, 0)
    assert row("--difference", "-0.02") == ("pairs differ as observed", 1 / 40, -0.02)
    assert row("--discordant", "0.2") == ("20% of pairs differ", 0.2, 0)


def test_the_run_itself_says_what_would_settle_it(suite: Path) -> None:
    done = oloproof(suite, "run")
    assert "more cases that would settle it: 3 if all pass" in done.out
    assert "plan a fresh run; to add cases to this one after looking is peeking: oloproof plan" in done.out


def test_a_run_without_a_gate_is_planned_from_under_the_policy_at_hand(suite: Path) -> None:
    oloproof(suite, "run")
    gated = oloproof(suite, "plan", "latest", "--json").json
    assert oloproof(suite, "run", "--no-gate").code == 0
    done = oloproof(suite, "plan", "latest", "--json")
    assert (done.code, done.json["rules"]) == (0, gated["rules"])


def test_without_a_policy_there_is_nothing_to_plan(tmp_path: Path) -> None:
    done = oloproof(project(tmp_path, rules=None), "plan")
    assert (done.code, "OLO641" in done.err) == (2, True)


def test_recordings_without_a_dataset_need_a_number(tmp_path: Path) -> None:
    suite = project(tmp_path, cases=None, rules=(FLOOR,), system={"recorded": "traces.jsonl"})
    write_lines(suite / "traces.jsonl", [{"case": "a", "input": 1, "output": {"answer": "yes"}, "expected": {}}])
    done = oloproof(suite, "plan")
    assert (done.code, "OLO640" in done.err) == (2, True)
    assert oloproof(suite, "plan", "--cases", "40", "--json").json["rules"][0]["pass_from"] == 34


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--truth", "1.5"), "no share between 0 and 1"),
        (("--truth", "nan"), "no share between 0 and 1"),
        (("--truth", "1e-999999999"), "no share between 0 and 1"),
        (("--truth", "rigth=0.9"), "did you mean 'right'?"),
        (("--difference", "-2"), "no share between -1 and 1"),
        (("--cases", "0"), "--cases"),
        (("--cases", "100000000000"), "--cases"),
        (("nowhere",), "OLO6"),
    ],
)
def test_what_cannot_be_planned_is_refused(suite: Path, arguments: tuple[str, ...], told: str) -> None:
    done = oloproof(suite, "plan", *arguments)
    assert (done.code, told in done.err) == (2, True), done.err
