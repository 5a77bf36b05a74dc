"""The loop: one stream of events, four budgets, checkpoints, and a caller who goes away."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec.json import decode, encode

from fakes.runtime import Counted, Ticking, closed, script
from oloproof.errors import UsageError
from oloproof.runtime import (
    Agent,
    AgentConfig,
    AgentEvent,
    AgentEventKind,
    AgentLoop,
    AgentLoopError,
    AgentRequest,
    AgentToolResult,
    Approval,
    Bm25Retriever,
    CallTool,
    ChunkRef,
    Decision,
    Finish,
    HeuristicController,
    JsonlAuditSink,
    MemoryStore,
    Policy,
    RetrievalError,
    RetrieveTool,
    RunContext,
    ScriptedController,
    SqliteStore,
    ToolRegistry,
    ToolSpec,
    Usage,
    verify_audit,
)

CTX = RunContext(tenant_id="acme", principal_id="alice")
AT = datetime(2026, 1, 1, tzinfo=UTC)


def asked(**fields: Any) -> AgentRequest:
    return AgentRequest(tenant_id="acme", principal_id="alice", goal=fields.pop("goal", "what changed?"), **fields)


class Passages:
    """A retriever that remembers what it was asked, or cannot answer."""

    def __init__(self, error: Exception | None = None) -> None:
        self.asked: list[Any] = []
        self.error = error

    async def retrieve(self, ctx: RunContext, *, query: str, top_k: int, corpus_ids: Any) -> list[ChunkRef]:
        self.asked.append((query, top_k, corpus_ids))
        if self.error is not None:
            raise self.error
        return [ChunkRef(chunk_id=f"c{number}", text=f"passage {number}") for number in range(top_k)]


class Async:
    """A tool of one text that does what a coroutine function does."""

    def __init__(self, does: Any, **fields: Any) -> None:
        self.spec = ToolSpec(name="tool", parameters=closed(text={"type": "string"}), **fields)
        self.does = does

    async def invoke(self, ctx: RunContext, arguments: dict[str, Any]) -> AgentToolResult:
        given: AgentToolResult = await self.does(arguments["text"])
        return given


def looped(*actions: Any, tools: Any = None, **fields: Any) -> AgentLoop:
    given = [Counted().tool(cost=0.0)] if tools is None else tools
    kept = {"controller": ScriptedController(actions, answer="done"), "now": lambda: AT} | fields
    return AgentLoop(tools=ToolRegistry(given), **kept)


def events_of(loop: AgentLoop, request: AgentRequest | None = None, **fields: Any) -> list[AgentEvent]:
    async def collected() -> list[AgentEvent]:
        return [event async for event in loop.stream(CTX, request or asked(), **fields)]

    return asyncio.run(collected())


def ran(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(work)


def again(number: int = 9) -> list[Decision]:
    return [CallTool("tool", {"text": str(step)}) for step in range(number)]


def test_one_event_a_transition() -> None:
    events = events_of(looped(CallTool("tool", {"text": "a"}, "because")))
    assert [(event.kind.value, event.phase and event.phase.value, event.step_index) for event in events] == [
        ("run_started", None, None),
        ("phase_changed", "planning", 0),
        ("phase_changed", "acting", 0),
        ("tool_started", None, 0),
        ("tool_completed", None, 0),
        ("phase_changed", "observing", 0),
        ("checkpoint_saved", None, 1),
        ("phase_changed", "planning", 1),
        ("phase_changed", "finalizing", 1),
        ("answer_delta", None, None),
        ("run_completed", None, None),
    ]
    assert len({event.run_id for event in events}) == 1
    result = events[-1].result
    assert result is not None
    assert (result.status.value, result.phase.value, result.final_answer) == ("final_answer", "done", "done")
    assert (result.steps[0].thought, result.budget_consumed.tokens) == ("because", 512)
    assert events[-2].text == "done"
    assert [decode(encode(event), type=AgentEvent) for event in events] == events


def test_the_default_controller_retrieves_and_answers_without_credentials() -> None:
    passages = Passages()
    loop = AgentLoop(controller=HeuristicController(), tools=ToolRegistry([RetrieveTool(passages)]))
    result = ran(loop.run(CTX, asked(goal="spans", top_k=3, corpus_ids=("guide",), request_id="q")))
    assert passages.asked == [("spans", 3, ("guide",))]
    assert (result.final_answer, result.citations) == ("Based on 3 retrieved passage(s): passage 0 [c0]", ("c0",))
    assert ([ref.chunk_id for ref in result.chunk_refs], result.request_id) == (["c0", "c1", "c2"], "q")


def test_a_retriever_that_cannot_answer_is_recoverable_and_a_tool_that_raises_too() -> None:
    for error in (RetrievalError("index is away"), OSError("down")):
        loop = AgentLoop(controller=HeuristicController(), tools=ToolRegistry([RetrieveTool(Passages(error))]))
        result = ran(loop.run(CTX, asked()))
        assert (result.status.value, result.steps[0].tool_result.ok) == ("final_answer", False)


@pytest.mark.parametrize(
    ("budget", "config", "status", "iterations"),
    [
        ({"budget_tokens": 600}, {}, "budget_tokens", 3),
        ({"budget_dollars": 0.25}, {"per_step_dollar_estimate": 0.125}, "budget_dollars", 2),
        ({"budget_wall_ms": 3000}, {}, "budget_wall", 2),
        ({"budget_iter": 2}, {}, "budget_iter", 2),
        ({"budget_iter": 4, "max_steps": 3}, {}, "max_iterations", 3),
        ({"max_steps": 50}, {"max_steps": 4}, "max_iterations", 4),
    ],
)
def test_a_budget_stops_the_run(budget: Any, config: Any, status: str, iterations: int) -> None:
    loop = looped(*again(), config=AgentConfig(**config), clock=Ticking(1.0))
    result = ran(loop.run(CTX, asked(**budget)))
    assert (result.status.value, result.budget_consumed.iterations) == (status, iterations)
    assert result.final_answer is None


def test_calls_that_bring_nothing_new_stop_the_run() -> None:
    loop = looped(*[CallTool("tool", {"text": "same"})] * 6)
    assert ran(loop.run(CTX, asked())).status.value == "diminishing_returns"


def test_reported_usage_counts_instead_of_the_estimate() -> None:
    loop = looped(Decision.finish("x", usage=Usage(tokens=3, cost=0.5)))
    spent = ran(loop.run(CTX, asked())).budget_consumed
    assert (spent.tokens, spent.dollars) == (3, 0.5)


def test_a_denial_is_an_observation() -> None:
    function = Counted()
    result = ran(looped(CallTool("tool", {"text": "a"}), tools=[function.tool(scopes={"s"})]).run(CTX, asked()))
    assert (result.steps[0].tool_result.ok, function.calls) == (False, [])
    assert result.steps[0].tool_result.error.startswith("scope_denied")


def test_a_fault_fails_the_run_and_is_told_before_it_is_raised() -> None:
    async def broken(text: str) -> AgentToolResult:
        raise AgentLoopError("no orchestration", reason="x")

    loop = looped(*again(1), tools=[Async(broken)])
    last = events_of(loop)[-1]
    assert (last.kind, last.error_code) == (AgentEventKind.RUN_FAILED, "tool_broken")
    with pytest.raises(AgentLoopError, match="no orchestration"):
        ran(loop.run(CTX, asked()))
    with pytest.raises(AgentLoopError, match="no Decision"):
        ran(looped("nonsense").run(CTX, asked()))


def test_a_tool_that_is_not_back_in_time() -> None:
    async def hangs(text: str) -> AgentToolResult:
        await asyncio.Event().wait()
        raise AssertionError

    result = ran(looped(*again(1), tools=[Async(hangs, timeout_s=0.01)]).run(CTX, asked()))
    assert result.steps[0].tool_result.error.startswith("tool_timeout")


@pytest.mark.parametrize("stops_at", range(1, 9))
def test_a_caller_who_goes_away_leaves_a_run_that_can_be_resumed(stops_at: int, tmp_path: Path) -> None:
    function = Counted()
    store, audit = MemoryStore(), JsonlAuditSink(tmp_path / "audit.jsonl")

    def loop() -> AgentLoop:
        return looped(*again(2), tools=[function.tool(cost=0.0)], checkpoint_store=store, audit=audit)

    async def left() -> str:
        stream = loop().stream(CTX, asked())
        for _ in range(stops_at):
            event = await anext(stream)
        await stream.aclose()
        return event.run_id

    run_id = ran(left())
    if stops_at == 1:  # it had not begun: nothing was kept
        with pytest.raises(AgentLoopError, match="no run"):
            ran(loop().resume(CTX, run_id))
        return
    state = store.load("acme", run_id)
    assert state is not None
    assert state.stop_reason == "caller_stop"
    result = ran(loop().resume(CTX, run_id))
    assert (result.status.value, result.final_answer) == ("final_answer", "done")
    assert len(function.calls) == len(set(function.calls)), "no call ran twice"
    assert verify_audit(audit.records, heads=[store.load("acme", run_id)]) == []
    audit.close()


def test_a_cancelled_task_stops_its_tool_and_its_run() -> None:
    store = MemoryStore()
    begun = asyncio.Event()
    run_ids: list[str] = []

    async def hangs(text: str) -> AgentToolResult:
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError

    async def cancelled() -> None:
        async def consume() -> None:
            loop = looped(*again(1), tools=[Async(hangs)], checkpoint_store=store)
            async for event in loop.stream(CTX, asked()):
                run_ids[:] = [event.run_id]

        task = asyncio.create_task(consume())
        await begun.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    ran(cancelled())
    state = store.load("acme", run_ids[0])
    assert state is not None
    assert (state.stop_reason, state.steps[0].outcome.value) == ("caller_stop", "interrupted")


def test_nobody_else_resumes_a_run() -> None:
    loop = looped(*again(1))
    done = ran(loop.run(CTX, asked()))
    strangers = [RunContext(tenant_id="evil", principal_id="alice"), RunContext(tenant_id="acme", principal_id="bob")]
    for stranger in strangers:
        with pytest.raises(AgentLoopError, match="no run"):
            ran(loop.resume(stranger, done.run_id))
    with pytest.raises(AgentLoopError, match="over"):
        ran(loop.resume(CTX, done.run_id))
    with pytest.raises(AgentLoopError, match="another tenant"):
        ran(loop.run(strangers[0], asked()))


def test_an_approval_pauses_the_loop_and_a_resume_goes_on(tmp_path: Path) -> None:
    function, store = Counted(), SqliteStore(tmp_path / "runs.db")
    policy = Policy(allow_effects={"read", "write"})
    loop = looped(*again(1), tools=[function.tool(effect="write", cost=0.0)], policy=policy, checkpoint_store=store)
    paused = ran(loop.run(CTX, asked()))
    assert (paused.status.value, function.calls) == ("awaiting_approval", [])
    state = store.load("acme", paused.run_id)
    assert state is not None
    assert state.pending is not None
    approval = Approval(state.pending.digest, True, "allen")
    result = ran(loop.resume(CTX, paused.run_id, approvals=[approval]))
    assert (result.status.value, function.calls) == ("final_answer", ["0"])
    store.close()


def test_without_checkpoints_nothing_can_be_resumed() -> None:
    loop = looped(config=AgentConfig(checkpoint_each_step=False))
    done = ran(loop.run(CTX, asked()))
    with pytest.raises(AgentLoopError, match="no store"):
        ran(loop.resume(CTX, done.run_id))


@pytest.mark.parametrize(
    "wrong", [{"goal": ""}, {"top_k": 0}, {"top_k": 101}, {"max_steps": 0}, {"max_steps": 51}, {"budget_iter": 0}]
)
def test_a_request_out_of_range(wrong: Any) -> None:
    with pytest.raises(ValueError, match="AgentRequest"):
        events_of(looped(), asked(**wrong))


def test_many_runs_at_once_keep_apart() -> None:
    loop = looped(*again(2))

    async def all_at_once() -> list[Any]:
        return await asyncio.gather(*(loop.run(CTX, asked(goal=f"goal {number}")) for number in range(50)))

    results = ran(all_at_once())
    assert [result.goal for result in results] == [f"goal {number}" for number in range(50)]
    assert verify_audit(loop.audit.records) == []
    assert Finish("a", "b").thought == "b"


def test_both_shells_drive_one_kernel() -> None:
    decisions = [CallTool("tool", {"text": "a"}), CallTool("unknown"), CallTool("tool", {"text": 1})]
    store = MemoryStore()
    result = ran(looped(*decisions, checkpoint_store=store).run(CTX, asked()))
    state = store.load("acme", result.run_id)
    assert state is not None
    other = Agent([Counted().tool(cost=0.0)], script(*decisions)).run("what changed?")
    assert [(step.outcome, step.result, step.error) for step in state.steps] == [
        (step.outcome, step.result, step.error) for step in other.steps
    ]
    assert state.answer == other.answer == "done"


def test_without_its_package_a_ranking_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bm25s", None)
    with pytest.raises(UsageError) as raised:
        Bm25Retriever([])
    assert [each.hint for each in raised.value.problems] == ["pip install 'oloproof[retrieval]'"]


def test_the_defaults_are_as_they_are_told() -> None:
    config, request = AgentConfig(), asked()
    assert (config.max_steps, config.per_step_token_estimate, config.per_step_dollar_estimate) == (6, 256, 0.0)
    assert config.checkpoint_each_step is True
    assert (request.corpus_ids, request.top_k, request.max_steps) == ((), 8, 6)
    budgets = (request.budget_tokens, request.budget_dollars, request.budget_wall_ms, request.budget_iter)
    assert {*budgets, request.request_id, request.resume_run_id} == {None}


def test_every_event_has_what_its_kind_needs_and_no_more() -> None:
    needs = {
        "run_started": set(),
        "phase_changed": {"step_index", "phase"},
        "tool_started": {"step_index", "tool_call"},
        "tool_completed": {"step_index", "tool_call", "tool_result"},
        "checkpoint_saved": {"step_index"},
        "answer_delta": {"text"},
        "run_completed": {"result"},
        "run_failed": {"error_code", "message"},
    }
    assert {kind.value for kind in AgentEventKind} == set(needs)
    failed = events_of(looped(7))
    assert failed[-1].kind is AgentEventKind.RUN_FAILED
    for event in [*events_of(looped(CallTool("tool", {"text": "a"}))), *failed]:
        given = {name for name in event.__struct_fields__ if getattr(event, name) is not None}
        assert given == {"kind", "run_id", "at"} | needs[event.kind.value], event
        assert event.at == AT


def test_a_script_is_replayed_and_then_the_run_finishes() -> None:
    result = ran(looped(*again(2)).run(CTX, asked()))
    calls = [step.tool_call.arguments for step in result.steps if step.tool_call is not None]
    assert (calls, result.final_answer) == ([{"text": "0"}, {"text": "1"}], "done")


def test_the_retrieving_tool_asks_for_no_more_than_it_may() -> None:
    passages = Passages()
    results = [
        ran(looped(CallTool("retrieve", arguments), tools=[RetrieveTool(passages)]).run(CTX, asked(**request)))
        for arguments, request in (
            ({"query": "q"}, {}),
            ({"query": "q"}, {"top_k": 90}),
            ({"query": "q", "top_k": 50}, {}),
            ({"query": "q", "top_k": 51}, {}),
        )
    ]
    assert [top_k for _, top_k, _ in passages.asked] == [8, 50, 50]
    assert [result.steps[0].tool_result.ok for result in results] == [True, True, True, False]


def test_an_unknown_run_is_refused_before_the_first_event() -> None:
    async def first() -> Any:
        return await anext(aiter(looped().stream(CTX, asked(resume_run_id="nobody"))))

    with pytest.raises(AgentLoopError) as raised:
        ran(first())
    assert raised.value.reason == "not_resumable"
