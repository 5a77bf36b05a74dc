"""What the evidence says of each rule: it holds, it does not, or the evidence cannot tell.

An interval rule holds when the interval lies wholly on the good side of its bounds and fails when it lies wholly
outside one of them. For a rate that is a statement about whole cases: PASS from so many passes on, FAIL up to so many,
which is how it is decided here, with the missing cases counted against either answer. A rule that wants at most t is
the same rule about failures and 1 − t. Counts and shares compare as integers and rationals, and bounds with the double
nearest to the decimal in the policy; nothing is rounded before it is compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

import msgspec

from oloproof.errors import Problem, UsageError, did_you_mean
from oloproof.gates.exit import blocks
from oloproof.model.decision import (
    Approval,
    Decision,
    IntervalThreshold,
    ObservedCount,
    Policy,
    Reason,
    Rule,
    State,
)
from oloproof.model.tally import Measured, Metric, Quantile, Rate, Tally
from oloproof.stats import proportion, quantile
from oloproof.stats.boundaries import Boundaries, boundaries
from oloproof.stats.counts import at_most_failures

Finding = tuple[State, Reason]

_OVERLAP: Finding = ("INSUFFICIENT_EVIDENCE", "interval_overlaps_threshold")


def decide(
    measured: Measured, policy: Policy, approvals: Sequence[Approval] = (), run_digest: str = ""
) -> tuple[Decision, ...]:
    """One decision a rule, in the policy's order.

    A PASS under ``requires_manual_review`` becomes MANUAL_REVIEW unless one of ``approvals`` names the rule and was
    given for this ``run_digest`` ("" matches none). Raises UsageError with every rule that cannot be put to this run:
    its metric was not measured, or is of another kind.
    """
    metrics = {metric.id: metric for metric in measured.metrics}
    problems = [problem for rule in policy.rules for problem in _problems(rule, metrics)]
    if problems:
        raise UsageError(problems)
    approved_by = {approval.rule: approval.by for approval in approvals if approval.run_digest == run_digest != ""}
    return tuple(
        _concluded(rule, _decision(rule, metrics[rule.metric], policy), policy=policy, by=approved_by.get(rule.id))
        for rule in policy.rules
    )


def _concluded(rule: Rule, decision: Decision, *, policy: Policy, by: str | None) -> Decision:
    """The decision after a person's word, and whether it blocks."""
    if decision.state == "PASS" and decision.estimate is None:
        # Unanimity over nothing is no evidence: `max_failures: 3` must not pass three cases that all crashed.
        decision = msgspec.structs.replace(decision, state="INSUFFICIENT_EVIDENCE", reason="no_observation")
    if rule.requires_manual_review and decision.state == "PASS":
        if by is None:
            decision = msgspec.structs.replace(decision, state="MANUAL_REVIEW", reason="review_required")
        else:
            decision = msgspec.structs.replace(decision, approved_by=by)
    return msgspec.structs.replace(decision, blocking=blocks(decision.state, policy))


def _decision(rule: Rule, metric: Metric, policy: Policy) -> Decision:
    match rule, metric:
        case ObservedCount(), Rate():
            return _on_count(rule, metric.tally)
        case IntervalThreshold(), Rate():
            return _on_rate(rule, metric.tally, policy)
        case IntervalThreshold(), Quantile():
            return _on_quantile(rule, metric, policy)
        case _:
            raise AssertionError(f"rule '{rule.id}' does not fit its metric")


def _on_count(rule: ObservedCount, tally: Tally) -> Decision:
    state = at_most_failures(tally.passed, tally.failed, tally.missing, max_failures=rule.max_failures)
    held_back = _held_back(rule, tally.n, missing=tally.missing)
    finding: Finding
    if state == "FAIL":
        # The cases that failed did so, however few ran and however many are missing.
        finding = ("FAIL", "observed_failures_exceed_limit")
    elif held_back is not None:
        finding = held_back
    elif state == "PASS":
        finding = ("PASS", "observed_failures_within_limit")
    else:
        finding = ("INSUFFICIENT_EVIDENCE", "missing_could_hide_failures")
    return Decision(
        rule=rule.id,
        metric=rule.metric,
        kind="observed_count",
        state=finding[0],
        reason=finding[1],
        blocking=False,
        threshold=rule.max_failures,
        passed=tally.passed,
        failed=tally.failed,
        missing=tally.missing,
        estimate=tally.estimate,
    )


def _on_rate(rule: IntervalThreshold, tally: Tally, policy: Policy) -> Decision:
    """``false_pass`` and ``false_fail`` are those of the bound at which they are larger, where both are given."""
    passed, failed, missing = tally.passed, tally.failed, tally.missing
    method, level = policy.interval_method, policy.confidence_level
    lower, upper = proportion.interval(passed, failed, missing, method=method, level=level)
    findings: list[Finding] = []
    errors: list[Boundaries] = []
    if tally.n and rule.min is not None:
        turn = boundaries(tally.n, Fraction(rule.min), method=method, level=level)
        state = _side(turn, passed, missing=missing)
        findings.append(_at_minimum(state))
        errors.append(turn)
    if tally.n and rule.max is not None:
        turn = boundaries(tally.n, 1 - Fraction(rule.max), method=method, level=level)
        state = _side(turn, failed, missing=missing)
        findings.append(_at_maximum(state))
        errors.append(turn)
    state, reason = _held_back(rule, tally.n, missing=missing) or _together(findings)
    return Decision(
        rule=rule.id,
        metric=rule.metric,
        kind="interval_threshold",
        state=state,
        reason=reason,
        blocking=False,
        threshold=_number(rule.min),
        maximum=_number(rule.max),
        passed=passed,
        failed=failed,
        missing=missing,
        estimate=tally.estimate,
        lower=lower,
        upper=upper,
        false_pass=max((turn.false_pass for turn in errors), default=None),
        false_fail=max((turn.false_fail for turn in errors), default=None),
    )


