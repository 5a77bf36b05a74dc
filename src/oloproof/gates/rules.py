"""What the evidence says of each rule: it holds, it does not, or the evidence cannot tell.

An interval rule holds when the interval lies wholly on the good side of its bounds and fails when it lies wholly
outside one of them. For a rate that is a statement about whole cases: PASS from so many passes on, FAIL up to so many,
which is how it is decided (:mod:`~oloproof.gates.single`), with the missing cases counted against either answer. A rule
that wants at most t is the same rule about failures and 1 − t.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import get_args

from msgspec import to_builtins
from msgspec.json import encode
from msgspec.structs import replace

from oloproof.errors import CLUSTERED_PAIRS, Problem, UsageError, did_you_mean
from oloproof.gates import single
from oloproof.gates.demands import Answer, held_back
from oloproof.gates.exit import blocks
from oloproof.gates.pairs import confirmation_of, on_pairs
from oloproof.model.comparison import Comparison
from oloproof.model.decision import (
    Approval,
    Decision,
    Equivalence,
    Finding,
    IntervalThreshold,
    MaxNewFailures,
    NoBaseline,
    NonInferiority,
    ObservedCount,
    PairRule,
    Policy,
    Reason,
    Rule,
    Superiority,
    kind_of,
)
from oloproof.model.measured import Measured, Metric, PassK, Quantile, Rate
from oloproof.model.stopping import Stopping
from oloproof.model.tally import Clusters

_STANDS: frozenset[Reason] = frozenset({"observed_failures_exceed_limit", "new_failures_exceed_limit", "no_baseline"})
"""What no demand on the evidence changes: what failed or broke did so, however few cases ran and however many are
missing, and where there was nothing to compare with, that is the reason."""

_SAID_OF_ALL_CASES: frozenset[Reason] = frozenset({"below_min_cases", "no_baseline"})
"""Why a rule is undecided however many of the cases run."""


def decide(
    measured: Measured,
    policy: Policy,
    approvals: Sequence[Approval] = (),
    run_digest: str = "",
    comparison: Comparison | None = None,
    *,
    stopping: Stopping | None = None,
) -> tuple[Decision, ...]:
    """One decision a rule, in the policy's order. Rules that compare need a ``comparison`` with a baseline.
    ``stopping`` is how the run could stop early: evidence that settled a rule on the way settled it for good.

    A PASS under ``requires_manual_review`` becomes MANUAL_REVIEW unless one of ``approvals`` was given for just this
    (see :func:`approval_digest`; ``run_digest`` "" matches none). Raises UsageError with every rule that cannot be put
    to this run: its metric was not measured, or is of another kind.
    """
    metrics = {metric.id: metric for metric in measured.metrics}
    problems = [problem for rule in policy.rules for problem in (*_problems(rule, metrics), *_related(rule, metrics))]
    if problems:
        raise UsageError(problems)
    given = {approval.run_digest: approval for approval in approvals if run_digest}

    def approver(rule: Rule, finding: Finding) -> Approval | None:
        """The word of who looked at just this, None where nobody did."""
        if not given:
            return None
        return given.get(approval_digest(run_digest, rule, finding, policy=policy, comparison=comparison))

    decisions = (
        _decision(rule, _found(rule, metrics[rule.metric], comparison, policy, stopping), policy, approver)
        for rule in policy.rules
    )
    return tuple(decisions if stopping is None else (_after_stop(decision, policy, stopping) for decision in decisions))


def approval_digest(
    run_digest: str, rule: Rule, finding: Finding, *, policy: Policy, comparison: Comparison | None
) -> str:
    """What an approval is bound to: the run's content, the rule as it stands, how it is decided, what was found, and
    for a rule on pairs their comparison. A person's word carries over to no other. "" where the run has no digest."""
    how = (policy.confidence_level, policy.interval_method)
    pairs = comparison if isinstance(rule, get_args(PairRule)) else None
    looked_at = encode((run_digest, rule, how, to_builtins(finding), to_builtins(pairs)))
    return hashlib.sha256(looked_at).hexdigest() if run_digest else ""


def _decision(
    rule: Rule, found: tuple[Finding, Answer], policy: Policy, approver: Callable[[Rule, Finding], Approval | None]
) -> Decision:
    """The decision after a person's word, and whether it blocks."""
    finding, (state, reason) = found
    if state != "FAIL" and reason != "no_baseline" and not finding.observed:
        # Unanimity over nothing is no evidence: `max_failures: 3` must not pass three cases that all crashed.
        state, reason = "INSUFFICIENT_EVIDENCE", "no_observation"
    approval = None
    if rule.requires_manual_review and state == "PASS":
        approval = approver(rule, finding)
        if approval is None:
            state, reason = "MANUAL_REVIEW", "review_required"
    return Decision(
        rule=rule.id,
        metric=rule.metric,
        state=state,
        reason=reason,
        blocking=blocks(state, policy),
        finding=finding,
        approved_by=None if approval is None else approval.by,
        approval="" if approval is None else approval.run_digest,
    )


def _after_stop(decision: Decision, policy: Policy, stopping: Stopping) -> Decision:
    """A rule that was not settled when the run stopped is undecided because of that: what did not run could still have
    settled it, either way."""
    settled = stopping.of(decision.rule)
    if stopping.after is None:
        return replace(decision, settled=settled) if settled is not None and settled.by == "evidence" else decision
    if decision.state == "INSUFFICIENT_EVIDENCE" and decision.reason not in _SAID_OF_ALL_CASES:
        return replace(decision, reason="stopped_early")
    return replace(decision, settled=settled)


