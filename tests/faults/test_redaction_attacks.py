"""Where a secret could get past `redact:`: beside the attempts, and cut in two before it is looked for."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from fakes.projects import case, oloproof, project, spawned, write_lines
from fakes.secrets import IN_CODE, SECRET, parts, stored

STEPS = {"type": "agent_max_steps", "criterion": "steps", "max_steps": 9}
SYSTEM = """
from oloproof import AgentStep, Verdict, current_case, system

@system(version="1", records=("agent_trajectory/v1",))
def run(request):
    with current_case().trace() as trace:
        trace.final("done")
    return {"answer": "done"}
"""


def home(directory: Path, app: str = SYSTEM, **given: Any) -> Path:
    given = {"cases": [case("c1", 1)], "evaluators": [STEPS], "rules": None, "policy": "none", "redact": {}} | given
    return project(directory, app=IN_CODE + app, **given)


def surfaces(directory: Path) -> list[str]:
    texts = [stored(directory)]
    for words in (["inspect", "--json"], ["inspect", "--case", "c1", "--json"], ["inspect", "--log"], ["runs"]):
        ended = oloproof(directory, *words)
        texts.append(ended.out + ended.err)
    return texts


@pytest.mark.parametrize(
    "body",
    [
        "return Verdict(True, found={'who': [S]})",
        "return Verdict(False, S, expected={S: 1})",
        "raise ValueError('.' * (2000 - len('ValueError: ') - 10) + S)",
        "raise ValueError('\\n'.join(['.' * 3970, S, '.' * 99_000]))",
        "raise ValueError('\\n'.join(['.' * 99_000, S, '.' * 11_990]))",
        "print('.' * (65536 - 10) + S); return True",
        "print('.' * 65536, S, '.' * 99_000); return True",
    ],
)
def test_what_a_function_says_and_prints_tells_no_secret(tmp_path: Path, body: str) -> None:
    app = f"{SYSTEM}\ndef judge(case, output):\n    {body}\n"
    home(tmp_path, app, evaluators=[{"type": "app:judge", "criterion": "mine"}])

    run = oloproof(tmp_path, "run")

    assert run.code == 0
    assert parts(run.out, run.err, *surfaces(tmp_path)) == []


LOADS = """
import os

FAIL = "raise ValueError('.' * (2000 - len('ValueError: ') - 10) + S)"
WHERE = {where!r}
if WHERE == "import":
    exec(FAIL)
if WHERE == "death":
    print("." * 100 + S + "." * 1990)
    os._exit(3)


class Agent:
    def __init__(self):
        if WHERE == "init":
            exec(FAIL)

    def setup(self):
        if WHERE == "setup":
            exec(FAIL)

    def teardown(self):
        if WHERE == "teardown":
            exec(FAIL)

    def run(self, asked):
        return asked
