"""The boundary that every surface shares: a run's events as they may leave, within its time, traced and logged."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, nullcontext
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from oloproof.runtime import (
    AgentEvent,
    AgentEventKind,
    AgentLoop,
    AgentLoopError,
    AgentRequest,
    AgentRunResult,
    Approval,
    RunContext,
    StopReason,
)
from oloproof.service.egress import Deny, EgressDecision, EgressPolicy, asked, result_under, text_under
from oloproof.service.telemetry import OpenSpan, log

Events = AsyncGenerator[AgentEvent, None]


class ServiceLimits(Struct, frozen=True, kw_only=True):
    """Bounds on what is asked: bytes of a request's body, streams at once, seconds of one stream, and seconds that a
    client may take to send its body, and to read one frame."""

    most_body_bytes: Annotated[int, Meta(ge=1)] = 256 * 1024
    most_streams: Annotated[int, Meta(ge=1)] = 1000
    longest_run_s: float = 300.0
    longest_body_s: float = 10.0
    longest_send_s: float = 30.0


class Service(Struct, frozen=True, kw_only=True):
    """What is served: a loop, and the policy that its answers are held to (None: they all leave)."""

    loop: AgentLoop
    egress: EgressPolicy | None = None


class Surface(StrEnum):
    """Where a run was asked for; the value is the log event of one that completed."""

    REST = "gateway.agent_complete"
    GRPC = "grpc.converse_complete"
    CLI = "cli.agent_complete"


class Call(Struct, frozen=True, kw_only=True):
    """One request on one surface. ``longest_s`` None: it may take as long as it takes."""

    request: AgentRequest
    surface: Surface
    approvals: tuple[Approval, ...] = ()
    longest_s: float | None = None

    @property
    def context(self) -> RunContext:
        """For whom it is."""
        return RunContext(tenant_id=self.request.tenant_id, principal_id=self.request.principal_id)


async def converse(service: Service, call: Call, *, parent: OpenSpan | None = None) -> Events:
    """The events of a run as they may leave. They end in ``run_completed`` or ``run_failed``, whatever happens: what
    goes wrong is told in a frame. Closed or cancelled, it stops its run and leaves a checkpoint."""
    story = _Story(call, OpenSpan("agent.run", parent=parent))
    story.span.set(tenant_id=call.request.tenant_id, agent__max_steps=call.request.max_steps)
    try:
        async with aclosing(_told(service, call, story)) as events:
            async for event in events:
                story.add(event)
                yield event if call.surface is Surface.CLI else _for_strangers(event)
    finally:
        story.end()


def _for_strangers(event: AgentEvent) -> AgentEvent:
    """What leaves the machine: what a controller raised may hold addresses and keys of its model, and is in the log."""
    if event.error_code != "planner_failed":
        return event
    return replace(event, message="the controller raised an exception; the service's log says which")


async def _told(service: Service, call: Call, story: _Story) -> Events:
    """The governed events, and a ``run_failed`` where the stream breaks off."""
    try:
        async with aclosing(_governed(service, call, story)) as events:
            deadline = None if call.longest_s is None else asyncio.get_running_loop().time() + call.longest_s
            while True:
                event = await _next(events, deadline, story.span)
                if event is None:
                    return
                yield event
    except AgentLoopError as error:
        yield story.failure(error.reason, error.problems[0].message)
    except _TooLong:
        yield story.failure("deadline_exceeded", f"the run was stopped after {call.longest_s:g} s and can be resumed")
    except Exception as error:
        # What a store or a disk says is for the operator, not for whoever asked.
        log("agent.internal_error", logging.ERROR, story.names, error=error)
        yield story.failure("internal_error", "the service could not go on with the run")


class _TooLong(Exception):
    """The stream's time is over."""


async def _next(events: AsyncIterator[AgentEvent], deadline: float | None, span: OpenSpan) -> AgentEvent | None:
    """The next event, None at the end. The time counts only while the run is at work or its reader is slow."""
    with span.entered() if span.is_recording else nullcontext():
        if deadline is not None and asyncio.get_running_loop().time() >= deadline:
            raise _TooLong
        try:
            async with asyncio.timeout_at(deadline) as waiting:
                return await anext(events, None)
        except TimeoutError:
            if waiting.expired():
                raise _TooLong from None
            raise


async def _governed(service: Service, call: Call, story: _Story) -> Events:
    """The loop's events. The egress policy is asked once, before the answer is told; its decision holds to the end."""
    decision: EgressDecision | None = None
    async with aclosing(service.loop.stream(call.context, call.request, approvals=call.approvals)) as events:
        async for event in events:
            if event.kind is AgentEventKind.ANSWER_DELTA:
                decision = await asked(service.egress, call.context, event.text or "")
                if isinstance(decision, Deny):
                    log("gateway.agent.policy_denied", logging.WARNING, story.names)
                yield replace(event, text=text_under(decision, event.text))
            elif event.result is not None and decision is not None:
                yield replace(event, result=result_under(decision, event.result))
            else:
                yield event


class _Story:
    """What is known of a run while it is told: for its span, its log events, and the frame of a failure."""

    def __init__(self, call: Call, span: OpenSpan) -> None:
        self.span = span
        self._call = call
        self._run_id = call.request.resume_run_id or ""
        self._steps = 0
        self._result: AgentRunResult | None = None
        self._failed = ""

    @property
    def names(self) -> dict[str, object]:
        return {"tenant_id": self._call.request.tenant_id, "run_id": self._run_id}

    def failure(self, code: str, message: str) -> AgentEvent:
        at = datetime.now(UTC)
        return AgentEvent(kind=AgentEventKind.RUN_FAILED, run_id=self._run_id, at=at, error_code=code, message=message)

    def add(self, event: AgentEvent) -> None:
        self._run_id = event.run_id
        match event.kind:
            case AgentEventKind.TOOL_COMPLETED:
                self._steps += 1
                tool = event.tool_call.tool if event.tool_call is not None else ""
                ok = event.tool_result is not None and event.tool_result.ok
                told = {"step_index": event.step_index, "tool": tool, "ok": ok}
                log("agent.step_complete", logging.INFO, self.names | told)
            case AgentEventKind.RUN_FAILED:
                self._failed = event.error_code or ""
                told = {"error_code": self._failed, "reason": event.message}
                log("agent.run_failed", logging.ERROR, self.names | told)
            case AgentEventKind.RUN_COMPLETED if event.result is not None:
                self._result = result = event.result
                spent = {"tokens": result.budget_consumed.tokens, "elapsed_ms": result.elapsed_ms}
                done = {"status": result.status.value, "steps": len(result.steps)}
                log(self._call.surface.value, logging.INFO, self.names | done | spent)
            case _:
                pass

    def end(self) -> None:
        """The span's last attributes; a run that was told to no end was stopped by its caller."""
        span, result = self.span, self._result
        span.set(agent__run_id=self._run_id)
        if result is not None:
            span.set(
                agent__steps=len(result.steps),
                agent__stop_reason=result.status.value,
                agent__final_chunks_n=len(result.chunk_refs),
                agent__budget_tokens_used=result.budget_consumed.tokens,
            )
        else:
            span.set(agent__steps=self._steps)
            if self._failed:
                span.fail(self._failed)
            else:
                span.set(agent__stop_reason=StopReason.CALLER_STOP.value)
        span.end()
