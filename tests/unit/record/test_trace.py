"""The .trace() builder."""

from __future__ import annotations

import threading
from contextlib import ExitStack, suppress

import pytest
from msgspec import UNSET

from oloproof import AgentTrajectory, RecordError
from oloproof.model.trajectory import contradiction
from oloproof.record.case import CurrentCase, Recorder
from oloproof.record.journal import decode, encode, recorded


class Taped:
    """A case with a recorder, and the trajectory that it has left so far."""

    def __init__(self) -> None:
        self.events = []
        self.recorder = Recorder(self.events.append)
        self.case = CurrentCase(id="c", input=None, metadata={}, seed=0, trial=1, _recorder=self.recorder)

    def left(self):
        self.recorder.close("over")
        trajectory = self.recorder.so_far()
        assert encode(self.recorder.to_send()) == encode(trajectory)
        assert contradiction(trajectory) is None
        return trajectory


@pytest.fixture
def taped():
    return Taped()


def shape(trajectory):
    return [(step.index, step.kind, step.tool_name) for step in trajectory.steps]


def test_steps_are_numbered_and_the_end_is_kept(taped):
    with taped.case.trace(step_limit=9, errors_recorded=False) as trace:
        assert trace.index == 0
        assert trace.message("hello") == 1
        assert trace.tool_call("search", {"q": 1}, call_id="a") == 2
        assert trace.tool_result("search", {"n": 3}, call_id="a") == 3
        trace.observation("rain")
        trace.decision("stay")
        assert trace.final("done", tokens=5) == 6
        assert trace.index == 6
        trace.finish("success", truncated=True)
    left = taped.left()
    assert shape(left) == [
        (1, "message", None),
        (2, "tool_call", "search"),
        (3, "tool_result", "search"),
        (4, "observation", None),
        (5, "decision", None),
        (6, "final", None),
    ]
    assert (left.terminal_status, left.truncated, left.step_limit, left.errors_recorded) == ("success", True, 9, False)
    assert [step.arguments for step in left.steps] == ["hello", {"q": 1}, None, "rain", "stay", "done"]
    assert left.steps[2].error is UNSET
    assert left.steps[5].tokens == 5


def test_a_block_that_says_nothing_of_its_end_is_finished_and_unknown(taped):
    with taped.case.trace() as trace:
        trace.final()
    left = taped.left()
    assert (left.terminal_status, left.truncated) == ("unknown", False)


def test_a_block_that_raises_leaves_a_truncated_prefix(taped):
    with suppress(ZeroDivisionError), taped.case.trace(step_limit=4) as trace:
        trace.message("hello")
        trace.finish("success")
        raise ZeroDivisionError
    left = taped.left()
    assert shape(left) == [(1, "message", None)]
    assert (left.terminal_status, left.truncated, left.step_limit) == ("unknown", True, 4)


def test_a_block_still_open_is_a_truncated_prefix(taped):
    trace = taped.case.trace().__enter__()
    trace.message("hello")
    assert taped.left().truncated


def test_calling_records_the_call_and_its_result(taped):
    with taped.case.trace() as trace:
        with trace.calling("lookup", order_id="o-1") as call:
            assert call.index == 1
            call.result = {"total": 3}
        with trace.calling("lookup", {"class": "x", "self": 1}, name="n") as call:
            call.error = "not found"
        with trace.calling("ping"):
            pass
    steps = taped.left().steps
    assert shape(taped.left())[:2] == [(1, "tool_call", "lookup"), (2, "tool_result", "lookup")]
    assert steps[0].arguments == {"order_id": "o-1"}
    assert (steps[1].result, steps[1].error) == ({"total": 3}, None)
    assert steps[2].arguments == {"class": "x", "self": 1, "name": "n"}
    assert (steps[3].result, steps[3].error) == (UNSET, "not found")
    assert steps[4].arguments == {}
    assert steps[5].result is UNSET


def test_calling_keeps_arguments_as_they_were_at_the_call(taped):
    ids = [1]
    with taped.case.trace() as trace, trace.calling("lookup", ids=ids):
        ids.append(2)
    assert taped.left().steps[0].arguments == {"ids": [1]}


def test_calling_records_what_it_raises_and_raises_it(taped):
    with taped.case.trace() as trace:
        with pytest.raises(KeyError, match="o-1"), trace.calling("lookup"):
            raise KeyError("o-1")
        trace.final("gave up")
    left = taped.left()
    assert left.steps[1].error == "KeyError: 'o-1'"
    assert not left.truncated


