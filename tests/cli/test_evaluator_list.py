"""``oloproof evaluators``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from fakes.projects import oloproof, project
from oloproof.evaluators import EVALUATORS
from oloproof.evaluators.examples import EXAMPLES


def test_all_are_listed_with_what_they_ask_and_an_example(tmp_path: Path) -> None:
    lines = oloproof(tmp_path, "evaluators").lines
    assert [line.partition(":")[0] for line in lines[::2]] == list(EVALUATORS)
    assert lines[1::2] == [f"- {example}" for example in EXAMPLES.values()]


def test_one_is_shown_with_its_keys(tmp_path: Path) -> None:
    lines = oloproof(tmp_path, "evaluators", "agent_tool_called").lines
    assert "tool_name (required): The tool." in lines
    assert "min_calls (default 1): How often it must be called." in lines
    assert "example, counted as agent_tool_lookup_order_called:" in lines


def test_the_document_has_every_key(tmp_path: Path) -> None:
    listed = oloproof(tmp_path, "evaluators", "--json").json
    assert listed["format"] == "oloproof.evaluators/v1"
    for entry in listed["evaluators"]:
        keys = {key["key"] for key in entry["keys"]}
        assert keys == set(EVALUATORS[entry["type"]].__struct_fields__)
        assert all(key["about"] for key in entry["keys"])


def test_an_unknown_name_is_told(tmp_path: Path) -> None:
    done = oloproof(tmp_path, "evaluators", "agent_tool_error")
    assert done.code == 2
    assert "there is no evaluator 'agent_tool_error' [OLO684]" in done.err
    assert "did you mean 'agent_tool_errors'?" in done.err


@pytest.mark.parametrize("name", list(EVALUATORS))
def test_each_example_runs(tmp_path: Path, name: str) -> None:
    row = {
        "id": "c1",
        "input": {"secret": "sk-canary"},
        "expected": {
            "answer": "Yes",
            "amount": 1,
            "tools": ["search"],
            "route": ["triage"],
            "state": {"orders": {"o1": 1}},
        },
    }
    directory = project(tmp_path, evaluators=[yaml.safe_load(EXAMPLES[name])], cases=[row], rules=None, policy="none")
    done = oloproof(directory, "check", "--json")
    assert done.code == 0, done.err
    assert len(done.json["criteria"]) == 1


def test_the_examples_run_all_together(tmp_path: Path) -> None:
    row = {"id": "c1", "input": {"secret": "sk-canary"}, "expected": {"answer": "Yes", "amount": 1}}
    evaluators = [yaml.safe_load(example) for example in EXAMPLES.values()]
    app = "def run(case):\n    return {'answer': 'Yes', 'amount': 1}\n"
    records = {"callable": "app:run", "records": ["agent_trajectory/v1"]}
    directory = project(
        tmp_path, app=app, evaluators=evaluators, cases=[row], rules=None, policy="none", system=records
    )
    done = oloproof(directory, "run", "--json")
    assert done.code == 0, done.err
    assert [metric["missing"] + metric["excluded"] for metric in done.json["metrics"][:5]] == [0] * 5


PROBE = """
import sys
from oloproof.cli import main

def heard(event, arguments):
    if event == "open" and "entry_points.txt" in str(arguments[0]):
        raise SystemExit("installed packages are looked through")

sys.addaudithook(heard)
sys.argv[1:] = ["check"]
main()
"""


def test_no_package_is_asked_where_only_evaluators_of_ours_are_named(tmp_path: Path) -> None:
    directory = project(tmp_path)
    (directory / "probe.py").write_text(PROBE)
    command = [sys.executable, "probe.py"]
    done = subprocess.run(command, cwd=directory, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    project(tmp_path, evaluators=[{"type": "unheard_of"}])
    done = subprocess.run(command, cwd=directory, check=False, capture_output=True, text=True)
    assert "installed packages are looked through" in done.stderr


def test_the_reference_shows_the_examples() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/evaluators.md").read_text(encoding="utf-8")
    assert "```yaml\nevaluators:\n" + "".join(f"  - {example}\n" for example in EXAMPLES.values()) + "```\n" in page
