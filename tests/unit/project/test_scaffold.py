"""What ``init`` writes is a sound project."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from oloproof import gates
from oloproof.model.measured import Measured, Rate
from oloproof.model.tally import Tally
from oloproof.project import load, read_cases, scaffold
from oloproof.project.nodes import plain
from oloproof.project.problems import Problems
from oloproof.project.yaml_nodes import parse_yaml


@pytest.mark.parametrize("example", [None, *scaffold.EXAMPLES])
def test_a_new_project_is_sound(example: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    files = scaffold.files(example)
    for name, text in files.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text)
    project = load(Path("oloproof.yaml"))
    cases = read_cases(project)
    assert len(cases) == 12
    assert (project.warnings, cases.warnings) == ((), ())
    assert project.policy is not None
    compile(files["app.py"], "app.py", "exec")
    for name in ("oloproof", "release"):
        text = files[f"{name}.yaml"]
        assert text.startswith(f"# yaml-language-server: $schema=schema/{name}.json\n")
        node = parse_yaml(text.encode(), Problems(name))
        assert node is not None
        schema = jsonschema.Draft202012Validator(json.loads(files[f"schema/{name}.json"]))
        assert schema.is_valid(plain(node, Problems(name)))


@pytest.mark.parametrize("example", [None, *scaffold.EXAMPLES])
def test_a_new_project_heeds_the_advice_that_reports_give(
    example: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in scaffold.files(example).items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text)
    project = load(Path("oloproof.yaml"))
    assert project.policy is not None
    assert project.interval.method == project.policy.interval_method
    measured = Measured(cases=12, metrics=tuple(Rate(rule.metric, Tally(12)) for rule in project.policy.rules))
    decisions = gates.decide(measured, project.policy)
    assert {decision.state for decision in decisions} == {"PASS"}
    assert gates.warnings(measured, project.policy, decisions) == ()


@pytest.mark.parametrize(("floor", "state"), [("0.73", "PASS"), ("0.74", "INSUFFICIENT_EVIDENCE")])
def test_what_the_comment_says_of_twelve_cases_is_true(
    floor: str, state: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in scaffold.files(None).items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text.replace("min: 0.70", f"min: {floor}"))
    policy = load(Path("oloproof.yaml")).policy
    assert policy is not None
    measured = Measured(cases=12, metrics=tuple(Rate(rule.metric, Tally(12)) for rule in policy.rules))
    assert gates.decide(measured, policy)[0].state == state
    assert "all pass support a floor of 0.73;" in scaffold.files(None)["release.yaml"]
