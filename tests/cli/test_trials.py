"""Cases that are tried several times, and cases that belong together, through the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from fakes.projects import AGENT, NONE_WRONG, Row, case, oloproof, project, write_lines
from oloproof.stats import proportion, trials
from oloproof.stats.trials import Trials

pytestmark = pytest.mark.usefixtures("system_at_hand")

SOMETIMES = """
from oloproof import *


@system(records=("agent_trajectory/v1",))
def run(passing):
    me = current_case()
    right = me.trial in passing
    with me.trace() as trace:
        trace.tool_call("lookup", {"trial": 0})
        if not right:
            trace.tool_call("search", {})
    return {"answer": "yes" if right else "no"}
"""
"""Is right in the trials that its input names, and searches in the others."""

RELIABLE = {"id": "reliable", "type": "pass_hat_k", "criterion": "right", "k": 2}
LUCKY = {"id": "lucky", "type": "pass_at_k", "criterion": "right", "k": 2}
FLOOR = {"id": "floor", "metric": "right", "min": 0.5}


def tried(*passing: list[int], **metadata: Any) -> list[Row]:
    """A case for each list of the trials that pass, ``c1`` onwards."""
    return [case(f"c{number}", which) | {"metadata": metadata} for number, which in enumerate(passing, 1)]


def of_trials(directory: Path, *passing: list[int], **config: Any) -> Path:
    keys: dict[str, Any] = {"app": SOMETIMES, "cases": tried(*passing), "trials": 3, "rules": [FLOOR]}
    return project(directory, **(keys | config))


def metric(document: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(each for each in document["metrics"] if each["id"] == name)
    return found


SUITE = [[1, 2, 3]] * 8 + [[1, 2]] * 2 + [[3]]
COUNTS = [Trials(len(passing), 3 - len(passing)) for passing in SUITE]


def test_a_rate_is_the_cases_and_not_the_trials(tmp_path: Path) -> None:
    done = oloproof(of_trials(tmp_path, *SUITE, metrics=[RELIABLE, LUCKY]), "run", "--json")
    rate = metric(done.json, "right")
    assert (rate["passed"], rate["failed"], rate["missing"], rate["excluded"]) == (8, 3, 0, 0)
    assert rate["trials"] == {"passed": 29, "failed": 4, "missing": 0}
    assert rate["estimate"] == pytest.approx(29 / 33)
    wanted = trials.interval(COUNTS, metric="pass_hat_k")
    assert (rate["effective"], rate["lower"], rate["upper"]) == pytest.approx(wanted)
    for name, kind in (("reliable", "pass_hat_k"), ("lucky", "pass_at_k")):
        found = metric(done.json, name)
        wanted = trials.interval(COUNTS, metric=kind, k=2)
        assert (found["kind"], found["k"], found["observed"], found["missing"]) == (kind, 2, 11, 0)
        assert found["estimate"] == pytest.approx(trials.estimate(COUNTS, metric=kind, k=2))
        assert (found["effective"], found["lower"], found["upper"]) == pytest.approx(wanted)
    assert (done.json["run"]["cases"], done.json["run"]["trials"]) == (11, 3)
    (decision,) = done.json["decisions"]
    assert (decision["state"], decision["false_pass"], done.code) == ("PASS", None, 0)


def test_one_trial_is_what_it_always_was(tmp_path: Path) -> None:
    plain = oloproof(of_trials(tmp_path / "a", *SUITE, trials=1), "run", "--json").json
    project(tmp_path / "b", app=SOMETIMES, cases=tried(*SUITE), rules=[FLOOR])
    unsaid = oloproof(tmp_path / "b", "run", "--json").json
    for document in (plain, unsaid):
        document["run"].pop("id")
    assert plain == unsaid
    rate = metric(plain, "right")
    assert (rate["lower"], rate["upper"]) == proportion.interval(10, 1, 0)
    assert "trials" not in rate


def test_the_command_line_says_how_often(tmp_path: Path) -> None:
    done = oloproof(of_trials(tmp_path, [1], [1, 2], trials=1), "run", "--trials", "2", "--json")
    assert metric(done.json, "right")["trials"] == {"passed": 3, "failed": 1, "missing": 0}
    assert oloproof(tmp_path, "gate", "latest").code != 2  # the configuration is the same


def test_a_case_that_passes_sometimes_is_told_with_where_it_parts(tmp_path: Path) -> None:
    done = oloproof(of_trials(tmp_path, [1, 2, 3], [2]), "run", "--json", "--markdown", "report.md")
    (flaky,) = done.json["flaky"]
    assert (flaky["case"], flaky["passed"], flaky["failed"]) == ("c2", 1, 2)
    assert flaky["parting"] == {"kind": "inserted", "tool": "search", "failing": 2, "passing": None}
    told = "trial 1 fails: its step 2 calls search, as trial 2 does not"
    assert told in oloproof(tmp_path, "inspect").out
    assert told in (tmp_path / "report.md").read_text()


def test_one_failed_trial_fails_the_case(tmp_path: Path) -> None:
    directory = of_trials(tmp_path, [1, 2, 3], [1, 2], rules=[NONE_WRONG])
    done = oloproof(directory, "run", "--json")
    (decision,) = done.json["decisions"]
    assert (decision["passed"], decision["failed"], done.code) == (1, 1, 1)
    assert "1 case with a failed trial, 0 allowed" in oloproof(directory, "inspect").out


CRASHES = """
from oloproof import current_case

