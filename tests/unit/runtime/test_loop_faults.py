"""What the loop bears: user code that raises anything, callers who stop it for nothing, threads and disks that hang."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event, get_ident
from typing import Any

import pytest

from fakes.runtime import Counted, closed
from fakes.service import OWN
from oloproof.runtime import (
    AgentConfig,
    AgentLoop,
    AgentLoopError,
    AgentRequest,
    AgentToolResult,
    Approval,
    CallTool,
    Finish,
    MemoryAuditSink,
    MemoryStore,
    Policy,
    RunContext,
    RunState,
    ScriptedController,
    SqliteStore,
    StoreError,
    Tool,
    ToolRegistry,
    ToolSpec,
    verify_audit,
)

CTX = RunContext(tenant_id=OWN["x-tenant-id"], principal_id=OWN["x-principal-id"])
STEP = CallTool("tool", {"text": "a"})


def asked(**fields: Any) -> AgentRequest:
    return AgentRequest(tenant_id=CTX.tenant_id, principal_id=CTX.principal_id, goal="go", **fields)


def looped(*actions: Any, tool: Any = None, **fields: Any) -> AgentLoop:
    kept = {"controller": ScriptedController(actions, answer="done")} | fields
    return AgentLoop(tools=ToolRegistry([tool or Counted().tool(cost=0.0)]), **kept)


class Async:
    """A tool of one text that gives what it is told to, or raises it."""

    def __init__(self, gives: Any) -> None:
        self.spec = ToolSpec(name="tool", parameters=closed(text={"type": "string"}))
        self.gives = gives

    async def invoke(self, ctx: RunContext, arguments: dict[str, Any]) -> AgentToolResult:
        if isinstance(self.gives, BaseException):
            raise self.gives
        given: AgentToolResult = self.gives
        return given


async def of_a_task_of_its_own() -> None:
    task = asyncio.ensure_future(asyncio.Event().wait())
    asyncio.get_running_loop().call_soon(task.cancel)
    await task


class Owns:
    """A tool, and a controller, that waits for a task of its own which is cancelled."""

    spec = ToolSpec(name="tool", parameters=closed(text={"type": "string"}))

    async def invoke(self, ctx: RunContext, arguments: dict[str, Any]) -> AgentToolResult:
        await of_a_task_of_its_own()
        raise AssertionError

    async def decide(self, ctx: RunContext, *, snapshot: RunState, tools: Any) -> Any:
        await of_a_task_of_its_own()


THREADED = [StopIteration(), StopAsyncIteration(), SystemExit(3), KeyboardInterrupt(), GeneratorExit(), TimeoutError()]


@pytest.mark.parametrize("error", [*THREADED, asyncio.CancelledError()], ids=lambda error: type(error).__name__)
def test_whatever_a_function_raises_is_the_outcome_of_its_step(error: BaseException) -> None:
    loop = looped(STEP, tool=Counted(error).tool(cost=0.0))
    result = asyncio.run(loop.run(CTX, asked()))
    given = result.steps[0].tool_result
    assert given is not None
    assert given.error is not None
    assert given.error.startswith(f"tool_failed: {type(error).__name__}")
    assert (result.status.value, result.final_answer) == ("final_answer", "done")


@pytest.mark.parametrize(
    ("gives", "told"),
    [
        (None, "tool_failed: the tool gave NoneType, no AgentToolResult"),
        ({"ok": True}, "tool_failed: the tool gave dict, no AgentToolResult"),
        (AgentToolResult(ok=False, error=5), "tool_failed: it failed"),  # type: ignore[arg-type]
        (AgentToolResult(ok="yes"), "tool_failed: it failed"),  # type: ignore[arg-type]
        (SystemExit(1), "tool_failed: SystemExit: 1"),
        (asyncio.CancelledError(), "tool_failed: CancelledError"),
    ],
)
def test_a_tool_that_breaks_its_word_is_a_tool_that_failed(gives: Any, told: str) -> None:
    result = asyncio.run(looped(STEP, tool=Async(gives)).run(CTX, asked()))
    assert (result.steps[0].tool_result.error, result.final_answer) == (told, "done")


def test_a_task_that_a_tool_cancels_is_its_own_affair() -> None:
    result = asyncio.run(looped(STEP, tool=Owns()).run(CTX, asked()))
    assert (result.steps[0].tool_result.error, result.final_answer) == ("tool_failed: CancelledError", "done")
    with pytest.raises(AgentLoopError) as raised:
        asyncio.run(looped(controller=Owns()).run(CTX, asked()))
    assert raised.value.reason == "planner_failed"


def test_tools_that_hang_in_every_thread_stop_no_other_run(tmp_path: Path) -> None:
    called, go = Event(), Event()

    def hangs(text: str) -> str:
        called.set()
        go.wait(60)
        return text

    store = SqliteStore(tmp_path / "runs.db")

    async def both() -> Any:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        tool = Tool("tool", hangs, parameters=closed(text={"type": "string"}), cost=0.0)
        first = asyncio.create_task(looped(STEP, tool=tool, checkpoint_store=store).run(CTX, asked()))
        while not called.is_set():
            await asyncio.sleep(0)
        try:
            return await asyncio.wait_for(looped(checkpoint_store=store).run(CTX, asked()), 30)
        finally:
            go.set()
            await first

    assert asyncio.run(both()).final_answer == "done"
    store.close()


class Kept:
    """A store that says in which threads it was used, and may be away. No loop knows that it is in memory."""

    def __init__(self) -> None:
        self.threads: set[int] = set()
        self.is_away = False
        self._store = MemoryStore()

    def save(self, state: RunState) -> None:
        self.threads.add(get_ident())
        if self.is_away:
            raise StoreError("away")
        self._store.save(state)

    def load(self, tenant: str, run_id: str) -> RunState | None:
        return self._store.load(tenant, run_id)

    def delete(self, tenant: str, run_id: str) -> None:
        self._store.delete(tenant, run_id)


class Slow:
    """A controller whose decision does not come."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.decides: Any = None

    async def decide(self, ctx: RunContext, *, snapshot: RunState, tools: Any) -> Any:
        self.asked.set()
        if self.decides is None:
            await asyncio.Event().wait()
        return self.decides


