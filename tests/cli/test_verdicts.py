"""The exit code and the last line of a run, for each verdict that there is."""

from __future__ import annotations

from pathlib import Path

import pytest

from fakes.projects import NONE_WRONG, RIGHT, answered, case, oloproof, project, spawned

pytestmark = pytest.mark.usefixtures("system_at_hand")


FLOOR = {"id": "floor", "metric": "right", "min": 0.7}
MANY = answered(*["yes"] * 20)


def test_exit_0_needs_a_policy_and_a_rule_that_passes(tmp_path: Path) -> None:
    done = spawned(project(tmp_path, cases=MANY, rules=[FLOOR]), "run")
    assert done.code == 0
    assert "ALLOW (exit 0)" in done.lines
    assert "│ floor │ right  │ PASS  │ lower bound 83.8% ≥ minimum 70% │" in done.lines


def test_evidence_that_says_worse_is_exit_1(tmp_path: Path) -> None:
    done = spawned(project(tmp_path, cases=answered("yes", "no")), "run")
    assert done.code == 1
    assert "BLOCK (exit 1): none-wrong FAIL" in done.lines


def test_evidence_that_does_not_settle_it_is_exit_3(tmp_path: Path) -> None:
    done = spawned(project(tmp_path, rules=[FLOOR]), "run")
    assert done.code == 3
    assert "BLOCK (exit 3): floor INSUFFICIENT_EVIDENCE" in done.lines


def test_a_rule_over_no_case_is_exit_3(tmp_path: Path) -> None:
    elsewhere = RIGHT | {"only": "metadata.surface == phone"}
    done = oloproof(project(tmp_path, evaluators=[elsewhere]), "run")
    assert done.code == 3
    assert "nothing to decide on: no case was observed │" in done.out
    assert "no case applies; what each rule can decide: oloproof check" in done.lines


def test_fail_outranks_manual_review_which_outranks_insufficient_evidence(tmp_path: Path) -> None:
    looked_at = {"id": "looked-at", "metric": "always", "kind": "observed_count", "max_failures": 0}
    looked_at |= {"requires_manual_review": True}
    evaluators = [RIGHT, {"type": "exact_match", "criterion": "always", "field": "answer", "value": "yes"}]
    undecided = {"id": "undecided", "metric": "always", "min": 0.9}
    both = project(tmp_path / "both", evaluators=evaluators, rules=[undecided, looked_at])
    done = oloproof(both, "run")
    assert done.code == 4
    assert "BLOCK (exit 4): undecided INSUFFICIENT_EVIDENCE, looked-at MANUAL_REVIEW" in done.lines
    wrong = [case("c1", "yes"), case("c2", "yes", answer="no")]
    every = project(tmp_path / "all", evaluators=evaluators, rules=[undecided, looked_at, NONE_WRONG], cases=wrong)
    done = oloproof(every, "run")
    assert done.code == 1
    causes = "undecided INSUFFICIENT_EVIDENCE, looked-at MANUAL_REVIEW, none-wrong FAIL"
    assert f"BLOCK (exit 1): {causes}" in done.lines


def test_a_warning_does_not_block_but_one_rule_must_pass(tmp_path: Path) -> None:
    policy = {"block_on": ["FAIL"], "warn_on": ["INSUFFICIENT_EVIDENCE", "MANUAL_REVIEW"]}
    warned = project(tmp_path / "warned", rules=None, policy=policy | {"rules": [FLOOR, NONE_WRONG]})
    done = oloproof(warned, "run")
    assert done.code == 0
    assert "ALLOW (exit 0): floor INSUFFICIENT_EVIDENCE is a warning" in done.lines
    alone = project(tmp_path / "alone", rules=None, policy=policy | {"rules": [FLOOR]})
    done = oloproof(alone, "run")
    assert done.code == 3
    assert any(line.startswith("BLOCK (exit 3): no rule passed, and exit 0 needs one that does") for line in done.lines)


def test_a_run_without_a_policy_is_not_gated_and_says_what_fixes_that(tmp_path: Path) -> None:
    done = spawned(project(tmp_path, rules=None), "run")
    assert done.code == 3
    why = "there is no policy: write release.yaml beside the configuration, or `policy: none` to go without"
    assert f"NOT GATED (exit 3): {why}" in done.lines


