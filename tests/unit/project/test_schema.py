"""The schemas accept what the loader accepts and refuse what a schema can refuse."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from oloproof.errors import UsageError
from oloproof.evaluators import EVALUATORS
from oloproof.project import json_schema, load, read_cases
from oloproof.project.nodes import plain
from oloproof.project.problems import Problems
from oloproof.project.spec import ConfigFile, PolicyFile, Row
from oloproof.project.yaml_nodes import parse_yaml

ROOT = Path(__file__).parents[3]


def document(text: str) -> Any:
    problems = Problems("f")
    node = parse_yaml(text.encode(), problems)
    assert node is not None
    return plain(node, problems)


def accepts(which: str, text: str) -> bool:
    return validator(which).is_valid(document(text))


@cache
def validator(which: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json_schema(which))


@pytest.mark.parametrize("which", ["oloproof", "release", "dataset"])
def test_it_is_a_schema(which: str) -> None:
    jsonschema.Draft202012Validator.check_schema(json_schema(which))
    assert not re.search(r'"type": ?"null"', msgspec.json.encode(json_schema(which)).decode())


def test_the_example_and_the_examples_are_valid() -> None:
    assert accepts("oloproof", (ROOT / "oloproof.yaml.example").read_text())
    for file in ROOT.glob("examples/*/oloproof.yaml"):
        assert accepts("oloproof", file.read_text())
    for file in ROOT.glob("examples/*/release.yaml"):
        assert accepts("release", file.read_text())
    for file in ROOT.glob("examples/*/data/*.jsonl"):
        assert all(validator("dataset").is_valid(json.loads(line)) for line in file.read_text().splitlines())


def test_the_example_shows_every_key_and_every_evaluator() -> None:
    text = (ROOT / "oloproof.yaml.example").read_text()
    schema = json_schema("oloproof")
    system = ("SystemSection", "RetrySection", "BackoffSection")
    sections = (*system, "IntervalSection", "QuantileEntry", "PolicySection", "IntervalThresholdEntry")
    keys = set(schema["properties"]).union(*(schema["$defs"][section]["properties"] for section in sections))
    for cls in EVALUATORS.values():
        keys |= set(schema["$defs"][cls.__name__]["properties"])
    assert [key for key in sorted(keys) if not re.search(rf"\b{key}\b", text)] == []
    assert [name for name in EVALUATORS if f"type: {name}" not in text] == []


def test_every_key_of_the_files_is_described() -> None:
    for which, cls in (("oloproof", ConfigFile), ("release", PolicyFile), ("dataset", Row)):
        schema = json_schema(which)
        assert set(schema["properties"]) == set(cls.__struct_fields__)
        for name, part in schema["properties"].items():
            described = part if "description" in part else schema["$defs"][part["$ref"].rpartition("/")[2]]
            assert described["description"], name


VALID = """version: 1
project: p
dataset: d.jsonl
system: {callable: "app:run"}
evaluators:
  - {type: contains, criterion: right, value: x}
  - {type: "checks:polite", only: metadata.a == b}