class Clock:
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


async def left_while_it_decides(loop: AgentLoop, controller: Slow, clock: Clock, **fields: Any) -> str:
    """A run whose caller goes away five seconds into a decision; its id."""
    ids: list[str] = []

    async def consume() -> None:
        async for event in loop.stream(CTX, asked(**fields)):
            ids[:] = [event.run_id]

    controller.asked.clear()
    task = asyncio.create_task(consume())
    await asyncio.wait_for(controller.asked.wait(), 60)
    clock.now += 5
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return ids[0]


@pytest.mark.parametrize(
    ("budget", "status"),
    [({"budget_tokens": 300}, "budget_tokens"), ({"budget_wall_ms": 8000}, "budget_wall")],
)
def test_a_decision_that_its_caller_stops_is_no_free_one(budget: Any, status: str) -> None:
    store, clock = MemoryStore(), Clock()

    async def stopped_again_and_again() -> Any:
        controller = Slow()
        loop = looped(controller=controller, checkpoint_store=store, clock=clock)
        run_id = await left_while_it_decides(loop, controller, clock, **budget)
        await left_while_it_decides(loop, controller, clock, resume_run_id=run_id)
        controller.decides = Finish("for nothing")
        result = await loop.resume(CTX, run_id)
        assert verify_audit(loop.audit.records, heads=[store.load("acme", run_id)]) == []
        return result

    result = asyncio.run(stopped_again_and_again())
    assert (result.status.value, result.final_answer) == (status, None)
    assert (result.budget_consumed.tokens, result.budget_consumed.wall_ms) == (512, 10_000)


def test_the_time_of_a_call_that_is_stopped_counts() -> None:
    store, clock = MemoryStore(), Clock()

    class Waits(Async):
        async def invoke(self, ctx: RunContext, arguments: dict[str, Any]) -> AgentToolResult:
            called.set()
            await asyncio.Event().wait()
            raise AssertionError

    async def left() -> None:
        task = asyncio.create_task(
            looped(STEP, tool=Waits(None), checkpoint_store=store, clock=clock).run(CTX, asked())
        )
        await asyncio.wait_for(called.wait(), 60)
        clock.now += 7
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    called = asyncio.Event()
    asyncio.run(left())
    ((_, saved),) = store._saved.values()
    assert RunState.from_json(saved).spent.seconds == 7


def test_the_stop_of_a_run_is_kept_outside_the_event_loop_and_before_its_task_is_over() -> None:
    store = Kept()

    async def left() -> str | None:
        controller, clock = Slow(), Clock()
        loop = looped(controller=controller, checkpoint_store=store, clock=clock)
        run_id = await left_while_it_decides(loop, controller, clock)
        state = store.load("acme", run_id)
        assert state is not None
        return state.stop_reason

    assert asyncio.run(left()) == "caller_stop"
    assert get_ident() not in store.threads