@pytest.mark.parametrize(
    ("config", "options"), [({"policy": "none"}, []), ({}, ["--no-gate"])], ids=["policy-none", "no-gate"]
)
def test_going_without_a_gate_is_exit_0_and_every_report_says_so(
    tmp_path: Path, config: dict[str, str], options: list[str]
) -> None:
    directory = project(tmp_path, rules=None, cases=answered("no", "no"), **config)
    done = oloproof(directory, "run", *options, "--markdown", "report.md", "--junit", "report.xml")
    assert done.code == 0
    assert "NOT GATED (exit 0): no gate was asked for" in done.lines
    assert "`NOT GATED (exit 0): no gate was asked for`" in (directory / "report.md").read_text()
    assert '<skipped message="NOT GATED (exit 0): no gate was asked for"/>' in (directory / "report.xml").read_text()
    document = oloproof(directory, "inspect", "--json").json
    assert document["gate"] == {"outcome": "NOT_GATED", "exit_code": 0, "why": "no gate was asked for"}


def test_a_report_shows_the_first_failures_of_what_blocks(tmp_path: Path) -> None:
    """Ten cases fail what no rule reads, and six what one does: five of those six are shown."""
    wordy = RIGHT | {"criterion": "wordy", "value": "a whole sentence"}
    del wordy["expected_field"]
    directory = project(tmp_path, evaluators=[wordy, RIGHT], cases=answered(*["yes"] * 4, *["no"] * 6))
    done = oloproof(directory, "run")
    assert done.code == 1
    assert "failures that block: 5 of 6" in done.lines
    table = done.lines[done.lines.index("failures that block: 5 of 6") :][:10]
    shown = [line.split("│")[1:3] for line in table if line.startswith("│ c")]
    assert [(case.strip(), criterion.strip()) for case, criterion in shown[1:]] == [
        (f"c{number}", "right") for number in range(5, 10)
    ]
    assert sum("--failures" in line for line in done.lines) == 1


def test_without_a_gate_all_that_failed_is_shown_and_with_a_green_one_nothing(tmp_path: Path) -> None:
    directory = project(tmp_path, rules=None, cases=answered("yes", "no"), policy="none")
    assert "failures" in oloproof(directory, "run").lines
    directory = project(tmp_path / "green", cases=answered(*["yes"] * 40, "no"), rules=[FLOOR])
    done = oloproof(directory, "run")
    assert done.code == 0
    assert not any(line.startswith("failures") for line in done.lines)


def test_where_nothing_went_wrong_the_report_says_how_to_see_what_is_missing(tmp_path: Path) -> None:
    app = "def run(case):\n    return object()\n"
    directory = project(tmp_path, app=app, rules=None, policy="none")
    done = oloproof(directory, "run")
    (hint,) = [line for line in done.lines if line.strip().startswith("what is missing, and why: ")]
    shown = oloproof(directory, *hint.partition("oloproof ")[2].split())
    assert (shown.code, "output_not_recorded" in shown.out) == (0, True)


def test_no_gate_holds_also_where_there_is_a_policy(tmp_path: Path) -> None:
    done = oloproof(project(tmp_path, cases=answered("no")), "run", "--no-gate")
    assert done.code == 0
    assert "NOT GATED (exit 0): no gate was asked for" in done.lines


@pytest.mark.parametrize(
    ("options", "cases"),
    [(["--case", "c1"], 1), (["--case", "c1", "--case", "c3"], 2), (["--limit", "2"], 2), (["--limit", "99"], 3)],
    ids=["case", "cases", "limit", "limit-beyond"],
)
def test_a_partial_run_reports_and_never_gates(tmp_path: Path, options: list[str], cases: int) -> None:
    done = oloproof(project(tmp_path), "run", *options, "--json")
    assert done.code == 3
    assert done.json["run"]["partial"] == " ".join(options)
    assert done.verdict("right") == (cases, 0, 0, 0)
    why = f"a partial run ({' '.join(options)}) reports and never gates"
    assert done.json["gate"] == {"outcome": "NOT_GATED", "exit_code": 3, "why": why}


def test_a_slice_is_a_partial_run(tmp_path: Path) -> None:
    rows = [case("c1") | {"metadata": {"surface": "chat"}}, case("c2") | {"metadata": {"surface": "mail"}}]
    directory = project(tmp_path, cases=rows)
    done = oloproof(directory, "run", "--slice", "metadata.surface=mail")
    assert done.code == 3
    assert "NOT GATED (exit 3): a partial run (--slice metadata.surface=mail) reports and never gates" in done.lines
    assert "1 / 1 observed · 0 missing · 0 excluded" in done.out
    assert oloproof(directory, "gate").code == 3