"""


@pytest.mark.parametrize(
    "text",
    [
        VALID,
        VALID + "policy: none\n",
        VALID + "policy: {rules: [{id: a, metric: right, min: 0.5}]}\n",
        VALID + "policy: {rules: [{id: a, metric: right, kind: observed_count, max_failures: 0}]}\n",
        VALID + 'slices: [metadata.a.b, route, "tool_calls:2"]\n',
        VALID.replace("dataset: d.jsonl\n", "cases: 3\n").replace(
            'callable: "app:run"', "recorded: [a.jsonl, b.jsonl]"
        ),
    ],
)
def test_what_the_loader_accepts(text: str) -> None:
    assert accepts("oloproof", text)


@pytest.mark.parametrize(
    "text",
    [
        VALID.replace("version: 1", 'version: "1"'),
        VALID.replace("version: 1", "version: 2"),
        VALID.replace("project: p\n", ""),
        VALID.replace("project: p", "project:"),
        VALID.replace("type: contains", "type: contain"),
        VALID.replace("criterion: right", "criterium: right"),
        VALID.replace("checks:polite", "a b:c"),
        VALID.replace("app:run", "app.run"),
        VALID.replace('callable: "app:run"', 'callable: "app:run", recorded: x'),
        VALID.replace('callable: "app:run"', "name: x"),
        VALID + "min_slice_support: 0\n",
        VALID + "interval: {method: wilsn}\n",
        VALID + "slices: [first_tol]\n",
        VALID + "metrics: [{id: m, type: quantile, source: tokens, quantile: 1}]\n",
        VALID + "policy: {rules: []}\n",
        VALID + "policy: {rules: [{id: a, metric: right}]}\n",
        VALID + "policy: {rules: [{id: a, metric: right, kind: other, min: 0.5}]}\n",
        VALID + "policy: {rules: [{id: a, metric: right, max_failures: 0}]}\n",
        VALID + "policy: {block_on: [MANUAL_REVIEW], rules: [{id: a, metric: right, min: 0.5}]}\n",
    ],
)
def test_what_the_loader_refuses_for_its_shape(text: str) -> None:
    assert not accepts("oloproof", text)


REFERENCES = (
    {"tools": []},
    {"tools": ["a", {"tool": "b"}, {"parallel": ["c", {"tool": "d", "arguments": {"q": 1}}]}]},
    {"any_of": [[], ["a"]], "route": ["p"], "answer": "x"},
    *(
        {"tools": [{"tool": "a", "arguments": {"q": value, "r.s": None}}]}
        for value in (
            {"any": True},
            {"absent": True},
            {"regex": "x"},
            {"approx": 1, "tolerance": 0},
            {"one_of": [1, {"absent": True}]},
            {"schema": {"type": "integer"}},
            {"equals": {"regex": 1}},
            {"tolerance": 1},
            [{"a": 1}],
        )
    ),
)
NO_REFERENCES = (
    {"tools": "a"},
    {"tools": [""]},
    {"tools": [["a"]]},
    {"tools": [{"arguments": {}}]},
    {"tools": [{"tool": "a", "argument": {}}]},
    {"tools": [{"tool": "a", "arguments": []}]},
    {"tools": [{"parallel": []}]},
    {"tools": [{"parallel": [{"parallel": ["a"]}]}]},
    {"any_of": []},
    {"tools": [], "any_of": [[]]},
    {"route": []},
    *(
        {"tools": [{"tool": "a", "arguments": {"q": value}}]}
        for value in (
            "any",
            {"any": False},
            {"regex": "x", "flags": "i"},
            {"approx": 1},
            {"approx": 1, "tolerance": -1},
            {"one_of": []},
            {"schema": "x"},
        )
    ),
)


@pytest.mark.parametrize("expected", [*REFERENCES, *NO_REFERENCES], ids=json.dumps)
def test_what_a_case_may_declare(expected: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_text(json.dumps({"id": "a", "expected": expected}))
    evaluators = "[{type: agent_tool_sequence}, {type: agent_route}]"
    (tmp_path / "oloproof.yaml").write_text(VALID[: VALID.index("evaluators:")] + f"evaluators: {evaluators}\n")
    try:
        read_cases(load(tmp_path / "oloproof.yaml"))
        loads = True
    except UsageError:
        loads = False
    assert loads == (expected in REFERENCES)
    assert accepts("dataset", json.dumps({"id": "a", "expected": expected})) == loads


@pytest.mark.parametrize(("value", "valid"), [("{regex: x}", True), ("any", False), ("{one_of: []}", False)])
def test_arguments_of_an_evaluator(value: str, valid: bool) -> None:
    text = VALID + f"  - {{type: agent_tool_called, tool_name: a, arguments: {{q: {value}}}}}\n"
    assert accepts("oloproof", text) == valid
