from __future__ import annotations

import json
from fractions import Fraction
from math import comb
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from oloproof.errors import UsageError
from oloproof.gates import approval_digest, decide
from oloproof.model.decision import (
    Approval,
    CountFinding,
    Decision,
    IntervalThreshold,
    ObservedCount,
    Policy,
    QuantileFinding,
    RateFinding,
    Rule,
)
from oloproof.model.measured import Measured, Quantile, Rate
from oloproof.model.stopping import Stopping
from oloproof.model.tally import Distribution, Tally
from oloproof.stats import binomial, proportion, sequential
from oloproof.stats.boundaries import turns

GOLDEN = Path(__file__).resolve().parents[3].parent / "shared" / "design" / "statistics_golden.json"


def golden(section: str) -> list[dict[str, Any]]:
    return json.loads(GOLDEN.read_text())[section] if GOLDEN.exists() else []


needs_golden = pytest.mark.skipif(not GOLDEN.exists(), reason="the golden statistics are not beside the repository")


def measured(*metrics: Rate | Quantile) -> Measured:
    return Measured(cases=0, metrics=metrics)


def rate(passed: int = 0, failed: int = 0, missing: int = 0) -> Rate:
    return Rate("right", Tally(passed, failed, missing))


def steps(observed: dict[float, int], floors: dict[float, int] | None = None, quantile: str = "0.5") -> Quantile:
    pairs = tuple(sorted(observed.items())), tuple(sorted((floors or {}).items()))
    return Quantile("steps", "agent_steps", quantile, "steps", Distribution(*pairs))


def interval_rule(metric: str = "right", **fields: Any) -> IntervalThreshold:
    return IntervalThreshold(id="rule", metric=metric, **fields)


def count_rule(max_failures: int = 0, **fields: Any) -> ObservedCount:
    return ObservedCount(id="rule", metric="right", max_failures=max_failures, **fields)


def decided(metric: Rate | Quantile, rule: IntervalThreshold | ObservedCount, **policy: Any) -> Decision:
    (decision,) = decide(measured(metric), Policy(rules=(rule,), **policy))
    return decision


@pytest.mark.parametrize(
    ("tally", "state", "reason"),
    [
        ((40, 0, 0), "PASS", "observed_failures_within_limit"),
        ((39, 1, 0), "PASS", "observed_failures_within_limit"),
        ((39, 0, 1), "PASS", "observed_failures_within_limit"),
        ((38, 1, 1), "INSUFFICIENT_EVIDENCE", "missing_could_hide_failures"),
        ((38, 2, 0), "FAIL", "observed_failures_exceed_limit"),
        ((0, 2, 38), "FAIL", "observed_failures_exceed_limit"),
        ((0, 0, 0), "INSUFFICIENT_EVIDENCE", "no_observation"),
    ],
)
def test_observed_count(tally: tuple[int, int, int], state: str, reason: str) -> None:
    decision = decided(rate(*tally), count_rule(1))
    assert (decision.state, decision.reason) == (state, reason)
    assert decision.finding == CountFinding(tally=Tally(*tally), max_failures=1)
    assert decision.finding.kind == "observed_count"


def test_a_failure_over_the_limit_fails_however_few_ran_and_however_many_are_missing() -> None:
    decision = decided(rate(0, 1, 9), count_rule(min_cases=50, max_missing="0"))
    assert (decision.state, decision.reason) == ("FAIL", "observed_failures_exceed_limit")


