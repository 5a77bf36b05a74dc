"""What the loop is asked and what it tells: one request, one stream of events, one result."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from msgspec import Meta, Struct, ValidationError, convert, to_builtins

from oloproof.runtime.audit import CALLER_STOP
from oloproof.runtime.decision import Act
from oloproof.runtime.state import (
    ApprovalRequest,
    Asking,
    Calling,
    Completed,
    Deciding,
    Failed,
    Judging,
    RunState,
    RunStep,
    StepOutcome,
    Stopped,
    Waiting,
)

Positive = Annotated[int, Meta(ge=1, le=2**53)]
Text = Annotated[str, Meta(min_length=1)]


class AgentRequest(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a run is asked. None leaves a budget uncapped. ``max_steps`` is always there as a safety net,
    ``budget_iter`` the caller's own cap: whichever bites first gives the stop reason.

    Errors: ValueError for a value out of range.
    """

    tenant_id: Text
    principal_id: Text
    goal: Text
    corpus_ids: tuple[str, ...] = ()
    top_k: Annotated[int, Meta(ge=1, le=100)] = 8
    max_steps: Annotated[int, Meta(ge=1, le=50)] = 6
    budget_tokens: Positive | None = None
    budget_dollars: Annotated[float, Meta(gt=0, le=1e12)] | None = None
    budget_wall_ms: Positive | None = None
    budget_iter: Positive | None = None
    request_id: str | None = None
    resume_run_id: str | None = None

    @classmethod
    def of(cls, value: Any) -> AgentRequest:
        """A request from JSON, or a request checked again. Errors: ValueError."""
        try:
            return convert(to_builtins(value), cls)
        except (ValidationError, TypeError) as error:
            raise ValueError(f"this is no AgentRequest: {error}") from None


class AgentEventKind(StrEnum):
    RUN_STARTED = "run_started"
    PHASE_CHANGED = "phase_changed"
    TOOL_STARTED = "tool_started"
    TOOL_COMPLETED = "tool_completed"
    ANSWER_DELTA = "answer_delta"
    CHECKPOINT_SAVED = "checkpoint_saved"
    RUN_COMPLETED = "run_completed"
    RUN_FAILED = "run_failed"


class AgentPhase(StrEnum):
    """planning → acting → observing for a tool, planning → finalizing for an answer; done or failed at the end."""

    PLANNING = "planning"
    ACTING = "acting"
    OBSERVING = "observing"
    FINALIZING = "finalizing"
    DONE = "done"
    FAILED = "failed"


class StopReason(StrEnum):
    """How a run ended; ``awaiting_approval`` is a pause."""

    FINAL_ANSWER = "final_answer"
    BUDGET_TOKENS = "budget_tokens"
    BUDGET_DOLLARS = "budget_dollars"
    BUDGET_WALL = "budget_wall"
    BUDGET_ITER = "budget_iter"
    MAX_ITERATIONS = "max_iterations"
    DIMINISHING_RETURNS = "diminishing_returns"
    CALLER_STOP = CALLER_STOP
    AWAITING_APPROVAL = "awaiting_approval"


class Egress(StrEnum):
    """What a policy did to an answer on its way out."""

    DENIED = "denied"
    TRANSFORMED = "transformed"


class AgentToolCall(Struct, frozen=True):
    tool: str
    arguments: dict[str, Any]


