"""Cases that a change broke, run again: what counts, and what is shown of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from fakes.projects import Done, Row, case, oloproof, project, write_lines
from oloproof.model.comparison import Comparison
from oloproof.model.run import Run
from oloproof.pipeline import running
from oloproof.pipeline.ports import Ports
from oloproof.store import Store, StoredCase

pytestmark = pytest.mark.usefixtures("system_at_hand")

WHICH = """
import json
from oloproof import current_case


def run(case):
    me = current_case()
    with open("ran", "a") as file:
        print(case, me.trial, file=file)
    with me.trace() as trace:
        trace.message("thinking", cost_usd=0.25)
    answer = json.load(open("answers.json")).get(case, {}).get(str(me.trial), "yes")
    if answer == "crash":
        raise ValueError("no answer")
    return {"answer": answer}
"""
"""Answers each trial of a case as a file says, and "yes" where it says nothing. An attempt costs 0.25 USD."""

ONE_BY_ONE = {"callable": "app:run", "version": "1", "concurrency": 1}

NO_NEW = {"id": "no-new", "metric": "right", "kind": "max_new_failures", "max_new_failures": 0, "confirm": 2}


def against_baseline(
    directory: Path,
    answers: dict[str, Any],
    *,
    rules: Sequence[Row] = (NO_NEW,),
    options: Sequence[str] = (),
    **config: Any,
) -> Done:
    """A run of four cases against one in which everything passed."""
    cases = [case(f"c{number}", f"c{number}") for number in range(1, 5)]
    project(directory, app=WHICH, cases=cases, rules=rules, **config)
    (directory / "answers.json").write_text("{}")
    oloproof(directory, "run", "--no-gate")
    oloproof(directory, "baseline", "save", "-o", "base.json")
    (directory / "answers.json").write_text(json.dumps(answers))
    (directory / "ran").unlink()
    return oloproof(directory, "run", "--baseline", "base.json", "--json", *options)


def ran_again(directory: Path) -> list[str]:
    """The re-runs that were made since the last time that this was asked."""
    path = directory / "ran"
    lines = path.read_text().splitlines() if path.exists() else []
    path.unlink(missing_ok=True)
    return [line for line in lines if not line.endswith(" 1")]


@pytest.mark.parametrize(
    ("trials", "state", "confirmation"),
    [
        ({"1": "no"}, "PASS", {"cleared": 1, "persisted": 0, "unknown": 0}),
        ({"1": "no", "2": "no", "3": "no"}, "FAIL", {"cleared": 0, "persisted": 1, "unknown": 0}),
        ({"1": "no", "3": "no"}, "FAIL", {"cleared": 0, "persisted": 1, "unknown": 0}),
        ({"1": "no", "2": "crash"}, "INSUFFICIENT_EVIDENCE", {"cleared": 0, "persisted": 0, "unknown": 1}),
        ({"1": "no", "2": "crash", "3": "no"}, "FAIL", {"cleared": 0, "persisted": 1, "unknown": 0}),
    ],
)
def test_a_new_failure_counts_unless_every_re_run_passes(
    tmp_path: Path, trials: dict[str, str], state: str, confirmation: dict[str, int]
) -> None:
    done = against_baseline(tmp_path, {"c2": trials})
    (decision,) = done.json["decisions"]
    assert decision["state"] == state
    assert decision["broken"] == 1
    assert decision["confirmation"] == {"times": 2, "broken": 1, "rerun": 1} | confirmation
    assert oloproof(tmp_path, "gate", "latest").code == done.code  # what was found again is kept


def test_both_counts_and_every_re_run_are_shown(tmp_path: Path) -> None:
    done = against_baseline(tmp_path, {"c2": {"1": "no"}, "c3": {"1": "no", "2": "no"}})
    assert "2 newly broken cases: run again 2 times each" in done.err
    told = "2 newly broken (1 confirmed, 1 passed 2 more times), 0 allowed"
    assert told in oloproof(tmp_path, "inspect").out
    shown = oloproof(tmp_path, "inspect", "--case", "c3").lines
    assert [line.split("│")[1:3] for line in shown if "re-run" in line] == [
        [" 2 (re-run) ", " –      "],
        [" 3 (re-run) ", " right  "],
    ]
    trials = oloproof(tmp_path, "inspect", "--case", "c2", "--json").json["trials"]
    assert [(each["trial"], each["rerun"], each["verdicts"]["right"]) for each in trials] == [
        (1, False, "fail"),
        (2, True, "pass"),
        (3, True, "pass"),
    ]
    lines = oloproof(tmp_path, "inspect", "--verdicts", "--json").out.splitlines()
    assert len(lines) == 4 + 2 * 2


def test_re_runs_count_for_nothing_else(tmp_path: Path) -> None:
    done = against_baseline(tmp_path, {"c2": {"1": "no", "2": "no", "3": "no"}})
    assert done.verdict("right") == (3, 1, 0, 0)
    assert done.json["run"]["cases"] == 4
    oloproof(tmp_path, "inspect", "--junit", "junit.xml")
    text = (tmp_path / "junit.xml").read_text()
    assert ('tests="4" failures="1"' in text, text.count('classname="right"')) == (True, 4)
    oloproof(tmp_path, "baseline", "save", "-o", "next.json")
    assert oloproof(tmp_path, "baseline", "show", "next.json").lines[1] == "right: 3 passed, 1 failed, 0 missing"


def test_only_what_broke_is_run_again(tmp_path: Path) -> None:
    done = against_baseline(tmp_path, {})
    assert ("run again" in done.err, done.code) == (False, 0)
    assert done.json["decisions"][0]["confirmation"]["broken"] == 0


def test_a_comparison_runs_nothing_again_but_knows_what_was(tmp_path: Path) -> None:
    assert against_baseline(tmp_path, {"c2": {"1": "no"}}).code == 0
    done = oloproof(tmp_path, "compare", "latest", "base.json")
    assert (done.code, "c2 was broken and run again: right passed 2 of 2 times" in done.out) == (0, True)
    assert oloproof(tmp_path, "compare", "latest", "base.json", "--json").json["reruns"] == [
        {"case": "c2", "verdicts": [{"right": "pass"}, {"right": "pass"}]}
    ]
    oloproof(tmp_path, "run", "--no-gate")
    done = oloproof(tmp_path, "compare", "latest", "base.json")
    assert done.code == 1
    assert "1 newly broken and not run again, as `run --baseline` does, 0 allowed" in done.out


def test_what_was_confirmed_against_one_baseline_confirms_nothing_against_another(tmp_path: Path) -> None:
    confirmed = against_baseline(tmp_path, {"c2": {"1": "no"}})
    assert confirmed.code == 0
    (tmp_path / "answers.json").write_text("{}")
    oloproof(tmp_path, "run", "--no-gate")
    oloproof(tmp_path, "baseline", "save", "-o", "other.json")
    done = oloproof(tmp_path, "compare", confirmed.json["run"]["id"], "other.json")
    assert done.code == 1
    assert "1 newly broken and not run again" in done.out


def test_more_re_runs_than_a_rule_asks_for_do_not_help_it(tmp_path: Path) -> None:
    twice = NO_NEW | {"id": "twice"}
    thrice = NO_NEW | {"id": "thrice", "confirm": 3}
    done = against_baseline(tmp_path, {"c2": {"1": "no", "4": "no"}}, rules=[twice, thrice])
    assert [each["state"] for each in done.json["decisions"]] == ["PASS", "FAIL"]


def test_with_trials_a_case_is_broken_by_one_that_failed(tmp_path: Path) -> None:
    done = against_baseline(tmp_path, {"c2": {"2": "no"}}, trials=2)
    assert done.json["decisions"][0]["confirmation"]["cleared"] == 1
    assert (done.code, done.json["flaky"][0]["case"]) == (0, "c2")
    done = oloproof(tmp_path, "inspect", "--case", "c2", "--json").json
    assert [(each["trial"], each["rerun"]) for each in done["trials"]] == [(1, False), (2, False), (3, True), (4, True)]
    assert done["trial"] == 2  # the one that failed


def test_user_functions_judge_re_runs_too(tmp_path: Path) -> None:
    (tmp_path / "checks.py").write_text("def right(output): return output['answer'] == 'yes'\n")
    evaluators = [{"type": "checks:right", "criterion": "right"}]
    done = against_baseline(tmp_path, {"c2": {"1": "no"}}, evaluators=evaluators)
    assert done.json["decisions"][0]["confirmation"]["cleared"] == 1


def test_what_is_recorded_cannot_be_run_again(tmp_path: Path) -> None:
    project(tmp_path, cases=[case("c1")], rules=[NO_NEW], system={"recorded": "traces.jsonl"})
    write_lines(tmp_path / "traces.jsonl", [{"case": "c1", "output": {"answer": "yes"}}])
    done = oloproof(tmp_path, "check")
    assert done.code == 2
    assert "release.yaml:1:" in done.err
    assert "confirm runs broken cases again, and the system is recorded [OLO636]" in done.err


# --- two runs with trials --------------------------------------------------------------------------------------------


def test_pairs_are_of_cases(tmp_path: Path) -> None:
    rule = {key: value for key, value in NO_NEW.items() if key != "confirm"}
    done = against_baseline(tmp_path, {"c2": {"2": "no"}, "c3": {"1": "crash"}}, rules=[rule], trials=2)
    (decision,) = done.json["decisions"]
    assert (decision["broken"], decision["missing"], done.code) == (1, 1, 1)
    found = oloproof(tmp_path, "compare", "latest", "latest~1", "--json").json
    (criterion,) = found["criteria"]
    assert (criterion["both_pass"], criterion["broken_cases"], criterion["lost_cases"]) == (2, ["c2"], ["c3"])
    assert found["trials"] == 2
    assert "each case was tried 2 times" in oloproof(tmp_path, "compare", "latest", "base.json").out


def test_the_trial_that_failed_tells_where_the_calls_part(tmp_path: Path) -> None:
    app = """
    from oloproof import *

    @system(records=("agent_trajectory/v1",))
    def run(case):
        bad = open("mode").read() == "new" and current_case().trial == 2
        with current_case().trace() as trace:
            trace.tool_call("search" if bad else "lookup", {})
        return {"answer": "no" if bad else "yes"}
    """
    (tmp_path / "mode").write_text("old")
    project(tmp_path, app=app, cases=[case("c1")], rules=None, trials=2)
    oloproof(tmp_path, "run")
    (tmp_path / "mode").write_text("new")
    oloproof(tmp_path, "run")
    told = oloproof(tmp_path, "compare", "latest", "latest~1", "--no-gate").out
    assert "step 1 of the baseline: lookup is gone" in told


def test_runs_of_different_numbers_of_trials_are_not_compared(tmp_path: Path) -> None:
    against_baseline(tmp_path, {}, trials=2)
    oloproof(tmp_path, "run", "--trials", "3", "--no-gate")
    done = oloproof(tmp_path, "compare", "latest", "base.json")
    assert (done.code, "tried each case 3 times, and the baseline" in done.err) == (2, True)
    assert "[OLO617]" in done.err


def test_a_baseline_of_other_trials_is_refused_before_a_case_runs(tmp_path: Path) -> None:
    against_baseline(tmp_path, {}, trials=2)
    before = oloproof(tmp_path, "runs", "--json").out
    done = oloproof(tmp_path, "run", "--trials", "3", "--baseline", "base.json")
    assert (done.code, "this run would try each case 3 times, and the baseline" in done.err) == (2, True)
    assert oloproof(tmp_path, "runs", "--json").out == before


def test_a_run_has_come_to_no_end_before_its_re_runs_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If it is killed between, what was run again must not pass for its own trials."""
    seen = []

    def spy(_: Any, run: Run, comparison: Comparison, *rest: Any, ports: Ports, **others: Any) -> Comparison:
        seen.append(ports.store.find(run.id).status)
        return comparison

    monkeypatch.setattr(running, "confirmed", spy)
    against_baseline(tmp_path, {"c2": {"1": "no"}})
    assert seen == ["running"]
    assert oloproof(tmp_path, "runs", "--json").json["runs"][0]["status"] == "complete"