@pytest.mark.parametrize(
    ("tally", "state", "reason"),
    [
        ((98, 2, 0), "PASS", "lower_bound_meets_minimum"),
        ((170, 30, 0), "FAIL", "upper_bound_below_minimum"),
        ((95, 5, 0), "INSUFFICIENT_EVIDENCE", "interval_overlaps_threshold"),
        ((95, 0, 5), "INSUFFICIENT_EVIDENCE", "interval_overlaps_threshold"),
        ((0, 0, 10), "INSUFFICIENT_EVIDENCE", "no_observation"),
        ((0, 0, 0), "INSUFFICIENT_EVIDENCE", "no_observation"),
    ],
)
def test_minimum_rate(tally: tuple[int, int, int], state: str, reason: str) -> None:
    decision = decided(rate(*tally), interval_rule(min="0.90"))
    assert (decision.state, decision.reason) == (state, reason)
    assert (decision.finding.lower, decision.finding.upper) == proportion.interval(*tally)
    assert (decision.finding.minimum, decision.finding.maximum) == (0.9, None)


@pytest.mark.parametrize(
    ("tally", "state", "reason"),
    [
        ((2, 98, 0), "PASS", "upper_bound_meets_maximum"),
        ((30, 170, 0), "FAIL", "lower_bound_above_maximum"),
        ((5, 95, 0), "INSUFFICIENT_EVIDENCE", "interval_overlaps_threshold"),
        ((0, 95, 5), "INSUFFICIENT_EVIDENCE", "interval_overlaps_threshold"),
    ],
)
def test_maximum_rate(tally: tuple[int, int, int], state: str, reason: str) -> None:
    decision = decided(rate(*tally), interval_rule(max="0.1"))
    assert (decision.state, decision.reason) == (state, reason)
    assert (decision.finding.minimum, decision.finding.maximum) == (None, 0.1)


@pytest.mark.parametrize(
    ("tally", "state", "reason"),
    [
        ((200, 200, 0), "PASS", "interval_within_bounds"),
        ((100, 300, 0), "FAIL", "upper_bound_below_minimum"),
        ((300, 100, 0), "FAIL", "lower_bound_above_maximum"),
        ((160, 240, 0), "INSUFFICIENT_EVIDENCE", "interval_overlaps_threshold"),
        ((240, 160, 0), "INSUFFICIENT_EVIDENCE", "interval_overlaps_threshold"),
    ],
)
def test_both_bounds(tally: tuple[int, int, int], state: str, reason: str) -> None:
    decision = decided(rate(*tally), interval_rule(min="0.4", max="0.6"))
    assert (decision.state, decision.reason) == (state, reason)
    assert (decision.finding.minimum, decision.finding.maximum) == (0.4, 0.6)


def test_the_policys_method_and_level_decide() -> None:
    rule = interval_rule(min="0.8")
    assert decided(rate(16, 0), rule).state == "PASS"
    assert decided(rate(16, 0), rule, interval_method="exact").state == "INSUFFICIENT_EVIDENCE"
    assert decided(rate(16, 0), rule, confidence_level=0.99).state == "INSUFFICIENT_EVIDENCE"
    assert decided(rate(16, 0), rule, interval_method="exact").finding.lower == pytest.approx(0.025 ** (1 / 16))


def test_achieved_errors_are_those_at_the_bound() -> None:
    pass_from, fail_to = turns(40, Fraction("0.8"))
    assert pass_from is not None
    assert fail_to is not None
    share = Fraction("0.8")
    at_minimum = binomial.between(pass_from, 40, n=40, p=share), binomial.cdf(fail_to, n=40, p=share)
    below = decided(rate(33, 7), interval_rule(min="0.8")).finding
    assert (below.false_pass, below.false_fail) == at_minimum
    above = decided(rate(7, 33), interval_rule(max="0.2")).finding
    assert (above.false_pass, above.false_fail) == at_minimum
    assert decided(rate(), interval_rule(min="0.8")).finding.false_pass is None


