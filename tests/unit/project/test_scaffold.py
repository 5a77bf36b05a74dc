"""What ``init`` writes is a sound project."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

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