# --- a run that is cut short while it confirms -----------------------------------------------------------------------

TWO_BROKEN = {"c2": {"1": "no"}, "c3": {"1": "no"}}


@pytest.mark.parametrize(("budget", "made"), [("1", 0), ("1.1", 1), ("1.5", 2), ("2", 4)])
def test_re_runs_cost_what_they_cost(tmp_path: Path, budget: str, made: int) -> None:
    """The four cases cost 1 USD. With what is left as many are run again as it pays for, and the rest when the run is
    resumed."""
    done = against_baseline(tmp_path, TWO_BROKEN, options=["--max-cost-usd", budget], system=ONE_BY_ONE)
    again = ["c2 2", "c2 3", "c3 2", "c3 3"]
    assert ran_again(tmp_path) == again[:made]
    if made == len(again):
        assert (done.code, done.json["run"]["status"]) == (0, "complete")
        return
    assert (done.code, done.json["run"]["status"], done.json["gate"]["outcome"]) == (5, "interrupted", "NOT_GATED")
    warnings = " ".join(done.json["warnings"])
    assert f"{4 - made} attempts were not run; `run --resume` completes the run" in warnings
    assert "newly broken cases were not all run again" in warnings
    assert "nothing is compared with a run that is not complete" in oloproof(tmp_path, "inspect").out
    assert oloproof(tmp_path, "gate").code == 5
    assert oloproof(tmp_path, "compare", "latest", "base.json").code == 5
    done = oloproof(tmp_path, "run", "--resume", "latest", "--json")
    assert (done.code, ran_again(tmp_path)) == (0, again[made:])
    assert done.json["decisions"][0]["confirmation"]["cleared"] == 2
    assert done.verdict("right") == (2, 2, 0, 0)
    assert len(oloproof(tmp_path, "inspect", "--verdicts", "--json").lines) == 4 + 4


