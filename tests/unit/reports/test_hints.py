from __future__ import annotations

import subprocess

import pytest
from msgspec.structs import replace

from fakes.hostile import HOSTILE
from golden.specimens import support, triage
from oloproof.model.decision import (
    CountFinding,
    Decision,
    Finding,
    Gate,
    IntervalThreshold,
    NoBaseline,
    ObservedCount,
    Policy,
    QuantileFinding,
    RateFinding,
    Reason,
    Rule,
)
from oloproof.model.measured import ErrorGroup
from oloproof.model.run import Report
from oloproof.model.tally import Tally
from oloproof.reports.hints import Typed, errors_in_words, next_steps, shell_word
from oloproof.reports.inert import inert
from oloproof.reports.shapes import Fact

TYPED = Typed("r1")
AFRESH = Fact("plan a fresh run; to add cases to this one after looking is peeking", "oloproof plan r1")
BLOCK = Gate(outcome="BLOCK", exit_code=3)


def steps(report: Report) -> tuple[Fact, ...]:
    return next_steps(report, TYPED)


def undecided(finding: Finding, *, reason: Reason = "interval_overlaps_threshold", rule: Rule | None = None) -> Report:
    """The support agent's report, blocked by one rule that cannot be settled."""
    decision = Decision(
        rule="r", metric="steps_p95", state="INSUFFICIENT_EVIDENCE", reason=reason, blocking=True, finding=finding
    )
    policy = Policy(rules=() if rule is None else (rule,))
    return replace(support(), decisions=(decision,), policy=policy, gate=BLOCK)


def of_rate(passed: int, failed: int, missing: int = 0) -> RateFinding:
    return RateFinding(tally=Tally(passed, failed, missing), minimum=0.7, lower=0.0, upper=1.0)


def test_each_thing_to_do_is_said_once_with_its_command() -> None:
    assert steps(support()) == (
        Fact("see what failed", "oloproof inspect r1 --failures"),
        Fact(
            "see why 1 of 40 cases is missing (timeout in 1 case: no answer within 60 s)",
            "oloproof inspect r1 --missing",
        ),
        AFRESH,
    )


def test_a_run_that_is_let_through_asks_for_nothing() -> None:
    assert steps(replace(support(), gate=Gate(outcome="ALLOW", exit_code=0))) == ()


def test_a_review_asks_for_a_name_and_quotes_the_rule() -> None:
    decision = replace(support().decisions[0], rule="a b", state="MANUAL_REVIEW", blocking=True)
    report = replace(support(), decisions=(decision,), gate=Gate(outcome="BLOCK", exit_code=4))
    assert steps(report)[0].text == "oloproof gate r1 --approve 'a b' --by NAME"


def test_what_is_missing_is_looked_at_before_cases_are_added() -> None:
    report = undecided(of_rate(30, 9, 2))
    step, _failures = steps(replace(report, measured=replace(report.measured, errors=())))
    assert step == Fact("see why 2 of 41 cases are missing", "oloproof inspect r1 --missing")
    most = ErrorGroup(kind="system_error", message="ValueError: boom", cases=2, first="c1")
    step, _failures = steps(replace(report, measured=replace(report.measured, errors=(*report.measured.errors, most))))
    assert step.label == "see why 2 of 41 cases are missing (system_error in 2 cases: ValueError: boom)"


@pytest.mark.parametrize(
    ("finding", "rule", "told"),
    [
        (
            of_rate(7, 3),
            IntervalThreshold(id="r", metric="m", min="0.6", max="0.8"),
            "add cases; what each rule can decide at a given number",
        ),
        (of_rate(0, 0), None, "no case applies; what each rule can decide"),
        (of_rate(2, 1), None, "add cases; what each rule can decide at a given number"),
    ],
)
def test_cases_are_to_be_added_and_how_many_where_that_can_be_told(
    finding: Finding, rule: Rule | None, told: str
) -> None:
    first, *rest = steps(undecided(finding, rule=rule))
    assert first == Fact(told, "oloproof check")
    failed = not isinstance(finding, QuantileFinding) and finding.tally.failed
    assert rest == ([Fact("see what failed", "oloproof inspect r1 --failures")] if failed else [])


@pytest.mark.parametrize(
    ("finding", "rule"),
    [
        (of_rate(33, 7), IntervalThreshold(id="r", metric="m", min="0.7")),
        (of_rate(7, 33), IntervalThreshold(id="r", metric="m", max="0.3")),
        (
            QuantileFinding(observed=40, missing=0, maximum=12.0),
            IntervalThreshold(id="r", metric="steps_p95", max="12"),
        ),
    ],
)
def test_what_more_cases_would_settle_is_planned_afresh(finding: Finding, rule: Rule) -> None:
    assert steps(undecided(finding, rule=rule))[0] == AFRESH


