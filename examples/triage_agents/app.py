"""Three agents and a person, without a model: ``behaviour`` picks the script, so that every run gives the same figures.

Triage hands a request to billing or to tech. A refund that billing may not issue goes to a person, who takes no step.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tools
from oloproof import AgentStep, AgentTrajectory, current_case, system

LOOP_LIMIT = 12

Fields = dict[str, Any]


def call(agent: str, tool: str, **arguments: Any) -> Iterator[Fields]:
    """A call and its result."""
    yield {"kind": "tool_call", "agent": agent, "tool_name": tool, "arguments": arguments}
    yield {"kind": "tool_result", "agent": agent, "tool_name": tool, "result": getattr(tools, tool)(**arguments)}


def hand_over(agent: str, to: str) -> Fields:
    return {"kind": "handoff", "agent": agent, "to_agent": to}


def answer(agent: str, text: str) -> Fields:
    return {"kind": "final", "agent": agent, "arguments": {"answer": text}}


def team(request: dict[str, Any]) -> Iterator[Fields]:
    """The steps of the whole team, one after the other; the last ``final`` is the answer to the customer."""
    order = {"order_id": request["order_id"]}
    yield {"kind": "message", "agent": "triage", "arguments": {"request": request["request"]}}
    yield hand_over("triage", request["topic"])
    match request["topic"], request["behaviour"]:
        case "billing", "clean":
            yield from call("billing", "lookup_order", **order)
            yield from call("billing", "issue_refund", **order)
            yield answer("billing", "refunded")
        case "billing", "escalated":
            yield from call("billing", "lookup_order", **order)
            yield answer("billing", "escalated")
            yield hand_over("billing", "person")
        case "billing", "detour":
            yield from call("billing", "lookup_order", **order)
            yield hand_over("billing", "tech")
            yield from call("tech", "search_kb", query=request["request"])
            yield hand_over("tech", "billing")
            yield from call("billing", "issue_refund", **order)
            yield answer("billing", "refunded")
        case "billing", "ping_pong":
            while True:
                yield from call("billing", "lookup_order", **order)
                yield hand_over("billing", "tech")
                yield hand_over("tech", "billing")
        case "tech", "clean":
            yield from call("tech", "search_kb", query=request["request"])
            yield answer("tech", "solved")
        case "tech", "refunds_itself":
            yield from call("tech", "search_kb", query=request["request"])
            yield from call("tech", "issue_refund", **order)
            yield answer("tech", "solved")
        case unknown:
            raise ValueError(f"no such behaviour: {unknown!r}")


@system(name="triage-agents", version="1", records=("agent_trajectory/v1",))
def run(request: dict[str, Any]) -> dict[str, Any]:
    steps: list[AgentStep] = []
    reply, truncated = "unresolved", False
    for fields in team(request):
        if len(steps) == LOOP_LIMIT:
            truncated = True
            break
        steps.append(AgentStep(index=len(steps) + 1, **fields))
        if fields["kind"] == "final":
            reply = fields["arguments"]["answer"]

    current_case().agent_trajectory(
        AgentTrajectory(
            steps=tuple(steps),
            terminal_status="failure" if truncated else "success",
            truncated=truncated,
            step_limit=LOOP_LIMIT if truncated else None,
        )
    )
    return {"answer": reply}
