"""A run is followed case by case along its launch order, until its verdict is settled or it is interrupted."""

from __future__ import annotations

from oloproof.gates.stopping import Course, Suite
from oloproof.model.case import Attempt, AttemptError, Case
from oloproof.model.decision import ObservedCount, Policy
from oloproof.model.evidence import Evidence
from oloproof.model.judgment import PASS, Judgment, missing
from oloproof.model.stopping import Settled, Stopping
from oloproof.pipeline.stopping import Certainty, EarlyStop, Plan

POLICY = Policy(rules=(ObservedCount(id="none-wrong", metric="right", max_failures=0),))
CASES = [Case(id=f"c{number}") for number in range(1, 5)]
FAIL = Judgment("fail")


def planned(concurrency: int = 1) -> Plan:
    return Plan(
        cases=CASES,
        places={case.id: at for at, case in enumerate(CASES)},
        concurrency=concurrency,
        course=Course(POLICY, Suite({"right": len(CASES)})),
        stopping=Stopping(seed=1),
        criteria=("right",),
        sources=(),
    )


def see(follow: Certainty | EarlyStop, number: int, judgment: Judgment) -> tuple[Settled, ...]:
    """The case of this number, judged so; one that is missing for it was not run."""
    error = AttemptError(kind="not_run", message="stopped") if judgment.reason == "not_run" else None
    case = CASES[number - 1]
    return follow.see(Evidence(case, Attempt(case_id=case.id, error=error, duration_ms=500)), (judgment,), ())


def certainty() -> Certainty:
    plan = planned()
    return Certainty(plan.course, plan.criteria, plan.sources)


def test_a_failure_too_many_settles_a_rule_once() -> None:
    follow = certainty()
    assert see(follow, 1, PASS) == ()
    (settled,) = see(follow, 2, FAIL)
    assert (settled.rule, settled.state, settled.after) == ("none-wrong", "FAIL", 2)
    assert see(follow, 3, FAIL) == ()


def test_the_last_case_that_passes_settles_it_too() -> None:
    follow = certainty()
    assert [see(follow, number, PASS) for number in (1, 2, 3)] == [()] * 3
    (settled,) = see(follow, 4, PASS)
    assert (settled.state, settled.after) == ("PASS", 4)


def test_what_ends_after_a_run_was_interrupted_settles_nothing() -> None:
    """It was in flight, and the launch order has a gap before it."""
    follow = certainty()
    see(follow, 1, PASS)
    assert see(follow, 2, missing("not_run")) == ()
    assert see(follow, 3, FAIL) == ()
    assert follow.standing.settled == (None,)


def test_a_run_is_stopped_once_and_what_it_left_out_is_told() -> None:
    stops: list[str] = []
    stop = EarlyStop(planned(), lambda: stops.append("stop"))
    see(stop, 1, FAIL)
    assert (stop.is_over, stops) == (True, ["stop"])
    see(stop, 2, FAIL)
    for number in (3, 4):
        see(stop, number, missing("not_run"))
    told = stop.outcome()
    assert (stops, told.after, told.not_run) == (["stop"], 1, {"right": 2})
    assert told.saved is not None
    assert (told.saved.cases, told.saved.seconds) == (2, 1.0)


def test_a_run_whose_last_case_settles_it_has_not_stopped() -> None:
    stop = EarlyStop(planned(), lambda: None)
    for number in (1, 2, 3):
        see(stop, number, PASS)
    see(stop, 4, FAIL)
    told = stop.outcome()
    assert (told.after, told.saved, [settled.after for settled in told.settled]) == (None, None, [4])


def test_with_one_case_at_a_time_none_begins_before_the_last_is_judged() -> None:
    assert [planned(concurrency).window for concurrency in (1, 2, 5)] == [1, 3, 9]
