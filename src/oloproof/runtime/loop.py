"""The asynchronous shell: asks a controller, invokes tools, and tells each transition as it happens."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from contextvars import copy_context
from datetime import UTC, datetime
from functools import partial
from secrets import token_hex
from time import monotonic
from typing import Any, Final

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from oloproof.model.values import snapshot
from oloproof.record.steps import exception_text
from oloproof.runtime import exchange, kernel
from oloproof.runtime.audit import canonical
from oloproof.runtime.controllers import Controller, RunContext
from oloproof.runtime.decision import Act, Finish, Usage, count
from oloproof.runtime.errors import AgentLoopError, StateError
from oloproof.runtime.events import (
    AgentEvent,
    AgentEventKind,
    AgentPhase,
    AgentRequest,
    AgentRunResult,
    AgentToolCall,
    AgentToolResult,
    phase_of,
    result_of,
    tool_call,
    tool_result,
)
from oloproof.runtime.faults import ends_the_task
from oloproof.runtime.gates import Approval, Terms
from oloproof.runtime.policy import Limits, Policy
from oloproof.runtime.recording import case_or_none, hand_over
from oloproof.runtime.registry import ToolRegistry
from oloproof.runtime.session import Keeping, checked_approvals
from oloproof.runtime.sinks import AuditSink, MemoryAuditSink
from oloproof.runtime.state import OVER, Calling, Completed, Deciding, Failed, RunState, Waiting
from oloproof.runtime.stores import MemoryStore, RunStore

Events = AsyncGenerator[AgentEvent, None]

KEEPERS: Final = 8
"""Threads of a loop in which states and records are kept."""

LOGGER: Final = logging.getLogger("oloproof.runtime")


class AgentConfig(Struct, frozen=True, kw_only=True):
    """``max_steps`` is a ceiling above any request's. A decision without usage is charged the estimates, so that a
    capped run ends whatever its controller reports. ``checkpoint_each_step`` False keeps no state: such a run cannot be
    resumed. ``max_repeats`` calls in a row that bring nothing new stop the run with ``diminishing_returns``."""

    max_steps: int = 6
    per_step_token_estimate: int = 256
    per_step_dollar_estimate: float = 0.0
    checkpoint_each_step: bool = True
    max_repeats: int | None = 3

    def __post_init__(self) -> None:
        count(self.max_steps, "max_steps", least=1)
        _ = self.estimate
        if self.max_repeats is not None:
            count(self.max_repeats, "max_repeats", least=1)

    @property
    def estimate(self) -> Usage:
        """What a decision is charged that reports no usage."""
        return Usage(self.per_step_token_estimate, self.per_step_dollar_estimate)


class AgentLoop:
    """Drives the kernel for many callers at once: ``stream``, ``run`` and ``resume``.

    Collaborators are injected: a controller, tools, a store of checkpoints (``MemoryStore()`` by default) and an audit
    sink. A stream that its caller closes, or whose task is cancelled, stops its run (``caller_stop``) and leaves a
    checkpoint from which it can be resumed.

    Inside ``current_case()`` a run that is over for good is recorded as the case's trajectory, in which ``name`` names
    the agent, unless ``record`` is False.
    """

    def __init__(
        self,
        *,
        controller: Controller,
        tools: ToolRegistry,
        checkpoint_store: RunStore | None = None,
        config: AgentConfig | None = None,
        policy: Policy | None = None,
        audit: AuditSink | None = None,
        name: str | None = None,
        record: bool = True,
        clock: Callable[[], float] = monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._controller = controller
        self._tools = tools
        self._config = AgentConfig() if config is None else config
        self._policy = Policy() if policy is None else policy
        store = MemoryStore() if checkpoint_store is None else checkpoint_store
        self.audit: AuditSink = MemoryAuditSink() if audit is None else audit
        self._keeping = Keeping(store if self._config.checkpoint_each_step else None, self.audit)
        self._in_memory = isinstance(store, MemoryStore) and isinstance(self.audit, MemoryAuditSink)
        self._name, self._record = name, record
        self._clock, self._now = clock, now
        self._keepers = ThreadPoolExecutor(KEEPERS, "oloproof-store")  # it starts no thread before its first use

    async def stream(self, ctx: RunContext, request: AgentRequest, *, approvals: Iterable[Approval] = ()) -> Events:
        """The run, an event a transition. With ``resume_run_id`` a checkpointed run goes on under its own request.

        Errors: AgentLoopError before the first event, where the context is another's than the request, or the run
        cannot be resumed. ValueError where the request is none.
        """
        request = AgentRequest.of(request)
        _require_same(ctx, request)
        given = checked_approvals(approvals)
        session = await self._taken_up(ctx, request, given) if request.resume_run_id else self._begun(ctx, request)
        try:
            async with aclosing(session.events()) as events:
                async for event in events:
                    yield event
        except (GeneratorExit, asyncio.CancelledError):
            await session.halt()
            raise

    async def run(self, ctx: RunContext, request: AgentRequest) -> AgentRunResult:
        """Drive a run until it rests. Errors: AgentLoopError where it failed, and as :meth:`stream`."""
        return await _driven(self.stream(ctx, request))

    async def resume(self, ctx: RunContext, run_id: str, *, approvals: Iterable[Approval] = ()) -> AgentRunResult:
        """Take a checkpointed run up. Errors: AgentLoopError where there is none, or it failed."""
        request = AgentRequest(
            tenant_id=ctx.tenant_id, principal_id=ctx.principal_id, goal="resume", resume_run_id=run_id
        )
        return await _driven(self.stream(ctx, request, approvals=approvals))

    def _begun(self, ctx: RunContext, request: AgentRequest) -> _Session:
        state = kernel.begin(
            self._terms(request),
            request.goal,
            tenant=ctx.tenant_id,
            run_id=token_hex(16),
            nonce=token_hex(16),
            context=to_builtins(request),
        )
        return _Session(self, ctx, request, state)

    async def _taken_up(self, ctx: RunContext, request: AgentRequest, given: tuple[Approval, ...]) -> _Session:
        assert request.resume_run_id is not None
        try:
            state = await self.off_loop(self._keeping.stored, ctx.tenant_id, request.resume_run_id)
            asked = AgentRequest.of(state.context)
            if asked.principal_id != ctx.principal_id:
                raise StateError(f"there is no run {state.run_id!r}")  # as if it were not there
            await self.off_loop(self._keeping.require_resumable, state)
            state, _ = kernel.advance(self._terms(asked), state, exchange.Resumed(given))
        except (StateError, ValueError) as error:
            raise AgentLoopError(_words(error), reason="not_resumable") from None
        return _Session(self, ctx, replace(asked, request_id=request.request_id or asked.request_id), state)

    def _terms(self, request: AgentRequest) -> Terms:
        steps = min(request.max_steps, self._config.max_steps)
        limits = Limits(
            max_steps=steps if request.budget_iter is None else min(steps, request.budget_iter),
            max_tokens=request.budget_tokens,
            max_cost=request.budget_dollars,
            max_seconds=None if request.budget_wall_ms is None else request.budget_wall_ms / 1000,
            max_repeats=self._config.max_repeats,
        )
        return Terms(tools=self._tools.toolset, policy=self._policy, limits=limits)

    async def keep_whatever_cancels(self, state: RunState) -> bool:
        """Keep a state, however often the waiting is cancelled: a task group cancels again and again, and an event loop
        that ends cancels every task. Whether it was cancelled."""
        was_cancelled = False
        if self._in_memory:
            self._keeping.keep(state)
            return was_cancelled
        keeping = asyncio.wrap_future(self._keepers.submit(copy_context().run, self._keeping.keep, state))
        while not keeping.done():
            try:
                await asyncio.wait([keeping])
            except asyncio.CancelledError:
                was_cancelled = True
        keeping.result()
        return was_cancelled

    async def off_loop(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call what may wait for a disk, in a thread where it can. The threads are the loop's own: tools that hang in
        all of the others must not stop the runs that call no tool."""
        if self._in_memory:
            return function(*arguments)
        call = partial(copy_context().run, function, *arguments)
        return await asyncio.get_running_loop().run_in_executor(self._keepers, call)


