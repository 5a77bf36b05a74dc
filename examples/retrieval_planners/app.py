"""Three rules that look for a passage: how much does it bring to read what a search found, and what does it cost?

``search`` costs 1 and gives the ids of at most ten passages, ``read`` costs 0.25 and gives the text of one.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from oloproof import AgentTrajectory, current_case, system
from oloproof.runtime import Agent, Bm25Retriever, ChunkRef, Decision, Limits, Policy, RunState, Tool, to_trajectory

PASSAGES = Path(__file__).parent / "passages.jsonl"
MOST_HITS = 10
POLICY = Policy(granted_scopes={"docs:read"})
LIMITS = Limits(max_steps=MOST_HITS + 2, max_tool_calls=MOST_HITS + 1)

Planner = Callable[[RunState, list[dict[str, Any]]], Decision]


@cache
def texts() -> dict[str, str]:
    with PASSAGES.open(encoding="utf-8") as lines:
        return {row["id"]: row["text"] for row in map(json.loads, lines)}


@cache
def index() -> Bm25Retriever:
    return Bm25Retriever(ChunkRef(chunk_id=name, text=text) for name, text in texts().items())


def arguments(name: str) -> dict[str, Any]:
    properties = {name: {"type": "string"}}
    return {"type": "object", "properties": properties, "required": [name], "additionalProperties": False}


def search(query: str) -> list[str]:
    return [found.chunk_id for found in index().search(query, top_k=MOST_HITS)]


def read(passage: str) -> str:
    return texts()[passage]


TOOLS = [
    Tool("search", search, parameters=arguments("query"), scopes={"docs:read"}, cost=1.0),
    Tool("read", read, parameters=arguments("passage"), scopes={"docs:read"}, cost=0.25),
]
PRICES = {tool.name: tool.cost for tool in TOOLS}


def answers_the_first_hit(state: RunState, tools: list[dict[str, Any]]) -> Decision:
    """Search, and believe it."""
    if not state.steps:
        return Decision.act("search", {"query": state.goal})
    hits = state.steps[0].result
    return Decision.finish(hits[0] if hits else None)


def reads(most: int) -> Planner:
    """Search, read at most so many hits in order, and answer the first that holds the query; else the first of all."""

    def planner(state: RunState, tools: list[dict[str, Any]]) -> Decision:
        if not state.steps:
            return Decision.act("search", {"query": state.goal})
        first, *readings = state.steps
        hits = first.result or []
        if readings and state.goal in (readings[-1].result or ""):
            return Decision.finish(hits[len(readings) - 1])
        if len(readings) < min(most, len(hits)):
            return Decision.act("read", {"passage": hits[len(readings)]})
        return Decision.finish(hits[0] if hits else None)

    return planner


def answered(planner: Planner, case: dict[str, str]) -> dict[str, Any]:
    """Run a planner, and record what it did with what each call cost, a unit standing for a dollar."""
    agent = Agent(TOOLS, planner, policy=POLICY, limits=LIMITS, record=False)
    state = agent.run(case["query"])
    trajectory = to_trajectory(state, limits=LIMITS, audit=agent.audit.records)
    current_case().agent_trajectory(priced(trajectory))
    return {"passage": state.answer}


def priced(trajectory: AgentTrajectory) -> AgentTrajectory:
    steps = (
        replace(step, cost_usd=PRICES[step.tool_name]) if step.kind == "tool_call" else step
        for step in trajectory.steps
    )
    return replace(trajectory, steps=tuple(steps))


@system
def one_shot(case: dict[str, str]) -> dict[str, Any]:
    return answered(answers_the_first_hit, case)


@system
def verify(case: dict[str, str]) -> dict[str, Any]:
    return answered(reads(MOST_HITS), case)


@system
def verify_3(case: dict[str, str]) -> dict[str, Any]:
    return answered(reads(3), case)