def run(case):
    if current_case().trial == 2 and case == "crash":
        raise ValueError("no such order")
    return {"answer": "yes"}
"""


def test_a_missing_trial_counts_both_ways(tmp_path: Path) -> None:
    cases = [case("c1"), case("c2"), case("c3", "crash")]
    directory = project(tmp_path, app=CRASHES, cases=cases, trials=2, metrics=[RELIABLE])
    done = oloproof(directory, "run", "--json", "--junit", "junit.xml")
    rate = metric(done.json, "right")
    assert (rate["passed"], rate["failed"], rate["missing"]) == (2, 0, 1)
    assert rate["effective"] == 3
    assert (rate["estimate"], rate["upper"]) == (1.0, 1.0)
    assert rate["lower"] == trials.interval([Trials(2, 0)] * 2 + [Trials(1, 0, 1)], metric="pass_hat_k").lower
    assert (done.code, done.json["decisions"][0]["reason"]) == (3, "missing_could_hide_failures")
    assert metric(done.json, "reliable")["missing"] == 1
    assert 'tests="6" failures="0" errors="0" skipped="1"' in (tmp_path / "junit.xml").read_text()


def test_every_trial_has_a_seed_of_its_own_that_never_changes(tmp_path: Path) -> None:
    app = "from oloproof import current_case\ndef run(case):\n    return {'answer': str(current_case().seed)}\n"
    seeds = [str(crc32(f"{trial}:é".encode())) for trial in (1, 2, 3)]
    directory = project(tmp_path, app=app, cases=[case("é")], trials=3, rules=None)
    oloproof(directory, "run")
    for trial, seed in enumerate(seeds, 1):
        found = oloproof(directory, "inspect", "--case", "é", "--trial", str(trial), "--json").json
        assert found["output"] == {"answer": seed}


def test_quantities_are_those_of_the_largest_trial(tmp_path: Path) -> None:
    metrics = [{"id": "steps", "type": "quantile", "source": "agent_steps", "quantile": 0.5}]
    directory = of_trials(tmp_path, [1, 2, 3], [1, 2, 3], [1], metrics=metrics)
    found = metric(oloproof(directory, "run", "--json").json, "steps")
    assert (found["observed"], found["estimate"]) == (3, 1)
    directory = of_trials(tmp_path, [1, 2], [1, 3], [1, 2, 3], metrics=metrics)
    assert metric(oloproof(directory, "run", "--json").json, "steps")["estimate"] == 2


def test_slices_hold_the_trials_that_are_there(tmp_path: Path) -> None:
    config = {"slices": ["tool_calls:1", "metadata.shop"], "min_slice_support": 1}
    directory = of_trials(tmp_path, cases=tried([1, 2, 3], [1], shop="x"), **config)
    done = oloproof(directory, "run", "--json")
    groups = {(each["slice"], each["value"]): each for each in done.json["slices"]}
    once, more, shop = (groups[key] for key in (("tool_calls", "1"), ("tool_calls", "2+"), ("metadata.shop", "x")))
    assert (once["support"], more["support"], shop["support"]) == (2, 1, 2)
    assert once["metrics"][0]["trials"] == {"passed": 4, "failed": 0, "missing": 0}
    assert more["metrics"][0]["trials"] == {"passed": 0, "failed": 2, "missing": 0}
    assert shop["metrics"][0]["estimate"] == pytest.approx(2 / 3)


# --- clusters ---------------------------------------------------------------------------------------------------------


def of_customers(*customers: str | None) -> list[Row]:
    return [
        case(f"c{number}") | {"metadata": {} if name is None else {"customer": name}}
        for number, name in enumerate(customers, 1)
    ]


def test_cases_of_a_cluster_count_as_one(tmp_path: Path) -> None:
    cases = of_customers("ann", "ann", "ann", "bob", None, None)
    directory = project(tmp_path, cases=cases, cluster="metadata.customer", rules=[FLOOR])
    rate = metric(oloproof(directory, "run", "--json").json, "right")
    groups = ["a", "a", "a", "b", "c", "d"]
    wanted = trials.interval([Trials(1, 0)] * 6, metric="pass_hat_k", groups=groups)
    assert (rate["effective"], rate["lower"], rate["upper"]) == pytest.approx(wanted)
    assert "in 4 clusters" in oloproof(directory, "inspect").out


def test_the_datasets_own_key_does_too_and_clusters_of_one_change_nothing(tmp_path: Path) -> None:
    cases = [row | {"cluster": name} for row, name in zip(of_customers(None, None, None), "xyx", strict=True)]
    related = metric(oloproof(project(tmp_path / "a", cases=cases), "run", "--json").json, "right")
    assert related["effective"] < 3
    alone = [row | {"cluster": str(number)} for number, row in enumerate(cases)]
    found = metric(oloproof(project(tmp_path / "b", cases=alone), "run", "--json").json, "right")
    assert (found["lower"], found["upper"], "effective" in found) == (*proportion.interval(3, 0, 0), False)


def test_a_cluster_that_no_case_has_is_refused(tmp_path: Path) -> None:
    done = oloproof(project(tmp_path, cases=of_customers("ann"), cluster="metadata.custmer"), "check")
    assert done.code == 2
    assert "no case has 'metadata.custmer' [OLO637]" in done.err
    assert "oloproof.yaml:1:" in done.err


def test_a_rule_that_takes_cases_as_independent_is_refused_where_they_are_not(tmp_path: Path) -> None:
    rule = {"id": "no-worse", "metric": "right", "kind": "non_inferiority", "margin": 0.1}
    cases = of_customers("ann", "ann", "bob")
    done = oloproof(project(tmp_path, cases=cases, cluster="metadata.customer", rules=[rule]), "check")
    assert (done.code, "OLO635" in done.err) == (2, True)
    alone = project(tmp_path, cases=of_customers("a", "b"), cluster="metadata.customer", rules=[rule])
    assert oloproof(alone, "check").code == 0


def test_a_rule_on_a_quantile_is_refused_where_cases_belong_together(tmp_path: Path) -> None:
    """Ninety cases of three customers are worth three, and its bounds would be those of ninety."""
    steps = {"id": "steps", "type": "quantile", "source": "agent_steps", "quantile": 0.5}
    keys: dict[str, Any] = {"app": AGENT, "cluster": "metadata.customer", "metrics": [steps]}
    rule = {"id": "short", "metric": "steps", "max": 9}
    directory = project(tmp_path, cases=of_customers(*"aab"), rules=[rule], **keys)
    for command in ("check", "run"):
        done = oloproof(directory, command)
        assert (done.code, "bounds a quantile as of independent cases" in done.err) == (2, True)
        assert "[OLO635]" in done.err
    (directory / "release.yaml").write_text(json.dumps({"version": 1, "rules": [FLOOR]}))
    assert "the interval of steps is too narrow for them" in oloproof(directory, "run").out
    alone = project(tmp_path / "b", cases=of_customers(*"abc"), rules=[rule], **keys)
    assert oloproof(alone, "check").code == 0
    assert "too narrow" not in oloproof(alone, "run").out


# --- recordings -------------------------------------------------------------------------------------------------------


def of_recordings(directory: Path, *lines: Row, **config: Any) -> Path:
    keys: dict[str, Any] = {"system": {"recorded": "traces.jsonl"}}
    project(directory, **(keys | config))
    write_lines(directory / "traces.jsonl", lines)
    return directory


def line(name: str, trial: int, **keys: Any) -> Row:
    return {"case": name, "trial": trial, "output": {"answer": "yes"}} | keys


def test_a_trial_that_was_not_recorded_is_missing(tmp_path: Path) -> None:
    lines = [line("c1", 1), line("c1", 3), line("c2", 1), line("c2", 2), line("c2", 3), line("c3", 2)]
    done = oloproof(of_recordings(tmp_path, *lines), "judge", "--json")
    rate = metric(done.json, "right")
    assert (rate["passed"], rate["missing"], rate["trials"]) == (1, 2, {"passed": 6, "failed": 0, "missing": 3})
    assert "3 trials were not recorded of the 3 that each case should have" in done.json["warnings"]
    assert done.code == 3


def test_as_many_as_the_project_says(tmp_path: Path) -> None:
    lines = [line(name, trial) for name in ("c1", "c2", "c3") for trial in (1, 2)]
    done = oloproof(of_recordings(tmp_path, *lines, trials=3), "judge", "--json")
    assert metric(done.json, "right")["trials"] == {"passed": 6, "failed": 0, "missing": 3}
    done = oloproof(of_recordings(tmp_path, *lines, trials=1), "judge")
    assert (done.code, "; the same of 2 more recordings, of 'c2', 'c3' [OLO631]" in done.err) == (2, True)


def test_recordings_that_are_their_own_dataset_lack_trials_too(tmp_path: Path) -> None:
    brought = {"input": 1, "expected": {"answer": "yes"}}
    lines = [line("c1", 1, **brought), line("c1", 2, **brought), line("c2", 1, **brought)]
    done = oloproof(of_recordings(tmp_path, *lines, cases=None), "judge", "--json")
    assert metric(done.json, "right")["trials"] == {"passed": 3, "failed": 0, "missing": 1}
    lines[1] = line("c1", 2, input=2, expected={"answer": "yes"})
    done = oloproof(of_recordings(tmp_path, *lines, cases=None), "judge")
    assert done.code == 2
    assert "traces.jsonl:2: case 'c1', trial 2, is another case than at" in done.err


@pytest.mark.parametrize("second", [{"metadata": {"group": "b"}}, {}])
def test_trials_of_a_case_in_two_clusters_are_refused_in_any_order(tmp_path: Path, second: Row) -> None:
    """Which of them counted would depend on which is read last, and so would the interval."""
    own = {"input": "c1", "expected": {"answer": "yes"}}
    lines = [line("c1", 1, metadata={"group": "a"}, **own), line("c1", 2, **second, **own)]
    for ordered in (lines, lines[::-1]):
        directory = of_recordings(tmp_path, *ordered, cases=None, cluster="metadata.group")
        done = oloproof(directory, "judge")
        assert (done.code, "is another case than at traces.jsonl:1 [OLO632]" in done.err) == (2, True)


def test_a_rule_on_a_quantile_of_recordings_that_belong_together_is_refused_too(tmp_path: Path) -> None:
    time = {"id": "time", "type": "quantile", "source": "latency_ms", "quantile": 0.5}
    own = {"input": 1, "expected": {"answer": "yes"}, "metadata": {"group": "a"}}
    rules = [{"id": "quick", "metric": "time", "max": 9}]
    keys: dict[str, Any] = {"cases": None, "cluster": "metadata.group", "metrics": [time], "rules": rules}
    done = oloproof(of_recordings(tmp_path, line("c1", 1, **own), line("c2", 1, **own), **keys), "judge")
    assert (done.code, "bounds a quantile as of independent cases" in done.err) == (2, True)


def test_what_is_recorded_is_not_repeated(tmp_path: Path) -> None:
    done = oloproof(of_recordings(tmp_path, line("c1", 1)), "run", "--trials", "2")
    assert (done.code, "OLO633" in done.err) == (2, True)


# --- what is wrong with it -------------------------------------------------------------------------------------------


def test_a_metric_of_more_trials_than_there_are(tmp_path: Path) -> None:
    done = oloproof(of_trials(tmp_path, [1], metrics=[RELIABLE | {"k": 4}]), "check")
    assert done.code == 2
    assert "metric 'reliable' is about 4 trials of a case, and each case is tried 3 times [OLO630]" in done.err
    done = oloproof(of_trials(tmp_path, [1], metrics=[RELIABLE]), "run", "--trials", "1")
    assert "each case is tried once" in done.err


@pytest.mark.parametrize(
    ("entry", "rule", "code"),
    [
        (RELIABLE | {"criterion": "rihgt"}, FLOOR, "OLO104"),
        (RELIABLE, FLOOR | {"metric": "reliable", "kind": "observed_count", "max_failures": 0}, "OLO105"),
        (RELIABLE, {"id": "r", "metric": "reliable", "kind": "observed_count", "max_failures": 0}, "OLO118"),
        (RELIABLE, FLOOR | {"metric": "reliable", "min": 2}, "OLO108"),
    ],
)
def test_what_a_metric_and_its_rule_cannot_say(tmp_path: Path, entry: Row, rule: Row, code: str) -> None:
    done = oloproof(of_trials(tmp_path, [1], metrics=[entry], rules=[rule]), "check")
    assert (done.code, f"[{code}]" in done.err) == (2, True)


def test_check_says_what_it_supposes(tmp_path: Path) -> None:
    done = oloproof(of_trials(tmp_path, *SUITE, metrics=[RELIABLE], rules=[FLOOR | {"metric": "reliable"}]), "check")
    assert "floor: if the 3 trials of a case always agreed: PASS from 9 passes of 11" in done.out


def test_exact_is_clopper_and_pearson_at_the_effective_number(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    directory = of_trials(tmp_path, *SUITE, interval={"method": "exact"})
    rate = metric(oloproof(directory, "run", "--json").json, "right")
    wanted = trials.interval(COUNTS, metric="pass_hat_k", method="exact")
    assert (rate["lower"], rate["upper"]) == pytest.approx((wanted.lower, wanted.upper))
    assert wanted.lower < trials.interval(COUNTS, metric="pass_hat_k").lower


def test_a_plan_counts_cases_that_are_tried_once(tmp_path: Path) -> None:
    directory = of_trials(tmp_path, *SUITE)
    assert (oloproof(directory, "plan").code, "OLO638" in oloproof(directory, "plan").err) == (2, True)
    oloproof(directory, "run")
    assert "OLO638" in oloproof(directory, "plan", "latest").err


def test_a_command_is_told_which_trial_it_is(tmp_path: Path) -> None:
    agent = """
    import json, sys
    case = json.loads(sys.stdin.readline())
    print(json.dumps({"output": {"answer": "yes" if case["trial"] in case["input"] else "no"}}))
    """
    directory = of_trials(tmp_path, [1], [1, 2, 3], app=agent, system={"command": ["python3", "app.py"]})
    rate = metric(oloproof(directory, "run", "--json").json, "right")
    assert rate["trials"] == {"passed": 4, "failed": 2, "missing": 0}


def test_a_run_with_trials_does_not_stop_early(tmp_path: Path) -> None:
    done = oloproof(of_trials(tmp_path, *SUITE), "run", "--stop-early")
    assert (done.code, "OLO650" in done.err) == (2, True)
    cases = of_customers("ann", "ann", "bob")
    related = project(tmp_path / "b", cases=[row | {"cluster": "x"} for row in cases], rules=[FLOOR])
    assert "OLO650" in oloproof(related, "run", "--stop-early").err
