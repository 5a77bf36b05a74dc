"""``agent_constraints_satisfied``."""

from __future__ import annotations

from typing import Any

import pytest

from fakes.evidence import calls, of_steps
from oloproof.evaluators.constraints import ConstraintsSatisfied
from oloproof.model.judgment import Judgment
from oloproof.model.trajectory import ConstraintCheck

EVALUATOR = ConstraintsSatisfied(constraints=("no_deletion", "polite"))


def check(name: str, passed: bool = True, step: int | None = None) -> ConstraintCheck:
    return ConstraintCheck(name=name, passed=passed, step_index=step, detail=f"{name} checked")


def judged(*checks: ConstraintCheck, **options: Any) -> Judgment:
    return EVALUATOR.judge(of_steps(calls("a b"), checks=checks, **options))


@pytest.mark.parametrize("truncated", [False, True])
def test_checks_of_the_whole_run_settle_a_pass(truncated: bool):
    assert judged(check("no_deletion"), check("polite"), truncated=truncated).verdict == "pass"


def test_checks_of_steps_settle_a_pass_in_a_finished_record_only():
    checks = (check("no_deletion", step=1), check("polite"))
    assert judged(*checks).verdict == "pass"
    assert judged(*checks, truncated=True).reason == "truncated_trajectory"


@pytest.mark.parametrize("options", [{}, {"truncated": True}, {"error": "system_error"}])
def test_any_failed_check_settles_a_fail(options: dict[str, Any]):
    judgment = judged(check("no_deletion"), check("no_deletion", False, step=2), check("polite"), **options)
    expected = {"no_deletion": True, "polite": True}
    assert judgment == Judgment("fail", None, (2,), expected, {"no_deletion": False}, "no_deletion checked")


@pytest.mark.parametrize("error", ["system_error", "timeout", "not_run"])
@pytest.mark.parametrize("truncated", [False, True])
def test_checks_kept_from_a_run_that_broke_off_never_settle_a_pass(error: Any, truncated: bool):
    judgment = judged(check("no_deletion"), check("polite"), error=error, truncated=truncated)
    assert (judgment.verdict, judgment.reason) == ("missing", error)


@pytest.mark.parametrize("truncated", [False, True])
def test_a_constraint_that_was_not_checked_is_missing_not_excluded(truncated: bool):
    judgment = judged(check("no_deletion"), truncated=truncated)
    assert (judgment.verdict, judgment.reason) == ("missing", "constraint_not_recorded")
    assert judgment.detail == "no check of 'polite'"


def test_other_constraints_do_not_matter():
    assert judged(check("no_deletion"), check("polite"), check("cheap", False)).verdict == "pass"
