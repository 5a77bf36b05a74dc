"""Questions whose cost is up to the output are judged apart, under the time-out: patterns with ``engine: python``, and
JSON Schemas."""

from __future__ import annotations

from pathlib import Path

import pytest

from fakes.projects import answered, oloproof, project, spawned
from oloproof.runner import supervisor

DOUBLED = {"type": "regex", "criterion": "shape", "field": "answer", "pattern": r"^(\w)\1(?!x)", "engine": "python"}


def test_lookaround_and_back_references_match(tmp_path: Path) -> None:
    project(tmp_path, cases=answered("aab", "abb", "aax", 7), evaluators=[DOUBLED], rules=None)
    done = spawned(tmp_path, "run", "--json", "--no-gate")
    assert (done.code, done.verdict("shape")) == (0, (1, 3, 0, 0))


def test_a_pattern_that_takes_for_ever_is_missing_and_the_other_cases_are_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "GRACE_S", 0.5)
    project(
        tmp_path,
        cases=answered("a" * 60 + "b", "a"),
        evaluators=[DOUBLED | {"pattern": "^(a+)+$"}],
        rules=[{"id": "all", "metric": "shape", "kind": "observed_count", "max_failures": 0}],
        system={"callable": "app:run", "timeout_s": 1},
    )
    done = oloproof(tmp_path, "run", "--json")
    assert (done.code, done.verdict("shape")) == (3, (1, 0, 1, 0))


def test_a_pattern_that_python_refuses_is_a_problem(tmp_path: Path) -> None:
    project(tmp_path, evaluators=[DOUBLED | {"pattern": "("}])
    done = oloproof(tmp_path, "check")
    assert done.code == 2
    assert "Python cannot compile '('" in done.err


def test_a_schema_that_takes_for_ever_is_missing_and_the_other_cases_are_judged(tmp_path: Path) -> None:
    deep: list[object] = []
    for _ in range(24):
        deep = [deep]
    branching = {"anyOf": [{"items": {"$ref": "#/$defs/tree"}, "minItems": 1}] * 3}
    schema = {"$defs": {"tree": branching}, "properties": {"answer": {"$ref": "#/$defs/tree"}}}
    project(
        tmp_path,
        cases=answered(deep, "text"),
        evaluators=[{"type": "json_schema", "schema": schema}],
        rules=None,
        system={"callable": "app:run", "timeout_s": 1},
    )
    done = spawned(tmp_path, "run", "--json", "--no-gate")
    assert (done.code, done.verdict("json_schema")) == (0, (1, 0, 1, 0))


def test_a_library_that_the_system_left_in_the_project_judges_nothing(tmp_path: Path) -> None:
    """A schema is checked by the library that is installed, whatever file of its name the agent has written."""
    forged = (
        "class Validator:\n    def __init__(self, *a, **k): pass\n    def iter_errors(self, output): return iter(())\n"
    )
    forging = f"""
from pathlib import Path
from oloproof import system

@system()
def run(case):
    for name in ("jsonschema", "referencing", "rpds", "attrs", "attr"):
        Path(__file__).with_name(name + ".py").write_text({forged!r})
    return {{"answer": "no number"}}
"""
    schema = {"type": "json_schema", "criterion": "shape", "schema": {"type": "object", "required": ["number"]}}
    project(tmp_path, app=forging, evaluators=[schema], rules=None)
    for _ in range(2):  # the second time the files are there from the start
        done = spawned(tmp_path, "run", "--json", "--no-gate")
        assert (done.code, done.verdict("shape")) == (0, (0, 3, 0, 0)), done.err
