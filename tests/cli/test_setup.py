"""``init``, ``check``, ``schema`` and ``import``: on the way to a first run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from fakes.projects import NONE_WRONG, RIGHT, answered, oloproof, project, spawned

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("options", [[], ["--example", "team"]], ids=["one-agent", "team"])
def test_what_init_writes_runs_and_gates(tmp_path: Path, options: list[str]) -> None:
    done = oloproof(tmp_path, "init", "checks", *options)
    assert done.code == 0
    assert "next: cd checks && oloproof run" in done.lines
    assert oloproof(tmp_path / "checks", "check").code == 0
    done = spawned(tmp_path / "checks", "run")
    assert done.code == 0
    assert "ALLOW (exit 0)" in done.lines


def test_what_init_writes_is_told_as_a_document_too(tmp_path: Path) -> None:
    document = oloproof(tmp_path, "init", "checks", "--json").json
    assert (document["format"], document["run"]) == ("oloproof.written/v1", None)
    written = {str(path.relative_to(tmp_path)) for path in (tmp_path / "checks").rglob("*") if path.is_file()}
    assert set(document["files"]) == written


def test_init_overwrites_nothing(tmp_path: Path) -> None:
    (tmp_path / "release.yaml").write_text("mine\n")
    done = oloproof(tmp_path, "init")
    assert done.code == 2
    assert "release.yaml: already exists, and init overwrites nothing [OLO602]" in done.lines
    assert [path.name for path in tmp_path.iterdir()] == ["release.yaml"]
    assert (tmp_path / "release.yaml").read_text() == "mine\n"


def test_check_says_what_each_rule_could_decide_and_runs_nothing(tmp_path: Path) -> None:
    floor = {"id": "floor", "metric": "right", "min": 0.7}
    cases = answered(*["yes"] * 12)
    directory = project(tmp_path, app="raise RuntimeError", cases=cases, rules=[floor, NONE_WRONG])
    done = oloproof(directory, "check")
    assert done.code == 0
    told = "small: 12 cases, 1 criterion, 0 quantiles: no problems, 1 warning; the system was not loaded"
    assert told in done.lines
    assert any(line.startswith("floor: PASS from 12 passes of 12") for line in done.lines)
    assert "none-wrong: PASS when at most 0 of 12 cases fail or are missing, FAIL when more fail" in done.lines
    document = oloproof(directory, "check", "--json").json
    assert [(each["rule"], each["cases"]) for each in document["rules"]] == [("floor", 12), ("none-wrong", 12)]
    assert not (directory / ".oloproof").exists()


@pytest.mark.parametrize(
    ("config", "line"), [({}, "not gated: there is no policy"), ({"policy": "none"}, "not gated: policy: none")]
)
def test_check_says_that_there_is_no_gate(tmp_path: Path, config: dict[str, Any], line: str) -> None:
    assert line in oloproof(project(tmp_path, rules=None, **config), "check").lines


@pytest.mark.parametrize("which", ["oloproof", "release"])
def test_schema_is_a_json_schema_that_accepts_the_examples(tmp_path: Path, which: str) -> None:
    schema = oloproof(tmp_path, "schema", which).json
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    for example in ("support_agent", "triage_agents"):
        jsonschema.validate(yaml.safe_load((EXAMPLES / example / f"{which}.yaml").read_text()), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"version": 1, "rulez": []}, schema)


def test_every_command_has_help_with_an_example(tmp_path: Path) -> None:
    for command in ("init", "check", "run", "judge", "gate", "inspect", "runs", "import", "schema"):
        done = oloproof(tmp_path, command, "--help")
        assert done.code == 0
        assert f"  oloproof {command}" in done.out
    assert oloproof(tmp_path, "--help").code == 0
    assert oloproof(tmp_path, "--version").out.startswith("oloproof ")


def test_confidence_below_what_is_usual_is_told(tmp_path: Path) -> None:
    policy = {"confidence_level": 0.8, "rules": [NONE_WRONG]}
    done = oloproof(project(tmp_path, evaluators=[RIGHT], rules=None, policy=policy), "check")
    assert "warning: confidence_level 0.8 is below 0.9: rules settle on weak evidence" in done.lines
