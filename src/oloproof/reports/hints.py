"""What to do next: about what went wrong, and about the verdict, each with a command that can be pasted."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import assert_never

from msgspec import Struct

from oloproof.model.decision import CountFinding, Decision, IntervalThreshold, QuantileFinding, RateFinding
from oloproof.model.run import Report
from oloproof.model.tally import ErrorGroup, Quantile
from oloproof.reports.inert import inert
from oloproof.reports.shapes import Fact
from oloproof.reports.words import Subject, cases_text, subject
from oloproof.stats import planning, quantile

_MESSAGE = 300


class Typed(Struct, frozen=True):
    """Commands as they are typed. ``config`` is the configuration that they must name, "" where they need not."""

    run_id: str
    config: str = ""

    def __call__(self, command: str, *options: str) -> str:
        """A command about the run."""
        return self.project(command, self.run_id, *options)

    def project(self, command: str, *options: str) -> str:
        """A command about the project."""
        named = ("--config", inert(shlex.quote(self.config))) if self.config else ()
        return " ".join(("oloproof", command, *options, *named))


def errors_in_words(errors: Iterable[ErrorGroup], typed: Typed) -> Iterator[Fact]:
    """How often each error occurred, and the command that shows the first case that had it."""
    for group in errors:
        trial = () if group.trial == 1 else ("--trial", str(group.trial))
        yield Fact(_error_in_words(group), typed("inspect", "--case", shlex.quote(inert(group.first)), *trial))


def next_steps(report: Report, typed: Typed) -> tuple[Fact, ...]:
    """What to do about the verdict, each thing once, with its command; nothing where the gate lets the run through."""
    if report.gate.exit_code == 0:
        return ()
    if report.gate.outcome == "NOT_GATED":
        return _how_to_gate(report, typed)
    blocking = [decision for decision in report.decisions if decision.blocking]
    steps = [_next_step(report, decision, typed) for decision in blocking]
    if any(decision.state == "INSUFFICIENT_EVIDENCE" and _failed(decision) for decision in blocking):
        steps.append(_see_what_failed(typed))
    return tuple(dict.fromkeys(steps))


def _failed(decision: Decision) -> bool:
    """Whether some case fails what the rule is about, whatever the rule came to."""
    finding = decision.finding
    return isinstance(finding, CountFinding | RateFinding) and finding.tally.failed > 0


def _see_what_failed(typed: Typed) -> Fact:
    return Fact("see what failed", typed("inspect", "--failures"))


def _error_in_words(group: ErrorGroup) -> str:
    if group.message is None:
        return f"{group.kind} in {cases_text(group.cases)} more, with other messages"
    return f"{group.kind} in {cases_text(group.cases)}: {inert(group.message, _MESSAGE)}"


def _how_to_gate(report: Report, typed: Typed) -> tuple[Fact, ...]:
    again = typed.project("run")
    if report.run.partial:
        return (Fact("a partial run is never gated; run the whole suite", again),)
    if report.run.in_process:
        return (Fact("a run for a debugger is never gated; run without --in-process", again),)
    if report.run.status != "complete":
        return (Fact("the run did not complete; run it again", again),)
    if report.policy is None:
        return (
            Fact("write the rules in release.yaml beside oloproof.yaml; if nothing is to be gated", "policy: none"),
        )
    return ()


def _next_step(report: Report, decision: Decision, typed: Typed) -> Fact:
    match decision.state:
        case "FAIL":
            return _see_what_failed(typed)
        case "MANUAL_REVIEW":
            rule = shlex.quote(inert(decision.rule))
            return Fact("look at the run, then", typed("gate", "--approve", rule, "--by", "NAME"))
        case "INSUFFICIENT_EVIDENCE" | "PASS":
            if decision.reason == "no_baseline":
                return Fact("name a run to compare with", typed.project("run", "--baseline", "RUN_OR_FILE"))
            if decision.finding.missing:
                return Fact(_what_is_missing(report, decision), typed("inspect", "--missing"))
            return Fact(_how_many(subject(report, decision)), typed.project("check"))
        case _:
            assert_never(decision.state)


def _what_is_missing(report: Report, decision: Decision) -> str:
    """What to look for first: of a run with errors, the one that most cases had."""
    finding = decision.finding
    step = f"see why {finding.missing} of {cases_text(finding.n)} {'is' if finding.missing == 1 else 'are'} missing"
    worst = max(report.measured.errors, key=lambda group: group.cases, default=None)
    return step if worst is None else f"{step} ({_error_in_words(worst)})"


def _how_many(about: Subject) -> str:
    """That cases are lacking, and how many where that can be told: nothing is missing that could be had back."""
    finding, rule = about.decision.finding, about.rule
    if not finding.n:
        return "no case applies; what each rule can decide"
    if about.decision.reason == "below_min_cases" and rule is not None:
        return f"add cases: {inert(rule.id)} asks for at least {rule.min_cases}"
    match finding, rule:
        case RateFinding(), IntervalThreshold():
            more = _likely_to_settle(about, finding, rule)
            if more is not None:
                total = f"{finding.n + more:,}"
                return f"add cases: a fresh run of about {total} would likely settle {inert(rule.id)} at this rate"
        case QuantileFinding(upper=None), IntervalThreshold(max=str()) if isinstance(about.metric, Quantile):
            needed = quantile.needed_for_upper_bound(about.metric.q, missing=0, level=about.level)
            return f"add cases: an upper bound needs {needed:,}"
        case _:
            pass
    return "add cases; what each rule can decide at a given number"


def _likely_to_settle(about: Subject, finding: RateFinding, rule: IntervalThreshold) -> int | None:
    """How many further cases settle a rule with one bound in nine of ten runs, if the observed rate is the true one."""
    tally, method = finding.tally, about.method
    if rule.min is not None and rule.max is None:
        passed, failed, share = tally.passed, tally.failed, Fraction(rule.min)
    elif rule.max is not None and rule.min is None:
        passed, failed, share = tally.failed, tally.passed, 1 - Fraction(rule.max)
    else:
        return None
    return planning.settle(passed, failed, 0, threshold=share, method=method, level=about.level).likely
