"""Attempts of earlier runs are taken over, which is told; they are judged anew, and none counts twice."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from fakes.projects import RIGHT, Done, answered, case, oloproof, project, spawned, write_lines
from oloproof.model.run import RunStatus
from oloproof.store import Store

APP = """
import os
from oloproof import current_case, system

@system(name="agent", version=os.environ.get("AGENT_VERSION", "1"), records=["agent_trajectory/v1"])
def run(case):
    current = current_case()
    with open("ran", "a") as file:
        print(current.id, current.trial, file=file)
    with current.trace(step_limit=1 if case == "cut" else None) as trace:
        if not os.path.exists("blind"):
            trace.tool_call("look", {"run": len(os.listdir(".oloproof"))})
        if case == "cut":
            trace.finish(truncated=True)
    if case == "fails" and not os.path.exists("mended"):
        raise ValueError("broken")
    return {"answer": case}
"""


def suite(directory: Path, *answers: str, **config: Any) -> Path:
    return project(directory, app=APP, cases=answered(*answers), rules=None, policy="none", **config)


def ran(directory: Path) -> list[str]:
    path = directory / "ran"
    lines = path.read_text().splitlines() if path.exists() else []
    path.unlink(missing_ok=True)
    return lines


def reused(done: Done) -> list[int]:
    return [each["attempts"] for each in done.json["run"].get("reused", [])]


def ids(directory: Path) -> list[str]:
    """Of all runs, the newest first."""
    return [run["id"] for run in oloproof(directory, "runs", "--json").json["runs"]]


def test_what_was_done_is_taken_over_and_told_everywhere(tmp_path: Path) -> None:
    suite(tmp_path, "yes", "no", "yes")
    before = oloproof(tmp_path, "run", "--json")
    assert ran(tmp_path) == ["c1 1", "c2 1", "c3 1"]
    write_lines(tmp_path / "cases.jsonl", answered("yes", "no", "yes", "yes"))
    done = oloproof(tmp_path, "run", "--reuse", "--json")
    assert ran(tmp_path) == ["c4 1"]
    assert (before.verdict("right"), done.verdict("right")) == ((2, 1, 0, 0), (3, 1, 0, 0))
    source = before.json["run"]["id"]
    assert done.json["run"]["reused"] == [{"run": source, "attempts": 3}]
    told = f"3 of 4 attempts taken over from run {source}"
    assert told in done.json["warnings"]
    assert told in done.err
    assert told in oloproof(tmp_path, "inspect", "latest").out
    shown = oloproof(tmp_path, "inspect", "latest", "--case", "c1")
    assert f"run {source}, which made this attempt" in shown.out
    case = oloproof(tmp_path, "inspect", "latest", "--case", "c1", "--json").json
    assert (case["taken_from"], case["output"]) == (source, {"answer": "yes"})
    assert "taken_from" not in oloproof(tmp_path, "inspect", "latest", "--case", "c4", "--json").json


def test_events_tell_what_is_taken_over(tmp_path: Path) -> None:
    suite(tmp_path, "yes")
    oloproof(tmp_path, "run")
    write_lines(tmp_path / "cases.jsonl", answered("yes", "yes"))
    (source,) = ids(tmp_path)
    events = [json.loads(line) for line in spawned(tmp_path, "run", "--reuse", "--json-events").out.splitlines()]
    told = [event["taken_from"] for event in events if event["event"] == "case_finished"]
    assert told == [source, None]
    assert sorted(event["case"] for event in events if event["event"] == "case_started") == ["c1", "c2"]


def test_without_the_option_everything_is_run(tmp_path: Path) -> None:
    suite(tmp_path, "yes", "yes")
    oloproof(tmp_path, "run")
    done = oloproof(tmp_path, "run", "--json")
    assert len(ran(tmp_path)) == 4
    assert reused(done) == []


def test_trials_are_real_trials_and_none_counts_twice(tmp_path: Path) -> None:
    suite(tmp_path, "yes", "no")
    oloproof(tmp_path, "run")
    ran(tmp_path)
    done = oloproof(tmp_path, "run", "--reuse", "--trials", "3", "--json")
    assert ran(tmp_path) == ["c1 2", "c1 3", "c2 2", "c2 3"]
    assert reused(done) == [2]
    done = oloproof(tmp_path, "run", "--reuse", "--trials", "3", "--json")
    assert ran(tmp_path) == []
    first, second = ids(tmp_path)[2], ids(tmp_path)[1]
    assert done.json["run"]["reused"] == [{"run": second, "attempts": 4}, {"run": first, "attempts": 2}]


@pytest.mark.parametrize(
    "change",
    [
        lambda cases: cases[0].update(input="other"),
        lambda cases: cases[0].update(metadata={"surface": "chat"}),
        lambda cases: cases[0].update(id="c9"),
        lambda cases: cases[0].update(input=1),
    ],
)
def test_a_case_that_asks_something_else_is_run(tmp_path: Path, change: Any) -> None:
    cases: list[Any] = [dict(case) for case in answered("yes", "yes")]
    cases[0]["input"] = True
    project(tmp_path, app=APP, cases=cases, rules=None, policy="none")
    oloproof(tmp_path, "run")
    ran(tmp_path)
    change(cases)
    write_lines(tmp_path / "cases.jsonl", cases)
    assert reused(oloproof(tmp_path, "run", "--reuse", "--json")) == [1]
    assert ran(tmp_path) == [f"{cases[0]['id']} 1"]


def test_what_is_expected_may_change_since_it_is_judged_anew(tmp_path: Path) -> None:
    suite(tmp_path, "yes", "no")
    oloproof(tmp_path, "run")
    cases: list[Any] = [each | {"expected": {"answer": "no"}} for each in answered("yes", "no", "no")]
    write_lines(tmp_path / "cases.jsonl", cases)
    done = oloproof(tmp_path, "run", "--reuse", "--json")
    assert (reused(done), done.verdict("right")) == ([2], (2, 1, 0, 0))


def test_functions_judge_anew(tmp_path: Path) -> None:
    suite(tmp_path, "yes", evaluators=[{"type": "checks:ok", "criterion": "right"}])
    (tmp_path / "checks.py").write_text("def ok(output): return True")
    assert oloproof(tmp_path, "run", "--json").verdict("right") == (1, 0, 0, 0)
    (tmp_path / "checks.py").write_text("def ok(output): return False")
    done = oloproof(tmp_path, "run", "--reuse", "--json")
    assert (reused(done), done.verdict("right")) == ([1], (0, 1, 0, 0))


def test_another_version_or_configuration_is_another_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    suite(tmp_path, "yes")
    oloproof(tmp_path, "run")
    monkeypatch.setenv("AGENT_VERSION", "2")
    assert reused(oloproof(tmp_path, "run", "--reuse", "--json")) == []
    monkeypatch.setenv("AGENT_VERSION", "1")
    assert reused(oloproof(tmp_path, "run", "--reuse", "--json")) == [1]
    suite(tmp_path, "yes", system={"callable": "app:run", "timeout_s": 7})
    assert reused(oloproof(tmp_path, "run", "--reuse", "--json")) == []
    suite(tmp_path, "yes", system={"callable": "app:run", "timeout_s": 7, "concurrency": 3, "retry": {}})
    assert reused(oloproof(tmp_path, "run", "--reuse", "--json")) == [1]


def test_errors_and_cut_records_are_run_and_no_older_attempt_stands_in(tmp_path: Path) -> None:
    suite(tmp_path, "fails", "cut", "yes")
    (tmp_path / "mended").touch()
    oloproof(tmp_path, "run")
    (tmp_path / "mended").unlink()
    oloproof(tmp_path, "run")
    ran(tmp_path)
    done = oloproof(tmp_path, "run", "--reuse", "--json")
    assert ran(tmp_path) == ["c1 1", "c2 1"]
    assert (reused(done), done.verdict("right")) == ([1], (1, 1, 1, 0))


def test_what_an_attempt_had_settled_by_its_error_stands(tmp_path: Path) -> None:
    never_look = {"type": "agent_rule", "criterion": "never", "rule": "never look"}
    suite(tmp_path, evaluators=[RIGHT | {"on_system_error": "fail"}, never_look])
    write_lines(tmp_path / "cases.jsonl", [case("c1", "fails", answer="fails"), case("c2", "cut"), case("c3")])
    oloproof(tmp_path, "run")
    (tmp_path / "mended").touch()
    (tmp_path / "blind").touch()
    done = oloproof(tmp_path, "run", "--reuse", "--json")
    assert reused(done) == [1]
    assert done.verdict("right") == (1, 2, 0, 0), "the error, which counts as a failure, is none that is tried again"
    assert done.verdict("never") == (0, 3, 0, 0)
    once_more = oloproof(tmp_path, "run", "--reuse", "--json")
    assert (reused(once_more), once_more.json["metrics"]) == ([1, 1], done.json["metrics"])
    shown = oloproof(tmp_path, "inspect", "latest", "--case", "c1")
    assert "system_error: ValueError: broken" in shown.out


def test_attempts_of_a_debugger_are_not_taken_over(tmp_path: Path) -> None:
    suite(tmp_path, "yes")
    spawned(tmp_path, "run", "--in-process")
    assert reused(oloproof(tmp_path, "run", "--reuse", "--json")) == []


def test_a_case_that_is_run_alone_until_it_goes_well_counts_as_it_did_in_the_whole_run(tmp_path: Path) -> None:
    suite(tmp_path, "yes", "no")
    oloproof(tmp_path, "run")
    whole = ids(tmp_path)[0]
    oloproof(tmp_path, "run", "--case", "c2")
    done = oloproof(tmp_path, "run", "--reuse", "--json")
    assert done.json["run"]["reused"] == [{"run": whole, "attempts": 2}]


def test_a_partial_run_is_taken_over_by_a_partial_one_alone(tmp_path: Path) -> None:
    suite(tmp_path, "yes", "yes", "yes")
    oloproof(tmp_path, "run", "--case", "c2")
    done = oloproof(tmp_path, "run", "--reuse", "--limit", "2", "--json")
    assert (reused(done), done.json["run"]["partial"]) == ([1], "--limit 2")
    assert reused(oloproof(tmp_path, "run", "--reuse", "--json")) == []


def test_a_run_that_was_cut_short_goes_before_no_whole_one(tmp_path: Path) -> None:
    """Or it could be begun and cut short until its first cases have gone well."""
    suite(tmp_path, "no", "yes")
    app = (tmp_path / "app.py").read_text().replace('{"answer": case}', '{"answer": open("answer").read() or case}')
    (tmp_path / "app.py").write_text(app)
    for answer, status in (("no", "interrupted"), ("yes", "running"), ("yes", "stopped_early")):
        (tmp_path / "answer").write_text(answer)
        oloproof(tmp_path, "run")
        with Store.open(tmp_path / ".oloproof") as store:
            store.set_status(store.find("latest").id, cast(RunStatus, status))
    first = ids(tmp_path)[2]
    done = oloproof(tmp_path, "run", "--reuse", "--json")
    assert (done.json["run"]["reused"], done.verdict("right")) == ([{"run": first, "attempts": 2}], (0, 2, 0, 0))
    whole = oloproof(tmp_path, "run", "--json").json["run"]["id"]
    (tmp_path / "answer").write_text("no")
    oloproof(tmp_path, "run")
    with Store.open(tmp_path / ".oloproof") as store:
        store.set_status(store.find("latest").id, "interrupted")
    done = oloproof(tmp_path, "run", "--reuse", "--json")
    assert (done.json["run"]["reused"], done.verdict("right")) == ([{"run": whole, "attempts": 2}], (2, 0, 0, 0))


@pytest.mark.parametrize("module", ["app", "tools.search", "late"])
def test_other_code_under_the_same_version_is_another_system(tmp_path: Path, module: str) -> None:
    suite(tmp_path, "yes")
    files = {"app": tmp_path / "app.py", "tools.search": tmp_path / "tools" / "search.py", "late": tmp_path / "late.py"}
    (tmp_path / "tools").mkdir()
    files["tools.search"].touch()
    files["late"].touch()
    app = files["app"].read_text()
    imported = "    import late\n    current = current_case()\n"
    files["app"].write_text("import tools.search\n" + app.replace("    current = current_case()\n", imported))
    (tmp_path / "checks.py").touch()
    oloproof(tmp_path, "run")
    (tmp_path / "checks.py").write_text("# nothing of the system's")
    assert reused(oloproof(tmp_path, "run", "--reuse", "--json")) == [1]
    before = ids(tmp_path)[0]
    files[module].write_text(files[module].read_text() + "# changed")
    done = oloproof(tmp_path, "run", "--reuse", "--json")
    assert reused(done) == []
    why = "the code of the system, or what it depends on, has changed since then, and its version has not"
    assert f"--reuse: nothing was taken over from run {before}: {why}" in done.json["warnings"]


def test_the_files_that_a_command_names_are_its_code(tmp_path: Path) -> None:
    command = {"command": [sys.executable, "agent.py"], "version": "1"}
    project(tmp_path, cases=answered("yes"), rules=None, policy="none", system=command)
    agent = tmp_path / "agent.py"
    agent.write_text("import json\nprint(json.dumps({'output': {'answer': 'yes'}}))\n")
    assert oloproof(tmp_path, "run", "--json").verdict("right") == (1, 0, 0, 0)
    assert reused(oloproof(tmp_path, "run", "--reuse", "--json")) == [1]
    agent.write_text(agent.read_text().replace("'yes'", "'no'"))
    done = oloproof(tmp_path, "run", "--reuse", "--json")
    assert (reused(done), done.verdict("right")) == ([], (0, 1, 0, 0))


SYSTEMS: dict[str, dict[str, Any]] = {
    "callable": {"callable": "app:run"},
    "command": {"command": ["./agent.sh"], "version": "1"},
}


@pytest.mark.parametrize("kind", SYSTEMS)
@pytest.mark.parametrize("change", ["content", "another file", "name", "variable", "no variable"])
def test_what_a_system_depends_on_is_a_part_of_it(
    tmp_path: Path, kind: str, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite(tmp_path, "yes", system={**SYSTEMS[kind], "depends_on": {"files": "prompts/**/*.md", "env": ["MODEL"]}})
    agent = tmp_path / "agent.sh"
    agent.write_text("""#!/bin/sh\necho '{"output": {"answer": "yes"}}'\n""")
    agent.chmod(0o755)
    prompt = tmp_path / "prompts" / "refunds" / "system.md"
    prompt.parent.mkdir(parents=True)
    prompt.write_text("Be kind.")
    (tmp_path / "prompts" / "notes.txt").write_text("no part of it")
    monkeypatch.setenv("MODEL", "small")
    oloproof(tmp_path, "run")
    (tmp_path / "prompts" / "notes.txt").write_text("still none")
    assert reused(oloproof(tmp_path, "run", "--reuse", "--json")) == [1]
    match change:
        case "content":
            prompt.write_text("Be brief.")
        case "another file":
            (tmp_path / "prompts" / "tone.md").touch()
        case "name":
            prompt.rename(prompt.with_name("user.md"))
        case "variable":
            monkeypatch.setenv("MODEL", "large")
        case _:
            monkeypatch.delenv("MODEL")
    with Store.open(tmp_path / ".oloproof") as store:
        store.set_status(store.find("latest").id, "interrupted")
    refused = oloproof(tmp_path, "run", "--resume", "latest")
    assert (refused.code, "or on something else that it depends on" in refused.err) == (2, True)
    assert reused(oloproof(tmp_path, "run", "--reuse", "--json")) == []


