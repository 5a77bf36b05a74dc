"""current_case() and handing over a trajectory."""

from __future__ import annotations

import asyncio
import contextvars
import threading

import pytest

from oloproof import AgentStep, AgentTrajectory, RecordError, current_case
from oloproof.model.case import State
from oloproof.model.trajectory import Step, Trajectory
from oloproof.record.case import CurrentCase, Recorder, enter
from oloproof.record.journal import HandedOver, encode

FINISHED = AgentTrajectory(steps=(AgentStep(index=1, kind="final"),), terminal_status="success")


def a_case(name: str = "case_1") -> CurrentCase:
    events = []
    return CurrentCase(id=name, input={"q": 1}, metadata={}, seed=7, trial=1, _recorder=Recorder(events.append))


def left(case: CurrentCase):
    """What was recorded of a case that is over."""
    case._recorder.close("over")
    return case._recorder.so_far()


def in_case(function, case=None):
    """Call the function in a context of its own, inside a case."""

    def entered():
        enter(case or a_case())
        return function()

    return contextvars.copy_context().run(entered)


def test_outside_a_case_there_is_none():
    with pytest.raises(RecordError, match=r"outside a case.*OLO703") as refused:
        current_case()
    assert "oloproof run --case ID --in-process" in str(refused.value)
    assert "from oloproof.testing import recorded_case" in str(refused.value)


def test_the_case_says_what_it_is_and_nothing_of_what_is_expected():
    case = in_case(current_case)
    assert (case.id, case.input, case.metadata, case.seed, case.trial) == ("case_1", {"q": 1}, {}, 7, 1)
    assert not hasattr(case, "expected")


def test_a_thread_of_the_users_needs_a_copy_of_the_context():
    seen = []

    def look():
        try:
            seen.append(current_case().id)
        except RecordError as exc:
            seen.append(type(exc))

    def system():
        bare = threading.Thread(target=look)
        bare.start()
        bare.join()
        copied = threading.Thread(target=contextvars.copy_context().run, args=(look,))
        copied.start()
        copied.join()

    in_case(system)
    assert seen == [RecordError, "case_1"]


def test_who_asks_outside_of_a_case_is_told_first_what_is_likely_meant_there():
    told = []

    def look():
        with pytest.raises(RecordError) as caught:
            current_case()
        told.append(str(caught.value))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    look()
    assert ["pool.submit(contextvars.copy_context().run, function)" in text for text in told] == [True, False]
    assert ["recorded_case(input)" in text for text in told] == [False, True]


def test_tasks_see_their_own_case():
    async def one(name):
        enter(a_case(name))
        await asyncio.sleep(0)
        return current_case().id

    async def both():
        tasks = [asyncio.create_task(one(name), context=contextvars.copy_context()) for name in ("a", "b")]
        return await asyncio.gather(*tasks)

    assert asyncio.run(both()) == ["a", "b"]


def test_a_trajectory_is_handed_over_and_stays_as_it_was():
    case = a_case()
    in_case(lambda: current_case().agent_trajectory(FINISHED), case)
    assert left(case) == FINISHED


def test_the_sink_is_told_at_once():
    told = []
    recorder = Recorder(told.append)
    CurrentCase(id="c", input=None, metadata={}, seed=0, trial=1, _recorder=recorder).agent_trajectory(FINISHED)
    assert told == [encode(HandedOver(FINISHED))]


def test_a_plain_trajectory_is_checked():
    case = a_case()
    with pytest.raises(RecordError, match="step 1: its index is 2"):
        case.agent_trajectory(Trajectory(steps=(Step(index=2, kind="final"),)))
    case.agent_trajectory(Trajectory(steps=(Step(index=1, kind="final"),)))


@pytest.mark.parametrize("wrong", [None, {"steps": []}, [AgentStep(index=1, kind="final")]])
def test_only_a_trajectory_can_be_handed_over(wrong):
    with pytest.raises(RecordError, match="agent_trajectory takes an AgentTrajectory, not a"):
        a_case().agent_trajectory(wrong)


@pytest.mark.parametrize("first", ["hand over", "trace"])
@pytest.mark.parametrize("second", ["hand over", "trace"])
def test_the_second_record_is_refused_and_the_first_stands(first, second):
    case = a_case()

    def record(how):
        if how == "hand over":
            case.agent_trajectory(FINISHED)
        else:
            with case.trace() as trace:
                trace.final()
                trace.finish("success")

    record(first)
    with pytest.raises(RecordError, match=r"recorded already.*OLO702"):
        record(second)
    assert left(case).terminal_status == "success"


def test_nothing_is_recorded_after_the_case():
    case = a_case()
    case._recorder.close("the case timed out")
    with pytest.raises(RecordError, match="nothing can be recorded any more: the case timed out"):
        case.agent_trajectory(FINISHED)


def test_a_case_that_recorded_nothing_has_no_trajectory():
    assert left(a_case()) is None


def test_a_trace_that_was_never_entered_is_no_record():
    case = a_case()
    case.trace()
    assert left(case) is None


def test_the_state_before_and_after_are_copied_once_each():
    orders = {"o1": "open"}

    def system():
        case = current_case()
        case.state(before=orders)
        orders["o1"] = {1}
        case.state(orders)
        with pytest.raises(RecordError, match=r"the state after the case has been recorded already .*OLO702"):
            case.state(orders)
        with pytest.raises(RecordError, match=r"the state before the case has been recorded already"):
            case.state(1, before=2)
        return case._recorder

    recorder = in_case(system)
    assert recorder.state() == State(before={"o1": "open"}, after={"o1": {"$unrepresentable": "set {1}"}})
    assert recorder.so_far() is None


def test_a_state_says_something_and_null_is_something():
    def system():
        with pytest.raises(RecordError, match=r"state\(\) takes the state after the case, or before=.*OLO701"):
            current_case().state()
        current_case().state(None)
        return current_case()._recorder.state()

    assert in_case(system) == State(after=None)


def test_a_case_that_is_over_takes_no_state():
    case = a_case()
    case._recorder.close("the case is over")
    with pytest.raises(RecordError, match="the case is over"):
        case.state(1)