def test_what_a_call_raises_is_not_hidden_by_a_record_that_is_over(taped):
    with suppress(KeyError), taped.case.trace() as trace, trace.calling("lookup"):
        taped.recorder.close("timed out")
        raise KeyError
    assert len(taped.events) == 2


def test_a_view_names_what_its_steps_carry(taped):
    with taped.case.trace() as trace:
        triage = trace.within(agent="triage")
        triage.message("hello")
        triage.handoff("billing")
        billing = trace.within(agent="billing", turn=1)
        with billing.calling("research") as call:
            billing.within(agent="helper", inside=call.index).tool_call("search", {}, turn=2)
        trace.final(agent="billing")
    steps = taped.left().steps
    assert [(s.kind, s.agent, s.to_agent, s.turn, s.inside) for s in steps] == [
        ("message", "triage", None, None, None),
        ("handoff", "triage", "billing", None, None),
        ("tool_call", "billing", None, 1, None),
        ("tool_call", "helper", None, 2, 3),
        ("tool_result", "billing", None, 1, None),
        ("final", "billing", None, None, None),
    ]


def test_checks_and_checkpoints(taped):
    with taped.case.trace() as trace:
        trace.final()
        trace.check("early", True, step_index=1, detail="fine")
        trace.checkpoint("c1", "tool_result", step_index=1, description="here", payload={"x": {1}})
        trace.finish("success")
        trace.check("whole", False)
    left = taped.left()
    assert [(c.name, c.passed, c.step_index) for c in left.constraints] == [("early", True, 1), ("whole", False, None)]
    assert "$unrepresentable" in left.checkpoints[0].payload["x"]


def test_a_check_of_an_unfinished_run_speaks_up_to_its_last_step(taped):
    with suppress(OSError), taped.case.trace() as trace:
        trace.message("a")
        trace.check("whole", True)
        trace.check("early", True, step_index=1)
        trace.message("b")
        raise OSError
    assert [(c.name, c.passed, c.step_index) for c in taped.left().constraints] == [
        ("whole", True, 2),
        ("early", True, 1),
    ]


def test_of_an_unfinished_run_without_steps_only_violations_are_kept(taped):
    with suppress(OSError), taped.case.trace() as trace:
        trace.check("kept", False)
        trace.check("lost", True)
        raise OSError
    assert [(c.name, c.step_index) for c in taped.left().constraints] == [("kept", None)]


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (lambda t: t.message(agent="a"), "step 2: it names the agent 'a', but the steps before it name none"),
        (lambda t: t.message(inside=1), "step 2: inside is 1, which is a message and no tool_call"),
        (lambda t: t.message(inside=2), "step 2: inside is 2, which is no earlier step"),
        (lambda t: t.handoff(""), "step 2: a handoff needs to_agent"),
        (lambda t: t.within(agent="b").handoff("b"), "step 2: 'b' hands off to itself"),
        (lambda t: t.tool_call(""), "step 2: a tool_call needs tool_name"),
        (lambda t: t.message(tokens=-1), "step 2: tokens is -1"),
        (
            lambda t: t.check("c", True, step_index=2),
            "step 2: the constraint 'c' is there, but there is no such step yet",
        ),
        (lambda t: t.checkpoint("c", step_index=5), "step 5: the checkpoint 'c' is there, but there is no such step"),
        (lambda t: (t.checkpoint("c"), t.checkpoint("c")), "the checkpoint 'c' is there twice"),
        (lambda t: t.finish("great"), "terminal_status is 'great', none of failure, success, unknown"),
        (lambda t: (t.finish(), t.finish()), "finish was called twice"),
        (lambda t: (t.finish(), t.message()), "step 2: it was recorded after finish"),
    ],
)
def test_a_contradiction_is_refused_at_once_and_not_recorded(taped, second, message):
    with taped.case.trace() as trace:
        trace.message("first")
        with pytest.raises(RecordError) as refused:
            second(trace)
        assert str(refused.value).startswith(message)
    assert shape(taped.left()) == [(1, "message", None)]


def test_more_steps_than_the_limit_are_refused_unless_truncated(taped):
    with taped.case.trace(step_limit=1) as trace:
        trace.message("a")
        trace.message("b")
        with pytest.raises(RecordError, match="step 2: it is past the step_limit of 1, but the trace is not truncated"):
            trace.finish("success")
        trace.finish("failure", truncated=True)
    assert taped.left().truncated


def test_more_steps_than_the_limit_are_refused_at_the_end_of_the_block(taped):
    with pytest.raises(RecordError, match="past the step_limit"), taped.case.trace(step_limit=0) as trace:
        trace.message("a")
    assert taped.left().truncated


