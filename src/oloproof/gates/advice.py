"""What a reader of the verdict should know beside it: what was vacuous, what is not gated, what errs too often."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import groupby
from typing import get_args

from oloproof.errors import counted
from oloproof.model.decision import (
    Decision,
    Equivalence,
    IntervalThreshold,
    MaxNewFailures,
    NonInferiority,
    ObservedCount,
    Policy,
    RateFinding,
    Rule,
    State,
)
from oloproof.model.measured import Measured, PassK, Quantile, Rate
from oloproof.model.project import METADATA_PREFIX
from oloproof.model.slice_values import NONE, UNPLACED
from oloproof.stats.level import tail
from oloproof.stats.rounding import percent_of, percent_upper

LOW_CONFIDENCE = 0.9
TOLERATED_EXCESS = 1.5
"""How many times its nominal error a rule may err before that is told."""


def warnings(measured: Measured, policy: Policy | None, decisions: Sequence[Decision]) -> tuple[str, ...]:
    """One line each, in a fixed order. ``policy`` None: the run is not gated, and only what was measured is told."""
    about_policy = () if policy is None else _about_policy(measured, policy, decisions)
    return (*_vacuous(measured), *about_policy)


def policy_warnings(policy: Policy) -> tuple[str, ...]:
    """What a policy allows and its author should know, whatever is measured."""
    return (*_low_confidence(policy), *_unlisted_states(policy))


def _about_policy(measured: Measured, policy: Policy, decisions: Sequence[Decision]) -> Iterator[str]:
    yield from _not_gated(measured, policy)
    yield from policy_warnings(policy)
    for decision in decisions:
        yield from _achieved_error(decision, policy)
        if decision.state != "PASS" and not decision.blocking:
            yield f"rule '{decision.rule}' is {decision.state} ({decision.reason}) and does not block"


def _vacuous(measured: Measured) -> Iterator[str]:
    """Criteria, quantiles and slices that say nothing of any case."""
    for metric in measured.metrics:
        match metric:
            case Rate(id, tally) if not metric.judged.observed:
                yield f"criterion '{id}' judged no case: {tally.missing:,} missing, {tally.excluded:,} excluded"
            case PassK(id=id, k=k) if not metric.observed:
                yield f"metric '{id}' observed no case: none has {k} trials that are known"
            case Quantile(id=id, distribution=distribution) if not distribution.observed_count:
                yield f"metric '{id}' observed no case: {distribution.missing_count:,} missing"
    for name, groups in groupby(measured.slices, key=lambda group: group.slice):
        empty = {UNPLACED, NONE} if name.startswith(METADATA_PREFIX) else {UNPLACED}
        if {group.value for group in groups} <= empty:
            yield f"slice '{name}' placed no case"


def _not_gated(measured: Measured, policy: Policy) -> Iterator[str]:
    gated = {rule.metric for rule in policy.rules}
    ungated = [metric.id for metric in measured.metrics if isinstance(metric, Rate) and metric.id not in gated]
    if ungated:
        yield f"judged, not gated: {', '.join(ungated)}"


def _low_confidence(policy: Policy) -> Iterator[str]:
    if policy.confidence_level < LOW_CONFIDENCE:
        yield f"confidence_level {policy.confidence_level} is below {LOW_CONFIDENCE:g}: rules settle on weak evidence"


def _unlisted_states(policy: Policy) -> Iterator[str]:
    """States that a rule of the policy can come to and that neither list mentions."""
    reviewed = any(rule.requires_manual_review for rule in policy.rules)
    states: tuple[State, ...] = get_args(State)
    for state in states:
        unlisted = state not in policy.block_on and state not in policy.warn_on
        if unlisted and state not in ("PASS", "FAIL") and (reviewed or state != "MANUAL_REVIEW"):
            yield f"{state} is in neither block_on nor warn_on: it does not block"


def idle_rules(measured: Measured, policy: Policy, decisions: Sequence[Decision]) -> Iterator[str]:
    """The rules that no outcome of the whole run could have made fail, a line each."""
    quantiles = {metric.id for metric in measured.metrics if isinstance(metric, Quantile)}
    sizes = {decision.rule: decision.finding.n for decision in decisions}
    return never_failing(policy, sizes=sizes, quantiles=quantiles)


def never_failing(policy: Policy, *, sizes: Mapping[str, int], quantiles: Collection[str]) -> Iterator[str]:
    """The rules that cannot be FAIL over so many cases or pairs each, whatever becomes of them: their PASS says
    nothing. ``quantiles`` are the metrics that are no rates; a rule without a size is not looked at."""
    for rule in policy.rules:
        n = sizes.get(rule.id, 0)
        why = _why_never(rule, n, is_quantile=rule.metric in quantiles) if n else ""
        if why:
            yield f"rule '{rule.id}' can never be FAIL: {why}"


def _why_never(rule: Rule, n: int, *, is_quantile: bool) -> str:
    match rule:
        case ObservedCount(max_failures=most) if most >= n:
            return f"it allows {counted(most, 'failure')} in {counted(n, 'case')}"
        case MaxNewFailures(max_new_failures=most) if most >= n:
            return f"it allows {counted(most, 'new failure')} in {counted(n, 'case')}"
        case NonInferiority(margin=margin) | Equivalence(margin=margin) if Fraction(margin) >= 1:
            return "no two rates differ by more than 1"
        case IntervalThreshold(min=low, max=high) if Fraction(low or 0) <= 0:
            if high is None or (Fraction(high) >= 1 and not is_quantile):
                return "no quantity is below 0" if is_quantile else "every rate lies between 0 and 1"
            return ""
        case _:
            return ""


def error_advice(*, false_pass: float | None, false_fail: float | None, n: int, level: float) -> Iterator[str]:
    """What is said of a rule whose achieved error (None: not known) is far above the nominal one."""
    nominal = tail(level)
    for error, called in ((false_pass, "PASS"), (false_fail, "FAIL")):
        if error is not None and error > TOLERATED_EXCESS * nominal:
            yield (
                f"calls a system exactly at its bound {called} in {percent_upper(error)}% of suites of"
                f" {counted(n, 'case')}, nominally {percent_of(nominal)}%: consider `interval_method: exact`"
            )


def _achieved_error(decision: Decision, policy: Policy) -> Iterator[str]:
    match decision.finding:
        case RateFinding(false_pass=false_pass, false_fail=false_fail, n=n):
            level = policy.confidence_level
            for told in error_advice(false_pass=false_pass, false_fail=false_fail, n=n, level=level):
                yield f"rule '{decision.rule}' {told}"
        case _:
            return
