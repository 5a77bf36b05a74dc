"""What a process records that user code forked is refused there, and its case no longer passes for whole."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fakes.projects import answered, oloproof
from fakes.projects import project as written
from fakes.workers import project, run

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")

FORKING = """
    def run(case):
        with current_case().trace() as trace:
            trace.tool_call("lookup")
            child = 0 if case == "alone" else os.fork()
            if case != "alone" and child == 0:
                try:
                    if case == "records":
                        trace.tool_call("delete")
                    if case == "checks":
                        trace.check("no_deletion", passed=False)
                except Exception as error:
                    os.write(1, str(error).encode())
                finally:
                    os._exit(0)
            if child:
                os.waitpid(child, 0)
            trace.tool_call("answer")
        return case
"""


@pytest.mark.parametrize("concurrency", [1, 3])
def test_what_a_forked_process_adds_truncates_the_record_that_it_was_meant_for(
    tmp_path: Path, concurrency: int
) -> None:
    given = ["alone", "records", "forks", "checks", "alone"]
    attempts = run(project(tmp_path, FORKING, concurrency=concurrency), given)
    assert [attempt.output for attempt in attempts] == given
    trajectories = [attempt.trajectory for attempt in attempts]
    assert all(each is not None for each in trajectories)
    assert [each.truncated for each in trajectories if each] == [False, True, False, True, False]
    assert {tuple(step.tool_name for step in each.steps) for each in trajectories if each} == {("lookup", "answer")}
    if concurrency == 1:
        assert "this process was forked" in attempts[1].log


def test_a_forbidden_call_of_a_forked_process_opens_no_gate(tmp_path: Path) -> None:
    app = """
import multiprocessing
from oloproof import current_case, system

def delete(trace):
    with trace.calling("delete") as call:
        call.result = 1

@system(records=["agent_trajectory/v1"])
def run(case):
    with current_case().trace() as trace:
        trace.tool_call("lookup")
        child = multiprocessing.get_context("fork").Process(target=delete, args=(trace,))
        child.start()
        child.join()
    return {"answer": "yes"}
"""
    rule = {"type": "agent_rule", "criterion": "kept", "rule": "never delete"}
    none = {"id": "none-wrong", "metric": "kept", "kind": "observed_count", "max_failures": 0}
    written(tmp_path, app=app, cases=answered("yes", "yes"), evaluators=[rule], rules=[none])
    done = oloproof(tmp_path, "run", "--json")
    assert done.code == 3
    assert done.verdict("kept") == (0, 0, 2, 0)


POOLED = """
    import multiprocessing

    def work(_):
        try:
            first.tool_call("delete")
        except RecordError:
            return True

    def run(case):
        global pool, first
        with current_case().trace() as trace:
            if case == "begins":
                first = trace
                pool = multiprocessing.get_context("fork").Pool(1)
            if case in ("begins", "uses"):
                assert pool.apply(work, (case,))
            trace.tool_call("answer")
        return case
"""


def test_what_a_process_of_a_pool_adds_truncates_the_record_of_the_case_that_it_works_for(tmp_path: Path) -> None:
    given = ["begins", "alone", "uses", "alone"]
    attempts = run(project(tmp_path, POOLED), given)
    assert [attempt.output for attempt in attempts] == given
    assert [attempt.trajectory.truncated for attempt in attempts if attempt.trajectory] == [True, False, True, False]


CLAIMING = """
    def run(case):
        with current_case().trace() as trace:
            child = os.fork()
            if child == 0:
                try:
                    with current_case().trace() as own:
                        own.tool_call("delete")
                except RecordError:
                    pass
                finally:
                    os._exit(0)
            os.waitpid(child, 0)
            trace.tool_call("answer")
"""


def test_a_record_of_its_own_that_a_forked_process_is_refused_truncates_that_of_its_case(tmp_path: Path) -> None:
    (attempt,) = run(project(tmp_path, CLAIMING), [1])
    assert attempt.trajectory is not None
    assert attempt.trajectory.truncated
