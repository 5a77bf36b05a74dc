from __future__ import annotations

import operator
import re
from collections.abc import Callable
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from golden.specimens import support, triage
from oloproof.model.decision import Decision, Gate, IntervalThreshold, ObservedCount, Reason, Rule
from oloproof.model.tally import Distribution, Metric, Quantile
from oloproof.reports.words import Fact, Subject, achieved_error, gate_line, next_steps, reason_in_words

STEPS = Quantile("steps", "agent_steps", "0.95", "steps", Distribution(((4, 8),), ((3, 2),)))


def decided(reason: Reason, **known: object) -> Decision:
    kind = "observed_count" if "failures" in reason else "interval_threshold"
    blank = Decision(rule="r", metric="m", kind=kind, state="PASS", reason=reason, blocking=False)
    return replace(blank, **known)


def said(decision: Decision, *, rule: Rule | None = None, metric: Metric | None = None) -> str:
    return reason_in_words(Subject(decision=decision, rule=rule, metric=metric, level=0.95))


@pytest.mark.parametrize(
    ("decision", "words"),
    [
        (decided("observed_failures_exceed_limit", threshold=0.0, failed=1), "1 failure observed, 0 allowed"),
        (
            decided("observed_failures_within_limit", threshold=2.0, failed=0, missing=1),
            "0 failures observed and 1 case missing, 2 allowed",
        ),
        (
            decided("missing_could_hide_failures", threshold=0.0, missing=2),
            "0 failures observed, 0 allowed; 2 cases missing could hide more",
        ),
        (
            decided("lower_bound_meets_minimum", threshold=0.7, lower=0.7005),
            "lower bound 70.0% ≥ minimum 70%",
        ),
        (
            decided("upper_bound_below_minimum", threshold=0.7, upper=0.69997),
            "upper bound 69.997% < minimum 70%",
        ),
        (decided("upper_bound_meets_maximum", maximum=0.3, upper=0.2), "upper bound 20.0% ≤ maximum 30%"),
        (
            decided("lower_bound_above_maximum", maximum=0.3, lower=0.30004),
            "lower bound 30.004% > maximum 30%",
        ),
        (
            decided("interval_within_bounds", threshold=0.1, maximum=0.9, lower=0.2, upper=0.8),
            "bounds 20.0% and 80.0% lie within 10% and 90%",
        ),
        (
            decided("interval_overlaps_threshold", threshold=0.7, maximum=0.9, lower=0.5, upper=0.95),
            "[50.0%, 95.0%] does not settle minimum 70% and maximum 90%",
        ),
        (decided("no_observation"), "nothing to decide on: the metric applies to no case"),
        (decided("below_min_cases", passed=2, missing=1), "3 cases"),
        (decided("missing_exceeds_policy", passed=9, missing=1), "1 of 10 cases missing (10.0%)"),
        (decided("review_required"), "the evidence passes; the rule asks that a person looks"),
    ],
)
def test_each_reason_has_its_sentence(decision: Decision, words: str) -> None:
    assert said(decision) == words


def test_the_rule_adds_what_it_required() -> None:
    rule = ObservedCount(id="r", metric="m", max_failures=0, min_cases=10, max_missing="0.05")
    assert said(decided("below_min_cases", passed=1), rule=rule) == "1 case, at least 10 required"
    missing = decided("missing_exceeds_policy", passed=9, missing=1)
    assert said(missing, rule=rule) == "1 of 10 cases missing (10.0%), at most 5%"


def test_quantiles_speak_in_their_unit_and_count_their_own_cases() -> None:
    overlap = decided("interval_overlaps_threshold", maximum=12.0, lower=4.0)
    assert said(overlap, metric=STEPS) == (
        "[4, no bound] steps does not settle maximum 12 steps; an upper bound needs 72 cases with none missing"
    )
    above = decided("lower_bound_above_maximum", maximum=12.0, lower=12.0000001)
    assert said(above, metric=STEPS) == "lower bound 12.0000001 steps > maximum 12 steps"
    assert said(decided("below_min_cases"), metric=STEPS) == "10 cases"
    assert said(decided("missing_exceeds_policy"), metric=STEPS) == "2 of 10 cases missing (20.0%)"


SIDES: list[tuple[Reason, str, str, Callable[[object, object], bool]]] = [
    ("lower_bound_meets_minimum", "lower", "threshold", operator.ge),
    ("upper_bound_below_minimum", "upper", "threshold", operator.lt),
    ("upper_bound_meets_maximum", "upper", "maximum", operator.le),
    ("lower_bound_above_maximum", "lower", "maximum", operator.gt),
]


