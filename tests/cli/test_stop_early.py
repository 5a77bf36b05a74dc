"""Runs that stop early, through the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fakes.projects import AGENT, NONE_WRONG, RIGHT, Done, answered, case, oloproof, project, write_lines

pytestmark = pytest.mark.usefixtures("system_at_hand")


FLOOR = {"id": "floor", "metric": "right", "min": 0.8}
CURTAILMENT = {"method": "curtailment"}
HYBRID = {"method": "hybrid", "rules": ["floor"]}


def suite(
    directory: Path, *, passes: int, fails: int, rules: Any = (FLOOR,), policy: Any = None, **config: Any
) -> Path:
    """A project of that many cases that pass, and then that many that fail."""
    project(directory, cases=answered(*["yes"] * passes, *["no"] * fails), **config)
    written = {"version": 1, "rules": list(rules)} | (policy or {})
    (directory / "release.yaml").write_text(json.dumps(written))
    return directory


def stopped(done: Done) -> dict[str, Any]:
    assert done.json["run"]["status"] == "stopped_early", done.err
    found: dict[str, Any] = done.json["run"]["early_stopping"]
    return found


def test_a_run_stops_when_its_verdict_is_certain(tmp_path: Path) -> None:
    suite(tmp_path, passes=40, fails=0)
    done = oloproof(tmp_path, "run", "--stop-early", "--seed", "1", "--json")
    assert done.code == 0
    early = stopped(done)
    assert (early["method"], early["seed"], early["after"], early["saved"]["cases"]) == ("curtailment", 1, 37, 3)
    assert early["settled"] == [{"rule": "floor", "state": "PASS", "by": "certainty", "after": 37}]
    (metric,) = done.json["metrics"]
    assert (metric["passed"], metric["missing"], metric["not_run"]) == (37, 3, 3)
    assert metric["full_run"] == {"passed_at_least": 38, "passed_at_most": 40}
    (decision,) = done.json["decisions"]
    assert (decision["state"], decision["reason"]) == ("PASS", "lower_bound_meets_minimum")
    assert decision["settled"] == {"by": "certainty", "after": 37, "boundary": "37 passes of 40"}
    assert done.json["interval"] == {"method": "anytime_mixture", "level": 0.95}


def test_one_failure_that_is_too_many_ends_a_run(tmp_path: Path) -> None:
    suite(tmp_path, passes=30, fails=10, rules=[FLOOR, NONE_WRONG])
    done = oloproof(tmp_path, "run", "--stop-early", "--seed", "5", "--json")
    assert done.code == 1
    early = stopped(done)
    floor, none_wrong = done.json["decisions"]
    assert (floor["state"], floor["reason"]) == ("INSUFFICIENT_EVIDENCE", "stopped_early")
    assert (none_wrong["state"], none_wrong["failed"], none_wrong["settled"]["after"]) == ("FAIL", 1, early["after"])
    told = oloproof(tmp_path, "inspect")
    assert "not settled when the run stopped" in told.out
    assert "run every case to settle what was not: oloproof run --no-stop-early" in told.lines


def test_the_full_run_comes_to_the_same_verdict(tmp_path: Path) -> None:
    for passes, fails in ((38, 2), (30, 10), (36, 4)):
        suite(tmp_path, passes=passes, fails=fails)
        full, early = (oloproof(tmp_path, "run", *options) for options in ([], ["--stop-early"]))
        assert full.code == early.code, (passes, fails)


def test_what_cannot_be_settled_before_runs_to_its_end(tmp_path: Path) -> None:
    suite(tmp_path, passes=40, fails=0, rules=[FLOOR, NONE_WRONG])
    done = oloproof(tmp_path, "run", "--stop-early", "--json")
    assert (done.code, done.json["run"]["status"]) == (0, "complete")
    assert done.json["run"]["early_stopping"]["after"] is None
    assert done.json["interval"]["method"] == "wilson"


def test_evidence_ends_a_run(tmp_path: Path) -> None:
    suite(tmp_path, passes=196, fails=4, policy={"early_stopping": HYBRID})
    done = oloproof(tmp_path, "run", "--seed", "3", "--json")
    assert done.code == 0
    early = stopped(done)
    assert (early["method"], early["rules"]) == ("hybrid", ["floor"])
    assert early["after"] < 80
    (decision,) = done.json["decisions"]
    assert decision["interval"] == {"method": "anytime_mixture", "level": 0.99}
    assert decision["settled"] == {"by": "evidence", "after": early["after"]}
    assert decision["lower"] >= 0.8
    assert decision["passed"] + decision["failed"] == early["after"]
    again = oloproof(tmp_path, "gate", "--json")
    assert (again.code, again.json) == (0, done.json)
    assert oloproof(tmp_path, "inspect", "--json").json == done.json


def test_no_evidence_is_drawn_again_from_attempts_that_are_taken_over(tmp_path: Path) -> None:
    app = 'from oloproof import system\n@system(version="1")\ndef run(answer):\n    return {"answer": answer}\n'
    suite(tmp_path, passes=170, fails=30, policy={"early_stopping": HYBRID}, app=app)
    assert oloproof(tmp_path, "run", "--no-stop-early").code == 3
    again = oloproof(tmp_path, "run", "--reuse", "--json")  # in the order of seed 93 the same cases would be enough
    assert (again.code, "early_stopping" in again.json["run"]) == (3, False)
    (told,) = [text for text in again.json["warnings"] if "early_stopping" in text]
    assert "has no effect here: evidence counts cases in an order that was drawn before any came out" in told
    asked = oloproof(tmp_path, "run", "--reuse", "--stop-early", "--seed", "93")
    assert (asked.code, "[OLO650]" in asked.err) == (2, True)


def test_every_form_of_the_report_says_so(tmp_path: Path) -> None:
    suite(tmp_path, passes=196, fails=4, policy={"early_stopping": HYBRID})
    files = [tmp_path / "report.md", tmp_path / "junit.xml"]
    done = oloproof(tmp_path, "run", "--seed", "3", "--markdown", files[0], "--junit", files[1])
    said = [done.out, *(file.read_text() for file in files)]
    for text in said:
        assert "anytime-valid 99%, mixture" in text
        assert "wilson" not in text.lower()
    for text in said:
        assert "hybrid on floor, launch order from seed 3" in text.replace("`", "")
        assert "of 200 cases not run" in text
    assert all("settled after" in text and "anytime-valid 95% (mixture)" in text for text in said[:2])
    assert '<property name="early stopping"' in said[2]
    assert "(not_run)" in said[2]


def test_evidence_needs_two_hundred_cases(tmp_path: Path) -> None:
    suite(tmp_path, passes=150, fails=0, policy={"early_stopping": HYBRID})
    done = oloproof(tmp_path, "run", "--json")
    early = stopped(done)
    assert (early["method"], early["rules"], early["settled"][0]["by"]) == ("curtailment", [], "certainty")
    assert any("evidence may not settle rule 'floor' of 150 cases" in warning for warning in done.json["warnings"])
    told = oloproof(tmp_path, "check").out
    assert "evidence may not settle rule 'floor' of 150 cases, fewer than 200" in told


@pytest.mark.parametrize("bound", [{"min": 1}, {"max": 0}, {"min": 0}])
def test_there_is_no_evidence_against_all_or_none(tmp_path: Path, bound: dict[str, int]) -> None:
    nothing = {"id": "floor", "metric": "right"} | bound
    suite(tmp_path, passes=200, fails=0, rules=[nothing], policy={"early_stopping": HYBRID})
    told = "evidence may not settle rule 'floor' since there is none against a rate of 0 or 1"
    assert told in oloproof(tmp_path, "check").out
    done = oloproof(tmp_path, "run", "--seed", "1", "--json")
    early = done.json["run"]["early_stopping"]
    assert (early["method"], early["rules"]) == ("curtailment", [])
    assert any(warning.startswith(told) for warning in done.json["warnings"])


def test_another_policy_is_not_put_to_a_run_that_stopped(tmp_path: Path) -> None:
    suite(tmp_path, passes=40, fails=0, policy={"early_stopping": CURTAILMENT})
    assert oloproof(tmp_path, "run").code == 0
    suite(tmp_path, passes=40, fails=0, policy={"early_stopping": CURTAILMENT, "block_on": ["FAIL"]})
    assert oloproof(tmp_path, "gate").code == 0
    suite(tmp_path, passes=40, fails=0, rules=[FLOOR | {"min": 0.7}], policy={"early_stopping": CURTAILMENT})
    refused = oloproof(tmp_path, "gate")
    assert (refused.code, "OLO652" in refused.err) == (2, True)
    assert oloproof(tmp_path, "gate", "--as-judged").code == 0
    assert oloproof(tmp_path, "run", "--no-stop-early").code == 0
    suite(tmp_path, passes=40, fails=0, policy={"early_stopping": CURTAILMENT})
    assert oloproof(tmp_path, "gate").code == 0


def test_what_evidence_settled_stays_settled_in_a_run_that_went_on(tmp_path: Path) -> None:
    """The other rule is certain with the last case alone, so every case runs; the level stays split all the same."""
    suite(tmp_path, passes=200, fails=0, rules=[FLOOR, NONE_WRONG], policy={"early_stopping": HYBRID})
    done = oloproof(tmp_path, "run", "--json")
    assert (done.code, done.json["run"]["status"], done.json["interval"]["method"]) == (0, "complete", "wilson")
    floor, none_wrong = done.json["decisions"]
    assert (floor["settled"], floor["passed"]) == ({"by": "evidence", "after": 33}, 33)
    assert "settled" not in none_wrong
    suite(tmp_path, passes=200, fails=0, rules=[FLOOR, NONE_WRONG])
    refused = oloproof(tmp_path, "gate")
    assert (refused.code, "OLO652" in refused.err) == (2, True)


def test_what_is_checked_and_planned_is_what_a_run_decides_by(tmp_path: Path) -> None:
    """Before a run and after it, of one that evidence may settle and of one that it may not."""
    suite(tmp_path, passes=230, fails=70, policy={"early_stopping": HYBRID})
    early = "floor: once the evidence is strong enough, else by all cases at 96%: PASS from 255 passes of 300"
    full = "floor: PASS from 254 passes of 300"
    assert oloproof(tmp_path, "run", "--no-stop-early").code == 3
    told = [oloproof(tmp_path, *command).out for command in (["check"], ["plan"], ["plan", "latest"])]
    assert [(early in text, full in text) for text in told] == [(True, False), (True, False), (False, True)]
    assert oloproof(tmp_path, "run").code == 3
    assert early in oloproof(tmp_path, "plan", "latest").out
    (floor,) = oloproof(tmp_path, "plan", "--json").json["rules"]
    assert (floor["pass_from"], floor["fail_to"]) == (255, 225)


def test_reports_keep_the_order_of_the_dataset(tmp_path: Path) -> None:
    suite(tmp_path, passes=70, fails=3)
    assert oloproof(tmp_path, "run", "--stop-early").code == 0
    lines = oloproof(tmp_path, "inspect", "--verdicts", "--json").out.splitlines()
    assert [json.loads(line)["case"] for line in lines] == [f"c{number}" for number in range(1, 74)]
    assert [json.loads(line)["reason"] for line in lines].count("not_run") > 0


def test_the_seed_decides_what_runs(tmp_path: Path) -> None:
    suite(tmp_path, passes=40, fails=0)

    def left_out(*options: str) -> list[str]:
        assert oloproof(tmp_path, "run", "--stop-early", *options).code == 0
        rows = oloproof(tmp_path, "inspect", "--missing", "--json").out.splitlines()
        return [json.loads(row)["case"] for row in rows]

    assert left_out("--seed", "1") == left_out("--seed", "1")
    assert left_out("--seed", "1") != left_out("--seed", "2")


@pytest.mark.usefixtures("in_a_worker")
def test_cases_in_flight_are_finished_and_counted(tmp_path: Path) -> None:
    """The case that fails, the first to be launched of four that run at once, ends last; the others had begun."""
    app = """
    import threading
    others = threading.Semaphore(0)
    def run(case):
        if case == "no":
            for _ in range(3):
                others.acquire()
        else:
            others.release()
        return {"answer": case}
    """
    rows = answered(*["yes"] * 39, "no")
    system = {"callable": "app:run", "concurrency": 4}
    project(tmp_path, app=app, cases=rows, rules=[NONE_WRONG], system=system)
    seed = next(seed for seed in range(10_000) if _first(rows, seed) == "c40")
    done = oloproof(tmp_path, "run", "--stop-early", "--seed", str(seed), "--json")
    assert done.code == 1
    early = stopped(done)
    assert early["after"] == 1
    passed, failed, missing, _ = done.verdict("right")
    assert failed == 1
    assert 3 <= passed <= 6
    assert early["saved"]["cases"] == missing == 40 - passed - failed


def _first(rows: Any, seed: int) -> str:
    from oloproof.gates.stopping import launch_order

    ids = [row["id"] for row in rows]
    return str(ids[launch_order(ids, seed)[0]])


def test_what_was_saved_is_told_in_money_where_that_was_recorded(tmp_path: Path) -> None:
    app = """
    from oloproof import *
    @system(records=("agent_trajectory/v1",))
    def run(case):
        with current_case().trace() as trace:
            trace.message("thinking", cost_usd=0.25)
        return {"answer": case}
    """
    suite(tmp_path, passes=40, fails=0, app=app)
    done = oloproof(tmp_path, "run", "--stop-early", "--json")
    assert stopped(done)["saved"]["cost_usd"] == pytest.approx(0.75)
    assert stopped(done)["saved"]["seconds"] > 0
    assert "about 0.75 USD" in oloproof(tmp_path, "inspect").out


def test_the_users_own_evaluators_settle_a_run_too(tmp_path: Path) -> None:
    checks = "def right(output):\n    return output['answer'] == 'yes'\n"
    (tmp_path / "checks.py").write_text(checks)
    suite(tmp_path, passes=40, fails=0, evaluators=[{"type": "checks:right"}])
    done = oloproof(tmp_path, "run", "--stop-early", "--json")
    assert (done.code, stopped(done)["after"], done.verdict("right")) == (0, 37, (37, 0, 3, 0))


def test_crashes_are_missing_where_they_were_launched(tmp_path: Path) -> None:
    app = "def run(case):\n    if case == 'crash': raise ValueError\n    return {'answer': case}\n"
    rows = answered(*["yes"] * 38, "crash", "crash")
    project(tmp_path, app=app, cases=rows, rules=[FLOOR])
    seed = next(seed for seed in range(10_000) if _first(rows, seed) == "c40")
    done = oloproof(tmp_path, "run", "--stop-early", "--seed", str(seed), "--json")
    assert done.code == 0
    (settled,) = stopped(done)["settled"]
    assert settled["after"] in (38, 39)


def test_a_stopped_run_is_no_baseline_but_may_be_compared_with_one(tmp_path: Path) -> None:
    suite(tmp_path, passes=40, fails=0)
    assert oloproof(tmp_path, "run").code == 0
    assert oloproof(tmp_path, "run", "--stop-early").code == 0
    refused = oloproof(tmp_path, "baseline", "save")
    assert (refused.code, "OLO653" in refused.err) == (5, True)
    assert oloproof(tmp_path, "compare", "latest~1", "latest", "--no-gate").code == 5
    told = oloproof(tmp_path, "compare", "latest", "latest~1", "--no-gate")
    assert "warning: the candidate stopped early: the cases that it left out are missing pairs" in told.out
    (criterion,) = oloproof(tmp_path, "compare", "latest", "latest~1", "--no-gate", "--json").json["criteria"]
    assert (criterion["both_pass"], criterion["missing_pairs"]) == (37, 3)
    assert criterion["lower"] < 0


def test_a_stopped_run_confirms_nothing_that_is_newly_broken(tmp_path: Path) -> None:
    again = {"id": "no-new", "metric": "right", "kind": "max_new_failures", "max_new_failures": 0, "confirm": 1}
    app = """
    import json
    def run(case):
        return {"answer": "no" if case in json.load(open("wrong.json")) else "yes"}
    """
    rows = [case(f"c{number}", f"c{number}") for number in range(40)]
    project(tmp_path, app=app, cases=rows, rules=[NONE_WRONG, again])
    (tmp_path / "wrong.json").write_text("[]")
    assert oloproof(tmp_path, "run").code == 3
    (tmp_path / "wrong.json").write_text(json.dumps([f"c{number}" for number in range(0, 40, 4)]))
    done = oloproof(tmp_path, "run", "--stop-early", "--baseline", "latest", "--json")
    assert done.code == 1
    assert stopped(done)["after"] < 40
    _, no_new = done.json["decisions"]
    assert (no_new["state"], no_new["reason"]) == ("INSUFFICIENT_EVIDENCE", "stopped_early")
    assert oloproof(tmp_path, "gate", "--json").json == done.json


@pytest.mark.parametrize("broken", [f"c{number}" for number in range(6)])
def test_wherever_in_the_order_a_run_fails_it_comes_to_its_end(tmp_path: Path, broken: str) -> None:
    """Also where that is its last case, so that nothing is left out: what is broken is not run again all the same."""
    again = {"id": "no-new", "metric": "right", "kind": "max_new_failures", "max_new_failures": 0, "confirm": 1}
    app = """
    def run(case):
        with open("ran", "a") as file:
            print(case, file=file)
        return {"answer": "no" if case == open("wrong").read() else "yes"}
    """
    rows = [case(f"c{number}", f"c{number}") for number in range(6)]
    system = {"callable": "app:run", "concurrency": 1}
    project(tmp_path, app=app, cases=rows, rules=[NONE_WRONG, again], system=system)
    (tmp_path / "wrong").write_text("none")
    oloproof(tmp_path, "run")
    (tmp_path / "ran").unlink()
    (tmp_path / "wrong").write_text(broken)
    done = oloproof(tmp_path, "run", "--stop-early", "--seed", "1", "--baseline", "latest", "--json")
    ran = (tmp_path / "ran").read_text().split()
    assert (done.code, ran[-1], ran.count(broken)) == (1, broken, 1)
    assert done.json["run"]["status"] == ("complete" if len(ran) == len(rows) else "stopped_early")
    assert done.json["decisions"][1]["state"] == "INSUFFICIENT_EVIDENCE"
    assert oloproof(tmp_path, "gate", "--json").json == done.json


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--stop-early", "--limit", "3"], "OLO650"),
        (["--stop-early", "--case", "c1"], "OLO650"),
        (["--stop-early", "--no-gate"], "OLO650"),
        (["--stop-early", "--in-process"], "OLO650"),
        (["--seed", "3"], "OLO651"),
        (["--no-stop-early", "--seed", "3"], "OLO651"),
    ],
)
def test_what_does_not_go_together_is_refused(tmp_path: Path, options: list[str], code: str) -> None:
    suite(tmp_path, passes=4, fails=0)
    done = oloproof(tmp_path, "run", *options)
    assert (done.code, code in done.err) == (2, True)


def test_what_the_policy_asks_in_vain_is_told(tmp_path: Path) -> None:
    suite(tmp_path, passes=40, fails=0, policy={"early_stopping": CURTAILMENT})
    done = oloproof(tmp_path, "run", "--limit", "3", "--json")
    assert (done.code, done.json["run"]["status"]) == (3, "complete")
    assert any("early_stopping has no effect here: a partial run" in warning for warning in done.json["warnings"])


def test_recordings_cost_nothing_to_read(tmp_path: Path) -> None:
    rows = answered(*["yes"] * 40)
    project(tmp_path, cases=rows, system={"recorded": "traces.jsonl"})
    write_lines(tmp_path / "traces.jsonl", [{"case": row["id"], "output": {"answer": "yes"}} for row in rows])
    policy = {"version": 1, "rules": [FLOOR], "early_stopping": CURTAILMENT}
    (tmp_path / "release.yaml").write_text(json.dumps(policy))
    done = oloproof(tmp_path, "run", "--json")
    assert (done.code, done.verdict("right")) == (0, (40, 0, 0, 0))
    assert any("the system was recorded" in warning for warning in done.json["warnings"])
    assert "stopping early" not in oloproof(tmp_path, "plan", "--truth", "0.9").out
    refused = oloproof(tmp_path, "run", "--stop-early")
    assert (refused.code, "OLO650" in refused.err) == (2, True)


def test_what_early_stopping_can_do_is_foreseen(tmp_path: Path) -> None:
    suite(tmp_path, passes=200, fails=0, policy={"early_stopping": HYBRID})
    told = oloproof(tmp_path, "check").out
    assert (
        "early stopping: evidence may settle floor; a run ends once a rule is settled as FAIL, or all of them" in told
    )
    suite(tmp_path, passes=200, fails=0, rules=[FLOOR, NONE_WRONG], policy={"early_stopping": CURTAILMENT})
    told = oloproof(tmp_path, "check").out
    assert "only a failure ends a run early, for none-wrong pass with the last case at the earliest" in told


def test_where_early_stopping_does_nothing_is_foreseen(tmp_path: Path) -> None:
    suite(tmp_path, passes=200, fails=0, policy={"early_stopping": HYBRID}, trials=2)
    told = "early_stopping has no effect here: it counts independent cases that are tried once"
    assert told in oloproof(tmp_path, "check").out
    done = oloproof(tmp_path, "run", "--json")
    assert (done.code, done.json["run"]["status"]) == (0, "complete")
    assert any(warning.startswith(told) for warning in done.json["warnings"])
    refused = oloproof(tmp_path, "run", "--stop-early")
    assert (refused.code, "OLO650" in refused.err) == (2, True)


def test_how_long_a_rule_takes_is_planned(tmp_path: Path) -> None:
    suite(tmp_path, passes=200, fails=0, policy={"early_stopping": HYBRID})
    done = oloproof(tmp_path, "plan", "--truth", "0.95", "--cases", "1000", "--json")
    (truth,) = done.json["rules"][0]["truths"]
    assert truth["stopping_early"]["cases"] == pytest.approx(65, abs=0.5)
    assert "65 cases; PASS > 99.9%, FAIL < 0.1%" in oloproof(tmp_path, "plan", "--truth", "0.95", "--cases", "1000").out
    assert oloproof(tmp_path, "check", "--json").json["early_stopping"][0].startswith("early stopping: evidence may")


def test_quantiles_and_excluded_cases_count_as_in_the_full_run(tmp_path: Path) -> None:
    """Ten cases lack the reference, so that the criterion has forty; steps have all fifty."""
    rows = [*(case(f"c{n}", ["a"]) for n in range(40)), *({"id": f"d{n}", "input": ["a"]} for n in range(10))]
    quick = {"id": "quick", "metric": "steps_p50", "max": 3}
    metrics = [{"id": "steps_p50", "type": "quantile", "source": "agent_steps", "quantile": 0.5}]
    project(tmp_path, app=AGENT, cases=rows, rules=[FLOOR, quick], evaluators=[RIGHT], metrics=metrics)
    done = oloproof(tmp_path, "run", "--stop-early", "--json")
    assert done.code == 0
    settled = {each["rule"]: each for each in stopped(done)["settled"]}
    assert settled["quick"]["after"] == 33
    passed, failed, missing, excluded = done.verdict("right")
    assert (passed, failed, passed + missing, excluded) == (37, 0, 40, 10)


def test_a_review_is_asked_for_and_given(tmp_path: Path) -> None:
    suite(tmp_path, passes=40, fails=0, rules=[FLOOR | {"requires_manual_review": True}])
    assert oloproof(tmp_path, "run", "--stop-early").code == 4
    assert oloproof(tmp_path, "gate", "--approve", "floor", "--by", "A. Reviewer").code == 0
