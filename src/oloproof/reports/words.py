"""Decisions in words: which bound met which threshold, how often such a rule errs, and what to do next.

A sentence must be true as printed. "lower bound 70.0% ≥ minimum 70.05%" is not, whatever the unrounded numbers say, so
a bound in a sentence is given as many decimals as its comparison needs.
"""

from __future__ import annotations

import operator
import shlex
from collections.abc import Callable
from decimal import Decimal
from typing import assert_never

from msgspec import Struct

from oloproof.model.decision import Decision, Rule
from oloproof.model.run import Report
from oloproof.model.tally import Metric, Quantile
from oloproof.reports.figures import NO_BOUND, NOTHING, interval_text, percent_of, plain
from oloproof.reports.inert import TEXT_LIMIT, inert
from oloproof.stats import quantile
from oloproof.stats.counts import failure_rate_bound
from oloproof.stats.level import tail
from oloproof.stats.rounding import percent_estimate, percent_lower, percent_upper

Comparison = Callable[[Decimal, Decimal], bool]

_MOST_DIGITS = 10
_MOST_CAUSES = 10


class Fact(Struct, frozen=True):
    """A label and what stands beside it: a line of a header, or a thing to do and its command."""

    label: str
    text: str


class Subject(Struct, frozen=True, kw_only=True):
    """A decision with what it is about: the rule as written and the metric's counts, None where neither is known."""

    decision: Decision
    rule: Rule | None
    metric: Metric | None
    level: float

    @property
    def missing(self) -> int:
        match self.metric:
            case Quantile(distribution=distribution):
                return distribution.missing_count
            case _:
                return self.decision.missing

    @property
    def n(self) -> int:
        match self.metric:
            case Quantile(distribution=distribution):
                return distribution.n
            case _:
                return self.decision.passed + self.decision.failed + self.decision.missing

    def limit(self, threshold: float | None) -> str:
        """A threshold as it was written: ``70%``, ``12 steps``."""
        if threshold is None:
            return NOTHING
        if isinstance(self.metric, Quantile):
            return f"{plain(Decimal(str(threshold)))} {self.metric.unit}"
        return percent_of(threshold) + "%"

    def lower(self, threshold: float | None, holds: Comparison) -> str:
        """The lower bound, with the decimals that the comparison with ``threshold`` needs to be seen to hold."""
        return self._bound(self.decision.lower, threshold, holds, percent_lower)

    def upper(self, threshold: float | None, holds: Comparison) -> str:
        """The upper bound, likewise."""
        return self._bound(self.decision.upper, threshold, holds, percent_upper)

    def _bound(
        self, bound: float | None, threshold: float | None, holds: Comparison, percent: Callable[..., str]
    ) -> str:
        if bound is None:
            return NO_BOUND
        if isinstance(self.metric, Quantile):
            return self.limit(bound)
        limit = Decimal(str(threshold or 0)).scaleb(2)
        texts = (percent(bound, digits=digits) for digits in range(1, _MOST_DIGITS + 1))
        return next((text for text in texts if holds(Decimal(text), limit)), percent(bound)) + "%"


def achieved_error(subject: Subject) -> str:
    """How often a rule of this kind errs at this n, or what its pass proves of other cases; "" where neither is known.

    The nominal error is half of what the level leaves. Wilson's score interval can exceed it near 0 and 1 (Cai 2005).
    A count rule states a fact about its suite and does not err, so only a pass without a failure says more.
    """
    decision, level = subject.decision, subject.level
    if decision.kind == "observed_count":
        if decision.state not in ("PASS", "MANUAL_REVIEW") or decision.failed or decision.missing:
            return ""
        bound = percent_upper(failure_rate_bound(subject.n, level=level))
        return f"no failure in {_cases(subject.n)}: failure rate at most {bound}% with {percent_of(level)}% confidence"
    errors = {"false pass": decision.false_pass, "false fail": decision.false_fail}
    known = {name: error for name, error in errors.items() if error is not None}
    if not known:
        return ""
    text = ", ".join(f"{name} {percent_upper(error)}%" for name, error in known.items())
    return f"error at the threshold: {text} (nominal {percent_of(tail(level))}%)"


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
        causes[_MOST_CAUSES:] = [f"and {len(causes) - _MOST_CAUSES} more"]
    line = f"{gate.outcome.replace('_', ' ')} (exit {gate.exit_code})"
    return f"{line}: {', '.join(causes)}" if causes else line


def next_steps(report: Report) -> tuple[Fact, ...]:
    """What to do about the verdict, each thing once, with its command; nothing where the gate lets the run through."""
    if report.gate.exit_code == 0:
        return ()
    if report.gate.outcome == "NOT_GATED":
        return _how_to_gate(report)
    steps = [] if report.run.status == "complete" else [Fact("the run did not complete; run it again", "oloproof run")]
    steps += [_next_step(decision, inert(report.run.id)) for decision in report.decisions if decision.blocking]
    return tuple(dict.fromkeys(steps))


