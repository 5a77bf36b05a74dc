"""The state of a run: frozen, serialisable, and the only thing that says what happens next."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, ClassVar, Final, Literal

from msgspec import MsgspecError, Struct
from msgspec.json import Decoder, Encoder

from oloproof.runtime.audit import AuditHead, AuditRecord
from oloproof.runtime.decision import Act, Finish
from oloproof.runtime.errors import StateError

FORMAT: Final = "oloproof.run_state/v1"


class RunStatus(StrEnum):
    """How a run stands."""

    RUNNING = "running"
    AWAITING_APPROVAL = "awaiting_approval"
    COMPLETED = "completed"
    STOPPED = "stopped"
    FAILED = "failed"


class StepOutcome(StrEnum):
    """How a step ended."""

    EXECUTED = "executed"
    DENIED = "denied"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


class StepError(Struct, frozen=True, forbid_unknown_fields=True):
    """Why a step did not execute: a stable code, and words for people and planners."""

    code: str
    message: str


class RunStep(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One decision and what came of it. ``result`` is a tool's, None unless the outcome is executed; ``error`` is None
    exactly when it is. ``gate`` names the gate that denied the step, None where none did. ``ended_s`` is the run's
    running time at its end."""

    index: int
    decision: Act | Finish
    outcome: StepOutcome
    result: Any = None
    error: StepError | None = None
    gate: str | None = None
    ended_s: float = 0.0


class ApprovalRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a person is asked to approve, and why. ``digest`` binds it; ``history`` is the digest of the last audit
    record before the request."""

    digest: str
    run_id: str
    step: int
    tool: str
    arguments: dict[str, Any]
    effect: str
    scopes: tuple[str, ...]
    history: str
    reason: str


class Deciding(Struct, frozen=True, tag="deciding"):
    """The planner is to decide."""


class Asking(Struct, frozen=True, tag="asking"):
    """The approver is to answer."""

    act: Act
    request: ApprovalRequest
    attempt: int = 1


class Waiting(Struct, frozen=True, tag="waiting"):
    """Paused until somebody resumes the run with an approval."""

    act: Act
    request: ApprovalRequest
    attempt: int = 1


class Calling(Struct, frozen=True, tag="calling"):
    """A tool call is in flight, for the ``attempt``-th time. ``approved`` is the request that was approved, None where
    none was needed."""

    act: Act
    attempt: int = 1
    approved: ApprovalRequest | None = None


class Judging(Struct, frozen=True, tag="judging"):
    """The done criterion is to judge an answer."""

    finish: Finish


class Completed(Struct, frozen=True, tag="completed"):
    """The planner finished, and the answer was accepted."""

    answer: Any


class Stopped(Struct, frozen=True, tag="stopped"):
    """A limit or the caller stopped the run."""

    reason: str


class Failed(Struct, frozen=True, tag="failed"):
    """The run could not go on: the planner or the done criterion raised or returned something invalid, a tool told of a
    fault that nothing can follow, or a limit could not be enforced."""

    error: StepError


Position = Deciding | Asking | Waiting | Calling | Judging | Completed | Stopped | Failed
"""Where a run stands; each says by itself what is to be done next."""

OVER: Final = (Completed, Stopped, Failed)


class Spent(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a run has used: decisions, tool calls (charged as they start), cost, tokens, and running time in seconds."""

    decisions: int = 0
    tool_calls: int = 0
    cost: float = 0.0
    tokens: int = 0
    seconds: float = 0.0


class RunState(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A run, whole. ``revision`` counts its saves from 0. ``outbox`` holds the audit records of the last transition,
    which is saved before they are written, so that a crash in between loses none. ``context`` is a JSON value that
    the caller keeps with the run, None for none."""

    format: Literal["oloproof.run_state/v1"] = FORMAT
    tenant: str
    run_id: str
    goal: str
    at: Position
    audit_head: AuditHead
    steps: tuple[RunStep, ...] = ()
    spent: Spent = Spent()
    revision: int = 0
    outbox: tuple[AuditRecord, ...] = ()
    context: Any = None

    _STATUS: ClassVar[dict[type, RunStatus]] = {
        Deciding: RunStatus.RUNNING,
        Asking: RunStatus.RUNNING,
        Calling: RunStatus.RUNNING,
        Judging: RunStatus.RUNNING,
        Waiting: RunStatus.AWAITING_APPROVAL,
        Completed: RunStatus.COMPLETED,
        Stopped: RunStatus.STOPPED,
        Failed: RunStatus.FAILED,
    }

    @property
    def status(self) -> RunStatus:
        """How the run stands."""
        return self._STATUS[type(self.at)]

    @property
    def answer(self) -> Any:
        """The accepted answer, None unless the run is completed."""
        return self.at.answer if isinstance(self.at, Completed) else None

    @property
    def stop_reason(self) -> str | None:
        """The limit that stopped the run, or ``caller_stop``; None unless it is stopped."""
        return self.at.reason if isinstance(self.at, Stopped) else None

    @property
    def error(self) -> StepError | None:
        """Why the run failed, None unless it did."""
        return self.at.error if isinstance(self.at, Failed) else None

    @property
    def pending(self) -> ApprovalRequest | None:
        """What the run waits for, None unless it awaits an approval."""
        return self.at.request if isinstance(self.at, Waiting) else None

    @property
    def key(self) -> tuple[str, str]:
        """What stores and trails know the run by."""
        return self.tenant, self.run_id

    def observations(self) -> list[dict[str, Any]]:
        """The steps as plain JSON, ready for a prompt."""
        return [_observation(step) for step in self.steps]

    def to_json(self) -> bytes:
        """The saved form."""
        return _ENCODE(self)

    @classmethod
    def from_json(cls, data: bytes) -> RunState:
        """Read the saved form back. Errors: StateError where it is none of this version."""
        try:
            return _DECODE(data)
        except MsgspecError as error:
            raise StateError(f"this is no saved run ({FORMAT}): {error}") from None


def _observation(step: RunStep) -> dict[str, Any]:
    decision = step.decision
    seen: dict[str, Any] = {"step": step.index, "outcome": step.outcome.value}
    if isinstance(decision, Act):
        seen |= {"tool": decision.tool, "arguments": decision.arguments}
    else:
        seen["answer"] = decision.answer
    if step.error is None:
        seen["result"] = step.result
    else:
        seen["error"] = {"code": step.error.code, "message": step.error.message}
    return seen


_ENCODE = Encoder().encode
_DECODE = Decoder(RunState).decode