@pytest.mark.parametrize("revision", [0, 2])
def test_a_caller_who_goes_away_while_a_state_is_saved_leaves_a_run_that_is_stopped(revision: int) -> None:
    saving, go = Event(), Event()

    class Slowly(Kept):
        def save(self, state: RunState) -> None:
            if state.revision == revision:
                saving.set()
                go.wait(60)
            super().save(state)

    store = Slowly()
    ids: list[str] = []

    async def left() -> None:
        async def consume() -> None:
            async for event in looped(STEP, checkpoint_store=store).stream(CTX, asked()):
                ids[:] = [event.run_id]

        task = asyncio.create_task(consume())
        while not saving.is_set():
            await asyncio.sleep(0)
        task.cancel()
        asyncio.get_running_loop().call_soon(go.set)
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(left())
    state = store.load("acme", ids[0])
    assert state is not None
    assert state.stop_reason == "caller_stop"


def test_the_end_of_the_event_loop_waits_until_the_stop_is_kept() -> None:
    store = Kept()

    async def ended() -> str:
        controller, ids = Slow(), []

        async def consume() -> None:
            loop = looped(controller=controller, checkpoint_store=store)
            async for event in loop.stream(CTX, asked()):
                ids[:] = [event.run_id]

        running.add(asyncio.create_task(consume()))
        await asyncio.wait_for(controller.asked.wait(), 60)
        return ids[0]

    running: set[asyncio.Task[None]] = set()
    state = store.load("acme", asyncio.run(ended()))
    assert state is not None
    assert state.stop_reason == "caller_stop"


def test_a_store_that_is_away_when_a_run_is_stopped_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    store = Kept()

    async def left() -> Any:
        controller, clock = Slow(), Clock()
        loop = looped(controller=controller, checkpoint_store=store, clock=clock)
        stream = loop.stream(CTX, asked())
        run_id = (await anext(stream)).run_id
        await anext(stream)
        store.is_away = True
        await stream.aclose()
        store.is_away = False
        controller.decides = Finish("after all")
        return await loop.resume(CTX, run_id)

    assert asyncio.run(left()).final_answer == "after all"
    assert [record.name for record in caplog.records] == ["oloproof.runtime"]


def test_a_caller_who_leaves_with_the_question_may_answer_it() -> None:
    """The last event tells what the run waits for; whoever has read it may close the stream there."""
    function = Counted()
    tool = function.tool(effect="write", cost=0.0)
    loop = looped(STEP, tool=tool, policy=Policy(allow_effects={"read", "write"}))

    async def read_and_answered() -> Any:
        stream = loop.stream(CTX, asked())
        async for event in stream:
            if event.result is not None:
                pending = event.result.pending
                break
        await stream.aclose()
        assert pending is not None
        return await loop.resume(CTX, event.run_id, approvals=[Approval(pending.digest, True, "allen")])

    assert asyncio.run(read_and_answered()).status.value == "final_answer"
    assert function.calls == ["a"]


def writing(audit: MemoryAuditSink, **fields: Any) -> AgentLoop:
    policy = Policy(allow_effects={"read", "write"})
    return looped(STEP, tool=Counted().tool(effect="write", cost=0.0), audit=audit, **{"policy": policy} | fields)


def approvals(audit: MemoryAuditSink) -> list[str]:
    return [record.event for record in audit.records if record.event.startswith("approval")]


def test_an_approval_that_nothing_asked_for_is_on_the_record() -> None:
    audit = MemoryAuditSink()

    async def resumed() -> None:
        loop = writing(audit)
        stream = loop.stream(CTX, asked())
        run_id = (await anext(stream)).run_id
        await anext(stream)
        await stream.aclose()
        await loop.resume(CTX, run_id, approvals=[Approval("f" * 64, True, "allen")])

    asyncio.run(resumed())
    assert approvals(audit) == ["approval_ignored", "approval_requested"]


def test_so_is_one_of_an_action_that_another_gate_denies_by_then() -> None:
    audit, store = MemoryAuditSink(), MemoryStore()
    paused = asyncio.run(writing(audit, checkpoint_store=store).run(CTX, asked()))
    assert paused.pending is not None
    approval = Approval(paused.pending.digest, True, "allen")
    least = writing(audit, checkpoint_store=store, policy=Policy())
    result = asyncio.run(least.resume(CTX, paused.run_id, approvals=[approval]))
    assert (result.steps[0].tool_result.error or "").startswith("permission_denied")
    assert approvals(audit) == ["approval_requested", "approval"]


@pytest.mark.parametrize(
    "wrong", [{"per_step_token_estimate": -1}, {"per_step_dollar_estimate": float("nan")}, {"max_repeats": 0}]
)
def test_a_configuration_that_could_charge_nothing_is_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match="is"):
        AgentConfig(**wrong)
