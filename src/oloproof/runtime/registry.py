"""The loop's tools: described by a spec, invoked in a context; and the tool that retrieves."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

from msgspec import Struct, to_builtins

from oloproof.record.steps import exception_text
from oloproof.runtime.controllers import RunContext
from oloproof.runtime.errors import AgentLoopError, RetrievalError
from oloproof.runtime.events import AgentToolResult, ChunkRef
from oloproof.runtime.retrieval import Bm25Retriever
from oloproof.runtime.tools import Tool, ToolEffect, Toolset


class ToolSpec(Struct, frozen=True, kw_only=True):
    """What the gates and the controller know of a tool; the fields are those of a ``Tool``. ``cost`` is in dollars."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] | None = None
    effect: str = ToolEffect.READ
    scopes: frozenset[str] = frozenset()
    cost: float = 0.0
    idempotent: bool | None = None
    timeout_s: float | None = None
    hands_to: str | None = None


class AsyncTool(Protocol):
    """A capability that the loop may use."""

    @property
    def spec(self) -> ToolSpec:
        """What it is."""

    async def invoke(self, ctx: RunContext, arguments: dict[str, Any]) -> AgentToolResult:
        """Do it. ``ok`` False is a failure that the controller can react to.

        Errors: AgentLoopError where the run cannot go on.
        """


class FunctionTool:
    """A ``Tool`` of the synchronous runtime in the loop: its function runs in a thread."""

    def __init__(self, tool: Tool) -> None:
        self._function = tool.function
        self.spec = ToolSpec(
            name=tool.name,
            description=tool.description,
            parameters=tool.parameters,
            effect=tool.effect,
            scopes=frozenset(tool.scopes),
            cost=tool.cost,
            idempotent=tool.idempotent,
            timeout_s=tool.timeout_s,
            hands_to=tool.hands_to,
        )

    async def invoke(self, ctx: RunContext, arguments: dict[str, Any]) -> AgentToolResult:
        """Call the function."""
        return await asyncio.to_thread(self._called, arguments)

    def _called(self, arguments: dict[str, Any]) -> AgentToolResult:
        """What the function returned, or raised: an exception of any kind, for a future cannot carry some of them, and
        others would end the event loop. No signal is heard in this thread, so none of them is Ctrl-C."""
        try:
            return AgentToolResult(ok=True, value=self._function(**arguments))
        except AgentLoopError:
            raise
        except BaseException as error:
            return AgentToolResult(ok=False, error=exception_text(error))


class ToolRegistry:
    """The loop's tools by name. Errors: what :class:`Tool` and :class:`Toolset` raise for specs that are none."""

    def __init__(self, tools: Iterable[AsyncTool | Tool] = ()) -> None:
        given = [FunctionTool(tool) if isinstance(tool, Tool) else tool for tool in tools]
        self.toolset = Toolset([_gated(tool.spec) for tool in given])
        self._tools: dict[str, AsyncTool] = {tool.spec.name: tool for tool in given}

    def __getitem__(self, name: str) -> AsyncTool:
        return self._tools[name]


def _gated(spec: ToolSpec) -> Tool:
    """The spec as the kernel's gates read it; the registry's tool does the work."""

    def elsewhere(**_: Any) -> None:
        raise AssertionError("the loop invokes tools itself")

    return Tool(
        spec.name,
        elsewhere,
        description=spec.description,
        parameters=spec.parameters,
        effect=ToolEffect(spec.effect),
        scopes=spec.scopes,
        cost=spec.cost,
        idempotent=spec.idempotent,
        timeout_s=spec.timeout_s,
        hands_to=spec.hands_to,
    )


class Retriever(Protocol):
    """What finds passages."""

    async def retrieve(
        self, ctx: RunContext, *, query: str, top_k: int, corpus_ids: Sequence[str] | None
    ) -> list[ChunkRef]:
        """The best passages first, at most ``top_k``; ``corpus_ids`` None searches all.

        Errors: RetrievalError where it cannot answer now.
        """


MOST_PASSAGES: Final = 50


class RetrieveTool:
    """``retrieve(query, top_k=…)`` over a :class:`Retriever`. The corpora are the request's and not the controller's to
    choose. A :class:`RetrievalError` is recoverable: ``ok`` is False."""

    spec = ToolSpec(
        name="retrieve",
        description="Find passages that help with a query.",
        parameters={
            "type": "object",
            "properties": {
                "query": {"type": "string", "minLength": 1},
                "top_k": {"type": "integer", "minimum": 1, "maximum": MOST_PASSAGES},
            },
            "required": ["query"],
            "additionalProperties": False,
        },
    )

    def __init__(self, retriever: Retriever) -> None:
        self._retriever = retriever

    @classmethod
    def over(cls, passages: Iterable[ChunkRef]) -> RetrieveTool:
        """The tool over passages in memory, ranked by BM25. Errors: UsageError where bm25s is not installed."""
        return cls(Bm25Retriever(passages))

    async def invoke(self, ctx: RunContext, arguments: dict[str, Any]) -> AgentToolResult:
        """Retrieve; ``{"chunks": […]}``."""
        top_k = min(int(arguments.get("top_k", ctx.top_k)), MOST_PASSAGES)
        try:
            found = await self._retriever.retrieve(
                ctx, query=arguments["query"], top_k=top_k, corpus_ids=ctx.corpus_ids or None
            )
        except RetrievalError as error:
            return AgentToolResult(ok=False, error=f"retrieval failed: {error}")
        return AgentToolResult(ok=True, value={"chunks": to_builtins(found[:top_k])})