def _on_quantile(rule: IntervalThreshold, metric: Quantile, policy: Policy) -> Decision:
    distribution = metric.distribution
    estimate, lower, upper = quantile.interval(
        distribution.observed_values, distribution.floor_values, q=metric.q, level=policy.confidence_level
    )
    minimum, maximum = _number(rule.min), _number(rule.max)
    findings: list[Finding] = []
    if minimum is not None:
        good, bad = lower is not None and lower >= minimum, upper is not None and upper < minimum
        findings.append(_at_minimum("PASS" if good else "FAIL" if bad else "INSUFFICIENT_EVIDENCE"))
    if maximum is not None:
        good, bad = upper is not None and upper <= maximum, lower is not None and lower > maximum
        findings.append(_at_maximum("PASS" if good else "FAIL" if bad else "INSUFFICIENT_EVIDENCE"))
    missing = distribution.missing_count
    state, reason = _held_back(rule, distribution.n, missing=missing) or _together(findings)
    return Decision(
        rule=rule.id,
        metric=rule.metric,
        kind="interval_threshold",
        state=state,
        reason=reason,
        blocking=False,
        threshold=minimum,
        maximum=maximum,
        missing=missing,
        estimate=estimate,
        lower=lower,
        upper=upper,
    )


def _held_back(rule: Rule, n: int, *, missing: int) -> Finding | None:
    """Why a rule may not be settled at all at this n and with so many missing; None when it may."""
    if n == 0:
        return "INSUFFICIENT_EVIDENCE", "no_observation"
    if n < rule.min_cases:
        return "INSUFFICIENT_EVIDENCE", "below_min_cases"
    if rule.max_missing is not None and Fraction(missing, n) > Fraction(rule.max_missing):
        return "INSUFFICIENT_EVIDENCE", "missing_exceeds_policy"
    return None


def _side(turn: Boundaries, good: int, *, missing: int) -> State:
    """What ``good`` cases, and ``missing`` ones that might be, say of one bound of a rate."""
    if turn.pass_from is not None and good >= turn.pass_from:
        return "PASS"
    if turn.fail_to is not None and good + missing <= turn.fail_to:
        return "FAIL"
    return "INSUFFICIENT_EVIDENCE"


def _at_minimum(state: State) -> Finding:
    reasons: Mapping[State, Reason] = {"PASS": "lower_bound_meets_minimum", "FAIL": "upper_bound_below_minimum"}
    return state, reasons.get(state, "interval_overlaps_threshold")


def _at_maximum(state: State) -> Finding:
    reasons: Mapping[State, Reason] = {"PASS": "upper_bound_meets_maximum", "FAIL": "lower_bound_above_maximum"}
    return state, reasons.get(state, "interval_overlaps_threshold")


def _together(findings: Sequence[Finding]) -> Finding:
    """The finding on one bound or two: outside either is outside, inside needs all."""
    for finding in findings:
        if finding[0] == "FAIL":
            return finding
    if any(state != "PASS" for state, _ in findings):
        return _OVERLAP
    return findings[0] if len(findings) == 1 else ("PASS", "interval_within_bounds")


def _problems(rule: Rule, metrics: Mapping[str, Metric]) -> Iterator[Problem]:
    """Why a rule cannot be put to the metrics of a run, for policies that were not checked against them before."""
    metric = metrics.get(rule.metric)
    if metric is None:
        hint = did_you_mean(rule.metric, metrics) or f"the run measured {', '.join(metrics) or 'nothing'}"
        yield Problem(None, 0, 0, "OLO620", f"rule '{rule.id}' names no metric of the run: '{rule.metric}'", hint)
        return
    match rule, metric:
        case ObservedCount(), Quantile():
            message = f"rule '{rule.id}' counts failures, and '{rule.metric}' is a quantile, which has none"
            yield Problem(None, 0, 0, "OLO621", message, "give the rule a min or a max instead of max_failures")
        case IntervalThreshold(min=None, max=None), _:
            yield Problem(None, 0, 0, "OLO621", f"rule '{rule.id}' has neither min nor max", "give it one of them")
        case IntervalThreshold(), Rate():
            for bound in (rule.min, rule.max):
                if bound is not None and not 0 <= Fraction(bound) <= 1:
                    message = f"rule '{rule.id}' bounds the rate '{rule.metric}' by {bound}"
                    yield Problem(None, 0, 0, "OLO621", message, "a rate lies between 0 and 1")
        case _:
            return


def _number(decimal: str | None) -> float | None:
    return None if decimal is None else float(decimal)