@pytest.mark.parametrize(("value", "count"), [("3", 2), ('["x",1]', 1), ("(none)", 1)])
def test_what_a_report_prints_of_a_slice_selects_it(tmp_path: Path, value: str, count: int) -> None:
    metadata = [{"key": 3}, {"key": 3.0}, {"key": ["x", 1]}, {}]
    rows = [case(f"c{number}") | {"metadata": each} for number, each in enumerate(metadata)]
    directory = project(tmp_path, cases=rows, slices=["metadata.key"])
    assert f"metadata.key={value}" in oloproof(directory, "run").out
    assert oloproof(directory, "run", "--slice", f"metadata.key={value}", "--json").json["run"]["cases"] == count


def test_a_partial_run_stays_ungated_for_gate(tmp_path: Path) -> None:
    directory = project(tmp_path)
    oloproof(directory, "run", "--limit", "1")
    done = oloproof(directory, "gate", "--as-judged")
    assert done.code == 3
    assert "NOT GATED (exit 3): a partial run (--limit 1) reports and never gates" in done.lines


def test_a_run_in_this_process_never_gates(tmp_path: Path) -> None:
    done = spawned(project(tmp_path), "run", "--in-process")
    assert done.code == 3
    assert "NOT GATED (exit 3): a run with --in-process reports and never gates" in done.lines
    assert "3 / 3 observed · 0 missing · 0 excluded" in done.out


def test_a_system_that_ends_this_process_does_not_end_it_well(tmp_path: Path) -> None:
    """In process nothing can stop ``os._exit(0)``; what ``sys.exit(0)`` raises is caught like anything else."""
    app = "import sys\ndef run(case):\n    sys.exit(0)\n"
    done = spawned(project(tmp_path, app=app), "run", "--in-process", "--json")
    assert done.code == 3
    assert done.verdict("right") == (0, 0, 3, 0)


def test_what_is_judged_and_not_gated_is_told(tmp_path: Path) -> None:
    evaluators = [RIGHT, {"type": "exact_match", "criterion": "idle", "field": "answer", "value": "yes"}]
    done = oloproof(project(tmp_path, evaluators=evaluators), "run")
    assert done.code == 0
    assert "judged, not gated: idle" in done.lines


SPENDER = """
from oloproof import *

@system(records=("agent_trajectory/v1",))
def run(amounts):
    with current_case().trace() as trace:
        for amount in amounts:
            trace.message("spent", **amount)
    return {"answer": "yes"}
"""


def test_a_sum_that_no_double_holds_is_missing_and_every_run_stays_readable(tmp_path: Path) -> None:
    costly, many = {"cost_usd": 1e308}, {"tokens": 10**400}
    project(
        tmp_path,
        app=SPENDER,
        cases=[case("c1", [costly, costly]), case("c2", [many]), case("c3", [{"cost_usd": 1, "tokens": 2}])],
        metrics=[
            {"type": "quantile", "id": source, "source": source, "quantile": 0.5} for source in ("cost_usd", "tokens")
        ],
    )
    done = oloproof(tmp_path, "run", "--json")
    assert done.code == 0
    counted = {metric["id"]: (metric["observed"], metric["missing"]) for metric in done.json["metrics"][1:]}
    assert counted == {"cost_usd": (1, 2), "tokens": (1, 2)}
    assert oloproof(tmp_path, "runs").code == 0
    assert oloproof(tmp_path, "inspect").code == 0
    assert oloproof(tmp_path, "inspect", "--case", "c2", "--json").code == 0


@pytest.mark.parametrize("lost", ["1", "None", r"'\ud800'"])
def test_a_key_that_json_cannot_carry_does_not_fail_the_field_beside_it(tmp_path: Path, lost: str) -> None:
    project(tmp_path, app=f"def run(case):\n    return {{'answer': case, {lost}: case}}\n")
    done = oloproof(tmp_path, "run", "--json")
    assert (done.code, done.verdict("right")) == (0, (3, 0, 0, 0))


def test_an_output_that_json_cannot_carry_is_missing(tmp_path: Path) -> None:
    project(tmp_path, app="def run(case):\n    return {1: case}\n")
    done = oloproof(tmp_path, "run", "--json")
    assert (done.code, done.verdict("right")) == (3, (0, 0, 3, 0))
    assert not any("which no output has" in warning for warning in done.json["warnings"])
