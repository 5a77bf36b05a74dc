"""What the kernel and whoever drives a run say to each other: what has happened, and what is to be done now."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from oloproof.runtime.audit import CALLER_STOP
from oloproof.runtime.decision import Usage
from oloproof.runtime.gates import Approval
from oloproof.runtime.state import ApprovalRequest

# --- what has happened -----------------------------------------------------------------------------------------------


class Decided(Struct, frozen=True):
    """The planner returned ``decision``, whatever that is, after so many ``seconds``."""

    decision: object
    seconds: float = 0.0


class PlannerRaised(Struct, frozen=True):
    """The planner raised: ``error`` says what."""

    error: str
    seconds: float = 0.0


class Answered(Struct, frozen=True):
    """The approver answered; None when nobody can now, with the reason in ``error``."""

    approval: Approval | None
    error: str = ""


class Returned(Struct, frozen=True):
    """The tool returned ``value``, whatever that is."""

    value: object
    seconds: float = 0.0


class Raised(Struct, frozen=True):
    """The tool failed: ``tool_failed`` or ``tool_timeout``."""

    code: str
    error: str
    seconds: float = 0.0


class Judged(Struct, frozen=True):
    """The done criterion returned ``accepted``, whatever that is."""

    accepted: object
    seconds: float = 0.0


class JudgeRaised(Struct, frozen=True):
    """The done criterion raised: ``error`` says what."""

    error: str
    seconds: float = 0.0


class Broke(Struct, frozen=True):
    """The tool told of a fault that the run cannot go on after."""

    error: str
    seconds: float = 0.0


class Resumed(Struct, frozen=True):
    """A new session takes the run up, with the approvals that were collected."""

    approvals: tuple[Approval, ...] = ()


class Halted(Struct, frozen=True):
    """The caller stops the run. ``seconds`` is how long what was being done had gone on, ``usage`` what the decision
    that nobody waits for any more is charged, None where none was asked for."""

    reason: str = CALLER_STOP
    seconds: float = 0.0
    usage: Usage | None = None


Event = Decided | PlannerRaised | Answered | Returned | Raised | Broke | Judged | JudgeRaised | Resumed | Halted


# --- what is to be done ----------------------------------------------------------------------------------------------


class AskPlanner(Struct, frozen=True):
    """Ask the planner for a decision."""


class AskApprover(Struct, frozen=True):
    """Ask a person for an approval."""

    request: ApprovalRequest


class CallTool(Struct, frozen=True):
    """Call a tool, whose call is charged by now."""

    tool: str
    arguments: dict[str, Any]


class Judge(Struct, frozen=True):
    """Ask the done criterion whether the answer is accepted."""

    answer: Any


class Rest(Struct, frozen=True):
    """Nothing is to be done: the run is over, or waits for an approval."""


Effect = AskPlanner | AskApprover | CallTool | Judge | Rest
