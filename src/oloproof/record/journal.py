"""What is recorded of one attempt, event by event, and what the events add up to.

Events are streamed out of the process as they happen, so that a process that ends at once still leaves a prefix.
Whoever has the events, the process itself or the one that survived it, makes the same trajectory of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

import msgspec
from msgspec import UNSET, Raw, Struct
from msgspec.structs import replace

from oloproof.model.case import State
from oloproof.model.trajectory import Checkpoint, ConstraintCheck, Step, TerminalStatus, Trajectory


class Opened(Struct, frozen=True, omit_defaults=True, gc=False, tag="opened"):
    """A ``.trace()`` block began."""

    step_limit: int | None = None
    errors_recorded: bool = True


class StepRecorded(Struct, frozen=True, gc=False, tag="step"):
    step: Step


class CheckRecorded(Struct, frozen=True, gc=False, tag="check"):
    check: ConstraintCheck


class CheckpointRecorded(Struct, frozen=True, gc=False, tag="checkpoint"):
    checkpoint: Checkpoint


class Finished(Struct, frozen=True, omit_defaults=True, gc=False, tag="finished"):
    """The block ended normally. What it ``lacks`` happened all the same, so that it tells of a beginning only."""

    terminal_status: TerminalStatus
    truncated: bool
    lacks: bool = False


class HandedOver(Struct, frozen=True, gc=False, tag="handed_over"):
    """A finished trajectory was handed over whole."""

    trajectory: Trajectory


class StateRecorded(Struct, frozen=True, gc=False, tag="state"):
    """The state before the case, or after it, or both."""

    state: State


Event = Opened | StepRecorded | CheckRecorded | CheckpointRecorded | Finished | HandedOver | StateRecorded


encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder(Event).decode
_BEFORE_STEP, _AFTER_STEP = encode(StepRecorded(cast(Any, None))).split(b"null")


def as_sent(steps: Sequence[bytes]) -> Sequence[Step]:
    """Steps for nothing but being encoded, from the events that tell of them."""
    start, end = len(_BEFORE_STEP), -len(_AFTER_STEP)
    return [cast(Step, Raw(line[start:end])) for line in steps]


def recorded(events: Iterable[Event], before: Sequence[Step] = ()) -> Trajectory | None:
    """The trajectory that the events make, behind the steps ``before`` them: finished when they say so, otherwise a
    truncated prefix.

    None when there is none: nothing was handed over and no block was entered.
    """
    opened: Opened | None = None
    finished: Finished | None = None
    steps = list(before)
    checks: list[ConstraintCheck] = []
    checkpoints: list[Checkpoint] = []
    for event in events:
        match event:
            case StepRecorded(step):
                steps.append(step)
            case HandedOver(trajectory):
                return trajectory
            case Opened():
                opened = event
            case CheckRecorded(check):
                checks.append(check)
            case CheckpointRecorded(checkpoint):
                checkpoints.append(checkpoint)
            case Finished():
                finished = event
            case StateRecorded():
                pass
    if opened is None:
        return None
    trajectory = Trajectory(
        steps=tuple(steps),
        terminal_status="unknown" if finished is None else finished.terminal_status,
        truncated=finished is None or finished.truncated,
        step_limit=opened.step_limit,
        errors_recorded=opened.errors_recorded,
        constraints=tuple(checks),
        checkpoints=tuple(checkpoints),
    )
    return as_beginning(trajectory) if finished is None or finished.lacks else trajectory


def as_beginning(trajectory: Trajectory) -> Trajectory:
    """What the trajectory says of a run that went on in a way that nobody knows."""
    checks = tuple(_up_to(len(trajectory.steps), trajectory.constraints))
    return replace(trajectory, truncated=True, constraints=checks)


def recorded_state(events: Iterable[Event]) -> State | None:
    """The state that the events tell of, None when they tell of none."""
    state: State | None = None
    for event in events:
        if isinstance(event, StateRecorded):
            before, after = event.state.before, event.state.after
            if state is not None:
                before = state.before if before is UNSET else before
                after = state.after if after is UNSET else after
            state = State(before=before, after=after)
    return state


def _up_to(last: int, checks: Iterable[ConstraintCheck]) -> Iterable[ConstraintCheck]:
    """The checks of an unfinished run: one of the whole run can speak only for what was recorded of it.

    Before the first step there is nothing that it could have held for, but a violation stands.
    """
    for check in checks:
        if check.step_index is not None or (not last and not check.passed):
            yield check
        elif last:
            yield replace(check, step_index=last)
