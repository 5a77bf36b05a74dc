"""How far a run has come, from what happened in it so far. No clock: the time that went by is handed in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from oloproof.model.decision import State
from oloproof.model.events import CaseFinished, CaseStarted, Event, RuleSettled, RunFinished, RunStarted
from oloproof.model.run import RunStatus


class RuleSoFar(Struct, frozen=True):
    """A rule so far: the verdicts of its metric, none of them where that is a quantity; ``state`` None while it is
    open."""

    rule: str
    metric: str
    passed: int = 0
    failed: int = 0
    missing: int = 0
    state: State | None = None


class Headway(Struct, frozen=True):
    """Attempts by what they came to; ``total`` None where nobody knows how many there will be.

    ``before`` were done when the run was resumed, and are in no other count but ``done``. ``excluded`` are attempts
    about which no criterion asked anything. Re-runs are in none but ``in_flight``. ``status`` is how the run ended.
    """

    total: int | None = None
    before: int = 0
    passed: int = 0
    failed: int = 0
    missing: int = 0
    excluded: int = 0
    in_flight: int = 0
    rules: tuple[RuleSoFar, ...] = ()
    status: RunStatus = "running"

    @property
    def finished(self) -> int:
        """Attempts that were made and judged since the run began, or went on."""
        return self.passed + self.failed + self.missing + self.excluded

    @property
    def done(self) -> int:
        """Attempts that need no more work."""
        return self.before + self.finished

    def left_s(self, elapsed_s: float) -> float | None:
        """The seconds that the rest takes at the pace so far, ``elapsed_s`` since the run began or went on; None
        where that cannot be told."""
        if self.total is None or not self.finished:
            return None
        return elapsed_s / self.finished * max(0, self.total - self.done)

    def after(self, events: Iterable[Event]) -> Headway:
        """Where the run stands once these have happened too, in their order."""
        headway = self
        finished: list[CaseFinished] = []
        for event in events:
            match event:
                case CaseFinished():
                    finished.append(event)
                case CaseStarted():
                    headway = replace(headway, in_flight=headway.in_flight + 1)
                case RuleSettled(rule=name, state=state):
                    rules = [replace(each, state=state) if each.rule == name else each for each in headway.rules]
                    headway = replace(headway, rules=tuple(rules))
                case RunStarted(attempts=total, done=before, rules=watched):
                    rules = [RuleSoFar(each.rule, each.metric) for each in watched]
                    headway = Headway(total=total, before=before, rules=tuple(rules))
                case RunFinished(status=status):
                    headway = replace(headway, status=status, in_flight=0)
                case _ as never:
                    assert_never(never)
        return _with(headway, finished) if finished else headway


def _with(headway: Headway, finished: list[CaseFinished]) -> Headway:
    """With these attempts, each of which is counted once."""
    own = [event for event in finished if not event.rerun]
    outcomes = Counter(event.outcome for event in own)
    return replace(
        headway,
        passed=headway.passed + outcomes["pass"],
        failed=headway.failed + outcomes["fail"],
        missing=headway.missing + outcomes["missing"],
        excluded=headway.excluded + outcomes["excluded"],
        in_flight=max(0, headway.in_flight - len(finished)),
        rules=tuple([_rule_with(rule, own) for rule in headway.rules]),
    )


def _rule_with(rule: RuleSoFar, finished: list[CaseFinished]) -> RuleSoFar:
    words = Counter(event.verdicts.get(rule.metric) for event in finished)
    return replace(
        rule,
        passed=rule.passed + words["pass"],
        failed=rule.failed + words["fail"],
        missing=rule.missing + words["missing"],
    )
