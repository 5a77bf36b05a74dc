"""Trajectories that recorders and importers told, as a test looks at them."""

from __future__ import annotations

from typing import Any

from oloproof.model.trajectory import Step, Trajectory


def shape(trajectory: Trajectory | None) -> list[tuple[Any, ...]]:
    """Of each step its kind, its tool or who is handed to, its agent, and inside which call it is."""
    assert trajectory is not None
    return [(step.kind, step.tool_name or step.to_agent, step.agent, step.inside) for step in trajectory.steps]


def calls(trajectory: Trajectory | None) -> list[Step]:
    """The calls of tools."""
    assert trajectory is not None
    return [step for step in trajectory.steps if step.kind == "tool_call"]