@pytest.mark.parametrize("after", [1, 2, 3])
def test_a_re_run_that_failed_is_not_made_until_it_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    """Whoever ends the run once he has seen it has it in the store all the same."""
    append, stored = Store.append, []

    def interrupted(store: Store, run: str, rows: Sequence[StoredCase], **others: Any) -> None:
        append(store, run, rows, **others)
        stored.extend(row for row in rows if row.trial > 1)
        if len(stored) == after:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Store, "append", interrupted)
        against_baseline(tmp_path, {"c2": {"1": "no", "2": "no"}, "c3": {"1": "no"}})
    assert len(ran_again(tmp_path)) >= after
    (tmp_path / "answers.json").write_text("{}")
    done = oloproof(tmp_path, "run", "--resume", "latest", "--json")
    assert ran_again(tmp_path) == ["c2 2", "c2 3", "c3 2", "c3 3"][after:]
    assert (done.code, done.json["decisions"][0]["confirmation"]["persisted"]) == (1, 1)


def test_re_runs_that_ended_with_an_error_are_made_again_like_all_others(tmp_path: Path) -> None:
    """What c2 comes to when its own error is made good has it run again, too, and takes no other re-run's place."""
    answers = {"c2": {"1": "crash"}, "c3": {"1": "no", "3": "crash"}}
    assert against_baseline(tmp_path, answers).code == 3
    assert ran_again(tmp_path) == ["c3 2", "c3 3"]
    (tmp_path / "answers.json").write_text(json.dumps({"c2": {"1": "no"}}))
    done = oloproof(tmp_path, "run", "--resume", "latest", "--retry-errors", "--json")
    assert ran_again(tmp_path) == ["c2 2", "c2 3", "c3 3"]
    assert (done.code, done.json["decisions"][0]["confirmation"]["cleared"]) == (0, 2)
    trials = oloproof(tmp_path, "inspect", "--case", "c3", "--json").json["trials"]
    assert [(each["trial"], each["verdicts"]["right"]) for each in trials] == [(1, "fail"), (2, "pass"), (3, "pass")]
    again = oloproof(tmp_path, "run", "--resume", "latest", "--retry-errors")
    assert (again.code, "no attempt ended with an error" in again.err) == (2, True)


