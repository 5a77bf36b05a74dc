"""One transition of a run in the making: the records that it writes, what it spends, and the steps that it adds."""

from __future__ import annotations

from typing import Any, Final

from oloproof.record.steps import printable
from oloproof.runtime.audit import AuditHead, AuditRecord, chained, digest
from oloproof.runtime.decision import Act, Finish, Usage
from oloproof.runtime.gates import Approval, Denial, Terms
from oloproof.runtime.policy import plus
from oloproof.runtime.state import (
    ApprovalRequest,
    Asking,
    Calling,
    Completed,
    Deciding,
    Failed,
    Position,
    RunState,
    RunStep,
    Spent,
    StepError,
    StepOutcome,
    Stopped,
    Waiting,
)

MOST_WORDS: Final = 2000
"""Characters of a message that are kept."""


class Turn:
    """One transition in the making: what it writes, spends and adds to the steps."""

    def __init__(self, terms: Terms, state: RunState) -> None:
        self.terms = terms
        self.before = state
        self.head: AuditHead = state.audit_head
        self.records: list[AuditRecord] = []
        self.steps = state.steps
        self.spent = state.spent

    @property
    def now(self) -> RunState:
        """The state as it has become so far, for the gates."""
        return self.ended(self.before.at)

    def ended(self, at: Position) -> RunState:
        """The next state, which stands at ``at``."""
        before = self.before
        return RunState(
            tenant=before.tenant,
            run_id=before.run_id,
            goal=before.goal,
            at=at,
            audit_head=self.head,
            steps=self.steps,
            spent=self.spent,
            revision=before.revision + 1,
            outbox=tuple(self.records),
            context=before.context,
        )

    def log(self, event: str, **data: Any) -> None:
        """Write a record of the trail."""
        record = chained(self.before.key, self.head, event, data)
        self.records.append(record)
        self.head = record.head

    def resumed(self, approvals: tuple[Approval, ...], *, asked: ApprovalRequest | None = None) -> None:
        """Write down that a session takes the run up, and the approvals that it brings."""
        self.log("resumed")
        self.write_down(approvals, asked=asked)

    def write_down(self, approvals: tuple[Approval, ...], *, asked: ApprovalRequest | None) -> None:
        """Every answer, also one that nothing was asked for, or whose action another gate denies."""
        for answer in approvals:
            fits = asked is not None and answer.digest == asked.digest
            self.log(
                "approval" if fits else "approval_ignored",
                step=len(self.steps),
                digest=printable(answer.digest),
                granted=answer.granted,
                approver=printable(answer.approver),
                note=printable(answer.note),
            )

    def spend(
        self, *, decisions: int = 0, tool_calls: int = 0, cost: float = 0.0, tokens: int = 0, seconds: float = 0.0
    ) -> None:
        """Add to what the run has used; time that a clock took back counts as none."""
        spent = self.spent
        self.spent = Spent(
            decisions=spent.decisions + decisions,
            tool_calls=spent.tool_calls + tool_calls,
            cost=plus(spent.cost, cost),
            tokens=spent.tokens + tokens,
            seconds=spent.seconds + max(0.0, seconds),
        )

    def charge(self, usage: Usage) -> dict[str, Any]:
        """Spend what a decision cost, and say it as the trail does."""
        self.spend(tokens=usage.tokens, cost=usage.cost)
        return {"tokens": usage.tokens, "cost": usage.cost}

    def step(self, decision: Act | Finish, outcome: StepOutcome, **fields: Any) -> Position:
        """Add a step, and go on to the next decision if a limit does not stop the run."""
        index, ended_s = len(self.steps), self.spent.seconds
        step = RunStep(index=index, ended_s=ended_s, decision=decision, outcome=outcome, **fields)
        self.steps = (*self.steps, step)
        return self.next()

    def next(self) -> Position:
        """The next decision, or the limit for which there is none."""
        reason = self.terms.limits.stop_reason(self.now)
        return Deciding() if reason is None else Stopped(reason)

    def deny(self, decision: Act | Finish, denial: Denial) -> Position:
        """Let a denial be the outcome of the step."""
        self.log("denied", step=len(self.steps), gate=denial.gate, code=denial.code, message=words(denial.message))
        error = StepError(denial.code, words(denial.message))
        return self.step(decision, StepOutcome.DENIED, error=error, gate=denial.gate)

    def interrupt(self, at: Calling | Asking | Waiting, code: str, message: str) -> Position:
        """Close the step of an action of which nobody knows how it ended, or which did not begin."""
        self.log("interrupted", step=len(self.steps), tool=at.act.tool, attempt=at.attempt, code=code)
        return self.step(at.act, StepOutcome.INTERRUPTED, error=StepError(code, message))

    def fail(self, code: str, message: str) -> Failed:
        """The end of a run that cannot go on."""
        return Failed(StepError(code, words(message)))


def words(text: str) -> str:
    """A message as it is kept: no longer than anybody reads, whoever wrote it."""
    text = printable(text)
    return text if len(text) <= MOST_WORDS else text[: MOST_WORDS - 1] + "…"


def ending(at: Completed | Stopped | Failed) -> dict[str, Any]:
    """What the last record of a run says of its end."""
    match at:
        case Completed(answer):
            return {"status": "completed", "answer_digest": digest(answer)}
        case Stopped(reason):
            return {"status": "stopped", "reason": reason}
        case Failed(error):
            return {"status": "failed", "code": error.code, "message": error.message}
