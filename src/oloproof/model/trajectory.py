"""What an agent did in one case: numbered steps, the environment's checks, and how the record ends.

These are the plain values that files and processes exchange (``agent_trajectory/v1``). They do not check themselves
when built, because most are decoded by the thousand; :func:`contradiction` says what is wrong with one.
"""

from __future__ import annotations

from math import inf
from sys import float_info
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

StepKind = Literal["message", "tool_call", "tool_result", "observation", "decision", "final", "handoff"]
TerminalStatus = Literal["success", "failure", "unknown"]
CheckpointKind = Literal["tool_result", "tool_arguments", "checkpoint"]

Amount = Annotated[float, Meta(ge=0)]
Count = Annotated[int, Meta(ge=0)]

RECORD = "agent_trajectory/v1"


class Step(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, gc=False):
    """One step. ``arguments`` None means not recorded ({} means none); ``result`` and ``error`` UNSET mean not
    recorded (None means recorded as null)."""

    index: int
    kind: StepKind
    tool_name: str | None = None
    call_id: str | None = None
    arguments: Any = None
    result: Any = UNSET
    error: str | UnsetType | None = UNSET
    agent: str | None = None
    to_agent: str | None = None
    turn: int | None = None
    inside: int | None = None
    latency_ms: Amount | None = None
    tokens: Count | None = None
    cost_usd: Amount | None = None
    metadata: dict[str, Any] | None = None


class ConstraintCheck(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, gc=False):
    """The environment's word on one constraint. With ``step_index`` it speaks for the run up to that step, without
    one for the whole run."""

    name: str
    passed: bool
    detail: str | None = None
    step_index: int | None = None


class Checkpoint(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, gc=False):
    """A point from which a run could be replayed."""

    checkpoint_id: str
    kind: CheckpointKind
    step_index: int | None = None
    description: str | None = None
    payload: Any = UNSET


class Trajectory(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, gc=False):
    """The record of one case. ``truncated`` says that the agent's run went on, or may have, past the last step."""

    steps: tuple[Step, ...] = ()
    terminal_status: TerminalStatus = "unknown"
    truncated: bool = False
    step_limit: int | None = None
    errors_recorded: bool = True
    constraints: tuple[ConstraintCheck, ...] = ()
    checkpoints: tuple[Checkpoint, ...] = ()


def contradiction(trajectory: Trajectory) -> str | None:
    """The first thing in which a trajectory contradicts itself, in words that name the step; None when it does not.

    Only structure can: indexes with gaps, a hand-off to itself, agents named on some steps only, a reference to a step
    that is not there, more steps than ``step_limit`` in a record that is not truncated.
    """
    steps = trajectory.steps
    named = bool(steps) and steps[0].agent is not None
    for position, step in enumerate(steps, 1):
        if step.index != position:
            return f"step {position}: its index is {step.index}, but indexes are 1, 2, 3 … without gaps"
        if step.tool_name and not named and step.agent is None and step.to_agent is None and step.inside is None:
            continue  # most steps of most records; decoding has seen to their quantities
        wrong = step_contradiction(step)
        if wrong is not None:
            return wrong
        if (step.agent is not None) != named:
            return partly_named(step)
        if step.inside is not None and steps[step.inside - 1].kind != "tool_call":
            return inside_no_call(step, steps[step.inside - 1].kind)
    limit = trajectory.step_limit
    if limit is not None and limit < 0:
        return f"step_limit is {limit}"
    if limit is not None and limit < len(steps) and not trajectory.truncated:
        return f"step {limit + 1}: it is past the step_limit of {limit}, but the trajectory is not truncated"
    return _dangling(trajectory)


def step_contradiction(step: Step) -> str | None:
    """The same for one step by itself."""
    wrong = None
    if step.index < 1:
        wrong = "indexes count from 1"
    elif step.kind == "handoff":
        if not step.to_agent:
            wrong = "a handoff needs to_agent"
        elif step.to_agent == step.agent:
            wrong = f"{step.agent!r} hands off to itself"
    elif step.to_agent is not None:
        wrong = f"to_agent belongs to a handoff, not to a {step.kind}"
    elif not step.tool_name and step.kind in ("tool_call", "tool_result"):
        wrong = f"a {step.kind} needs tool_name"
    if wrong is None and step.agent == "":
        wrong = "its agent has an empty name"
    if wrong is None and step.inside is not None and not 1 <= step.inside < step.index:
        wrong = f"inside is {step.inside}, which is no earlier step"
    if wrong is None:
        wrong = _impossible_quantity(step)
    return None if wrong is None else f"step {step.index}: {wrong}"


def partly_named(step: Step) -> str:
    """``step`` names its agent and the steps before it do not, or the other way round."""
    if step.agent is None:
        return f"step {step.index}: it names no agent, but the steps before it do"
    return f"step {step.index}: it names the agent {step.agent!r}, but the steps before it name none"


def inside_no_call(step: Step, kind: StepKind) -> str:
    """``step`` says that it was taken inside a step that is of another ``kind`` than tool_call."""
    return f"step {step.index}: inside is {step.inside}, which is a {kind} and no tool_call"


def _impossible_quantity(step: Step) -> str | None:
    for name, value in (("latency_ms", step.latency_ms), ("tokens", step.tokens), ("cost_usd", step.cost_usd)):
        if value is None:
            continue
        if not 0 <= value < inf:
            return f"{name} is {value}, not a finite number from 0 up"
        if name != "tokens" and value > float_info.max:  # an int, in a field of floats
            return f"{name} is larger than any double"
    return None


def _dangling(trajectory: Trajectory) -> str | None:
    """A check or checkpoint at a step that is not there, or a checkpoint id given twice."""
    count = len(trajectory.steps)
    for check in trajectory.constraints:
        if check.step_index is not None and not 1 <= check.step_index <= count:
            return f"step {check.step_index}: the constraint {check.name!r} is there, but there is no such step"
    seen = set()
    for checkpoint in trajectory.checkpoints:
        name, at = checkpoint.checkpoint_id, checkpoint.step_index
        if at is not None and not 1 <= at <= count:
            return f"step {at}: the checkpoint {name!r} is there, but there is no such step"
        if name in seen:
            return f"the checkpoint {name!r} is there twice"
        seen.add(name)
    return None
