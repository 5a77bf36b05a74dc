"""A run tells each thing once, and that a case began before that it finished."""

from __future__ import annotations

from collections.abc import Sequence

from oloproof.model.case import Attempt, AttemptError
from oloproof.model.decision import ObservedCount, Policy
from oloproof.model.events import CaseFinished, CaseStarted, Event, RuleSettled
from oloproof.model.judgment import PASS, missing
from oloproof.model.run import Run, SystemIdentity
from oloproof.model.stopping import Settled
from oloproof.pipeline import Watch
from oloproof.pipeline.telling import Telling

RUN = Run(
    id="r", project="p", system=SystemIdentity(name="s"), status="running", started_at="", cases=3, criteria=("right",)
)
POLICY = Policy(
    rules=(
        ObservedCount(id="plain", metric="right", max_failures=0),
        ObservedCount(id="reviewed", metric="right", max_failures=0, requires_manual_review=True),
    )
)


class Heard(Watch):
    """Keeps what it is told."""

    def __init__(self, *, listens: bool = True) -> None:
        self.listens = listens
        self.events: list[Event] = []

    def told(self, events: Sequence[Event]) -> None:
        self.events += events

    @property
    def cases(self) -> list[tuple[str, str]]:
        return [
            (type(event).__name__.removeprefix("Case").lower(), event.case)
            for event in self.events
            if isinstance(event, CaseStarted | CaseFinished)
        ]


def telling(watch: Watch, policy: Policy | None = POLICY) -> Telling:
    return Telling(RUN, policy, watch)


def test_a_case_that_nobody_saw_begin_begins_before_it_finishes() -> None:
    watch = Heard()
    told = telling(watch)
    told.began("c2", 1)
    told.kept(2, [*told.finished(Attempt(case_id="c1"), [PASS]), *told.finished(Attempt(case_id="c2"), [PASS])])
    assert watch.cases == [("started", "c2"), ("started", "c1"), ("finished", "c1"), ("finished", "c2")]


def test_an_attempt_that_is_made_again_began_once() -> None:
    watch = Heard()
    told = telling(watch)
    for _ in range(3):
        told.began("c1", 1)
    told.tell(told.finished(Attempt(case_id="c1"), [PASS]))
    assert watch.cases == [("started", "c1"), ("finished", "c1")]


def test_trials_are_told_apart_and_those_beyond_the_last_are_re_runs() -> None:
    watch = Heard()
    told = telling(watch)
    for trial in (1, 2):
        told.tell(told.finished(Attempt(case_id="c1", trial=trial), [PASS]))
    assert [event.rerun for event in watch.events if isinstance(event, CaseFinished)] == [False, True]
    assert len(watch.events) == 4


def test_what_never_began_never_finished() -> None:
    watch = Heard()
    told = telling(watch)
    error = AttemptError(kind="not_run", message="stopped")
    assert told.finished(Attempt(case_id="c1", error=error), [missing("not_run")]) == []


def test_what_went_wrong_is_said_without_its_traceback() -> None:
    told = telling(Heard())
    error = AttemptError(kind="system_error", message="boom", traceback="secret")
    (event,) = told.finished(Attempt(case_id="c1", error=error), [missing("system_error")])
    assert isinstance(event, CaseFinished)
    assert (event.error.kind, event.error.message) == ("system_error", "boom") if event.error else False
    assert (event.outcome, event.verdicts) == ("missing", {"right": "missing"})


def test_a_rule_that_a_person_must_approve_is_not_said_to_pass() -> None:
    told = telling(Heard())
    settled = [
        Settled(rule=rule, state="PASS", by="certainty", after=3, boundary="3 passes of 3")
        for rule in ("plain", "reviewed", "unknown")
    ]
    events = told.settled(settled)
    assert [(each.rule, each.state) for each in events if isinstance(each, RuleSettled)] == [
        ("plain", "PASS"),
        ("reviewed", "MANUAL_REVIEW"),
    ]


def test_nothing_is_made_ready_where_nobody_listens() -> None:
    watch = Heard(listens=False)
    told = telling(watch)
    told.started(done=0, attempts=3)
    told.began("c1", 1)
    assert told.finished(Attempt(case_id="c1"), [PASS]) == []
    told.tell([])
    assert watch.events == []
