"""A case of the dataset, and one attempt at it."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, Struct, field
from msgspec.structs import replace

from oloproof.model.trajectory import Trajectory

ErrorKind = Literal["system_error", "timeout", "not_run"]

Infrastructure = Literal["rate_limit", "connection", "unavailable"]
"""What came between a system and a service that it uses: it asked too often, it did not reach the service or lost the
connection, or the service said that it cannot answer now."""


class Case(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the system is asked and what is expected of it. ``line`` is where the dataset says so, 0 when unknown."""

    id: str
    input: Any = None
    expected: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    cluster: str | None = None
    line: int = 0


class AttemptError(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why an attempt did not end normally. ``traceback`` holds the user's frames only.

    ``infrastructure`` is what was in the way where the system itself is not known to be at fault, None where nothing of
    the kind is known; ``retry_after_s`` is how many seconds a service asked to be left alone for.
    """

    kind: ErrorKind
    message: str
    traceback: str | None = None
    infrastructure: Infrastructure | None = None
    retry_after_s: float | None = None


def system_error(
    message: str,
    *,
    traceback: str | None = None,
    infrastructure: Infrastructure | None = None,
    retry_after_s: float | None = None,
) -> AttemptError:
    """That the system under test broke, in the words of whoever noticed."""
    return AttemptError(
        kind="system_error",
        message=message,
        traceback=traceback,
        infrastructure=infrastructure,
        retry_after_s=retry_after_s,
    )


class State(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The world that a case acts on, ``before`` and ``after`` it: JSON values of the system's own shape, UNSET where
    they were not recorded."""

    before: Any = UNSET
    after: Any = UNSET


class Attempt(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one run of one case left. ``output`` UNSET means that none was recorded; ``trajectory`` and ``state`` None
    likewise. ``earlier`` are the ones before it, each of which ended with an error and was made again. ``taken_from``
    is the run that made it, where another one took it over, and None where its own run did."""

    case_id: str
    trial: int = 1
    output: Any = UNSET
    error: AttemptError | None = None
    trajectory: Trajectory | None = None
    state: State | None = None
    log: str = ""
    duration_ms: float | None = None
    earlier: tuple[Attempt, ...] = ()
    taken_from: str | None = None

    @property
    def not_run(self) -> bool:
        """The run was stopped before it began."""
        return self.error is not None and self.error.kind == "not_run"

    @property
    def made(self) -> tuple[Attempt, ...]:
        """Those that began, in their order: the earlier ones and, without them, this one."""
        return self.earlier if self.not_run else (*self.earlier, replace(self, earlier=()))
