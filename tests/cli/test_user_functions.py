"""Evaluators of the user's, and systems that would rather judge themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from fakes.projects import NONE_WRONG, answered, case, oloproof, project, spawned

MINE = {"type": "judges:mine"}
RULE = NONE_WRONG | {"metric": "mine"}


def judged_by(directory: Path, judges: str, **keys: object) -> Path:
    """A project whose only criterion is the function ``mine``."""
    project(directory, evaluators=[MINE], rules=[RULE], **keys)  # type: ignore[arg-type]
    (directory / "judges.py").write_text(
        f"import os, sys, threading\nfrom oloproof import Verdict, evaluator\n{judges}"
    )
    return directory


def test_a_function_judges(tmp_path: Path) -> None:
    judges = "def mine(output, expected):\n    return output['answer'] == expected['answer']\n"
    assert spawned(judged_by(tmp_path / "right", judges), "run").code == 0
    done = spawned(judged_by(tmp_path / "wrong", judges, cases=answered("yes", "no")), "run")
    assert done.code == 1
    assert "BLOCK (exit 1): none-wrong FAIL" in done.lines


@pytest.mark.parametrize("order", [("tidy", "mine"), ("mine", "tidy")], ids="-".join)
def test_what_a_function_does_to_what_it_is_given_no_other_sees(tmp_path: Path, order: tuple[str, str]) -> None:
    judges = (
        "def tidy(output, expected, trajectory):\n"
        "    wanted = expected.pop('answer')\n"
        "    trajectory.steps[0].arguments.clear()\n"
        "    return bool(output.pop('answer') and wanted)\n"
        "def mine(output, expected, trajectory):\n"
        "    return output.get('answer') == expected.get('answer') and trajectory.steps[0].arguments == {'n': 1}\n"
    )
    app = (
        "from oloproof import current_case, system\n"
        "@system(records=['agent_trajectory/v1'])\n"
        "def run(case):\n"
        "    with current_case().trace() as trace:\n"
        "        trace.tool_call('look', {'n': 1})\n"
        "    return {'answer': case}\n"
    )
    asked = [{"type": f"judges:{name}"} for name in order]
    directory = project(tmp_path, app=app, evaluators=asked, rules=[RULE], cases=answered("yes", "no", "yes"))
    (directory / "judges.py").write_text(judges)
    done = oloproof(directory, "run", "--json")
    assert done.code == 1
    assert (done.verdict("mine"), done.verdict("tidy")) == ((2, 1, 0, 0), (3, 0, 0, 0))


@pytest.mark.parametrize(
    "body",
    [
        "raise RuntimeError('boom')",
        "raise KeyboardInterrupt",
        "return 1",
        "return 'yes'",
        "return None",
        "return Verdict(passed=1)",
        "return Verdict(True, steps='all')",
        "sys.exit(0)",
        "os._exit(0)",
        "return mine(output)",
        "os.close(1); os.close(2); return 0",
    ],
)
def test_a_function_that_gives_no_verdict_is_missing_and_passes_nothing(tmp_path: Path, body: str) -> None:
    directory = judged_by(tmp_path, f"def mine(output):\n    {body}\n")
    done = oloproof(directory, "run", "--json")
    assert done.code == 3
    assert done.verdict("mine") == (0, 0, 3, 0)
    (judged,) = oloproof(directory, "inspect", "--case", "c2", "--json").json["judgments"]
    assert (judged["verdict"], judged["reason"]) == ("missing", "evaluator_error")


def test_the_other_cases_are_judged(tmp_path: Path) -> None:
    judges = "def mine(output):\n    if output['answer'] == 'end':\n        os._exit(0)\n    return True\n"
    directory = judged_by(tmp_path, judges, cases=answered("yes", "end", "yes", "yes"))
    done = oloproof(directory, "run", "--json")
    assert done.code == 3
    assert done.verdict("mine") == (3, 0, 1, 0)


def test_a_crash_of_the_system_is_missing_with_its_cause(tmp_path: Path) -> None:
    app = "def run(case):\n    raise RuntimeError\n"
    directory = judged_by(tmp_path, "def mine():\n    return True\n", app=app)
    assert oloproof(directory, "run").code == 3
    (judged,) = oloproof(directory, "inspect", "--case", "c1", "--json").json["judgments"]
    assert (judged["verdict"], judged["reason"]) == ("missing", "system_error")


def test_a_system_cannot_tamper_with_the_functions_that_judge_it(tmp_path: Path) -> None:
    app = """
import judges, oloproof
from oloproof.evaluators.text import Contains

judges.mine = lambda output: True
oloproof.Verdict = lambda *a, **k: True
Contains.judge = lambda *a: "pass"

def run(case):
    judges.mine = lambda output: True
    return {"answer": case}
"""
    judges = "def mine(output):\n    return Verdict(output['answer'] == 'yes')\n"
    directory = judged_by(tmp_path, judges, app=app, cases=answered("yes", "no"))
    done = oloproof(directory, "run", "--json")
    assert done.code == 1
    assert done.verdict("mine") == (1, 1, 0, 0)


def test_a_system_does_not_see_what_is_expected_of_it(tmp_path: Path) -> None:
    app = """
from oloproof import current_case

def run(case):
    known = {name: getattr(current_case(), name) for name in ("id", "input", "metadata", "seed", "trial")}
    return {"answer": repr(known) + repr(vars(current_case()) if hasattr(current_case(), "__dict__") else "")}
"""
    directory = judged_by(tmp_path, "def mine(output):\n    return 'secret' not in output['answer']\n", app=app)
    (directory / "cases.jsonl").write_text('{"id": "c1", "input": 1, "expected": {"answer": "secret"}}\n')
    assert oloproof(directory, "run").code == 0


def test_functions_see_what_is_recorded(tmp_path: Path) -> None:
    app = """
from oloproof import *

@system(records=("agent_trajectory/v1",))
def run(case):
    with current_case().trace() as trace:
        trace.tool_call("look", {"order": case})
    return {"answer": case}
"""
    judges = """
@evaluator(criterion="mine")
def mine(case, output, trajectory, expected):
    step = trajectory.steps[0]
    if step.arguments == {"order": case.input} and expected["order"] == output["answer"]:
        return True
    return Verdict(False, reason="wrong order", steps=(step.index,), expected=expected["order"], found=case.input)
"""
    cases = [case("c1", 7, order=7), case("c2", 8, order=9)]
    directory = judged_by(tmp_path, judges, app=app, cases=cases)
    assert oloproof(directory, "run").code == 1
    (judged,) = oloproof(directory, "inspect", "--case", "c2", "--json").json["judgments"]
    assert judged["reason"] == "wrong order"
    assert (judged["steps"], judged["expected"], judged["found"]) == ([1], 9, 8)
