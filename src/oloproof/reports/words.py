"""Decisions in words: which bound met which threshold, and how often such a rule errs.

A sentence must be true as printed. "lower bound 70.0% ≥ minimum 70.05%" is not, whatever the unrounded numbers say, so
a bound in a sentence is given as many decimals as its comparison needs.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from decimal import Decimal
from typing import assert_never

from msgspec import Struct

from oloproof.errors import counted
from oloproof.model.decision import (
    Basis,
    CountFinding,
    CountReason,
    Decision,
    Finding,
    IntervalMethod,
    IntervalReason,
    NoBaseline,
    PairFinding,
    PassKFinding,
    QuantileFinding,
    RateFinding,
    Rule,
)
from oloproof.model.measured import Metric, Quantile, Rate
from oloproof.model.run import Report
from oloproof.reports.figures import NO_BOUND, NOTHING, in_unit, interval_text
from oloproof.reports.inert import TEXT_LIMIT, inert
from oloproof.reports.pairs import pair_reason_in_words
from oloproof.reports.stopping import settled_in_words
from oloproof.stats import quantile, rounding
from oloproof.stats.counts import failure_rate_bound
from oloproof.stats.level import tail
from oloproof.stats.rounding import MOST_DIGITS, percent_estimate, percent_lower, percent_of, percent_upper, plain

IntervalFinding = RateFinding | QuantileFinding | PassKFinding
Relation = Callable[[Decimal, Decimal], bool]

_MOST_CAUSES = 10


class Subject(Struct, frozen=True, kw_only=True):
    """A decision with what it is about: the rule as written and the metric's counts, None where neither is known.
    ``level`` is of the interval that decided, ``promised`` that of the policy where it is another. ``compared`` says
    that there was a baseline, ``whole`` that the run could be compared with one."""

    decision: Decision
    rule: Rule | None
    metric: Metric | None
    level: float
    method: IntervalMethod = "wilson"
    compared: bool = False
    whole: bool = True
    promised: float | None = None

    def limit(self, threshold: float | None) -> str:
        """A threshold as it was written: ``70%``, ``12 steps``."""
        if threshold is None:
            return NOTHING
        if isinstance(self.metric, Quantile):
            return in_unit(plain(Decimal(str(threshold))), self.metric.unit)
        return percent_of(threshold) + "%"

    def lower(self, bound: float | None, threshold: float | None, holds: Relation) -> str:
        """A lower bound, with the decimals that the comparison with ``threshold`` needs to be seen to hold."""
        return self._bound(bound, threshold, holds, percent_lower)

    def upper(self, bound: float | None, threshold: float | None, holds: Relation) -> str:
        """An upper bound, likewise."""
        return self._bound(bound, threshold, holds, percent_upper)

    def _bound(self, bound: float | None, threshold: float | None, holds: Relation, percent: Callable[..., str]) -> str:
        if bound is None:
            return NO_BOUND
        if isinstance(self.metric, Quantile):
            return self.limit(bound)
        limit = Decimal(str(threshold or 0)).scaleb(2)
        texts = (percent(bound, digits=digits) for digits in range(1, MOST_DIGITS + 1))
        return next((text for text in texts if holds(Decimal(text), limit)), percent(bound)) + "%"


def achieved_error(subject: Subject) -> str:
    """How often a rule of this kind errs at this n, or what its pass proves of other cases; "" where neither is known.

    The nominal error is half of what the level leaves. Wilson's score interval can exceed it near 0 and 1 (Cai 2005).
    A count rule states a fact about its suite and does not err, so only a pass without a failure says more.
    """
    level = subject.level
    match subject.decision.finding:
        case CountFinding(tally=tally):
            if subject.decision.state not in ("PASS", "MANUAL_REVIEW") or tally.failed or tally.missing:
                return ""
            if _related(subject.metric):
                return ""  # what n independent cases would prove, these do not
            return f"no failure in {counted(tally.n, 'case')}: {proven(tally.n, level=level)}"
        case RateFinding(basis=Basis(method="anytime_mixture")):
            side = percent_of(tail(level))
            return f"such evidence is wrong in at most {side}% of runs on each side, at whatever moment one looks"
        case RateFinding(false_pass=false_pass, false_fail=false_fail):
            level = subject.promised or level
            return rounding.achieved_error(false_pass=false_pass, false_fail=false_fail, level=level)
        case QuantileFinding() | PassKFinding():
            return ""
        case PairFinding() | NoBaseline():
            return ""
        case _ as never:
            assert_never(never)


def proven(n: int, *, level: float) -> str:
    """What n cases without a failure prove of those that were not in the suite."""
    bound = percent_upper(failure_rate_bound(n, level=level))
    return f"failure rate at most {bound}% with {percent_of(level)}% confidence"


def gate_line(report: Report) -> str:
    """The verdict in a line: ``BLOCK (exit 1): no-deletion FAIL``."""
    gate = report.gate
    causes = [inert(gate.why, TEXT_LIMIT)] if gate.why else []
    match gate.outcome:
        case "ALLOW":
            warned = (decision for decision in report.decisions if decision.state != "PASS")
            causes += [f"{inert(decision.rule)} {decision.state} is a warning" for decision in warned]
        case "BLOCK":
            blocking = (decision for decision in report.decisions if decision.blocking)
            causes += [f"{inert(decision.rule)} {decision.state}" for decision in blocking]
        case "NOT_GATED":
            pass
        case _:
            assert_never(gate.outcome)
    if len(causes) > _MOST_CAUSES:
        causes[_MOST_CAUSES:] = [f"and {len(causes) - _MOST_CAUSES:,} more"]
    stopping = report.run.stopping
    if stopping is not None and stopping.after is not None:
        causes.append(f"settled after {stopping.after:,} of {report.run.cases:,} cases")
    line = f"{gate.outcome.replace('_', ' ')} (exit {gate.exit_code})"
    return f"{line}: {', '.join(causes)}" if causes else line


def subject(report: Report, decision: Decision) -> Subject:
    """A decision beside its rule and its metric."""
    rules = () if report.policy is None else report.policy.rules
    level = report.run.interval.level if report.policy is None else report.policy.confidence_level
    basis = decision.finding.basis if isinstance(decision.finding, RateFinding) else None
    return Subject(
        decision=decision,
        rule=next((rule for rule in rules if rule.id == decision.rule), None),
        metric=next((metric for metric in report.measured.metrics if metric.id == decision.metric), None),
        level=level if basis is None else basis.level,
        promised=None if basis is None else level,
        method=report.run.interval.method if report.policy is None else report.policy.interval_method,
        compared=report.comparison is not None,
        whole=report.run.is_concluded and not report.run.partial,
    )


def reason_in_words(subject: Subject) -> str:
    """Why the decision is what it is: the project's own words and figures, no text of anyone else's."""
    return _reason(subject) + settled_in_words(subject.decision)


def _reason(subject: Subject) -> str:
    finding, rule = subject.decision.finding, subject.rule
    match subject.decision.reason:
        case "no_baseline" if subject.compared:
            return "the baseline was not judged by this criterion"
        case "no_baseline" if not subject.whole:
            return "nothing is compared with a run that is not complete"
        case (
            "observed_failures_exceed_limit" | "observed_failures_within_limit" | "missing_could_hide_failures"
        ) as reason:
            assert isinstance(finding, CountFinding)
            return _count_in_words(finding, reason, tried=_tried(subject.metric))
        case (
            "lower_bound_meets_minimum"
            | "upper_bound_below_minimum"
            | "upper_bound_meets_maximum"
            | "lower_bound_above_maximum"
            | "interval_within_bounds"
            | "interval_overlaps_threshold"
        ) as reason:
            assert isinstance(finding, RateFinding | QuantileFinding | PassKFinding)
            return _interval_in_words(subject, finding, reason)
        case (
            "difference_above_zero"
            | "difference_not_above_zero"
            | "difference_within_margin"
            | "difference_beyond_margin"
            | "difference_overlaps_margin"
            | "new_failures_exceed_limit"
            | "new_failures_within_limit"
            | "missing_could_hide_new_failures"
            | "no_baseline"
        ) as reason:
            assert isinstance(finding, PairFinding | NoBaseline)
            return pair_reason_in_words(finding, reason)
        case "no_observation":
            return "nothing to decide on: no case was observed"
        case "below_min_cases":
            needed = "" if rule is None else f", at least {rule.min_cases:,} required"
            return f"{counted(finding.n, 'case')}{needed}"
        case "missing_exceeds_policy":
            return f"{finding.missing:,} of {counted(finding.n, 'case')} missing{_share_missing(finding, rule)}"
        case "stopped_early":
            left = f"of {counted(finding.n, 'case')} {finding.missing:,} did not run or left no verdict"
            return f"not settled when the run stopped: {left}, and an interval of the others alone would not be valid"
        case "review_required":
            return "the evidence passes; the rule asks that a person looks"
        case _ as never:
            assert_never(never)


def _share_missing(finding: Finding, rule: Rule | None) -> str:
    """`` (5.05%), at most 5%``, with the decimals that it takes to see that it is more."""
    if not finding.n:
        return ""
    texts = [percent_estimate(finding.missing, finding.n, digits=digits) for digits in range(1, MOST_DIGITS + 1)]
    if rule is None or rule.max_missing is None:
        return f" ({texts[0]}%)"
    most = percent_of(rule.max_missing)
    limit = Decimal(rule.max_missing).scaleb(2)
    share = next((text for text in texts if Decimal(text) > limit), texts[0])
    return f" ({share}%), at most {most}%"


def _related(metric: Metric | None) -> bool:
    """Whether cases belong together."""
    clusters = metric.clusters if isinstance(metric, Rate) else None
    return clusters is not None and clusters.related


def _tried(metric: Metric | None) -> bool:
    """Whether cases were tried more than once, so that one of them may pass and fail."""
    clusters = metric.clusters if isinstance(metric, Rate) else None
    return clusters is not None and clusters.trials.n > clusters.cases


def _count_in_words(finding: CountFinding, reason: CountReason, *, tried: bool) -> str:
    failed, missing = finding.tally.failed, counted(finding.missing, "case")
    failures = f"{counted(failed, 'case')} with a failed trial" if tried else f"{counted(failed, 'failure')} observed"
    allowed = f"{finding.max_failures:,} allowed"
    match reason:
        case "observed_failures_exceed_limit":
            return f"{failures}, {allowed}"
        case "observed_failures_within_limit":
            return f"{failures} and {f'{finding.missing:,}' if tried else missing} missing, {allowed}"
        case "missing_could_hide_failures":
            return f"{failures}, {allowed}; {missing} missing could hide more"
        case _:
            assert_never(reason)


def _interval_in_words(subject: Subject, finding: IntervalFinding, reason: IntervalReason) -> str:
    minimum, maximum, lower, upper = finding.minimum, finding.maximum, finding.lower, finding.upper
    match reason:
        case "lower_bound_meets_minimum":
            return f"lower bound {subject.lower(lower, minimum, operator.ge)} ≥ minimum {subject.limit(minimum)}"
        case "upper_bound_below_minimum":
            return f"upper bound {subject.upper(upper, minimum, operator.lt)} < minimum {subject.limit(minimum)}"
        case "upper_bound_meets_maximum":
            return f"upper bound {subject.upper(upper, maximum, operator.le)} ≤ maximum {subject.limit(maximum)}"
        case "lower_bound_above_maximum":
            return f"lower bound {subject.lower(lower, maximum, operator.gt)} > maximum {subject.limit(maximum)}"
        case "interval_within_bounds":
            low, high = subject.lower(lower, minimum, operator.ge), subject.upper(upper, maximum, operator.le)
            return f"bounds {low} and {high} lie within {subject.limit(minimum)} and {subject.limit(maximum)}"
        case "interval_overlaps_threshold":
            return _overlap(subject, finding)
        case _:
            assert_never(reason)


def _overlap(subject: Subject, finding: IntervalFinding) -> str:
    named = (("minimum", finding.minimum), ("maximum", finding.maximum))
    limits = " and ".join(f"{name} {subject.limit(limit)}" for name, limit in named if limit is not None)
    interval = interval_text(subject.metric, lower=finding.lower, upper=finding.upper)
    words = f"{interval} does not settle {limits}"
    if isinstance(subject.metric, Quantile) and finding.upper is None and finding.maximum is not None:
        needed = quantile.needed_for_upper_bound(subject.metric.q, missing=0, level=subject.level)
        words += f"; an upper bound needs {needed:,} cases with none missing"
    return words
