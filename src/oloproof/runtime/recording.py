"""A run of the runtime as a trajectory, for the harness to judge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from oloproof.errors import RecordError
from oloproof.record.case import CurrentCase, current_case
from oloproof.record.steps import AgentConstraintCheck, AgentStep, AgentTrajectory
from oloproof.runtime.audit import AuditRecord, verify_audit
from oloproof.runtime.decision import Act
from oloproof.runtime.gates import Terms
from oloproof.runtime.policy import Limits
from oloproof.runtime.sinks import AuditSink
from oloproof.runtime.state import (
    Calling,
    Completed,
    Failed,
    RunState,
    RunStatus,
    RunStep,
    StepOutcome,
)
from oloproof.runtime.tools import Tool


def hand_over(state: RunState, *, terms: Terms, audit: AuditSink, name: str | None) -> None:
    """Record a run that is over as the current case's trajectory, where there is a case; ``name`` names the agent.

    Errors: RecordError where the case has been recorded already.
    """
    case = case_or_none()
    if case is not None:
        trail = [record for record in audit.records if record.run == state.key]
        told = to_trajectory(state, limits=terms.limits, audit=trail, agent=name, tools=terms.tools)
        case.agent_trajectory(told)


def case_or_none() -> CurrentCase | None:
    """The case that this code runs for, None outside one."""
    try:
        return current_case()
    except RecordError:
        return None


_ENDINGS: dict[RunStatus, Any] = {RunStatus.COMPLETED: "success", RunStatus.FAILED: "failure"}


def to_trajectory(
    state: RunState,
    *,
    limits: Limits | None = None,
    audit: Iterable[AuditRecord] | None = None,
    agent: str | None = None,
    tools: Mapping[str, Tool] | None = None,
) -> AgentTrajectory:
    """The run as an ``AgentTrajectory``, of whose steps ``agent`` is named as the one that took them.

    A call is a tool_call and its tool_result; one that was interrupted has no result. Where the ``tools`` are given, a
    call of one with ``hands_to`` that succeeded is a ``handoff``, and the steps after it are that agent's, unless
    ``agent`` is None, which names nobody. What a gate denied is a
    ``decision`` whose arguments hold ``denied`` (the code), ``gate``, ``tool``, ``arguments`` and ``message``. The
    accepted answer is the ``final`` step. A run that completed ended in ``success``, one that failed in ``failure``;
    any other is truncated. Constraints: ``no_denied_action``; ``within_limits`` where the ``limits`` are given;
    ``audit_verified`` where the ``audit`` records of the run are.
    """
    receivers = {} if tools is None else {name: tool.hands_to for name, tool in tools.items()}
    drafts = [draft for step in state.steps for draft in _step(step, receivers)]
    if isinstance(state.at, Calling):
        drafts.append(_call(state.at.act, len(state.steps)))
    if isinstance(state.at, Completed):
        drafts.append({"kind": "final", "arguments": state.at.answer})
    if isinstance(state.at, Failed):
        error = state.at.error
        drafts.append({"kind": "decision", "arguments": {"failed": error.code, "message": error.message}})
    return AgentTrajectory(
        steps=tuple(_taken(drafts, agent)),
        terminal_status=_ENDINGS.get(state.status, "unknown"),
        truncated=state.status not in _ENDINGS,
        step_limit=state.spent.decisions if state.stop_reason == "max_steps" else None,
        constraints=tuple(_constraints(state, limits, audit)),
    )


def _taken(drafts: list[dict[str, Any]], agent: str | None) -> Iterator[AgentStep]:
    """The steps, each with the agent that was in control."""
    for index, draft in enumerate(drafts, 1):
        yield AgentStep(index=index, agent=agent, **draft)
        if agent is not None:
            agent = draft.get("to_agent", agent)


def _step(step: RunStep, receivers: Mapping[str, str | None]) -> Iterator[dict[str, Any]]:
    decision = step.decision
    if step.outcome is StepOutcome.DENIED or not isinstance(decision, Act):
        assert step.error is not None
        told: dict[str, Any] = {"denied": step.error.code, "gate": step.gate, "message": step.error.message}
        if isinstance(decision, Act):
            told |= {"tool": decision.tool, "arguments": decision.arguments}
        yield {"kind": "decision", "arguments": told, **_usage(step)}
        return
    if step.error is not None and step.error.code == "not_started":
        yield {"kind": "decision", "arguments": {"not_started": decision.tool, "arguments": decision.arguments}}
        return
    receiver = receivers.get(decision.tool)
    if receiver is not None and step.outcome is StepOutcome.EXECUTED:
        yield {"kind": "handoff", "to_agent": receiver, "arguments": decision.arguments, **_usage(step)}
        return
    yield _call(decision, step.index) | _usage(step)
    if step.outcome is not StepOutcome.INTERRUPTED:
        result: dict[str, Any] = {"result": step.result} if step.error is None else {}
        error = None if step.error is None else f"{step.error.code}: {step.error.message}"
        yield {"kind": "tool_result", "tool_name": decision.tool, "call_id": str(step.index), "error": error, **result}


def _call(act: Act, index: int) -> dict[str, Any]:
    return {"kind": "tool_call", "tool_name": act.tool, "call_id": str(index), "arguments": act.arguments}


def _usage(step: RunStep) -> dict[str, Any]:
    usage = step.decision.usage
    return {} if usage is None else {"tokens": usage.tokens}


def _constraints(
    state: RunState, limits: Limits | None, audit: Iterable[AuditRecord] | None
) -> Iterator[AgentConstraintCheck]:
    denied = [step for step in state.steps if step.outcome is StepOutcome.DENIED and isinstance(step.decision, Act)]
    codes = ", ".join(f"step {step.index}: {step.error.code}" for step in denied if step.error is not None)
    yield AgentConstraintCheck(name="no_denied_action", passed=not denied, detail=codes or None)
    if limits is not None:
        over = limits.passed(state.spent)
        yield AgentConstraintCheck(name="within_limits", passed=not over, detail=", ".join(over) or None)
    if audit is not None:
        wrong = verify_audit(audit, heads=[state])
        detail = "; ".join(map(str, wrong[:3])) or None
        yield AgentConstraintCheck(name="audit_verified", passed=not wrong, detail=detail)
