"""The decorators leave the function as it was."""

from __future__ import annotations

import functools
import inspect

import pytest

from oloproof import RecordError, Verdict, evaluator, system
from oloproof.record.marks import evaluator_mark, system_mark


def test_a_marked_function_is_the_same_function():
    def run(case):
        return case

    assert system(name="a", version="1")(run) is run
    mark = system_mark(run)
    assert (mark.name, mark.version, mark.records) == ("a", "1", ("agent_trajectory/v1",))


def test_a_marked_coroutine_function_stays_one():
    @system(records=())
    async def run(case):
        return case

    assert inspect.iscoroutinefunction(run)
    assert system_mark(run).records == ()


def test_the_decorators_work_bare():
    @system
    def run(case):
        return case

    @evaluator
    def polite(output):
        return True

    assert system_mark(run).name is None
    assert evaluator_mark(polite).criterion is None


def test_a_wrapper_that_tells_its_function_keeps_the_mark():
    @system(name="a")
    def run(case):
        return case

    @functools.wraps(run)
    def wrapped(case):
        return run(case)

    assert system_mark(wrapped).name == "a"


def test_a_function_that_is_not_marked_has_no_mark():
    assert system_mark(len) is None
    assert evaluator_mark(print) is None


def test_a_record_that_does_not_exist_is_refused():
    with pytest.raises(
        RecordError, match=r"'agent_trajectory/v2'; the one that exists is 'agent_trajectory/v1' \[OLO704\]"
    ):
        system(records=("agent_trajectory/v2",))
    assert system_mark(system(records="agent_trajectory/v1")(lambda case: case)).records == ("agent_trajectory/v1",)


def test_a_name_given_bare_is_refused():
    with pytest.raises(RecordError, match="marks a function, not a str"):
        system("support-agent")


def test_an_evaluator_names_its_criterion():
    @evaluator(criterion="polite")
    def check(output):
        return Verdict(False, "rude", steps=(1,))

    assert evaluator_mark(check).criterion == "polite"
    assert check("x") == Verdict(passed=False, reason="rude", steps=(1,))
