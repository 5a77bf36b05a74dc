"""A case of the dataset, one attempt at it, and a recording: an attempt that lives in a file."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, Struct, field

from oloproof.model.trajectory import Trajectory

ErrorKind = Literal["system_error", "timeout", "not_run"]


class Case(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the system is asked and what is expected of it. ``line`` is where the dataset says so, 0 when unknown."""

    id: str
    input: Any = None
    expected: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    cluster: str | None = None
    line: int = 0


class AttemptError(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why an attempt did not end normally. ``traceback`` holds the user's frames only."""

    kind: ErrorKind
    message: str
    traceback: str | None = None


class Attempt(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one run of one case left. ``output`` UNSET means that none was recorded; ``trajectory`` None likewise."""

    case_id: str
    trial: int = 1
    output: Any = UNSET
    error: AttemptError | None = None
    trajectory: Trajectory | None = None
    log: str = ""
    duration_ms: float | None = None


class Recording(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A line of ``traces.jsonl``. ``input``, ``expected`` and ``metadata`` count only where no dataset is given.

    A key that is not listed here is refused: a misspelt ``trajectory`` must not become missing data.
    """

    case: str
    trial: int = 1
    output: Any = UNSET
    error: AttemptError | str | None = None
    trajectory: Trajectory | None = None
    input: Any = UNSET
    expected: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None


def to_attempt(recording: Recording) -> Attempt:
    """The attempt that was recorded. An error that is only a text becomes a ``system_error``."""
    error = recording.error
    return Attempt(
        case_id=recording.case,
        trial=recording.trial,
        output=recording.output,
        error=AttemptError(kind="system_error", message=error) if isinstance(error, str) else error,
        trajectory=recording.trajectory,
    )


def to_case(recording: Recording) -> Case:
    """The case that a recording stands for where recordings are their own dataset."""
    return Case(
        id=recording.case,
        input=None if recording.input is UNSET else recording.input,
        expected=recording.expected or {},
        metadata=recording.metadata or {},
    )