@pytest.mark.parametrize("settings", [{"step_limit": -1}, {"step_limit": "3"}, {"errors_recorded": "no"}])
def test_wrong_settings_are_refused_and_claim_nothing(taped, settings):
    with pytest.raises(RecordError, match="OLO701"):
        taped.case.trace(**settings)
    with taped.case.trace():
        pass


def test_nothing_is_recorded_after_the_block(taped):
    with taped.case.trace() as trace:
        trace.message("a")
    for late in (trace.message, lambda: trace.check("c", True), lambda: trace.checkpoint("c"), trace.finish):
        with pytest.raises(RecordError, match="the trace's block has ended"):
            late()
    assert len(taped.left().steps) == 1


@pytest.mark.parametrize(
    "late", [lambda trace: trace.final("b"), lambda trace: trace.check("c", False), lambda trace: trace.checkpoint("c")]
)
def test_what_comes_after_the_block_is_lacking_in_its_record(taped, late):
    with taped.case.trace() as trace:
        trace.message("a")
        trace.finish("success")
    assert not taped.recorder.so_far().truncated
    with pytest.raises(RecordError):
        late(trace)
    assert taped.left().truncated


def test_a_step_after_finish_is_lacking_in_the_record(taped):
    with taped.case.trace() as trace:
        trace.finish("success")
        with pytest.raises(RecordError, match="recorded after finish"):
            trace.tool_call("issue_refund", {})
    assert taped.left().truncated


def test_a_call_that_goes_on_as_the_block_ends_leaves_a_truncated_record(taped):
    begun, ended = threading.Event(), threading.Event()

    def work(trace):
        with suppress(RecordError), trace.calling("search"):
            begun.set()
            ended.wait()
            trace.tool_call("issue_refund", {})

    with taped.case.trace() as trace:
        thread = threading.Thread(target=work, args=(trace,))
        thread.start()
        begun.wait()
        trace.finish("success")
    known = taped.recorder.so_far()
    ended.set()
    thread.join()
    assert known.truncated
    assert recorded(map(decode, taped.events)).truncated  # so says who reads the events of a process that died
    assert shape(taped.left()) == [(1, "tool_call", "search")]


REFUSED = {
    "a word that a step has not": lambda trace: trace.tool_call("issue_refund", amount=3),
    "no name": lambda trace: trace.tool_call("", {}),
    "a step without its agent": lambda trace: trace.tool_call("issue_refund", {}),
    "inside no call": lambda trace: trace.tool_call("issue_refund", {}, agent="triage", inside=1),
    "a call without its agent": lambda trace: trace.calling("issue_refund").__enter__(),
    "a check of no step": lambda trace: trace.check("no_leak", False, step_index=7),
    "a checkpoint of no step": lambda trace: trace.checkpoint("c", step_index=7),
    "an end that there is not": lambda trace: trace.finish("failed"),
    "arguments that are no object": lambda trace: trace.calling("issue_refund", ["ord-1"]),
}


@pytest.mark.parametrize("refused", REFUSED.values(), ids=REFUSED)
def test_what_is_refused_is_lacking_in_a_record_whose_agent_goes_on(taped, refused):
    with taped.case.trace() as trace:
        trace.message("a", agent="triage")
        with suppress(RecordError, TypeError):
            refused(trace)
    left = taped.left()
    assert left.truncated
    assert shape(left) == [(1, "message", None)]


class Exiting:
    def model_dump(self):
        raise SystemExit(1)


EXITING = {
    "arguments": lambda trace: trace.tool_call("issue_refund", Exiting()),
    "a result": lambda trace: trace.tool_result("search", Exiting()),
    "a message": lambda trace: trace.message(Exiting()),
}


@pytest.mark.parametrize("said", EXITING.values(), ids=EXITING)
def test_a_value_whose_own_code_ends_the_step_leaves_it_lacking(taped, said):
    with taped.case.trace() as trace:
        trace.tool_call("search", {})
        with suppress(SystemExit):
            said(trace)
    left = taped.left()
    assert left.truncated
    assert shape(left) == [(1, "tool_call", "search")]


AFTER = {
    "a step": lambda case, trace: trace.tool_call("issue_refund", {}),
    "a step with an agent": lambda case, trace: trace.tool_call("issue_refund", {}, agent=1),
    "a value": lambda case, trace: trace.message(Exiting()),
    "a check": lambda case, trace: trace.check("no_leak", False),
    "a second trace": lambda case, trace: case.trace(),
    "a trajectory": lambda case, trace: case.agent_trajectory(AgentTrajectory()),
}