def _found(
    rule: Rule, metric: Metric, comparison: Comparison | None, policy: Policy, stopping: Stopping | None
) -> tuple[Finding, Answer]:
    """What the rule looked at, and what follows from it where the evidence is as much as the rule demands."""
    finding, answer = _seen(rule, metric, comparison, policy, stopping)
    if answer[1] in _STANDS:
        return finding, answer
    return finding, held_back(rule, n=finding.n, missing=finding.missing) or answer


def _seen(
    rule: Rule, metric: Metric, comparison: Comparison | None, policy: Policy, stopping: Stopping | None
) -> tuple[Finding, Answer]:
    match rule, metric:
        case Superiority() | NonInferiority() | Equivalence() | MaxNewFailures(), Rate():
            return _on_pairs(rule, comparison, policy)
        case ObservedCount(), Rate():
            return single.on_count(rule, metric.tally)
        case IntervalThreshold(), Rate(clusters=None) if stopping is not None and rule.id in stopping.rules:
            return single.on_evidence(rule, metric.tally, policy, stopping.of(rule.id))
        case IntervalThreshold(), Rate(clusters=None):
            return single.on_rate(rule, metric.tally, policy)
        case IntervalThreshold(), Rate(clusters=Clusters() as clusters):
            return single.on_trials(rule, metric.tally, clusters, policy)
        case IntervalThreshold(), PassK():
            return single.on_pass_k(rule, metric, policy)
        case IntervalThreshold(), Quantile():
            return single.on_quantile(rule, metric, policy)
        case _:
            raise AssertionError(f"rule '{rule.id}' does not fit its metric")


def _on_pairs(rule: PairRule, comparison: Comparison | None, policy: Policy) -> tuple[Finding, Answer]:
    criteria = () if comparison is None else comparison.criteria
    at = next((at for at, each in enumerate(criteria) if each.id == rule.metric), None)
    if comparison is None or at is None:
        return NoBaseline(kind=kind_of(rule)), ("INSUFFICIENT_EVIDENCE", "no_baseline")
    criterion, confirmation = criteria[at], None
    if isinstance(rule, MaxNewFailures):
        again = {rerun.case: [codes[at] for codes in rerun.codes] for rerun in comparison.reruns}
        confirmation = confirmation_of(rule, criterion.broken_cases, again)
    return on_pairs(rule, criterion.table, level=policy.confidence_level, confirmation=confirmation)


def _problems(rule: Rule, metrics: Mapping[str, Metric]) -> Iterator[Problem]:
    """Why a rule cannot be put to the metrics of a run, for policies that were not checked against them before."""
    metric = metrics.get(rule.metric)
    if metric is None:
        hint = did_you_mean(rule.metric, metrics) or f"the run measured {', '.join(metrics) or 'nothing'}"
        yield Problem("OLO620", f"rule '{rule.id}' names no metric of the run: '{rule.metric}'", hint)
        return
    match rule, metric:
        case Superiority() | NonInferiority() | Equivalence() | MaxNewFailures(), Quantile():
            message = f"rule '{rule.id}' compares pass rates, and '{rule.metric}' is a quantile"
            yield Problem("OLO621", message, "name a criterion")
        case ((Superiority() | NonInferiority() | Equivalence() | MaxNewFailures() | ObservedCount()), PassK()):
            message = f"rule '{rule.id}' is about cases that pass or fail, and '{rule.metric}' is a chance"
            yield Problem("OLO621", message, "give the rule a min or a max, or name a criterion")
        case Superiority() | NonInferiority() | Equivalence(), Rate(clusters=Clusters() as clusters) if (
            clusters.related
        ):
            message = f"rule '{rule.id}' compares cases as independent ones, and cases of a cluster are not"
            yield Problem(CLUSTERED_PAIRS, message, "kind: max_new_failures needs no independence")
        case ObservedCount(), Quantile():
            message = f"rule '{rule.id}' counts failures, and '{rule.metric}' is a quantile, which has none"
            yield Problem("OLO621", message, "give the rule a min or a max instead of max_failures")
        case IntervalThreshold(min=None, max=None), _:
            yield Problem("OLO621", f"rule '{rule.id}' has neither min nor max", "give it one of them")
        case IntervalThreshold(), Rate() | PassK():
            for bound in (rule.min, rule.max):
                if bound is not None and not 0 <= Fraction(bound) <= 1:
                    message = f"rule '{rule.id}' bounds the rate '{rule.metric}' by {bound}"
                    yield Problem("OLO621", message, "a rate lies between 0 and 1")
        case _:
            return


def _related(rule: Rule, metrics: Mapping[str, Metric]) -> Iterator[Problem]:
    """Why a rule on a quantile cannot be put to a run: its bounds are those of independent cases."""
    rates = (metric for metric in metrics.values() if isinstance(metric, Rate))
    if isinstance(metrics.get(rule.metric), Quantile) and any(
        rate.clusters and rate.clusters.related for rate in rates
    ):
        message = f"rule '{rule.id}' bounds a quantile as of independent cases, and cases of a cluster are not"
        hint = "a criterion such as agent_max_steps with a min says the same, and counts clusters"
        yield Problem(CLUSTERED_PAIRS, message, hint)
