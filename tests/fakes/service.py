"""What the service's tests share: agents whose tools wait to be let go, stores that tell what they keep, requests."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import httpx
from msgspec.json import decode
from msgspec.structs import replace

from fakes.runtime import closed
from oloproof.runtime import (
    AgentEvent,
    AgentLoop,
    AgentRequest,
    AgentToolResult,
    ChunkRef,
    HeuristicController,
    MemoryStore,
    Policy,
    RetrieveTool,
    RunContext,
    RunState,
    ScriptedController,
    ToolRegistry,
    ToolSpec,
)
from oloproof.service import Call, Service, Surface, converse
from oloproof.service.asking import Desk

AT = datetime(2026, 1, 1, tzinfo=UTC)
OWN = {"x-tenant-id": "acme", "x-principal-id": "alice"}
ACME, BETA, DESK = "acme-token-0123456789", "beta-token-0123456789", "desk-token-0123456789"
TOKENS = f"# who may ask\nacme {ACME}\n\nbeta  {BETA}\nacme {DESK} approve\n"


def body(**fields: Any) -> dict[str, Any]:
    return {"tenant_id": "acme", "principal_id": "alice", "goal": "what changed?"} | fields


def bearer(token: str, **headers: str) -> dict[str, str]:
    return OWN | {"authorization": f"Bearer {token}"} | headers


class Pages:
    """A retriever of one passage a request, which says what it was asked."""

    async def retrieve(
        self, ctx: RunContext, *, query: str, top_k: int, corpus_ids: Sequence[str] | None
    ) -> list[ChunkRef]:
        return [ChunkRef(chunk_id=f"c{number}", text=f"{query}: {number}", score=0.5) for number in range(top_k)]


class Held:
    """A tool that says when it was called, and returns when it is let go."""

    def __init__(self, returns: Any = "ok", **fields: Any) -> None:
        self.spec = ToolSpec(name="tool", parameters=closed(text={"type": "string"}), **fields)
        self.calls: list[str] = []
        self.called, self.go = asyncio.Event(), asyncio.Event()
        self.returns = returns

    async def invoke(self, ctx: RunContext, arguments: dict[str, Any]) -> AgentToolResult:
        self.calls.append(arguments["text"])
        self.called.set()
        await self.go.wait()
        return AgentToolResult(ok=True, value=self.returns)


class Told(MemoryStore):
    """A store that sets ``stopped`` once it keeps a run that its caller stopped."""

    def __init__(self) -> None:
        super().__init__()
        self.stopped = asyncio.Event()

    def save(self, state: RunState) -> None:
        super().save(state)
        if state.stop_reason == "caller_stop":
            self.stopped.set()


def retrieving(**fields: Any) -> AgentLoop:
    return AgentLoop(controller=HeuristicController(), tools=ToolRegistry([RetrieveTool(Pages())]), **fields)


def scripted(*actions: Any, tools: Sequence[Any] = (), answer: Any = "done", **fields: Any) -> AgentLoop:
    policy = fields.pop("policy", None) or Policy(allow_effects=frozenset({"read", "write"}))
    fields.setdefault("controller", ScriptedController(actions, answer=answer))
    return AgentLoop(tools=ToolRegistry(tools), policy=policy, **fields)


class Egress:
    """A policy that decides what it is told to, or raises it, and remembers what it was asked."""

    def __init__(self, decides: Any) -> None:
        self.asked: list[tuple[str, str]] = []
        self.decides = decides

    async def egress_text(self, ctx: RunContext, text: str) -> Any:
        self.asked.append((ctx.tenant_id, text))
        if isinstance(self.decides, Exception):
            raise self.decides
        return self.decides


def call(surface: Surface = Surface.REST, longest_s: float | None = None, **fields: Any) -> Call:
    approvals = fields.pop("approvals", ())
    return Call(request=AgentRequest(**body(**fields)), surface=surface, longest_s=longest_s, approvals=approvals)


async def conversed(service: Service, asked: Call) -> list[AgentEvent]:
    return [event async for event in converse(service, asked)]


async def posted(desk: Desk, given: Any = None, headers: dict[str, str] | None = None, **how: Any) -> httpx.Response:
    """The answer of the application to ``POST /v1/agent``, without a socket."""
    from oloproof.service.rest import create_app

    how = {"json": body() if given is None else given} | how if "content" not in how else how
    transport = httpx.ASGITransport(create_app(desk))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost:8000") as client:
        return await client.post("/v1/agent", headers=OWN if headers is None else headers, **how)


def frames(text: str) -> list[AgentEvent]:
    """The events of a stream, which is whole."""
    *told, done, end = text.split("\n\n")
    assert (done, end) == ("data: [DONE]", "")
    return [decode(frame.removeprefix("data: "), type=AgentEvent) for frame in told]


def kinds(events: Sequence[AgentEvent]) -> list[str]:
    return [event.kind.value for event in events]


def unnamed(events: Sequence[AgentEvent]) -> list[AgentEvent]:
    """The events without what differs from run to run: its id, and the time."""
    told = []
    for event in events:
        result = event.result
        if result is not None:
            steps = tuple(replace(step, elapsed_ms=0.0) for step in result.steps)
            spent = replace(result.budget_consumed, wall_ms=0.0)
            asks = result.pending and replace(result.pending, run_id="", digest="", history="")
            result = replace(result, run_id="", elapsed_ms=0.0, steps=steps, budget_consumed=spent, pending=asks)
        told.append(replace(event, run_id="", at=AT, result=result))
    return told
