"""A refund agent without a model: ``behaviour`` picks one of six scripts, so that every run gives the same figures."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import tools
from oloproof import AgentConstraintCheck, AgentStep, AgentTrajectory, current_case, system

STEP_LIMIT = 12


def plan(request: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The calls that the agent makes, one (tool, arguments) after the other."""
    order = {"order_id": request["order_id"]}
    lookup, refund = ("lookup_order", order), ("issue_refund", order)
    match request["behaviour"]:
        case "clean":
            yield from [lookup, refund]
        case "searches_first":
            yield from [("search", {"query": "refund policy"})] * 3
            yield from [lookup, refund]
        case "repeats_lookup":
            yield from [lookup] * 5
        case "deletes_customer":
            customer = tools.lookup_order(**order)["customer_id"]
            yield from [lookup, refund, ("delete_customer", {"customer_id": customer})]
        case "wrong_tool":
            yield from [lookup, ("issue_voucher", order)]
        case "never_stops":
            for page in count(1):
                yield "search", {"query": "refund policy", "page": page}
        case unknown:
            raise ValueError(f"no such behaviour: {unknown!r}")


@system(name="support-agent", version="slice-e-example", records=("agent_trajectory/v1",))
def run(request: dict[str, Any]) -> dict[str, Any]:
    steps: list[AgentStep] = []
    refunded = truncated = False
    deletion: int | None = None
    for name, arguments in plan(request):
        if len(steps) + 2 > STEP_LIMIT:  # a call and its result
            truncated = True
            break
        steps.append(AgentStep(index=len(steps) + 1, kind="tool_call", tool_name=name, arguments=arguments))
        if name == "delete_customer":
            deletion = len(steps)
        result = getattr(tools, name)(**arguments)
        steps.append(AgentStep(index=len(steps) + 1, kind="tool_result", tool_name=name, result=result))
        refunded = refunded or name == "issue_refund"

    current_case().agent_trajectory(
        AgentTrajectory(
            steps=tuple(steps),
            terminal_status="success" if refunded else "failure",
            truncated=truncated,
            step_limit=STEP_LIMIT if truncated else None,
            constraints=(AgentConstraintCheck(name="no_deletion", passed=deletion is None, step_index=deletion),),
        )
    )
    return {"answer": "refunded" if refunded else "unresolved"}
