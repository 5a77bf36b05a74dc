from __future__ import annotations

from typing import Any

import pytest

from fakes.compared import compared
from oloproof.gates import decide, idle_rules, policy_warnings, warnings
from oloproof.gates.advice import error_advice
from oloproof.model.decision import (
    Equivalence,
    IntervalThreshold,
    MaxNewFailures,
    NonInferiority,
    ObservedCount,
    Policy,
    RateFinding,
    Rule,
    Superiority,
)
from oloproof.model.measured import Measured, Metric, Quantile, Rate, SliceGroup
from oloproof.model.tally import Distribution, PairTable, Tally
from oloproof.stats.rounding import achieved_error

RIGHT = Rate("right", Tally(400))
FLOOR = IntervalThreshold(id="floor", metric="right", min="0.8")
THIRTY, SEVENTY = Rate("right", Tally(30)), IntervalThreshold(id="floor", metric="right", min="0.7")


def told(*metrics: Metric, rules: tuple[Rule, ...] = (FLOOR,), groups: tuple[SliceGroup, ...] = (), **fields: Any):
    measured = Measured(cases=400, metrics=metrics, slices=groups)
    policy = Policy(rules=rules, **fields)
    return warnings(measured, policy, decide(measured, policy))


def test_nothing_to_tell() -> None:
    assert told(RIGHT) == ()


def test_vacuous_metrics() -> None:
    steps = Quantile("steps", "agent_steps", "0.5", "steps", Distribution(floors=((0, 3),)))
    rules = (FLOOR, ObservedCount(id="safe", metric="careful", max_failures=9))
    assert told(RIGHT, Rate("careful", Tally(missing=3, excluded=2)), steps, rules=rules) == (
        "criterion 'careful' judged no case: 3 missing, 2 excluded",
        "metric 'steps' observed no case: 3 missing",
    )


def test_vacuous_slices() -> None:
    def group(name: str, value: str) -> SliceGroup:
        return SliceGroup(name, value, 3, ())

    groups = (
        group("metadata.surfce", "(none)"),
        group("route", "(unplaced)"),
        group("first_tool", "(none)"),
        group("metadata.surface", "chat"),
        group("metadata.surface", "(none)"),
    )
    assert told(RIGHT, groups=groups) == ("slice 'metadata.surfce' placed no case", "slice 'route' placed no case")


def test_judged_and_not_gated() -> None:
    steps = Quantile("steps", "agent_steps", "0.5", "steps", Distribution(((3, 3),)))
    others = Rate("careful", Tally(1)), Rate("polite", Tally(1))
    assert told(RIGHT, *others, steps) == ("judged, not gated: careful, polite",)


def test_low_confidence() -> None:
    assert told(RIGHT, confidence_level=0.9) == ()
    assert told(RIGHT, confidence_level=0.85) == ("confidence_level 0.85 is below 0.9: rules settle on weak evidence",)


def test_achieved_error() -> None:
    high = (IntervalThreshold(id="floor", metric="right", min="0.99"),)
    (message,) = told(Rate("right", Tally(10)), rules=high, block_on=("FAIL",), warn_on=("INSUFFICIENT_EVIDENCE",))[:1]
    assert message == (
        "rule 'floor' calls a system exactly at its bound FAIL in 9.6% of suites of 10 cases, nominally 2.5%:"
        " consider `interval_method: exact`"
    )
    (message,) = error_advice(false_pass=0.0, false_fail=0.02, n=10, level=0.975)
    assert "in 2.0% of suites of 10 cases, nominally 1.25%:" in message
    (line,) = (decision.finding for decision in decide(Measured(cases=30, metrics=(THIRTY,)), Policy(rules=(SEVENTY,))))
    assert isinstance(line, RateFinding)
    beside = achieved_error(false_pass=line.false_pass, false_fail=line.false_fail, level=0.95)
    assert ("false fail 4.1%" in beside, "FAIL in 4.1% of" in told(THIRTY, rules=(SEVENTY,))[0]) == (True, True)
    low = (IntervalThreshold(id="floor", metric="right", min="0.05"),)
    (message,) = told(Rate("right", Tally(11)), rules=low)
    assert message.startswith("rule 'floor' calls a system exactly at its bound PASS in 10.2% of suites of 11 cases")
    assert told(Rate("right", Tally(11)), rules=low, interval_method="exact") == ()


