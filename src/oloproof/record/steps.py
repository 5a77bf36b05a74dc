"""The steps, checks and checkpoints that users build: plain values that are snapshotted and checked as they are made.

What JSON cannot carry is kept as a tag and loses nothing; what contradicts itself is refused at the line that says it.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from operator import index
from typing import Any, get_args

from msgspec import UNSET, Struct
from msgspec.structs import asdict, force_setattr

from oloproof.errors import RecordError, with_article
from oloproof.model.trajectory import (
    Checkpoint,
    CheckpointKind,
    ConstraintCheck,
    Step,
    StepKind,
    TerminalStatus,
    Trajectory,
    contradiction,
    step_contradiction,
)
from oloproof.model.values import snapshot

RECORD_IS_OVER = "OLO702"

_STEP_KINDS = frozenset(get_args(StepKind))
_CHECKPOINT_KINDS = frozenset(get_args(CheckpointKind))
_ENDINGS = frozenset(get_args(TerminalStatus))


def refused(what: str) -> RecordError:
    """The error for a record that contradicts itself."""
    return RecordError(what, code="OLO701")


class AgentStep(Step, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One step of an agent: ``AgentStep(index=1, kind="tool_call", tool_name="search", arguments={"q": "shoes"})``.

    Values are copied as they are now. ``arguments`` not given means not recorded, ``{}`` means none; ``result`` and
    ``error`` not given mean not recorded. ``error`` takes text or the exception itself.

    Errors: RecordError when the step contradicts itself.
    """

    def __post_init__(self) -> None:
        where = f"step {self.index}"
        if type(self.index) is not int:
            force_setattr(self, "index", _whole(self.index, f"step {self.index!r}: index"))
        if self.kind not in _STEP_KINDS:
            raise refused(f"{where}: its kind is {self.kind!r}, none of {', '.join(sorted(_STEP_KINDS))}")
        if self.arguments is not None:
            force_setattr(self, "arguments", snapshot(self.arguments))
        if self.result is not UNSET:
            force_setattr(self, "result", snapshot(self.result))
        if self.error is not UNSET and self.error is not None:
            force_setattr(self, "error", _error_text(self.error, where))
        for name in ("tool_name", "call_id", "agent", "to_agent"):
            if getattr(self, name) is not None:
                force_setattr(self, name, _text(getattr(self, name), f"{where}: {name}"))
        for name in ("turn", "inside", "tokens"):
            value = getattr(self, name)
            if value is not None and type(value) is not int:
                force_setattr(self, name, _whole(value, f"{where}: {name}"))
        for name in ("latency_ms", "cost_usd"):
            if getattr(self, name) is not None:
                force_setattr(self, name, _number(getattr(self, name), f"{where}: {name}"))
        if self.metadata is not None:
            force_setattr(self, "metadata", _object(self.metadata, f"{where}: metadata"))
        wrong = step_contradiction(self)
        if wrong is not None:
            raise refused(wrong)