@pytest.mark.parametrize(("low", "high"), [("0.5", "0.9"), ("0.8", "0.8"), ("0.05", "0.2"), ("0", "0.7"), ("0.3", "1")])
def test_a_rule_with_two_bounds_errs_at_either_end(low: str, high: str) -> None:
    """By trying every outcome: a system at one bound may fail for the other one, too."""
    rule = interval_rule(min=low, max=high)
    states = [decided(rate(passed, 60 - passed), rule).state for passed in range(61)]

    def chance(state: str, truth: str) -> float:
        p = Fraction(truth)
        return float(sum(comb(60, k) * p**k * (1 - p) ** (60 - k) for k in range(61) if states[k] == state))

    found = decided(rate(33, 27), rule).finding
    within = [truth for truth, last in ((low, "0"), (high, "1")) if truth != last]
    assert found.false_pass == pytest.approx(max(chance("PASS", truth) for truth in within), rel=1e-11, abs=0)
    assert found.false_fail == pytest.approx(max(chance("FAIL", truth) for truth in (low, high)), rel=1e-11, abs=0)


@pytest.mark.parametrize(("truth", "n"), [("0.8", 200), ("0.95", 200), ("0.1", 250)])
def test_what_evidence_may_err_by_is_part_of_what_a_rule_does(truth: str, n: int) -> None:
    policy = Policy(rules=(interval_rule(min=truth),))
    stopping = Stopping(seed=1, method="hybrid", rules=("rule",))
    measured = Measured(n, (Rate("right", Tally(n - n // 5, n // 5)),), (), 5)
    (decision,) = decide(measured, policy, stopping=stopping)
    found = sequential.performance(sequential.hybrid(n, Fraction(truth)), truth=float(truth))
    finding = decision.finding
    assert isinstance(finding, RateFinding)
    assert finding.false_pass is not None
    assert finding.false_fail is not None
    assert found.passes <= finding.false_pass <= found.passes + 0.005
    assert found.fails <= finding.false_fail <= found.fails + 0.005


def test_quantile_at_most() -> None:
    rule = interval_rule("steps", max="12")
    assert decided(steps({3: 10, 12: 10}), rule).state == "PASS"
    assert decided(steps({3: 10, 12: 10}), rule).reason == "upper_bound_meets_maximum"
    assert decided(steps({13: 20}), rule).state == "FAIL"
    assert decided(steps({13: 20}), rule).reason == "lower_bound_above_maximum"
    assert decided(steps({3: 10, 13: 10}), rule).state == "INSUFFICIENT_EVIDENCE"


def test_quantile_at_least() -> None:
    rule = interval_rule("steps", min="12")
    assert decided(steps({12: 20}), rule).reason == "lower_bound_meets_minimum"
    assert decided(steps({11: 20}), rule).reason == "upper_bound_below_minimum"
    assert decided(steps({11: 10, 12: 10}), rule).reason == "interval_overlaps_threshold"
    both = interval_rule("steps", min="12", max="12")
    assert decided(steps({12: 20}), both).reason == "interval_within_bounds"


def test_a_quantile_without_an_upper_bound_never_meets_a_maximum() -> None:
    decision = decided(steps({1: 39}, {1: 1}, quantile="0.95"), interval_rule("steps", max="1000"))
    assert (decision.state, decision.reason) == ("INSUFFICIENT_EVIDENCE", "interval_overlaps_threshold")
    assert decision.finding == QuantileFinding(observed=39, missing=1, maximum=1000, lower=1)


def test_floors_alone_can_fail_a_maximum() -> None:
    decision = decided(steps({}, {13: 20}), interval_rule("steps", max="12"))
    assert (decision.state, decision.finding.observed, decision.finding.lower) == ("FAIL", 0, 13)


def test_a_recorded_decimal_meets_the_same_decimal_in_a_rule() -> None:
    assert decided(steps({0.7: 20}), interval_rule("steps", min="0.7")).state == "PASS"
    assert decided(steps({0.3: 20}), interval_rule("steps", max="0.30")).state == "PASS"


@pytest.mark.parametrize(
    ("metric", "rule"),
    [
        (rate(40), count_rule(5, min_cases=41)),
        (rate(40), interval_rule(min="0.5", min_cases=41)),
        (rate(0, 40), interval_rule(min="0.5", min_cases=41)),
        (steps({1: 40}), interval_rule("steps", max="12", min_cases=41)),
    ],
)
def test_too_few_cases(metric: Rate | Quantile, rule: IntervalThreshold | ObservedCount) -> None:
    decision = decided(metric, rule)
    assert (decision.state, decision.reason) == ("INSUFFICIENT_EVIDENCE", "below_min_cases")


def test_missing_cases_count_towards_min_cases() -> None:
    assert decided(rate(39, 0, 1), count_rule(5, min_cases=40)).state == "PASS"


@pytest.mark.parametrize(
    ("metric", "rule"),
    [
        (rate(92, 0, 8), count_rule(10, max_missing="0.07")),
        (rate(92, 0, 8), interval_rule(min="0.5", max_missing="0.07")),
        (steps({1: 92}, {1: 8}), interval_rule("steps", max="12", max_missing="0.07")),
    ],
)
def test_too_many_missing(metric: Rate | Quantile, rule: IntervalThreshold | ObservedCount) -> None:
    decision = decided(metric, rule)
    assert (decision.state, decision.reason) == ("INSUFFICIENT_EVIDENCE", "missing_exceeds_policy")


@pytest.mark.parametrize(("missing", "limit"), [(7, "0.07"), (55, "0.55"), (29, "0.29"), (0, "0")])
def test_the_share_of_missing_compares_as_a_rational(missing: int, limit: str) -> None:
    decision = decided(rate(100 - missing, 0, missing), count_rule(100, max_missing=limit))
    assert decision.reason == "observed_failures_within_limit"


def test_reasons_come_in_order() -> None:
    empty = decided(rate(), interval_rule(min="0.5", min_cases=10, max_missing="0"))
    few = decided(rate(1, 0, 5), interval_rule(min="0.5", min_cases=10, max_missing="0"))
    assert (empty.reason, few.reason) == ("no_observation", "below_min_cases")


REVIEWED = {"requires_manual_review": True}


def approved(*approvals: Approval, digest: str = "d1", rule: Rule | None = None, **policy: object) -> Decision:
    rules = (count_rule(**REVIEWED) if rule is None else rule,)
    (decision,) = decide(measured(rate(40)), Policy(rules=rules, **policy), approvals, digest)
    return decision


def approval(by: str = "Ada", *, digest: str = "d1", rule: Rule | None = None, **policy: object) -> Approval:
    """The word of someone who looked at this rule in this run."""
    looked_at = count_rule(**REVIEWED) if rule is None else rule
    finding = approved(digest=digest, rule=rule, **policy).finding
    decided_by = Policy(rules=(looked_at,), **policy)
    bound = approval_digest(digest, looked_at, finding, policy=decided_by, comparison=None)
    return Approval(rule=looked_at.id, by=by, at="2026-11-30T00:00:00Z", run_digest=bound)


def test_a_pass_waits_for_review() -> None:
    decision = approved()
    assert (decision.state, decision.reason, decision.blocking) == ("MANUAL_REVIEW", "review_required", True)
    assert decision.approved_by is None


def test_an_approval_is_of_the_level_that_it_was_given_at() -> None:
    assert approved(approval(confidence_level="0.9"), confidence_level="0.9").state == "PASS"
    assert approved(approval(confidence_level="0.9")).state == "MANUAL_REVIEW"


def test_an_approval_of_this_run_clears_it() -> None:
    decision = approved(approval("Grace"), approval())
    assert (decision.state, decision.reason) == ("PASS", "observed_failures_within_limit")
    assert (decision.blocking, decision.approved_by) == (False, "Ada")


def test_no_other_approval_clears_it() -> None:
    assert approved(approval(digest="d2")).state == "MANUAL_REVIEW"
    assert approved(approval(digest=""), digest="").state == "MANUAL_REVIEW"
    assert approved(approval(rule=replace(count_rule(**REVIEWED), id="other"))).state == "MANUAL_REVIEW"


def test_an_approval_does_not_outlive_the_rule_that_it_was_given_for() -> None:
    strict, lax = (interval_rule(min=bar, requires_manual_review=True) for bar in ("0.85", "0.01"))
    assert approved(approval(rule=strict), rule=strict).state == "PASS"
    assert approved(approval(rule=strict), rule=lax).state == "MANUAL_REVIEW"
    assert approved(approval(rule=strict), rule=strict, confidence_level=0.8).state == "MANUAL_REVIEW"
    assert approved(approval(rule=strict), rule=strict, interval_method="exact").state == "MANUAL_REVIEW"


@pytest.mark.parametrize(("tally", "state"), [((39, 1, 0), "FAIL"), ((39, 0, 1), "INSUFFICIENT_EVIDENCE")])
def test_review_changes_only_a_pass(tally: tuple[int, int, int], state: str) -> None:
    policy = Policy(rules=(count_rule(**REVIEWED),))
    (decision,) = decide(measured(rate(*tally)), policy, [approval()], "d1")
    assert (decision.state, decision.approved_by) == (state, None)


def test_blocking_is_what_the_policy_says() -> None:
    rule = interval_rule(min="0.9")
    assert decided(rate(95, 5), rule).blocking
    assert not decided(rate(95, 5), rule, block_on=("FAIL",)).blocking
    assert decided(rate(170, 30), rule, block_on=()).blocking
    assert not decided(rate(98, 2), rule, block_on=("PASS",)).blocking


def test_decisions_come_in_the_policys_order() -> None:
    rules = (IntervalThreshold(id="b", metric="steps", max="9"), ObservedCount(id="a", metric="right", max_failures=0))
    assert [d.rule for d in decide(measured(rate(9), steps({1: 9})), Policy(rules=rules))] == ["b", "a"]


def test_rules_that_do_not_fit_the_run_are_refused_all_at_once() -> None:
    rules = (
        ObservedCount(id="typo", metric="rihgt", max_failures=0),
        ObservedCount(id="odd", metric="zzz", max_failures=0),
        ObservedCount(id="count", metric="steps", max_failures=0),
        IntervalThreshold(id="open", metric="right"),
        IntervalThreshold(id="wide", metric="right", min="0.5", max="12"),
        IntervalThreshold(id="fine", metric="steps", max="12"),
    )
    with pytest.raises(UsageError) as raised:
        decide(measured(rate(1), steps({1: 1})), Policy(rules=rules))
    assert [(problem.code, problem.message, problem.hint) for problem in raised.value.problems] == [
        ("OLO620", "rule 'typo' names no metric of the run: 'rihgt'", "did you mean 'right'?"),
        ("OLO620", "rule 'odd' names no metric of the run: 'zzz'", "the run measured right, steps"),
        (
            "OLO621",
            "rule 'count' counts failures, and 'steps' is a quantile, which has none",
            "give the rule a min or a max instead of max_failures",
        ),
        ("OLO621", "rule 'open' has neither min nor max", "give it one of them"),
        ("OLO621", "rule 'wide' bounds the rate 'right' by 12", "a rate lies between 0 and 1"),
    ]


@needs_golden
@pytest.mark.parametrize("row", golden("max_failures"))
def test_golden_observed_counts(row: dict[str, Any]) -> None:
    metric = rate(row["passes"], row["failures"], row["missing"])
    assert decided(metric, count_rule(row["max_failures"])).state == row["verdict"]


@needs_golden
@pytest.mark.parametrize("row", golden("interval_gate"))
def test_golden_interval_gates(row: dict[str, Any]) -> None:
    metric = rate(row["passes"], row["failures"], row["missing"])
    decision = decided(metric, interval_rule(min=str(row["threshold"])))
    assert decision.state == row["verdict"]
    assert decision.finding.lower == pytest.approx(row["lower"], abs=1e-12)
    assert decision.finding.upper == pytest.approx(row["upper"], abs=1e-12)