def subject(report: Report, decision: Decision) -> Subject:
    """A decision beside its rule and its metric."""
    rules = () if report.policy is None else report.policy.rules
    return Subject(
        decision=decision,
        rule=next((rule for rule in rules if rule.id == decision.rule), None),
        metric=next((metric for metric in report.measured.metrics if metric.id == decision.metric), None),
        level=report.run.interval.level if report.policy is None else report.policy.confidence_level,
    )


def reason_in_words(subject: Subject) -> str:
    """Why the decision is what it is: the project's own words and figures, no text of anyone else's."""
    decision, rule = subject.decision, subject.rule
    minimum, maximum = decision.threshold, decision.maximum
    allowed = f"{minimum or 0:.0f} allowed"
    match decision.reason:
        case "observed_failures_exceed_limit":
            return f"{_failures(decision.failed)} observed, {allowed}"
        case "observed_failures_within_limit":
            return f"{_failures(decision.failed)} observed and {_cases(subject.missing)} missing, {allowed}"
        case "missing_could_hide_failures":
            return (
                f"{_failures(decision.failed)} observed, {allowed}; {_cases(subject.missing)} missing could hide more"
            )
        case "lower_bound_meets_minimum":
            return f"lower bound {subject.lower(minimum, operator.ge)} ≥ minimum {subject.limit(minimum)}"
        case "upper_bound_below_minimum":
            return f"upper bound {subject.upper(minimum, operator.lt)} < minimum {subject.limit(minimum)}"
        case "upper_bound_meets_maximum":
            return f"upper bound {subject.upper(maximum, operator.le)} ≤ maximum {subject.limit(maximum)}"
        case "lower_bound_above_maximum":
            return f"lower bound {subject.lower(maximum, operator.gt)} > maximum {subject.limit(maximum)}"
        case "interval_within_bounds":
            low, high = subject.lower(minimum, operator.ge), subject.upper(maximum, operator.le)
            return f"bounds {low} and {high} lie within {subject.limit(minimum)} and {subject.limit(maximum)}"
        case "interval_overlaps_threshold":
            return _overlap(subject)
        case "no_observation":
            return "nothing to decide on: the metric applies to no case"
        case "below_min_cases":
            needed = "" if rule is None else f", at least {rule.min_cases} required"
            return f"{_cases(subject.n)}{needed}"
        case "missing_exceeds_policy":
            share = f" ({percent_estimate(subject.missing, subject.n)}%)" if subject.n else ""
            most = "" if rule is None or rule.max_missing is None else f", at most {percent_of(rule.max_missing)}%"
            return f"{subject.missing} of {_cases(subject.n)} missing{share}{most}"
        case "review_required":
            return "the evidence passes; the rule asks that a person looks"
        case _:
            assert_never(decision.reason)


def _overlap(subject: Subject) -> str:
    decision = subject.decision
    named = (("minimum", decision.threshold), ("maximum", decision.maximum))
    limits = " and ".join(f"{name} {subject.limit(limit)}" for name, limit in named if limit is not None)
    interval = interval_text(subject.metric, lower=decision.lower, upper=decision.upper)
    words = f"{interval} does not settle {limits}"
    if isinstance(subject.metric, Quantile) and decision.upper is None and decision.maximum is not None:
        needed = quantile.needed_for_upper_bound(subject.metric.q, missing=0, level=subject.level)
        words += f"; an upper bound needs {needed} cases with none missing"
    return words


def _how_to_gate(report: Report) -> tuple[Fact, ...]:
    if report.run.partial:
        return (Fact("a partial run is never gated; run the whole suite", "oloproof run"),)
    if report.run.in_process:
        return (Fact("a run for a debugger is never gated; run without --in-process", "oloproof run"),)
    if report.policy is None:
        return (
            Fact("write the rules in release.yaml beside oloproof.yaml; if nothing is to be gated", "policy: none"),
        )
    return ()


def _next_step(decision: Decision, run_id: str) -> Fact:
    match decision.state:
        case "FAIL":
            return Fact("see what failed", f"oloproof inspect {run_id} --failures")
        case "MANUAL_REVIEW":
            rule = shlex.quote(inert(decision.rule))
            return Fact("look at the run, then", f"oloproof gate {run_id} --approve {rule} --by NAME")
        case "INSUFFICIENT_EVIDENCE" | "PASS":
            if decision.reason in ("missing_could_hide_failures", "missing_exceeds_policy"):
                return Fact("see why cases are missing", f"oloproof inspect {run_id} --verdicts")
            return Fact("add cases; what each rule can decide at a given number", "oloproof check")
        case _:
            assert_never(decision.state)


def _failures(count: int) -> str:
    return f"{count} failure" if count == 1 else f"{count} failures"


def _cases(count: int) -> str:
    return f"{count} case" if count == 1 else f"{count} cases"
