"""What tests of recorders share: trajectories to compare, and a run in which a call must not be."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec.structs import asdict

from fakes.projects import case, oloproof, project
from oloproof.model.trajectory import Trajectory
from oloproof.testing import recorded_case

NEVER_CANCEL = {"type": "agent_rule", "criterion": "no-cancel", "rule": "never cancel"}
NONE_CANCELS = {"id": "none", "metric": "no-cancel", "kind": "observed_count", "max_failures": 0}


def recorded(record: Callable[..., None], given: Any, **how: Any) -> Trajectory:
    """The trajectory of a case in which a recorder is given something."""
    with recorded_case("question") as opened:
        record(given, **how)
    assert opened.trajectory is not None
    return opened.trajectory


def facts(trajectory: Trajectory | None) -> Any:
    """All that it says, whichever of our classes says it."""
    assert trajectory is not None
    return [asdict(step) for step in trajectory.steps], trajectory.truncated, trajectory.errors_recorded


def judged(directory: Path, app: str) -> tuple[int, tuple[int, int, int, int]]:
    """How ``oloproof run`` ends for a system that calls the tools it is asked for, ``cancel`` among those of one case,
    and what it counts: passed, failed, missing, excluded."""
    cases = [case("good", ["find"]), case("bad", ["find", "cancel"])]
    made = project(directory, app=app, cases=cases, rules=[NONE_CANCELS], evaluators=[NEVER_CANCEL])
    done = oloproof(made, "run", "--json")
    assert done.out, done.err
    return done.code, done.verdict("no-cancel")
