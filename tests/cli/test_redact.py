"""Whatever an agent does with a secret, no file of the store and no surface has it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fakes.projects import NONE_WRONG, Row, case, oloproof, project, spawned, write_lines
from fakes.secrets import stored
from oloproof.errors import MOST_QUOTED, UsageError
from oloproof.project import load, read_cases

SECRET = "ada.lovelace@example.org"
LEAKY = """
from oloproof import current_case, system

SECRET = "ada.lovelace@example.org"


@system(version="1", records=("agent_trajectory/v1",))
def run(request):
    print("printed", SECRET)
    case = current_case()
    case.state(before={SECRET: 1})
    case.state({"n": SECRET})
    with case.trace() as trace:
        trace.tool_call("mail", {"to": SECRET, "raw": '{"to": "ada.lovelace\\\\u0040example.org"}'}, call_id=SECRET)
        trace.tool_result("mail", error=SECRET)
        trace.check("kept", False, detail=SECRET)
        trace.checkpoint(SECRET, payload=[SECRET])
        if request["how"] == "raise":
            raise ValueError(SECRET)
        if request["how"] == "long":
            print("." * (65536 - len("printed ada.lovelace@example.org\\n") - 12) + SECRET)
            raise ValueError("." * (2000 - len("ValueError: ") - 12) + SECRET)
        if request["how"] == "die":
            import os

            os._exit(3)
        trace.final(SECRET)
    return {"answer": SECRET}


def judge(case, output):
    from oloproof import Verdict

    return Verdict(False, "it said ada.lovelace" + "@example.org", found={"who": "ada.lovelace" + "@example.org"})