@pytest.mark.parametrize(("reason", "bound", "limit", "holds"), SIDES)
@given(share=st.floats(0, 1), thousandths=st.integers(0, 100_000), near=st.floats(-1e-5, 1e-5))
@settings(deadline=None, max_examples=60)
def test_a_sentence_is_true_as_printed(
    reason: Reason,
    bound: str,
    limit: str,
    holds: Callable[[object, object], bool],
    share: float,
    thousandths: int,
    near: float,
) -> None:
    threshold = thousandths / 100_000
    for value in (share, min(1.0, max(0.0, threshold + near))):
        if not holds(value, threshold) or 0 < abs(value - threshold) < 1e-9:
            continue
        words = said(decided(reason, **{bound: value, limit: threshold}))
        left, right = (Decimal(number) for number in re.findall(r"([\d.]+)%", words))
        assert holds(left, right)


def test_an_achieved_error_stands_beside_the_nominal() -> None:
    decision = decided("lower_bound_meets_minimum", false_pass=0.02341, false_fail=0.0432)
    subject = Subject(decision=decision, rule=None, metric=None, level=0.95)
    assert achieved_error(subject) == ("error at the threshold: false pass 2.4%, false fail 4.4% (nominal 2.5%)")


def test_a_count_without_failure_says_what_it_proves_of_other_cases() -> None:
    clean = decided("observed_failures_within_limit", passed=40, threshold=0.0)
    subject = Subject(decision=clean, rule=None, metric=None, level=0.95)
    assert achieved_error(subject) == "no failure in 40 cases: failure rate at most 7.3% with 95% confidence"


@pytest.mark.parametrize(
    "decision",
    [
        decided("lower_bound_meets_minimum"),
        decided("observed_failures_within_limit", passed=39, failed=1, threshold=1.0),
        decided("observed_failures_exceed_limit", failed=3, state="FAIL"),
    ],
)
def test_where_no_error_is_known_none_is_told(decision: Decision) -> None:
    assert achieved_error(Subject(decision=decision, rule=None, metric=None, level=0.95)) == ""


def test_the_verdict_names_what_blocks() -> None:
    line = "BLOCK (exit 1): no-deletion FAIL, quick INSUFFICIENT_EVIDENCE, loops INSUFFICIENT_EVIDENCE"
    assert gate_line(support()) == line


def test_a_verdict_stays_a_line_however_many_rules_block() -> None:
    many = tuple(replace(support().decisions[1], rule=f"r{number}") for number in range(1_000))
    assert gate_line(replace(support(), decisions=many)).endswith("r8 FAIL, r9 FAIL, and 990 more")


def test_the_verdict_names_what_is_only_a_warning() -> None:
    warned = tuple(
        replace(decision, blocking=False) for decision in support().decisions if decision.rule != "no-deletion"
    )
    report = replace(support(), decisions=warned, gate=Gate(outcome="ALLOW", exit_code=0))
    assert gate_line(report).startswith("ALLOW (exit 0): quick INSUFFICIENT_EVIDENCE is a warning")
    assert next_steps(report) == ()


def test_each_thing_to_do_is_said_once() -> None:
    assert next_steps(support()) == (
        Fact("see what failed", "oloproof inspect 20261130-101500-3fa9 --failures"),
        Fact("add cases; what each rule can decide at a given number", "oloproof check"),
    )


def test_a_review_asks_for_a_name_and_quotes_the_rule() -> None:
    decision = Decision(
        rule="a b", metric="m", kind="observed_count", state="MANUAL_REVIEW", reason="review_required", blocking=True
    )
    report = replace(support(), decisions=(decision,), gate=Gate(outcome="BLOCK", exit_code=4))
    assert next_steps(report)[0].text == "oloproof gate 20261130-101500-3fa9 --approve 'a b' --by NAME"


def test_missing_cases_are_to_be_looked_at() -> None:
    decision = decided("missing_could_hide_failures", state="INSUFFICIENT_EVIDENCE", blocking=True)
    report = replace(support(), decisions=(decision,), gate=Gate(outcome="BLOCK", exit_code=3))
    assert next_steps(report)[0].label == "see why cases are missing"


def test_an_incomplete_run_is_to_be_run_again() -> None:
    run = replace(support().run, status="interrupted")
    report = replace(support(), run=run, decisions=(), gate=Gate(outcome="BLOCK", exit_code=5))
    assert next_steps(report) == (Fact("the run did not complete; run it again", "oloproof run"),)


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
    assert gate_line(report) == "NOT GATED (exit 3): why"
    (step,) = next_steps(report)
    assert step.label.startswith(start)


def test_a_run_that_is_not_gated_on_purpose_asks_for_nothing() -> None:
    assert next_steps(triage()) == ()
    assert gate_line(triage()) == "NOT GATED (exit 0): policy: none"


def test_a_rule_that_is_unknown_still_speaks() -> None:
    rule = IntervalThreshold(id="r", metric="m", min="0.7")
    decision = decided("below_min_cases", passed=1)
    assert said(decision, rule=rule) == "1 case, at least 1 required"
