"""The record's own word on how the run ended."""

from __future__ import annotations

from typing import Any

import pytest

from oloproof.evaluators.ending import EndsWithStatus
from oloproof.model.case import Attempt, AttemptError, Case
from oloproof.model.evidence import Evidence
from oloproof.model.judgment import Judgment
from oloproof.model.trajectory import Trajectory


@pytest.mark.parametrize(
    ("found", "truncated", "error", "judgment"),
    [
        ("success", False, None, Judgment("pass", None, (), "success", "success")),
        ("failure", False, None, Judgment("fail", None, (), "success", "failure")),
        ("failure", True, None, Judgment("fail", None, (), "success", "failure")),
        ("success", False, "timeout", Judgment("pass", None, (), "success", "success")),
        ("unknown", False, None, Judgment("missing", "status_not_recorded", (), "success", "unknown")),
        ("unknown", True, None, Judgment("missing", "truncated_trajectory", (), "success", "unknown")),
        ("unknown", True, "timeout", Judgment("missing", "timeout", (), "success", "unknown")),
    ],
)
def test_a_recorded_status_speaks_for_the_whole_run(
    found: Any, truncated: bool, error: Any, judgment: Judgment
) -> None:
    trajectory = Trajectory(terminal_status=found, truncated=truncated)
    crash = None if error is None else AttemptError(kind=error, message="it broke")
    attempt = Attempt(case_id="c", trajectory=trajectory, error=crash)
    assert EndsWithStatus().judge(Evidence(Case(id="c"), attempt)) == judgment


def test_failure_may_be_what_is_wanted() -> None:
    attempt = Attempt(case_id="c", trajectory=Trajectory(terminal_status="failure"))
    assert EndsWithStatus(status="failure").judge(Evidence(Case(id="c"), attempt)).verdict == "pass"