class AgentToolResult(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a tool gave. ``ok`` False is a failure or denial that the controller can react to; ``error`` says which."""

    ok: bool
    value: Any = None
    error: str | None = None


class ChunkRef(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A passage that was retrieved."""

    chunk_id: str
    text: str = ""
    score: float = 0.0
    corpus_id: str | None = None
    source: str | None = None


class AgentStep(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One cycle of planning, acting and observing."""

    index: int
    phase: AgentPhase
    thought: str = ""
    tool_call: AgentToolCall | None = None
    tool_result: AgentToolResult | None = None
    elapsed_ms: float = 0.0


class BudgetSpend(Struct, frozen=True, kw_only=True):
    tokens: int
    dollars: float
    wall_ms: float
    iterations: int


class AgentRunResult(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The whole of a run. ``final_answer`` None means that there is none; ``chunk_refs`` is every passage that was
    retrieved, ``citations`` the ids of those that the answer names in square brackets. ``pending`` is what a run that
    awaits an approval asks, None for any other; ``egress`` what a service's policy did to the answer, None where it let
    it pass."""

    run_id: str
    request_id: str | None = None
    goal: str
    status: StopReason
    phase: AgentPhase
    final_answer: Any = None
    steps: tuple[AgentStep, ...] = ()
    citations: tuple[str, ...] = ()
    chunk_refs: tuple[ChunkRef, ...] = ()
    budget_consumed: BudgetSpend
    elapsed_ms: float
    pending: ApprovalRequest | None = None
    egress: Egress | None = None


class AgentEvent(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One frame: ``kind`` says which of the other fields are there. ``at`` is in UTC."""

    kind: AgentEventKind
    run_id: str
    at: datetime
    step_index: int | None = None
    phase: AgentPhase | None = None
    tool_call: AgentToolCall | None = None
    tool_result: AgentToolResult | None = None
    text: str | None = None
    result: AgentRunResult | None = None
    error_code: str | None = None
    message: str | None = None


def result_of(state: RunState, request: AgentRequest) -> AgentRunResult:
    """A run that rests, as its caller is told of it."""
    chunks = _chunks(state)
    answer = state.answer
    spent = state.spent
    cited = [ref.chunk_id for ref in chunks if isinstance(answer, str) and f"[{ref.chunk_id}]" in answer]
    return AgentRunResult(
        run_id=state.run_id,
        request_id=request.request_id,
        goal=state.goal,
        status=stop_reason(state, request),
        phase=phase_of(state),
        final_answer=answer,
        steps=tuple(_steps(state)),
        citations=tuple(cited),
        chunk_refs=tuple(chunks),
        budget_consumed=BudgetSpend(
            tokens=spent.tokens, dollars=spent.cost, wall_ms=spent.seconds * 1000, iterations=spent.decisions
        ),
        elapsed_ms=spent.seconds * 1000,
        pending=state.pending,
    )


def stop_reason(state: RunState, request: AgentRequest) -> StopReason:
    """Why a run rests, in the loop's words."""
    if isinstance(state.at, Waiting):
        return StopReason.AWAITING_APPROVAL
    if not isinstance(state.at, Stopped):
        return StopReason.FINAL_ANSWER
    if state.at.reason == "max_steps" and request.budget_iter is not None:
        bit = request.budget_iter <= state.spent.decisions
        return StopReason.BUDGET_ITER if bit else StopReason.MAX_ITERATIONS
    return _REASONS[state.at.reason]


_REASONS = {
    "max_steps": StopReason.MAX_ITERATIONS,
    "max_tokens": StopReason.BUDGET_TOKENS,
    "max_cost": StopReason.BUDGET_DOLLARS,
    "max_seconds": StopReason.BUDGET_WALL,
    "diminishing_returns": StopReason.DIMINISHING_RETURNS,
    CALLER_STOP: StopReason.CALLER_STOP,
}


def phase_of(state: RunState) -> AgentPhase:
    """The phase that a run is in."""
    match state.at:
        case Deciding():
            return AgentPhase.PLANNING
        case Asking() | Waiting() | Calling():
            return AgentPhase.ACTING
        case Judging():
            return AgentPhase.FINALIZING
        case Completed() | Stopped():
            return AgentPhase.DONE
        case Failed():
            return AgentPhase.FAILED


def tool_call(step: RunStep) -> AgentToolCall | None:
    """The call of a step, None for an answer that was not accepted."""
    return AgentToolCall(step.decision.tool, step.decision.arguments) if isinstance(step.decision, Act) else None


def tool_result(step: RunStep) -> AgentToolResult:
    """What came of a step."""
    if step.error is None:
        return AgentToolResult(ok=True, value=step.result)
    return AgentToolResult(ok=False, error=f"{step.error.code}: {step.error.message}")


def _steps(state: RunState) -> list[AgentStep]:
    told, before = [], 0.0
    for step in state.steps:
        told.append(
            AgentStep(
                index=step.index,
                phase=AgentPhase.OBSERVING,
                thought=step.decision.thought,
                tool_call=tool_call(step),
                tool_result=tool_result(step),
                elapsed_ms=(step.ended_s - before) * 1000,
            )
        )
        before = step.ended_s
    return told


def _chunks(state: RunState) -> list[ChunkRef]:
    """The passages that tools gave under ``chunks``, each once, in the order in which they came."""
    found: dict[str, ChunkRef] = {}
    for step in state.steps:
        if step.outcome is StepOutcome.EXECUTED and isinstance(step.result, dict) and "chunks" in step.result:
            try:
                refs = convert(step.result["chunks"], list[ChunkRef])
            except ValidationError:  # another tool's own idea of chunks
                continue
            for ref in refs:
                found.setdefault(ref.chunk_id, ref)
    return list(found.values())
