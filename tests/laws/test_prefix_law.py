"""The prefix law: a record stands for every finished run that it may be the beginning of.

An evaluator says pass where all of these runs pass, fail where all fail, and missing where there are both. That is
sound (a settled verdict is every continuation's) and complete (an open one has continuations of both fates) at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakes import worlds
from fakes.depth import examples
from fakes.outcome_worlds import OUTCOME_WORLDS
from fakes.worlds import World, filled, finished
from oloproof.evaluators import EVALUATORS
from oloproof.evaluators.base import TrajectoryEvaluator
from oloproof.model.case import Attempt, AttemptError, Case
from oloproof.model.evidence import Evaluator, Evidence
from oloproof.model.judgment import Judgment
from oloproof.model.trajectory import Trajectory

WORLDS = (*worlds.WORLDS, *OUTCOME_WORLDS)
by_world = pytest.mark.parametrize("world", WORLDS, ids=str)


def judged(
    world: World,
    evaluator: Evaluator,
    expected: dict[str, Any],
    trajectory: Trajectory,
    error: AttemptError | None = None,
) -> Judgment:
    attempt = Attempt(case_id="c", trajectory=trajectory, output=world.output, error=error)
    return evaluator.judge(Evidence(Case(id="c", expected=expected), attempt))


def drawn(data: st.DataObject, world: World, **options: Any) -> tuple[Evaluator, Trajectory, dict[str, Any]]:
    record = data.draw(world.records(**options))
    return data.draw(world.evaluators), record, data.draw(world.expected(record))


def shared_fate(fates: Iterable[bool]) -> str:
    """The word that all of the runs share, ``missing`` where they differ."""
    seen = set()
    for fate in fates:
        seen.add(fate)
        if len(seen) == 2:
            return "missing"
    return "pass" if seen == {True} else "fail"


def test_every_trajectory_evaluator_has_its_world():
    reading = {name for name, evaluator in EVALUATORS.items() if issubclass(evaluator, TrajectoryEvaluator)}
    assert reading <= {world.type for world in WORLDS}


@by_world
@given(data=st.data())
@settings(max_examples=examples(80), deadline=None)
def test_the_verdict_is_the_fate_that_all_finished_runs_share(world: World, data: st.DataObject):
    evaluator, record, expected = drawn(data, world)
    runs = (run for fill in filled(record, world) for run in finished(fill, world))

    judgment = judged(world, evaluator, expected, record)

    assert judgment.verdict == shared_fate(world.oracle(evaluator, expected, run) for run in runs)
    assert set(judgment.steps) <= {step.index for step in record.steps}


@by_world
@given(data=st.data())
@settings(max_examples=examples(60), deadline=None)
def test_long_finished_runs_are_judged_like_the_oracle_judges_them(world: World, data: st.DataObject):
    evaluator, record, expected = drawn(data, world, truncated=False, longest=12)

    judgment = judged(world, evaluator, expected, record)

    assert judgment.verdict == shared_fate(world.oracle(evaluator, expected, run) for run in filled(record, world))


@by_world
@given(data=st.data())
@settings(max_examples=examples(30), deadline=None)
def test_the_reason_is_truncation_where_some_fill_of_the_values_leaves_the_verdict_open(
    world: World, data: st.DataObject
):
    evaluator, record, expected = drawn(data, world)

    judgment = judged(world, evaluator, expected, record)

    if judgment.verdict == "missing":
        stays_open = any(
            shared_fate(world.oracle(evaluator, expected, run) for run in finished(fill, world)) == "missing"
            for fill in filled(record, world)
        )
        assert judgment.reason == ("truncated_trajectory" if stays_open else world.unrecorded)


@by_world
@given(data=st.data(), kind=st.sampled_from(["system_error", "timeout", "not_run"]))
@settings(max_examples=examples(15), deadline=None)
def test_a_crash_takes_the_place_of_the_truncation_it_caused_and_settles_no_pass_of_checks_or_outputs(
    world: World, data: st.DataObject, kind: str
):
    evaluator, record, expected = drawn(data, world)

    plain = judged(world, evaluator, expected, record)
    crashed = judged(world, evaluator, expected, record, AttemptError(kind=kind, message="it broke"))

    unsettled = plain.reason == "truncated_trajectory"
    if unsettled or (world.type in ("agent_constraints_satisfied", "canary_absent") and plain.verdict == "pass"):
        assert (crashed.verdict, crashed.reason) == ("missing", kind)
    else:
        assert crashed == plain
