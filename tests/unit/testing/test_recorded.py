"""A case for the users' own tests."""

from __future__ import annotations

import asyncio

import pytest

from oloproof import AgentStep, AgentTrajectory, RecordError, current_case
from oloproof.testing import recorded_case


def agent(request):
    with current_case().trace() as trace:
        with trace.calling("lookup", order_id=request["order_id"]) as call:
            call.result = 40
        trace.finish("success")
    return {"answer": current_case().id}


def test_an_agent_is_called_and_leaves_its_record():
    with recorded_case({"order_id": 1}) as case:
        assert agent(case.input) == {"answer": "case"}
        inside = case.trajectory
    assert [step.arguments for step in case.trajectory.steps] == [{"order_id": 1}, None]
    assert (inside, case.trajectory.terminal_status) == (case.trajectory, "success")


def test_the_agent_sees_the_case_that_the_test_describes():
    with recorded_case((1, 2), case_id="c7", metadata={"tier": "gold"}, seed=5, trial=2):
        me = current_case()
        assert (me.id, me.input, me.metadata, me.seed, me.trial) == ("c7", [1, 2], {"tier": "gold"}, 5, 2)


def test_before_it_records_there_is_nothing_and_when_it_raises_a_prefix():
    with pytest.raises(KeyError), recorded_case({}) as case:
        assert case.trajectory is None
        agent(case.input)
    assert case.trajectory.truncated


def test_a_coroutine_function_is_called_too():
    async def run(request):
        current_case().agent_trajectory(AgentTrajectory(steps=(AgentStep(index=1, kind="final"),)))
        await asyncio.sleep(0)

    with recorded_case() as case:
        asyncio.run(run(case.input))
    assert len(case.trajectory.steps) == 1


def test_what_is_refused_in_a_run_is_refused_here():
    with recorded_case({"order_id": 1}) as case:
        agent(case.input)
        with pytest.raises(RecordError, match="recorded already"):
            agent(case.input)


def test_after_the_block_there_is_no_case_and_nothing_more_is_recorded():
    with recorded_case() as case:
        with recorded_case(case_id="inner"):
            assert current_case().id == "inner"
        late = current_case()
    with pytest.raises(RecordError, match="OLO703"):
        current_case()
    with pytest.raises(RecordError, match="the block of recorded_case has ended"):
        late.trace()
    assert case.trajectory is None