def test_a_rule_that_compares_asks_for_a_baseline() -> None:
    (step,) = steps(undecided(NoBaseline(kind="superiority"), reason="no_baseline"))
    assert step == Fact("name a run to compare with", "oloproof run --baseline BASELINE")


def test_a_rule_that_asks_for_a_number_of_cases_names_it() -> None:
    rule = ObservedCount(id="r", metric="m", max_failures=0, min_cases=50)
    finding = CountFinding(tally=Tally(40), max_failures=0)
    (step,) = steps(undecided(finding, reason="below_min_cases", rule=rule))
    assert step.label == "add cases: r asks for at least 50"


def test_errors_are_told_with_the_command_that_shows_the_first() -> None:
    groups = (
        ErrorGroup(kind="system_error", message="ValueError: \x1b[2J", cases=1, first="a b", trial=2),
        ErrorGroup(kind="system_error", message=None, cases=7, first="c"),
    )
    assert list(errors_in_words(groups, Typed("r1", "x/y.yaml"))) == [
        Fact(
            r"system_error in 1 case: ValueError: \x1b[2J",
            "oloproof inspect r1 --case 'a b' --trial 2 --config x/y.yaml",
        ),
        Fact("system_error in 7 cases more, with other messages", "oloproof inspect r1 --case c --config x/y.yaml"),
    ]


def test_errors_of_several_trials_are_counted_in_trials() -> None:
    group = ErrorGroup(kind="timeout", message="slow", cases=3, first="c")
    (fact,) = errors_in_words([group], Typed("r1"), trials=5)
    assert fact.label == "timeout in 3 trials: slow"
    measured = replace(support().measured, errors=(group,))
    tried = replace(support(), run=replace(support().run, trials=5), measured=measured)
    assert any("is missing (timeout in 3 trials: slow)" in step.label for step in steps(tried))


def test_an_incomplete_run_is_to_be_completed() -> None:
    run = replace(support().run, status="interrupted")
    gate = Gate(outcome="NOT_GATED", exit_code=5, why="the run is interrupted: what was not run is missing")
    report = replace(support(), run=run, gate=gate)
    assert steps(report) == (Fact("the run did not complete; complete it", f"oloproof run --resume {run.id}"),)
    recorded = replace(run, system=replace(run.system, source="recorded traces.jsonl"))
    assert steps(replace(report, run=recorded)) == (
        Fact("the run did not complete; judge the recordings again", "oloproof judge"),
    )


@pytest.mark.parametrize(
    ("changes", "start"),
    [
        ({"partial": "--limit 5"}, "a partial run is never gated"),
        ({"in_process": True}, "a run for a debugger is never gated"),
        ({}, "write the rules in release.yaml"),
    ],
)
def test_a_run_that_is_not_gated_says_how_to_gate_it(changes: dict[str, object], start: str) -> None:
    report = triage()
    report = replace(report, run=replace(report.run, **changes), gate=Gate(outcome="NOT_GATED", exit_code=3, why="why"))
    (step,) = steps(report)
    assert step.label.startswith(start)


def test_a_run_that_is_not_gated_on_purpose_asks_for_nothing() -> None:
    assert steps(triage()) == ()


def test_an_id_in_a_command_is_inert_and_a_shell_reads_it_back() -> None:
    texts = [*HOSTILE, "it's \x1b[2J \\x41", "\u202egnp.exe", "plain", "", "$(id) `id`"]
    words = {text: shell_word(text) for text in texts}
    assert words["plain"] == "plain"
    assert words["it's \x1b[2J \\x41"] == r"$'it\'s \x1b[2J \\x41'"
    assert all(inert(word, len(word)) == word for word in words.values())
    typed = {text: word for text, word in words.items() if word}
    assert len(typed) > len(texts) / 2
    script = "\n".join(f"printf '%s\\0' {word}" for word in typed.values())
    read = subprocess.run(["bash"], input=script.encode(), capture_output=True, check=True).stdout
    assert read.decode().split("\0")[:-1] == list(typed)


def test_an_id_that_cannot_be_typed_is_not_in_a_command() -> None:
    for first in ("\ud800", "a\0b", "x" * 5_000):
        (fact,) = errors_in_words([ErrorGroup(kind="timeout", message="slow", cases=1, first=first)], Typed("r1"))
        assert fact.text == "oloproof inspect r1 --missing"