"""
RULES = [NONE_WRONG | {"metric": "kept"}]
KEPT = {"type": "agent_constraints_satisfied", "criterion": "kept", "constraints": ["kept"]}
EVALUATORS = [
    KEPT,
    {"type": "canary_absent", "criterion": "canary", "value": SECRET},
    {"type": "exact_match", "criterion": "exact", "field": "answer", "value": SECRET},
    {"type": "app:judge", "criterion": "mine"},
]


def cases() -> list[dict[str, object]]:
    hows = ["say", "raise", "long", "die"]
    return [case(how, {"how": how, "who": SECRET}) | {"metadata": {"of": SECRET}} for how in hows]


@pytest.mark.parametrize("more", [{}, {"concurrency": 4}, {"isolation": "process"}], ids=str)
def test_no_file_and_no_surface_of_a_run_has_the_secret(tmp_path: Path, more: dict[str, object]) -> None:
    system = {"callable": "app:run"} | more
    config = {"redact": {}, "slices": ["metadata.of"], "system": system}
    home = project(tmp_path, app=LEAKY, cases=cases(), evaluators=EVALUATORS, rules=RULES, **config)

    outputs = ("--markdown", "out.md", "--html", "out.html", "--junit", "out.xml")
    run = oloproof(home, "run", *outputs)
    shown = [run.out, run.err, stored(home)]
    shown += [(home / name).read_text() for name in ("out.md", "out.html", "out.xml")]
    for how in ("say", "raise", "long", "die"):
        shown.append(oloproof(home, "inspect", "--case", how).out)
        shown.append(oloproof(home, "inspect", "--case", how, "--json").out)
    shown.append(oloproof(home, "export", "latest", "--output", "out.jsonl").out)

    assert run.code == 1
    assert "email" in run.out
    assert all("lovelace" not in text for text in shown)
    assert "[redacted:email:1]" in shown[2]
    assert "metadata.of=(unplaced)" in run.out


def test_a_secret_that_was_taken_out_makes_no_check_for_it_pass(tmp_path: Path) -> None:
    home = project(tmp_path, app=LEAKY, cases=cases()[:1], evaluators=EVALUATORS, rules=RULES, redact={})

    oloproof(home, "run")
    judgments = oloproof(home, "inspect", "--case", "say", "--json").json["judgments"]

    found = {each["criterion"]: (each["verdict"], each["reason"]) for each in judgments}
    assert found == {
        "kept": ("fail", None),
        "canary": ("missing", "redacted"),
        "exact": ("missing", "redacted"),
        "mine": ("missing", "redacted"),
    }


def test_a_function_that_its_author_vouches_for_judges_and_what_it_says_is_redacted(tmp_path: Path) -> None:
    redact = {"judged_as_is": ["mine"]}
    home = project(tmp_path, app=LEAKY, cases=cases()[:1], evaluators=EVALUATORS, rules=RULES, redact=redact)

    oloproof(home, "run")
    (mine,) = [
        each
        for each in oloproof(home, "inspect", "--case", "say", "--json").json["judgments"]
        if each["criterion"] == "mine"
    ]

    assert (mine["verdict"], mine["reason"]) == ("fail", "it said [redacted:email:1]")
    assert mine["found"] == {"who": "[redacted:email:1]"}


def test_a_command_tells_no_secret_by_its_errors(tmp_path: Path) -> None:
    script = f"import sys; sys.stderr.write('x' * 292 + '{SECRET}'); sys.exit(3)"
    system = {"command": [sys.executable, "-c", script], "records": ["agent_trajectory/v1"]}
    home = project(tmp_path, cases=cases()[:1], evaluators=[KEPT], rules=RULES, redact={}, system=system)

    oloproof(home, "run")

    told = oloproof(home, "inspect", "--case", "say", "--json").out
    assert "lovelace" not in told + stored(home)
    assert "[redacted:email:1]" in told


def test_a_line_of_a_secret_that_an_error_quotes_is_one_too(tmp_path: Path) -> None:
    body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC"
    script = f"import sys; sys.stderr.write('-----BEGIN PRIVATE KEY-----\\n{body}'); sys.exit(3)"
    system = {"command": [sys.executable, "-c", script], "records": ["agent_trajectory/v1"]}
    home = project(tmp_path, cases=cases()[:1], evaluators=[KEPT], rules=RULES, redact={}, system=system)

    run = oloproof(home, "run")

    assert body not in run.out + run.err + stored(home)


_PLACES = {
    "an unknown key": lambda text: [{"id": "c1", "input": 1, text: 1}],
    "an id": lambda text: [{"id": text, "input": 1}] * 2,
    "a wrong type": lambda text: [{"id": "c1", "input": 1, "expected": text}],
}


@pytest.mark.parametrize("row", _PLACES.values(), ids=_PLACES)
def test_a_problem_of_a_dataset_tells_no_half_of_a_secret(tmp_path: Path, row: Callable[[str], list[Row]]) -> None:
    project(tmp_path, redact={})
    for before in (*range(49, 79, 3), *range(165, 205, 3), 3_000):
        write_lines(tmp_path / "cases.jsonl", row("x" * before + " " + SECRET))
        with pytest.raises(UsageError) as found:
            read_cases(load(tmp_path / "oloproof.yaml"))
        (problem,) = found.value.problems
        assert "ada" not in problem.message
        assert ("[redacted:email:1]" in problem.message) == (before + len(SECRET) + 3 <= MOST_QUOTED), before


def test_a_problem_of_a_recording_tells_no_half_of_a_secret(tmp_path: Path) -> None:
    project(tmp_path, system={"recorded": "t.jsonl"}, redact={})
    for before in range(49, 82, 3):
        write_lines(tmp_path / "t.jsonl", [{"case": "c1", "output": {}, "x" * before + " " + SECRET: 1}])
        done = oloproof(tmp_path, "judge")
        assert done.code == 2
        assert "unknown key" in done.err
        assert "ada." not in done.err


def test_recordings_are_redacted_as_they_are_read_and_their_file_stays(tmp_path: Path) -> None:
    step = {"index": 1, "kind": "tool_call", "tool_name": "mail", "arguments": {"to": SECRET}}
    row = {"case": "c1", "input": SECRET, "output": {"answer": SECRET}, "trajectory": {"steps": [step]}}
    write_lines(tmp_path / "t.jsonl", [row])
    home = project(
        tmp_path, cases=None, evaluators=EVALUATORS[:3], rules=RULES, redact={}, system={"recorded": "t.jsonl"}
    )

    run = oloproof(home, "run")

    told = oloproof(home, "inspect", "--case", "c1", "--json")
    assert "lovelace" not in run.out + told.out + stored(home)
    assert told.json["output"] == {"answer": "[redacted:email:1]"}
    assert SECRET in (home / "t.jsonl").read_text()


def test_the_id_of_a_case_is_no_place_for_a_secret(tmp_path: Path) -> None:
    run = oloproof(project(tmp_path, cases=[case(SECRET)], redact={}), "run")

    assert run.code == 2
    assert "OLO422" in run.err
    assert "lovelace" not in run.out + run.err


def test_the_id_of_a_recorded_case_is_refused_as_it_is_read(tmp_path: Path) -> None:
    write_lines(tmp_path / "t.jsonl", [{"case": SECRET, "input": 1, "output": 1}])
    system = {"recorded": "t.jsonl"}
    run = oloproof(project(tmp_path, cases=None, evaluators=[KEPT], rules=RULES, redact={}, system=system), "run")

    assert run.code == 2
    assert "OLO422" in run.err
    assert "lovelace" not in run.out + run.err + stored(tmp_path)


def test_events_tell_no_secret(tmp_path: Path) -> None:
    home = project(tmp_path, app=LEAKY, cases=cases()[:2], evaluators=EVALUATORS, rules=RULES, redact={})

    run = spawned(home, "run", "--json-events")

    assert '"case_finished"' in run.out
    assert "lovelace" not in run.out + run.err


def test_a_cluster_is_no_place_for_a_secret_either(tmp_path: Path) -> None:
    rows = [case("c1") | {"metadata": {"of": "shop-1"}}]
    redact = {"fields": ["metadata.of"]}
    run = oloproof(project(tmp_path, cases=rows, redact=redact, cluster="metadata.of"), "run")

    assert (run.code, "OLO422" in run.err) == (2, True)


def test_other_rules_are_another_configuration(tmp_path: Path) -> None:
    home = project(tmp_path, redact={"built_in": ["card"]})
    oloproof(home, "run")
    project(tmp_path, redact={"built_in": ["card", "email"]})

    assert "OLO606" in oloproof(home, "gate").err


def test_a_case_that_was_redacted_counts_as_changed_once_the_dataset_changed(tmp_path: Path) -> None:
    rules = [NONE_WRONG, {"id": "new", "metric": "right", "kind": "max_new_failures", "max_new_failures": 0}]
    home = project(tmp_path, cases=[case("c1", to=SECRET)], redact={}, rules=rules)
    oloproof(home, "run", "--no-gate")
    project(home, cases=[case("c1", to="eve@example.org")], redact={}, rules=rules)

    run = oloproof(home, "run", "--baseline", "latest")

    assert run.code != 0
    assert "changed" in run.out