"""


@pytest.mark.parametrize("isolation", ["worker", "process"])
@pytest.mark.parametrize("where", ["import", "death", "init", "setup", "teardown"])
def test_a_system_that_fails_beside_its_cases_tells_no_secret(tmp_path: Path, where: str, isolation: str) -> None:
    contains = {"type": "contains", "criterion": "c", "value": "x"}
    system = {"callable": "app:Agent", "isolation": isolation}
    home(tmp_path, LOADS.format(where=where), system=system, evaluators=[contains])

    run = spawned(tmp_path, "run", "--json")

    assert run.code == (0 if where == "teardown" else 5)
    assert "[redacted:email:1]" in run.out
    assert parts(run.out, run.err, *surfaces(tmp_path)) == []


def test_the_words_of_a_refused_record_are_not_cut_in_two(tmp_path: Path) -> None:
    app = SYSTEM.replace('trace.final("done")', "AgentStep(index=1, kind='final', tokens='.' * 17 + S)")
    home(tmp_path, app)

    assert parts(oloproof(tmp_path, "run").out, *surfaces(tmp_path)) == []


@pytest.mark.parametrize("told", [f"{'y' * 20}{SECRET}", f"{SECRET} 1"])
def test_what_a_tag_says_is_not_cut_in_two(tmp_path: Path, told: str) -> None:
    steps = [{"index": 1, "kind": "final", "arguments": {"$unrepresentable": told}}]
    answer = json.dumps({"output": 1, "trajectory": {"steps": steps}})
    script = f"import sys; sys.stdin.read(); print({answer!r})"
    system = {"command": [sys.executable, "-c", script], "records": ["agent_trajectory/v1"]}
    home(tmp_path, system=system)

    oloproof(tmp_path, "run")

    assert parts(stored(tmp_path)) == []


ROW: dict[str, Any] = {"id": "c1", "input": 1}


@pytest.mark.parametrize("command", ["run", "check", "plan"])
@pytest.mark.parametrize(
    "rows",
    [[ROW | {"id": SECRET}] * 2, [ROW | {SECRET: 1}], [ROW | {"id": SECRET}], [ROW | {"expected": {SECRET: 1}}]],
    ids=["twice", "key", "id", "unread"],
)
def test_what_is_wrong_with_a_dataset_is_told_without_the_secret(
    tmp_path: Path, command: str, rows: list[dict[str, Any]]
) -> None:
    ended = oloproof(home(tmp_path, cases=rows), command)

    assert parts(ended.out, ended.err) == []


@pytest.mark.parametrize(
    "row",
    [
        {"case": "c1", "output": 1, SECRET: 1},
        {"case": SECRET, "output": 1},
        {"case": "c1", "output": 1, "trajectory": {"steps": [{"index": 1, "kind": SECRET}]}},
    ],
    ids=["key", "case", "kind"],
)
def test_what_is_wrong_with_a_recording_is_told_without_the_secret(tmp_path: Path, row: dict[str, Any]) -> None:
    write_lines(tmp_path / "t.jsonl", [row])

    ended = oloproof(home(tmp_path, system={"recorded": "t.jsonl"}), "run")

    assert ended.code == 2
    assert parts(ended.out, ended.err, stored(tmp_path)) == []


@pytest.mark.parametrize(("value", "redact"), [(SECRET, {}), ("078-05-1120", {"fields": ["metadata.who"]})])
def test_cases_are_not_chosen_by_a_secret(tmp_path: Path, value: str, redact: dict[str, Any]) -> None:
    home(tmp_path, cases=[ROW | {"metadata": {"who": value}}], redact=redact)

    ended = oloproof(tmp_path, "run", "--slice", f"metadata.who={value}")

    assert (ended.code, "OLO422" in ended.err) == (2, True)
    assert value not in ended.out + ended.err + stored(tmp_path)


def test_values_that_could_have_been_chosen_are_told_without_secrets(tmp_path: Path) -> None:
    home(tmp_path, cases=[ROW | {"metadata": {"who": SECRET}}])

    ended = oloproof(tmp_path, "run", "--slice", "metadata.who=nobody")

    assert ended.code == 2
    assert parts(ended.err) == []


@pytest.mark.parametrize("what", ["name", "version"])
def test_a_system_is_not_called_by_a_secret(tmp_path: Path, what: str) -> None:
    app = SYSTEM.replace('version="1", ', f"{what}=S, ")

    ended = oloproof(home(tmp_path, app), "run")

    assert (ended.code, "OLO422" in ended.err) == (2, True)
    assert parts(ended.out, ended.err, stored(tmp_path)) == []


def test_a_run_does_not_go_on_under_other_rules(tmp_path: Path) -> None:
    app = SYSTEM.replace('{"answer": "done"}', "S")
    cases = [case("c1", 1), case("c2", 1)]
    home(tmp_path, app, cases=cases, redact={"built_in": ["card"]})
    oloproof(tmp_path, "run", "--max-wall-s", "0.000001")
    home(tmp_path, app, cases=cases)

    ended = oloproof(tmp_path, "run", "--resume", "latest", "--resume-changed")

    assert (ended.code, "OLO416" in ended.err) == (2, True)
    assert "redact" in ended.err