def test_a_re_run_is_no_trial_that_is_taken_over(tmp_path: Path) -> None:
    assert against_baseline(tmp_path, {"c2": {"1": "no"}}, system=ONE_BY_ONE).code == 0
    assert ran_again(tmp_path) == ["c2 2", "c2 3"]
    done = oloproof(tmp_path, "run", "--reuse", "--trials", "2", "--no-gate", "--json")
    assert (done.code, ran_again(tmp_path)) == (0, ["c1 2", "c2 2", "c3 2", "c4 2"])
    assert done.json["run"]["reused"][0]["attempts"] == 4


def test_what_was_confirmed_is_not_confirmed_anew_until_it_passes(tmp_path: Path) -> None:
    """Whoever takes the attempts over takes their re-runs over, also by way of a run that had no baseline."""
    answers = {"c2": {"1": "no", "2": "no"}, "c3": {"1": "no"}, "c4": {"1": "no", "2": "crash"}}
    assert against_baseline(tmp_path, answers, system=ONE_BY_ONE).code == 1
    assert ran_again(tmp_path) == ["c2 2", "c2 3", "c3 2", "c3 3", "c4 2", "c4 3"]
    (tmp_path / "answers.json").write_text(json.dumps({"c1": {"1": "no"}}))
    again = ["run", "--reuse", "--baseline", "base.json", "--json"]
    for before in ([], ["--no-gate"]):
        if before:
            oloproof(tmp_path, "run", "--reuse", *before)
        done = oloproof(tmp_path, *again)
        (decision,) = done.json["decisions"]
        assert (done.code, decision["confirmation"]["persisted"], decision["confirmation"]["cleared"]) == (1, 1, 2)
        assert ran_again(tmp_path) == ([] if before else ["c4 2"])  # what ended with an error is made again
    shown = oloproof(tmp_path, "inspect", "--case", "c2", "--trial", "2", "--json").json
    assert shown["taken_from"] == oloproof(tmp_path, "runs", "--json").json["runs"][-2]["id"]
    assert oloproof(tmp_path, "compare", "latest", "base.json").code == 1