class AgentConstraintCheck(ConstraintCheck, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The environment's word on one constraint: up to ``step_index``, or of the whole run without one."""

    def __post_init__(self) -> None:
        force_setattr(self, "name", _text(self.name, "a constraint's name"))
        where = f"constraint {self.name!r}"
        force_setattr(self, "passed", _flag(self.passed, f"{where}: passed"))
        if self.detail is not None:
            force_setattr(self, "detail", _text(self.detail, f"{where}: detail"))
        if self.step_index is not None:
            force_setattr(self, "step_index", _whole(self.step_index, f"{where}: step_index"))


class AgentCheckpoint(Checkpoint, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A point from which the run could be replayed; ``payload`` is copied as it is now."""

    def __post_init__(self) -> None:
        force_setattr(self, "checkpoint_id", _text(self.checkpoint_id, "a checkpoint's checkpoint_id"))
        where = f"checkpoint {self.checkpoint_id!r}"
        if self.kind not in _CHECKPOINT_KINDS:
            raise refused(f"{where}: its kind is {self.kind!r}, none of {', '.join(sorted(_CHECKPOINT_KINDS))}")
        if self.step_index is not None:
            force_setattr(self, "step_index", _whole(self.step_index, f"{where}: step_index"))
        if self.description is not None:
            force_setattr(self, "description", _text(self.description, f"{where}: description"))
        if self.payload is not UNSET:
            force_setattr(self, "payload", snapshot(self.payload))


class AgentTrajectory(Trajectory, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The finished record of one case, for ``current_case().agent_trajectory(...)``.

    ``truncated`` says that the agent was cut off (by its own step limit, say) and might have gone on.
    ``errors_recorded=False`` says that the source has no way to tell that a tool failed.

    Errors: RecordError when the trajectory contradicts itself.
    """

    def __post_init__(self) -> None:
        force_setattr(self, "steps", _all(self.steps, Step, AgentStep, "steps"))
        force_setattr(self, "constraints", _all(self.constraints, ConstraintCheck, AgentConstraintCheck, "constraints"))
        force_setattr(self, "checkpoints", _all(self.checkpoints, Checkpoint, AgentCheckpoint, "checkpoints"))
        require_ending(self.terminal_status, self.truncated)
        require_settings(self.step_limit, self.errors_recorded)
        wrong = contradiction(self)
        if wrong is not None:
            raise refused(wrong)


def require_ending(terminal_status: object, truncated: object) -> None:
    """How a record may end. Errors: RecordError for anything else."""
    if terminal_status not in _ENDINGS:
        raise refused(f"terminal_status is {terminal_status!r}, none of {', '.join(sorted(_ENDINGS))}")
    _flag(truncated, "truncated")


def require_settings(step_limit: object, errors_recorded: object) -> None:
    """What may be said of a record as a whole. Errors: RecordError for anything else."""
    if step_limit is not None and (type(step_limit) is not int or step_limit < 0):
        raise refused(f"step_limit is {_shown(step_limit)}, not a whole number from 0 up")
    _flag(errors_recorded, "errors_recorded")


def exception_text(exc: BaseException) -> str:
    """``ValueError: no such order``, whatever the exception's own ``__str__`` does."""
    name = type(exc).__name__
    try:
        text = str(exc)
        return printable(f"{name}: {text}" if text else name)
    except BaseException:
        return printable(f"{name}: (its text cannot be read)")


def printable(text: str) -> str:
    """``text`` as UTF-8 can carry it: lone surrogates become escapes."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def _all(values: Any, plain: type[Struct], checked: type[Struct], name: str) -> tuple[Struct, ...]:
    """The values as a tuple of ``checked``; a plain one of the same noun is checked now."""
    if isinstance(values, str | Mapping) or not hasattr(values, "__iter__"):
        raise refused(f"{name} is {with_article(type(values).__name__)}, not a sequence of {checked.__name__}")
    kept = []
    for position, value in enumerate(values, 1):
        if not isinstance(value, plain):
            raise refused(f"{name}: number {position} is {with_article(type(value).__name__)}, no {checked.__name__}")
        kept.append(value if isinstance(value, checked) else checked(**asdict(value)))
    return tuple(kept)


def _text(value: Any, what: str) -> str:
    if isinstance(value, Enum):
        value = value.value
    if not isinstance(value, str):
        raise refused(f"{what} is {with_article(type(value).__name__)}, not text")
    return printable(str.__str__(value))


def _error_text(value: Any, where: str) -> str:
    return exception_text(value) if isinstance(value, BaseException) else _text(value, f"{where}: error")


def _flag(value: Any, what: str) -> bool:
    if value is True or value is False:
        return bool(value)
    raise refused(f"{what} is {with_article(type(value).__name__)}, not True or False")


def _whole(value: Any, what: str) -> int:
    """An integer, of numpy's kinds too; a bool is none."""
    try:
        if not isinstance(value, bool):
            return index(value)
    except TypeError:
        pass
    raise refused(f"{what} is {_shown(value)}, not a whole number")


def _number(value: Any, what: str) -> float:
    if type(value) is float or type(value) is int:
        return value
    try:
        if not isinstance(value, bool | str):
            return float(value)
    except (TypeError, ValueError, OverflowError):
        pass
    raise refused(f"{what} is {_shown(value)}, not a number")


def _object(value: Any, what: str) -> dict[str, Any]:
    kept = snapshot(value)
    if not isinstance(kept, dict):
        raise refused(f"{what} is {with_article(type(value).__name__)}, not an object")
    return kept


def _shown(value: Any) -> str:
    """A short value as it is. None is cut: half of what is secret could not be told from the rest any more."""
    text = repr(value) if isinstance(value, str | float) or type(value) in (int, bool) else ""
    return text if text and len(text) <= 40 else with_article(type(value).__name__)
