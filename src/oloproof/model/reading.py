"""A trajectory as its readers need it: the calls, the agents in control, and what a truncated record leaves open.

Evaluators and slices both ask these questions; here each is answered once.
"""

from __future__ import annotations

from functools import cached_property

from oloproof.model.trajectory import Step, Trajectory


class Reading:
    """One pass over a trajectory, shared by every evaluator and slice of a case.

    ``calls`` are its tool calls in recorded order, ``names`` the tools that they call.
    """

    def __init__(self, trajectory: Trajectory) -> None:
        self.trajectory = trajectory
        self.steps = trajectory.steps
        self.truncated = trajectory.truncated
        self.calls: list[Step] = [step for step in trajectory.steps if step.kind == "tool_call"]
        self.names: list[str] = [call.tool_name or "" for call in self.calls]

    @cached_property
    def agents_named(self) -> bool:
        """Every step names its agent (an empty trajectory is not unnamed)."""
        return None not in [step.agent for step in self.steps]

    @cached_property
    def route(self) -> tuple[str, ...]:
        """Agents in control, repeats collapsed, hand-off receivers included, steps inside an agent-tool skipped.

        Only meaningful where :attr:`agents_named`.
        """
        return tuple([agent for agent, _ in self._control])

    @cached_property
    def route_steps(self) -> tuple[int, ...]:
        """For each agent of :attr:`route`, the index of the step with which it took control."""
        return tuple([index for _, index in self._control])

    @cached_property
    def _control(self) -> list[tuple[str, int]]:
        control: list[tuple[str, int]] = []
        current: str | None = None
        for step in self.steps:
            if step.inside is not None:
                continue
            agent, receiver = step.agent, step.to_agent
            if agent is not None and agent != current:
                control.append((agent, step.index))
                current = agent
            if receiver is not None and receiver != current:
                control.append((receiver, step.index))
                current = receiver
        return control