@pytest.mark.parametrize("beside", [False, True])
def test_a_trial_that_is_made_again_after_an_error_leaves_the_others_confirmed(tmp_path: Path, beside: bool) -> None:
    answers = {"c2": {"1": "no", "2": "crash", "3": "no"}}
    assert against_baseline(tmp_path, answers, system=ONE_BY_ONE, trials=2).code == 1
    (tmp_path / "ran").unlink()
    (tmp_path / "answers.json").write_text("{}")
    if beside:
        oloproof(tmp_path, "run", "--reuse", "--no-gate")
    done = oloproof(tmp_path, "run", "--reuse", "--baseline", "base.json", "--json")
    assert (done.code, ran_again(tmp_path)) == (1, ["c2 2"])


def test_another_attempt_is_confirmed_by_re_runs_of_its_own(tmp_path: Path) -> None:
    """The re-runs of the attempt that stands, not of one that an other run made at the same case."""
    assert against_baseline(tmp_path, {"c2": {"1": "no", "2": "no"}}, system=ONE_BY_ONE).code == 1
    (tmp_path / "answers.json").write_text(json.dumps({"c2": {"1": "no"}}))
    oloproof(tmp_path, "run", "--no-gate")  # is the newest complete run
    (tmp_path / "ran").unlink()
    done = oloproof(tmp_path, "run", "--reuse", "--baseline", "base.json", "--json")
    assert (done.code, ran_again(tmp_path)) == (0, ["c2 2", "c2 3"])