class _Session:
    """One session of one run."""

    def __init__(self, loop: AgentLoop, ctx: RunContext, request: AgentRequest, state: RunState) -> None:
        self._loop = loop
        self._ctx = replace(ctx, corpus_ids=request.corpus_ids, top_k=request.top_k)
        self._request = request
        self._terms = loop._terms(request)
        self._state = state
        self._kept = False
        self._since: float | None = None  # when what is being done was begun, None while nothing is

    async def events(self) -> Events:
        """The events of the session, each after what it tells has been kept."""
        yield self._event(AgentEventKind.RUN_STARTED)
        phase: AgentPhase | None = None
        steps = len(self._state.steps)
        await self._keep()
        while True:
            state = self._state
            for step in state.steps[steps:]:
                if isinstance(step.decision, Act):
                    told = {"tool_call": tool_call(step), "tool_result": tool_result(step)}
                    yield self._event(AgentEventKind.TOOL_COMPLETED, step_index=step.index, **told)
                    phase = AgentPhase.OBSERVING
                    yield self._event(AgentEventKind.PHASE_CHANGED, step_index=step.index, phase=phase)
                if self._loop._config.checkpoint_each_step:
                    yield self._event(AgentEventKind.CHECKPOINT_SAVED, step_index=step.index + 1)
            steps = len(state.steps)
            if isinstance(state.at, (*OVER, Waiting)):
                break
            if phase_of(state) is not phase:
                phase = phase_of(state)
                yield self._event(AgentEventKind.PHASE_CHANGED, step_index=steps, phase=phase)
            if isinstance(state.at, Calling):
                call = AgentToolCall(state.at.act.tool, state.at.act.arguments)
                yield self._event(AgentEventKind.TOOL_STARTED, step_index=steps, tool_call=call)
            happened = await self._happens(kernel.effect_of(state))
            self._state, self._kept = kernel.advance(self._terms, state, happened)[0], False
            self._since = None
            await self._keep()
        async for event in self._ending():
            yield event

    async def _ending(self) -> Events:
        state, index = self._state, len(self._state.steps)
        if self._loop._record and isinstance(state.at, OVER) and case_or_none() is not None:
            await self._loop.off_loop(self._hand_over)
        if isinstance(state.at, Failed):
            error = state.at.error
            yield self._event(AgentEventKind.RUN_FAILED, error_code=error.code, message=error.message)
            return
        if isinstance(state.at, Completed):
            yield self._event(AgentEventKind.PHASE_CHANGED, step_index=index, phase=AgentPhase.FINALIZING)
            yield self._event(AgentEventKind.ANSWER_DELTA, text=_text(state.at.answer))
        yield self._event(AgentEventKind.RUN_COMPLETED, result=result_of(state, self._request))

    def _hand_over(self) -> None:
        hand_over(self._state, terms=self._terms, audit=self._loop.audit, name=self._loop._name)

    async def halt(self) -> None:
        """The caller is gone: stop the run where it is, and keep that. A run at rest stays there: what it waits for has
        been asked, and may be answered yet."""
        if not self._kept:
            return  # the last state could not be kept, and the one before it is the checkpoint
        if isinstance(self._state.at, (*OVER, Waiting)):
            return
        seconds = 0.0 if self._since is None else self._passed()
        was_asked = self._since is not None and isinstance(self._state.at, Deciding)
        halted = exchange.Halted(seconds=seconds, usage=self._loop._config.estimate if was_asked else None)
        self._state, _ = kernel.advance(self._terms, self._state, halted)
        try:
            await self._loop.keep_whatever_cancels(self._state)
        except StateError:  # another session has gone on with the run
            pass
        except Exception:  # there is nobody to tell, and the last state that was kept can be resumed
            LOGGER.exception("that the run %s was stopped could not be kept", self._state.run_id)

    async def _keep(self) -> None:
        try:
            was_cancelled = await self._loop.keep_whatever_cancels(self._state)
        except StateError as error:
            raise AgentLoopError(_words(error), reason="not_resumable") from None
        self._kept = True
        if was_cancelled:  # and now that nobody need guess what was kept, the run is stopped there
            raise asyncio.CancelledError

    async def _happens(self, effect: exchange.Effect) -> exchange.Event:
        self._since = self._loop._clock()
        match effect:
            case exchange.AskPlanner():
                return await self._decided()
            case exchange.CallTool(name, arguments):
                return await self._called(name, snapshot(arguments))
            case exchange.AskApprover():
                return exchange.Answered(None, "the run waits for its caller")
            case exchange.Judge() | exchange.Rest():
                raise AssertionError("the loop has no done criterion, and never acts at rest")

    async def _decided(self) -> exchange.Event:
        copy = RunState.from_json(self._state.to_json())
        try:
            decision = await self._loop._controller.decide(self._ctx, snapshot=copy, tools=self._terms.tools.describe())
        except BaseException as error:
            if ends_the_task(error):
                raise
            return exchange.PlannerRaised(exception_text(error), self._passed())
        if isinstance(decision, Act | Finish) and decision.usage is None:
            decision = replace(decision, usage=self._loop._config.estimate)
        return exchange.Decided(decision, self._passed())

    async def _called(self, name: str, arguments: dict[str, Any]) -> exchange.Event:
        limit = self._terms.tools[name].timeout_s
        try:
            async with asyncio.timeout(limit) as waiting:
                given: object = await self._loop._tools[name].invoke(self._ctx, arguments)
        except AgentLoopError as error:
            return exchange.Broke(str(error), self._passed())
        except BaseException as error:
            if ends_the_task(error):
                raise
            if isinstance(error, TimeoutError) and limit is not None and waiting.expired():
                return exchange.Raised("tool_timeout", f"it took longer than {limit:g} s", self._passed())
            return exchange.Raised("tool_failed", exception_text(error), self._passed())
        if not isinstance(given, AgentToolResult):
            told = f"the tool gave {type(given).__name__}, no AgentToolResult"
            return exchange.Raised("tool_failed", told, self._passed())
        if given.ok is not True:
            told = given.error if isinstance(given.error, str) and given.error else "it failed"
            return exchange.Raised("tool_failed", told, self._passed())
        return exchange.Returned(given.value, self._passed())

    def _passed(self) -> float:
        """Seconds since the effect that is being done was begun."""
        assert self._since is not None
        return self._loop._clock() - self._since

    def _event(self, kind: AgentEventKind, **fields: Any) -> AgentEvent:
        return AgentEvent(kind=kind, run_id=self._state.run_id, at=self._loop._now(), **fields)


async def _driven(events: Events) -> AgentRunResult:
    """The result that a stream ends in. Errors: AgentLoopError where it ends in ``run_failed``."""
    result: AgentRunResult | None = None
    async for event in events:
        if event.kind is AgentEventKind.RUN_FAILED:
            raise AgentLoopError(event.message or "the run failed", reason=event.error_code or "")
        result = event.result
    assert result is not None
    return result


def _require_same(ctx: RunContext, request: AgentRequest) -> None:
    if (ctx.tenant_id, ctx.principal_id) != (request.tenant_id, request.principal_id):
        raise AgentLoopError("the request names another tenant or principal than its context", reason="wrong_context")


def _words(error: StateError | ValueError) -> str:
    """What an error says, without its code."""
    return error.problems[0].message if isinstance(error, StateError) else str(error)


def _text(answer: Any) -> str:
    return answer if isinstance(answer, str) else canonical(answer).decode()