@pytest.mark.parametrize("refused", AFTER.values(), ids=AFTER)
def test_what_is_refused_after_the_block_is_lacking_whoever_reads_the_record(taped, refused):
    with taped.case.trace() as trace:
        trace.finish("success")
    assert not taped.recorder.so_far().truncated
    with suppress(RecordError, SystemExit):
        refused(taped.case, trace)
    died = recorded(map(decode, taped.events))
    assert (died.truncated, died.terminal_status) == (True, "success")
    assert taped.left() == died


def test_a_check_of_the_whole_run_speaks_for_what_is_recorded_where_the_record_lacks_something(taped):
    with taped.case.trace() as trace:
        trace.tool_call("search", {})
        trace.check("no_leak", True)
        with suppress(RecordError):
            trace.check("no_leak", 0)
    (check,) = taped.left().constraints
    assert (check.passed, check.step_index) == (True, 1)


def test_a_trajectory_that_was_handed_over_stays_finished_when_a_second_one_is_refused(taped):
    taped.case.agent_trajectory(AgentTrajectory())
    with pytest.raises(RecordError):
        taped.case.trace()
    assert not taped.left().truncated


def test_numbering_is_right_under_threads(taped):
    with taped.case.trace() as trace:
        barrier = threading.Barrier(8)

        def work(number):
            barrier.wait()
            for i in range(50):
                with trace.calling("tool", i=i, number=number) as call:
                    call.result = i

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    left = taped.left()
    assert [step.index for step in left.steps] == list(range(1, 801))
    events = [decode(event) for event in taped.events]
    assert [event.step.index for event in events if hasattr(event, "step")] == list(range(1, 801))


def test_copying_a_value_may_itself_record(taped):
    with taped.case.trace() as trace:

        class Chatty:
            def model_dump(self):
                trace.observation("being copied")
                return {"x": 1}

        assert trace.message(Chatty()) == 2
    assert [step.kind for step in taped.left().steps] == ["observation", "message"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            lambda t: t.tool_call("x", id=1),
            "trace.tool_call() takes no 'id': what the tool is given goes into arguments={'id': …}",
        ),
        (lambda t: t.tool_call("x", {}, a=1, b=2), "arguments={'a': …, 'b': …}"),
        (
            lambda t: t.tool_result("x", rows=[]),
            "trace.tool_result() takes no 'rows': what the tool gave goes into result=",
        ),
        (
            lambda t: t.message("hello", role="user"),
            "trace.message() takes no 'role': your own facts go into metadata={'role': …}",
        ),
        (lambda t: t.handoff("b", tokns=1), "trace.handoff() takes no 'tokns'"),
        (lambda t: t.within(name="billing"), "trace.within() takes no 'name': a view may set agent, turn, inside"),
    ],
)
def test_a_keyword_that_no_step_has_is_refused_and_says_where_it_belongs(taped, wrong, message):
    with taped.case.trace() as trace:
        with pytest.raises(TypeError) as refused:
            wrong(trace)
        assert message in str(refused.value)
    assert taped.left().steps == ()


def test_a_trace_used_without_with_says_so(taped):
    trace = taped.case.trace()
    with pytest.raises(AttributeError, match=r"'message'.*`with current_case\(\)\.trace\(\) as trace:`"):
        trace.message("hello")
    assert not hasattr(trace, "steps")


def test_a_call_used_without_with_is_told_at_the_end_and_leaves_the_record_open(taped):
    with (
        pytest.raises(RecordError, match=r"trace\.calling\('delete'\) .*without `with`.*OLO701"),
        taped.case.trace() as trace,
    ):
        trace.message("hello")
        trace.calling("delete", id=1)
        with trace.calling("lookup"):
            pass
        trace.finish("success")
    left = taped.left()
    assert left.truncated
    assert [step.tool_name for step in left.steps] == [None, "lookup", "lookup"]


def test_calls_made_first_and_begun_later_are_no_fault(taped):
    with taped.case.trace() as trace, ExitStack() as stack:
        calls = [trace.calling(name) for name in ("a", "b")]
        for call in reversed(calls):
            stack.enter_context(call)
    assert [step.tool_name for step in taped.left().steps] == ["b", "a", "a", "b"]


def test_what_a_block_raises_is_not_hidden_by_a_call_without_with(taped):
    with pytest.raises(KeyError), taped.case.trace() as trace:
        trace.calling("delete")
        raise KeyError
