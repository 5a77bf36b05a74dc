"""What to do next: about what went wrong, and about the verdict, each with a command that can be pasted."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import assert_never

from msgspec import Struct

from oloproof.errors import counted
from oloproof.model.decision import CountFinding, Decision, PairFinding, RateFinding
from oloproof.model.measured import ErrorGroup
from oloproof.model.run import Report
from oloproof.reports.inert import NAME_LIMIT, inert
from oloproof.reports.settling import settling_of
from oloproof.reports.shapes import Fact
from oloproof.reports.words import Subject, subject

_MESSAGE = 300
_ANY_BASELINE = "BASELINE"


class Typed(Struct, frozen=True):
    """Commands as they are typed. ``config`` is the configuration that they must name, "" where they need not;
    ``baseline`` what the run was compared with, "" where nobody can say."""

    run_id: str
    config: str = ""
    baseline: str = ""

    def __call__(self, command: str, *options: str) -> str:
        """A command about the run."""
        return self.project(command, self.run_id, *options)

    def project(self, command: str, *options: str) -> str:
        """A command about the project."""
        named = ("--config", shell_word(self.config) or "FILE") if self.config else ()
        return " ".join(("oloproof", command, *options, *named))

    def compare(self) -> str:
        """The comparison of the run with its baseline."""
        return self("compare", shell_word(self.baseline or _ANY_BASELINE) or _ANY_BASELINE)


def shell_word(text: str) -> str:
    """The text as one word of a shell, such that it can be pasted and is inert; "" where that cannot be done. What
    draws nothing is written as bytes (``$'a\\x1b'``), as bash and zsh read it."""
    if inert(text) == text:
        return shlex.quote(text)
    if len(text) > NAME_LIMIT or "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        return ""
    return "$'" + "".join(map(_escaped, text)) + "'"


def _escaped(character: str) -> str:
    if character in "\\'":
        return f"\\{character}"
    return character if inert(character) == character else "".join(f"\\x{byte:02x}" for byte in character.encode())


def errors_in_words(errors: Iterable[ErrorGroup], typed: Typed, *, trials: int = 1) -> Iterator[Fact]:
    """In how many cases, or trials where each has several, an error occurred, and the command that shows the
    first case that had it; where its id is none that could be typed, all the cases that have no verdict."""
    for group in errors:
        trial = () if group.trial == 1 else ("--trial", str(group.trial))
        first = shell_word(group.first)
        options = ("--case", first, *trial) if first else ("--missing",)
        yield Fact(_error_in_words(group, trials), typed("inspect", *options))


def next_steps(report: Report, typed: Typed) -> tuple[Fact, ...]:
    """What to do about the verdict, each thing once, with its command; nothing where the gate lets the run through."""
    if report.gate.exit_code == 0:
        return ()
    if report.gate.outcome == "NOT_GATED":
        return _how_to_gate(report, typed)
    return _steps(report, [decision for decision in report.decisions if decision.blocking], typed)


def rule_steps(report: Report, decision: Decision, typed: Typed) -> tuple[Fact, ...]:
    """What to do about one rule; nothing where it does not block."""
    return _steps(report, [decision] if decision.blocking else [], typed)


def _steps(report: Report, blocking: Sequence[Decision], typed: Typed) -> tuple[Fact, ...]:
    steps = [_next_step(report, decision, typed) for decision in blocking]
    if any(settling_of(subject(report, decision)) is not None for decision in blocking):
        steps.append(_plan_afresh(typed))
    if any(decision.state == "INSUFFICIENT_EVIDENCE" and _failed(decision) for decision in blocking):
        steps.append(_see_what_failed(typed))
    return tuple(dict.fromkeys(steps))


def _failed(decision: Decision) -> bool:
    """Whether some case fails what the rule is about, whatever the rule came to."""
    finding = decision.finding
    return isinstance(finding, CountFinding | RateFinding) and finding.tally.failed > 0


def _plan_afresh(typed: Typed) -> Fact:
    """That more cases are needed, and not added to these: what is looked at until it turns, turns."""
    return Fact("plan a fresh run; to add cases to this one after looking is peeking", typed("plan"))


def _see_what_failed(typed: Typed) -> Fact:
    return Fact("see what failed", typed("inspect", "--failures"))


def _error_in_words(group: ErrorGroup, trials: int) -> str:
    seen = counted(group.cases, "trial" if trials > 1 else "case")
    if group.message is None:
        return f"{group.kind} in {seen} more, with other messages"
    alike = ", alike but for ids" if group.varied else ""
    return f"{group.kind} in {seen}{alike}: {inert(group.message, _MESSAGE)}"


def _how_to_gate(report: Report, typed: Typed) -> tuple[Fact, ...]:
    again = typed.project("run")
    if report.run.partial:
        return (Fact("a partial run is never gated; run the whole suite", again),)
    if report.run.in_process:
        return (Fact("a run for a debugger is never gated; run without --in-process", again),)
    if not report.run.is_concluded:
        if report.run.system.is_recorded:
            return (Fact("the run did not complete; judge the recordings again", typed.project("judge")),)
        return (Fact("the run did not complete; complete it", typed.project("run", "--resume", report.run.id)),)
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
            rule = shell_word(decision.rule) or "RULE"
            return Fact("look at the run, then", typed("gate", "--approve", rule, "--by", "NAME"))
        case "INSUFFICIENT_EVIDENCE" | "PASS":
            if decision.reason == "stopped_early":
                return Fact("run every case to settle what was not", typed.project("run", "--no-stop-early"))
            if decision.reason == "no_baseline":
                step = (
                    "name a run to compare with"
                    if report.comparison is None
                    else "name one judged by the same criteria"
                )
                return Fact(step, typed.project("run", "--baseline", _ANY_BASELINE))
            if isinstance(decision.finding, PairFinding) and decision.finding.missing:
                count = decision.finding.missing
                step = f"see which {count:,} of {decision.finding.n:,} pairs {'is' if count == 1 else 'are'} missing"
                return Fact(step, typed.compare())
            if decision.finding.missing:
                return Fact(_what_is_missing(report, decision), typed("inspect", "--missing"))
            if settling_of(about := subject(report, decision)) is not None:
                return _plan_afresh(typed)
            return Fact(_how_many(about), typed.project("check"))
        case _:
            assert_never(decision.state)


def _what_is_missing(report: Report, decision: Decision) -> str:
    """What to look for first: of a run with errors, the one that most cases had."""
    finding = decision.finding
    verb = "is" if finding.missing == 1 else "are"
    step = f"see why {finding.missing:,} of {counted(finding.n, 'case')} {verb} missing"
    worst = max(report.measured.errors, key=lambda group: group.cases, default=None)
    return step if worst is None else f"{step} ({_error_in_words(worst, report.run.trials)})"


def _how_many(about: Subject) -> str:
    """That cases are lacking, and how many where that can be told: nothing is missing that could be had back."""
    finding, rule = about.decision.finding, about.rule
    if not finding.n:
        return "no case applies; what each rule can decide"
    if about.decision.reason == "below_min_cases" and rule is not None:
        return f"add cases: {inert(rule.id)} asks for at least {rule.min_cases:,}"
    return "add cases; what each rule can decide at a given number"
