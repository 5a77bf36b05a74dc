"""What a run tells while it goes on: in order, each thing once, on whatever thread it happens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from threading import Lock

from oloproof.model.case import Attempt, Case
from oloproof.model.decision import Policy, State
from oloproof.model.events import (
    CaseError,
    CaseFinished,
    CaseStarted,
    Event,
    RuleSettled,
    RunStarted,
    WatchedRule,
    outcome_of,
)
from oloproof.model.judgment import Judgment
from oloproof.model.run import Report, Run
from oloproof.model.stopping import Settled
from oloproof.pipeline.ports import Watch
from oloproof.runner.ports import Listener


class Telling(Listener):
    """Turns what happens in one run into events for its watch. ``policy`` None: the run has no gate."""

    def __init__(self, run: Run, policy: Policy | None, watch: Watch) -> None:
        self._run = run
        self._watch = watch
        self._rules = {} if policy is None else {rule.id: rule for rule in policy.rules}
        self._lock = Lock()
        self._begun: set[tuple[str, int]] = set()
        self._settled: set[str] = set()
        self._flush: Callable[[], float | None] = _at_once
        self._keep: Callable[[Case, Sequence[Attempt]], None] = _nowhere

    @property
    def listens(self) -> bool:
        """Whether anybody wants to hear it."""
        return self._watch.listens

    def started(self, *, done: int, attempts: int | None) -> None:
        """The run begins, or goes on with so many attempts from before."""
        run = self._run
        event = RunStarted(
            run=run.id,
            project=run.project,
            system=run.system.name,
            version=run.system.version,
            started_at=run.started_at,
            attempts=attempts,
            done=done,
            trials=run.trials,
            criteria=run.criteria,
            rules=tuple(WatchedRule(rule=rule.id, metric=rule.metric) for rule in self._rules.values()),
        )
        self.tell([event])

    def began(self, case_id: str, trial: int) -> None:
        with self._lock:
            if not self.listens or (case_id, trial) in self._begun:  # an attempt that is made again began before
                return
            self._begun.add((case_id, trial))
            self._watch.told([CaseStarted(case=case_id, trial=trial, rerun=trial > self._run.trials)])

    def again(self, case: Case, earlier: Sequence[Attempt]) -> None:
        self._keep(case, earlier)

    def keep_waiting_with(self, keep: Callable[[Case, Sequence[Attempt]], None]) -> None:
        """How attempts are kept that wait to be made again: see :meth:`Listener.again`."""
        self._keep = keep

    def waiting(self) -> float | None:
        return self._flush()

    def flush_with(self, flush: Callable[[], float | None]) -> None:
        """What to do while the system is waited for: see :meth:`Listener.waiting`."""
        self._flush = flush

    def finished(self, attempt: Attempt, judgments: Sequence[Judgment]) -> list[Event]:
        """What is to be told of an attempt once it is stored; nothing of one that never began, or where nobody
        listens."""
        error = attempt.error
        if not self.listens or attempt.not_run:
            return []
        verdicts = {name: judgment.verdict for name, judgment in zip(self._run.criteria, judgments, strict=True)}
        return [
            CaseFinished(
                case=attempt.case_id,
                trial=attempt.trial,
                rerun=attempt.trial > self._run.trials,
                outcome=outcome_of(verdicts.values()),
                verdicts=verdicts,
                error=None if error is None else CaseError(kind=error.kind, message=error.message),
                duration_ms=attempt.duration_ms,
                taken_from=attempt.taken_from,
            )
        ]

    def settled(self, settled: Iterable[Settled]) -> list[Event]:
        """What is to be told of rules that were settled on the way."""
        return [self._rule_settled(each) for each in settled if self.listens and each.rule in self._rules]

    def reported(self, report: Report) -> Report:
        """The report, whose rules are all settled with it."""
        after = report.measured.cases * report.run.trials
        rest = [decision for decision in report.decisions if decision.rule not in self._settled] if self._rules else []
        self.tell(
            RuleSettled(rule=each.rule, metric=each.metric, state=each.state, by="end", after=after) for each in rest
        )
        return report

    def kept(self, count: int, events: Iterable[Event]) -> None:
        """So many more attempts are stored, and this is to be told of them."""
        self.tell(events)
        self._watch.judged(count)

    def tell(self, events: Iterable[Event]) -> None:
        """These have happened. Of attempts that nobody saw begin, that they did goes first."""
        told: list[Event] = []
        with self._lock:
            for event in events:
                if isinstance(event, CaseFinished):
                    key = event.case, event.trial
                    if key not in self._begun:
                        told.append(CaseStarted(case=event.case, trial=event.trial, rerun=event.rerun))
                    self._begun.discard(key)
                if isinstance(event, RuleSettled):
                    self._settled.add(event.rule)
                told.append(event)
            if told and self.listens:
                self._watch.told(told)

    def _rule_settled(self, settled: Settled) -> RuleSettled:
        rule = self._rules[settled.rule]
        state: State = "MANUAL_REVIEW" if rule.requires_manual_review and settled.state == "PASS" else settled.state
        return RuleSettled(rule=rule.id, metric=rule.metric, state=state, by=settled.by, after=settled.after)


def _at_once() -> float | None:
    return None


def _nowhere(case: Case, earlier: Sequence[Attempt]) -> None:
    """Attempts are not kept before they have come to their end."""
