"""What the evidence says of each rule: it holds, it does not, or the evidence cannot tell.

An interval rule holds when the interval lies wholly on the good side of its bounds and fails when it lies wholly
outside one of them. For a rate that is a statement about whole cases: PASS from so many passes on, FAIL up to so many,
which is how it is decided here, with the missing cases counted against either answer. A rule that wants at most t is
the same rule about failures and 1 − t. Counts and shares compare as integers and rationals, and bounds with the double
nearest to the decimal in the policy; nothing is rounded before it is compared.
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
from oloproof.gates.exit import blocks
from oloproof.gates.pairs import confirmation_of, kind_of, on_pairs
from oloproof.model.comparison import Comparison
from oloproof.model.decision import (
    Approval,
    Basis,
    CountFinding,
    Decision,
    Equivalence,
    Finding,
    IntervalThreshold,
    MaxNewFailures,
    NoBaseline,
    NonInferiority,
    ObservedCount,
    PairRule,
    PassKFinding,
    Policy,
    QuantileFinding,
    RateFinding,
    Reason,
    Rule,
    State,
    Superiority,
)
from oloproof.model.stopping import Settled, Stopping
from oloproof.model.tally import Clusters, Measured, Metric, PassK, Quantile, Rate, Tally
from oloproof.stats import proportion, quantile, trials
from oloproof.stats.boundaries import Boundaries, boundaries
from oloproof.stats.counts import at_most_failures

Answer = tuple[State, Reason]

_OVERLAP: Answer = ("INSUFFICIENT_EVIDENCE", "interval_overlaps_threshold")
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
    match rule, metric:
        case Superiority() | NonInferiority() | Equivalence() | MaxNewFailures(), Rate():
            return _on_pairs(rule, comparison, policy)
        case ObservedCount(), Rate():
            return _on_count(rule, metric.tally)
        case IntervalThreshold(), Rate(clusters=None) if stopping is not None and rule.id in stopping.rules:
            return _on_evidence(rule, metric.tally, policy, stopping.of(rule.id))
        case IntervalThreshold(), Rate(clusters=None):
            return _on_rate(rule, metric.tally, policy, level=policy.confidence_level)
        case IntervalThreshold(), Rate(clusters=Clusters() as clusters):
            return _on_trials(rule, metric.tally, clusters, policy)
        case IntervalThreshold(), PassK():
            return _on_pass_k(rule, metric, policy)
        case IntervalThreshold(), Quantile():
            return _on_quantile(rule, metric, policy)
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
    finding, answer = on_pairs(rule, criterion.table, level=policy.confidence_level, confirmation=confirmation)
    if answer[1] == "new_failures_exceed_limit":
        return finding, answer  # what broke is broken, however few pairs there are
    return finding, held_back(rule, n=finding.n, missing=finding.missing) or answer


def _on_count(rule: ObservedCount, tally: Tally) -> tuple[Finding, Answer]:
    finding = CountFinding(tally=tally, max_failures=rule.max_failures)
    state = at_most_failures(tally.passed, tally.failed, tally.missing, max_failures=rule.max_failures)
    if state == "FAIL":
        # The cases that failed did so, however few ran and however many are missing.
        return finding, ("FAIL", "observed_failures_exceed_limit")
    why_not = held_back(rule, n=finding.n, missing=finding.missing)
    if why_not is not None:
        return finding, why_not
    if state == "PASS":
        return finding, ("PASS", "observed_failures_within_limit")
    return finding, ("INSUFFICIENT_EVIDENCE", "missing_could_hide_failures")


def _on_evidence(
    rule: IntervalThreshold, tally: Tally, policy: Policy, settled: Settled | None
) -> tuple[Finding, Answer]:
    """A rule that evidence may settle: by what there was when it did, else by the full run at what is left of the
    level."""
    from oloproof.stats import evidence, sequential  # a run that evidence cannot end does without

    minimum, maximum = _number(rule.min), _number(rule.max)
    threshold = Fraction(rule.min or rule.max or 0)  # it has one of them
    early, final_level = sequential.split(threshold, level=policy.confidence_level)
    if settled is None or settled.by == "certainty" or early is None:
        finding, answer = _on_rate(rule, tally, policy, level=final_level)
        return replace(finding, basis=Basis(method=policy.interval_method, level=final_level)), answer
    counted = Tally(settled.passed, settled.failed, settled.missing, tally.excluded)
    basis = Basis(method="anytime_mixture", level=float(1 - 2 * Fraction(str(early))))
    lower, upper = evidence.interval(counted.passed, counted.failed, counted.missing, level=basis.level)
    answer = _at_maximum(settled.state) if minimum is None else _at_minimum(settled.state)
    finding = RateFinding(tally=counted, minimum=minimum, maximum=maximum, lower=lower, upper=upper, basis=basis)
    return finding, answer


def _on_rate(rule: IntervalThreshold, tally: Tally, policy: Policy, *, level: float) -> tuple[RateFinding, Answer]:
    """``false_pass`` and ``false_fail`` are those of the bound at which they are larger, where both are given."""
    method = policy.interval_method
    lower, upper = proportion.interval(tally.passed, tally.failed, tally.missing, method=method, level=level)
    answers: list[Answer] = []
    errors: list[Boundaries] = []
    if tally.n and rule.min is not None:
        turn = boundaries(tally.n, Fraction(rule.min), method=method, level=level)
        answers.append(_at_minimum(_side(turn, tally.passed, missing=tally.missing)))
        errors.append(turn)
    if tally.n and rule.max is not None:
        turn = boundaries(tally.n, 1 - Fraction(rule.max), method=method, level=level)
        answers.append(_at_maximum(_side(turn, tally.failed, missing=tally.missing)))
        errors.append(turn)
    finding = RateFinding(
        tally=tally,
        minimum=_number(rule.min),
        maximum=_number(rule.max),
        lower=lower,
        upper=upper,
        false_pass=max((turn.false_pass for turn in errors), default=None),
        false_fail=max((turn.false_fail for turn in errors), default=None),
    )
    return finding, held_back(rule, n=finding.n, missing=finding.missing) or _together(answers)


def _on_quantile(rule: IntervalThreshold, metric: Quantile, policy: Policy) -> tuple[Finding, Answer]:
    cases = metric.distribution
    _, lower, upper = quantile.interval(
        cases.observed_values, cases.floor_values, q=metric.q, level=policy.confidence_level
    )
    minimum, maximum = _number(rule.min), _number(rule.max)
    finding = QuantileFinding(
        observed=cases.observed_count,
        missing=cases.missing_count,
        minimum=minimum,
        maximum=maximum,
        lower=lower,
        upper=upper,
    )
    settled = _by_interval(lower, upper, minimum=minimum, maximum=maximum)
    return finding, held_back(rule, n=finding.n, missing=finding.missing) or settled


def _on_trials(rule: IntervalThreshold, tally: Tally, clusters: Clusters, policy: Policy) -> tuple[Finding, Answer]:
    """Trials of a case, and cases of a cluster, are not independent, so no whole count decides: the interval does."""
    method, level = policy.interval_method, policy.confidence_level
    found = trials.of_clusters(clusters.counted, metric="pass_hat_k", method=method, level=level)
    finding = RateFinding(
        tally=tally,
        minimum=_number(rule.min),
        maximum=_number(rule.max),
        lower=found.lower,
        upper=found.upper,
        trials=clusters.trials,
        effective=found.effective,
    )
    return finding, held_back(rule, n=finding.n, missing=finding.missing) or _by_interval(
        found.lower, found.upper, minimum=finding.minimum, maximum=finding.maximum
    )


def _on_pass_k(rule: IntervalThreshold, metric: PassK, policy: Policy) -> tuple[Finding, Answer]:
    method, level = policy.interval_method, policy.confidence_level
    found = trials.of_clusters(metric.clusters.counted, metric=metric.type, k=metric.k, method=method, level=level)
    finding = PassKFinding(
        observed=metric.observed,
        missing=metric.missing,
        minimum=_number(rule.min),
        maximum=_number(rule.max),
        lower=found.lower,
        upper=found.upper,
        effective=found.effective,
    )
    return finding, held_back(rule, n=finding.n, missing=finding.missing) or _by_interval(
        found.lower, found.upper, minimum=finding.minimum, maximum=finding.maximum
    )


def _by_interval(lower: float | None, upper: float | None, *, minimum: float | None, maximum: float | None) -> Answer:
    """What an interval says of the bounds of a rule."""
    answers: list[Answer] = []
    if minimum is not None:
        good, bad = lower is not None and lower >= minimum, upper is not None and upper < minimum
        answers.append(_at_minimum("PASS" if good else "FAIL" if bad else "INSUFFICIENT_EVIDENCE"))
    if maximum is not None:
        good, bad = upper is not None and upper <= maximum, lower is not None and lower > maximum
        answers.append(_at_maximum("PASS" if good else "FAIL" if bad else "INSUFFICIENT_EVIDENCE"))
    return _together(answers)


def held_back(rule: Rule, *, n: int, missing: int) -> Answer | None:
    """Why a rule may not be settled at all on so few cases, or with so many missing; None when it may."""
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


def _at_minimum(state: State) -> Answer:
    reasons: Mapping[State, Reason] = {"PASS": "lower_bound_meets_minimum", "FAIL": "upper_bound_below_minimum"}
    return state, reasons.get(state, "interval_overlaps_threshold")


def _at_maximum(state: State) -> Answer:
    reasons: Mapping[State, Reason] = {"PASS": "upper_bound_meets_maximum", "FAIL": "lower_bound_above_maximum"}
    return state, reasons.get(state, "interval_overlaps_threshold")


def _together(answers: Sequence[Answer]) -> Answer:
    """The answer on one bound or two: outside either is outside, inside needs all."""
    for answer in answers:
        if answer[0] == "FAIL":
            return answer
    if any(state != "PASS" for state, _ in answers):
        return _OVERLAP
    return answers[0] if len(answers) == 1 else ("PASS", "interval_within_bounds")


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


def _number(decimal: str | None) -> float | None:
    return None if decimal is None else float(decimal)
