"""A trajectory as its readers need it: the calls, the agents in control, and what a truncated record leaves open.

Evaluators and slices both ask these questions; here each is answered once.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from functools import cached_property

from msgspec import UNSET

from oloproof.model.trajectory import Step, Trajectory
from oloproof.model.values import UNKNOWN, Json


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
    def answers(self) -> list[Step | None]:
        """For each of :attr:`calls` the step that holds its result, None where there is none.

        A result answers the nearest earlier call with its ``call_id`` that was not answered yet, for ids repeat in real
        traces: one of its tool, where several wait. One without such a call answers by order: in the latest turn that
        has an unanswered call of its tool, the first of these; a call that says itself whether it failed waits for
        none. A result may so answer no call.
        """
        return _answered_at_once(self.steps) or _answers(self.steps, len(self.calls))

    @cached_property
    def failed(self) -> list[bool | None]:
        """For each of :attr:`calls` whether it ended in an error, None where that was not recorded."""
        recorded = self.trajectory.errors_recorded
        return [_failed(call, answer, recorded) for call, answer in zip(self.calls, self.answers, strict=True)]

    @cached_property
    def final(self) -> Step | None:
        """The last ``final`` step, which holds the answer; None where there is none. Steps inside an agent used as a
        tool answer that agent's caller."""
        finals = (step for step in reversed(self.steps) if step.kind == "final" and step.inside is None)
        return next(finals, None)

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


def final_answer(trajectory: Trajectory) -> Json:
    """What the last ``final`` step says; None where there is no such step, or it does not say."""
    final = Reading(trajectory).final
    return None if final is None else final.arguments


def _failed(call: Step, answer: Step | None, errors_recorded: bool) -> bool | None:
    first, second = call.error, UNSET if answer is None else answer.error
    if first is UNSET and second is UNSET:
        return None
    if isinstance(first, str) or isinstance(second, str):
        return True
    return False if errors_recorded else None


def _answered_at_once(steps: Sequence[Step]) -> list[Step | None]:
    """The answers where each is the step after its call, which needs no book-keeping and is what most records are."""
    answers: list[Step | None] = []
    waiting: Step | None = None
    for step in steps:
        if step.kind == "tool_call":
            if waiting is not None:
                return []
            answers.append(None)
            waiting = step
        elif step.kind == "tool_result":
            if waiting is None or waiting.error is not UNSET:
                return []
            if step.tool_name != waiting.tool_name or step.call_id != waiting.call_id:
                return []
            answers[-1] = step
            waiting = None
    return answers


def _answers(steps: Sequence[Step], calls: int) -> list[Step | None]:
    answers: list[Step | None] = [None] * calls
    by_id: defaultdict[tuple[str, str | None], list[int]] = defaultdict(list)
    by_turn: defaultdict[tuple[str | None, int | None], deque[int]] = defaultdict(deque)
    turns: defaultdict[str | None, list[int | None]] = defaultdict(list)
    position = -1
    for step in steps:
        tool = step.tool_name
        if step.kind == "tool_call":
            position += 1
            if step.call_id:
                by_id[step.call_id, tool].append(position)
                by_id[step.call_id, None].append(position)
            if step.error is UNSET:
                if not turns[tool] or turns[tool][-1] != step.turn:
                    turns[tool].append(step.turn)
                by_turn[tool, step.turn].append(position)
        elif step.kind == "tool_result":
            named = _waiting(by_id, step, answers)
            if named:
                answers[named.pop()] = step
                continue
            while turns[tool]:
                waiting = by_turn[tool, turns[tool][-1]]
                while waiting and answers[waiting[0]] is not None:
                    waiting.popleft()
                if waiting:
                    answers[waiting.popleft()] = step
                    break
                turns[tool].pop()
    return answers


def _waiting(
    by_id: Mapping[tuple[str, str | None], list[int]], result: Step, answers: Sequence[Step | None]
) -> list[int]:
    """The calls under the result's id that wait, those of its tool if any do."""
    for tool in (result.tool_name, None):
        named = by_id.get((result.call_id or "", tool), [])
        while named and answers[named[-1]] is not None:
            named.pop()
        if named:
            return named
    return []


def given(call: Step) -> Json:
    """The arguments of a call, UNKNOWN where they were not recorded."""
    return UNKNOWN if call.arguments is None else call.arguments