def test_a_project_that_lies_elsewhere_depends_on_the_same(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    suite(tmp_path / "there", "yes", system={"callable": "app:run", "depends_on": {"files": ["app.py"]}})
    oloproof(tmp_path / "there", "run")
    (tmp_path / "there").rename(tmp_path / "here")
    assert reused(oloproof(tmp_path / "here", "run", "--reuse", "--json")) == [1]


def test_without_a_version_nothing_is_known_to_be_the_same(tmp_path: Path) -> None:
    project(tmp_path, rules=None)
    oloproof(tmp_path, "run")
    done = oloproof(tmp_path, "run", "--reuse")
    assert (done.code, "[OLO421]" in done.err) == (2, True)
    assert len(ids(tmp_path)) == 1, "nothing was begun"


def test_a_run_that_is_resumed_still_reuses(tmp_path: Path) -> None:
    suite(tmp_path, "yes", "yes")
    oloproof(tmp_path, "run")
    write_lines(tmp_path / "cases.jsonl", answered("yes", "yes", "no"))
    oloproof(tmp_path, "run", "--reuse")
    with Store.open(tmp_path / ".oloproof") as store:
        store.set_status(store.find("latest").id, "broken")
    ran(tmp_path)
    done = oloproof(tmp_path, "run", "--resume", "latest", "--json")
    assert ran(tmp_path) == []
    assert (reused(done), done.json["run"]["status"]) == ([2], "complete")