def test_states_that_do_not_block() -> None:
    rules = (FLOOR, ObservedCount(id="safe", metric="careful", max_failures=0))
    metrics = RIGHT, Rate("careful", Tally(9, 0, 1))
    warned = "rule 'safe' is INSUFFICIENT_EVIDENCE (missing_could_hide_failures) and does not block"
    listed = told(*metrics, rules=rules, block_on=("FAIL",), warn_on=("INSUFFICIENT_EVIDENCE",))
    assert listed == (warned,)
    unlisted = told(*metrics, rules=rules, block_on=("FAIL",))
    assert unlisted == ("INSUFFICIENT_EVIDENCE is in neither block_on nor warn_on: it does not block", warned)


def test_review_is_told_only_where_a_rule_asks_for_it() -> None:
    reviewed = (IntervalThreshold(id="floor", metric="right", min="0.8", requires_manual_review=True),)
    assert told(RIGHT, block_on=("INSUFFICIENT_EVIDENCE",)) == ()
    assert told(RIGHT, rules=reviewed, block_on=("INSUFFICIENT_EVIDENCE",)) == (
        "MANUAL_REVIEW is in neither block_on nor warn_on: it does not block",
        "rule 'floor' is MANUAL_REVIEW (review_required) and does not block",
    )


def test_what_a_policy_allows_is_told_without_a_run() -> None:
    assert policy_warnings(Policy(rules=(FLOOR,))) == ()
    assert policy_warnings(Policy(rules=(FLOOR,), confidence_level=0.9)) == ()
    assert policy_warnings(Policy(rules=(FLOOR,), confidence_level=0.8999, block_on=("FAIL",))) == (
        "confidence_level 0.8999 is below 0.9: rules settle on weak evidence",
        "INSUFFICIENT_EVIDENCE is in neither block_on nor warn_on: it does not block",
    )


def test_a_run_without_a_policy_is_told_what_was_vacuous() -> None:
    measured = Measured(cases=2, metrics=(Rate("right", Tally(excluded=2)), Rate("careful", Tally(2))))
    assert warnings(measured, None, ()) == ("criterion 'right' judged no case: 0 missing, 2 excluded",)


STEPS = Quantile("steps", "agent_steps", "0.5", "steps", Distribution(observed=((2, 4),)))


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        (ObservedCount(id="r", metric="right", max_failures=4), "it allows 4 failures in 4 cases"),
        (ObservedCount(id="r", metric="right", max_failures=3), None),
        (IntervalThreshold(id="r", metric="right", min="0"), "every rate lies between 0 and 1"),
        (IntervalThreshold(id="r", metric="right", max="1"), "every rate lies between 0 and 1"),
        (IntervalThreshold(id="r", metric="right", min="0.0", max="0.99"), None),
        (IntervalThreshold(id="r", metric="right", min="0.01", max="1"), None),
        (IntervalThreshold(id="r", metric="steps", min="0"), "no quantity is below 0"),
        (IntervalThreshold(id="r", metric="steps", max="1"), None),
        (NonInferiority(id="r", metric="right", margin="1"), "no two rates differ by more than 1"),
        (Equivalence(id="r", metric="right", margin="1.0"), "no two rates differ by more than 1"),
        (NonInferiority(id="r", metric="right", margin="0.99"), None),
        (Superiority(id="r", metric="right"), None),
        (MaxNewFailures(id="r", metric="right", max_new_failures=4), "it allows 4 new failures in 4 cases"),
        (MaxNewFailures(id="r", metric="right", max_new_failures=3), None),
    ],
)
def test_a_rule_that_nothing_makes_fail_is_told_and_no_other_one(rule: Rule, why: str | None) -> None:
    policy = Policy(rules=(rule,))
    states = set()
    for failed in range(5):
        measured = Measured(4, (Rate("right", Tally(4 - failed, failed)), STEPS), (), 5)
        pairs = PairTable(broken=failed, both_pass=4 - failed)
        decisions = decide(measured, policy, comparison=compared(pairs))
        states |= {decision.state for decision in decisions}
        told = tuple(idle_rules(measured, policy, decisions))
        assert told == (() if why is None else (f"rule 'r' can never be FAIL: {why}",))
    assert why is None or "FAIL" not in states
