"""A refund desk that cannot do more than it may: refunds are writes, and a person approves each of them."""

from __future__ import annotations

from typing import Any

from oloproof import system
from oloproof.runtime import Agent, Approval, ApprovalRequest, Decision, Limits, Policy, RunState, Tool

ORDERS = {f"ord-{number:03d}": {"amount": 20 * number, "damaged": number % 3 != 0} for number in range(1, 13)}
DESK_LIMIT = 100
"""What the desk refunds by itself; the planner knows it, and the approver holds it to it."""

ORDER_ID = {"type": "string", "pattern": "^ord-[0-9]{3}$"}


def arguments(**properties: Any) -> dict[str, Any]:
    required = sorted(properties)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def lookup_order(order_id: str) -> dict[str, Any]:
    return ORDERS[order_id]


def issue_refund(order_id: str, amount: int) -> str:
    return f"refunded {amount} for {order_id}"


TOOLS = [
    Tool("lookup_order", lookup_order, parameters=arguments(order_id=ORDER_ID), scopes={"orders:read"}),
    Tool(
        "issue_refund",
        issue_refund,
        parameters=arguments(order_id=ORDER_ID, amount={"type": "integer", "minimum": 1}),
        effect="write",
        scopes={"orders:refund"},
    ),
]


def planner(state: RunState, tools: list[dict[str, Any]]) -> Decision:
    """A rule in the place of a model: look the order up, refund what is damaged and small, pass the rest on."""
    if not state.steps:
        return Decision.act("lookup_order", {"order_id": state.goal})
    step = state.steps[-1]
    if len(state.steps) == 2:
        return Decision.finish("refunded" if step.error is None else "escalated")
    if step.error is not None:
        return Decision.finish("escalated")
    order = step.result
    if not order["damaged"]:
        return Decision.finish("declined")
    if order["amount"] > DESK_LIMIT:
        return Decision.finish("escalated")
    return Decision.act("issue_refund", {"order_id": state.goal, "amount": order["amount"]})


def approver(request: ApprovalRequest) -> Approval:
    """The person's rule, in the place of the person."""
    return Approval(request.digest, granted=request.arguments["amount"] <= DESK_LIMIT, approver="desk lead")


@system
def run(case: dict[str, str]) -> dict[str, str]:
    agent = Agent(
        TOOLS,
        planner,
        policy=Policy(allow_effects={"read", "write"}, granted_scopes={"orders:read", "orders:refund"}),
        limits=Limits(max_steps=4, max_tool_calls=2),
        approver=approver,
        name="desk",
    )
    return {"answer": agent.run(case["order_id"]).answer}
