from __future__ import annotations

import operator
import re
from collections.abc import Callable
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from golden.specimens import support
from oloproof.model.decision import (
    CountFinding,
    Decision,
    Finding,
    Gate,
    IntervalThreshold,
    ObservedCount,
    QuantileFinding,
    RateFinding,
    Reason,
    Rule,
)
from oloproof.model.measured import Metric, Quantile
from oloproof.model.tally import Distribution, Tally
from oloproof.reports.words import Subject, achieved_error, gate_line, reason_in_words

FINDING_FIELDS = ("minimum", "maximum", "lower", "upper", "false_pass", "false_fail")
STEPS = Quantile("steps", "agent_steps", "0.95", "steps", Distribution(((4, 8),), ((3, 2),)))


def decided(reason: Reason, **known: object) -> Decision:
    """A decision of the kind that has this reason, with what is known of it and of its finding."""
    counts = {key: known.pop(key) for key in ("passed", "failed", "missing") if key in known}
    looked_at = {key: known.pop(key) for key in (*FINDING_FIELDS, "max_failures") if key in known}
    if "failures" in reason:
        finding: Finding = CountFinding(tally=Tally(**counts), **{"max_failures": 0, **looked_at})
    else:
        finding = RateFinding(tally=Tally(**counts), **{"lower": 0.0, "upper": 1.0, **looked_at})
    blank = Decision(rule="r", metric="m", state="PASS", reason=reason, blocking=False, finding=finding)
    return replace(blank, **known)


def of_steps(reason: Reason, **known: float) -> Decision:
    """The same of the quantile STEPS."""
    finding = QuantileFinding(observed=8, missing=2, **known)
    return Decision(rule="r", metric="m", state="PASS", reason=reason, blocking=False, finding=finding)


def said(decision: Decision, *, rule: Rule | None = None, metric: Metric | None = None) -> str:
    return reason_in_words(Subject(decision=decision, rule=rule, metric=metric, level=0.95))


@pytest.mark.parametrize(
    ("decision", "words"),
    [
        (decided("observed_failures_exceed_limit", max_failures=0, failed=1), "1 failure observed, 0 allowed"),
        (
            decided("observed_failures_within_limit", max_failures=2, failed=0, missing=1),
            "0 failures observed and 1 case missing, 2 allowed",
        ),
        (
            decided("missing_could_hide_failures", max_failures=0, missing=2),
            "0 failures observed, 0 allowed; 2 cases missing could hide more",
        ),
        (
            decided("lower_bound_meets_minimum", minimum=0.7, lower=0.7005),
            "lower bound 70.0% ≥ minimum 70%",
        ),
        (
            decided("upper_bound_below_minimum", minimum=0.7, upper=0.69997),
            "upper bound 69.997% < minimum 70%",
        ),
        (decided("upper_bound_meets_maximum", maximum=0.3, upper=0.2), "upper bound 20.0% ≤ maximum 30%"),
        (
            decided("lower_bound_above_maximum", maximum=0.3, lower=0.30004),
            "lower bound 30.004% > maximum 30%",
        ),
        (
            decided("interval_within_bounds", minimum=0.1, maximum=0.9, lower=0.2, upper=0.8),
            "bounds 20.0% and 80.0% lie within 10% and 90%",
        ),
        (
            decided("interval_overlaps_threshold", minimum=0.7, maximum=0.9, lower=0.5, upper=0.95),
            "[50.0%, 95.0%] does not settle minimum 70% and maximum 90%",
        ),
        (decided("no_observation"), "nothing to decide on: no case was observed"),
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


def test_a_share_that_is_too_large_is_seen_to_be() -> None:
    rule = ObservedCount(id="r", metric="m", max_failures=0, max_missing="0.05")
    missing = decided("missing_exceeds_policy", passed=997, missing=53)
    assert said(missing, rule=rule) == "53 of 1,050 cases missing (5.05%), at most 5%"


def test_quantiles_speak_in_their_unit_and_count_their_own_cases() -> None:
    overlap = of_steps("interval_overlaps_threshold", maximum=12.0, lower=4.0)
    assert said(overlap, metric=STEPS) == (
        "[4, no bound] steps does not settle maximum 12 steps; an upper bound needs 72 cases with none missing"
    )
    above = of_steps("lower_bound_above_maximum", maximum=12.0, lower=12.0000001)
    assert said(above, metric=STEPS) == "lower bound 12.0000001 steps > maximum 12 steps"
    assert said(of_steps("below_min_cases"), metric=STEPS) == "10 cases"
    assert said(of_steps("missing_exceeds_policy"), metric=STEPS) == "2 of 10 cases missing (20.0%)"


SIDES: list[tuple[Reason, str, str, Callable[[object, object], bool]]] = [
    ("lower_bound_meets_minimum", "lower", "minimum", operator.ge),
    ("upper_bound_below_minimum", "upper", "minimum", operator.lt),
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
    assert achieved_error(subject) == ("error at the bound: false pass 2.4%, false fail 4.4% (nominal 2.5%)")


def test_a_count_without_failure_says_what_it_proves_of_other_cases() -> None:
    clean = decided("observed_failures_within_limit", passed=40, max_failures=0)
    subject = Subject(decision=clean, rule=None, metric=None, level=0.95)
    assert achieved_error(subject) == "no failure in 40 cases: failure rate at most 7.3% with 95% confidence"


@pytest.mark.parametrize(
    "decision",
    [
        decided("lower_bound_meets_minimum"),
        decided("observed_failures_within_limit", passed=39, failed=1, max_failures=1),
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


def test_a_rule_that_is_unknown_still_speaks() -> None:
    rule = IntervalThreshold(id="r", metric="m", min="0.7")
    decision = decided("below_min_cases", passed=1)
    assert said(decision, rule=rule) == "1 case, at least 1 required"
