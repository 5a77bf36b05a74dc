"""A refund agent behind HTTP: `uvicorn app:app --port 8000` here, then `oloproof run` in another terminal.

It knows nothing of Oloproof. It answers each POST with a stream: a line for each step, then the document that ends it.
"""

import json
from collections.abc import Iterator
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

ORDERS = {"ord-1": 40, "ord-2": 15, "ord-3": 900}
MOST_REFUNDED = 500


class Trace:
    """Numbers the steps and writes each as a line."""

    def __init__(self) -> None:
        self.steps = 0

    def step(self, kind: str, tool: str, **more: Any) -> str:
        self.steps += 1
        return json.dumps({"step": {"index": self.steps, "kind": kind, "tool_name": tool, **more}}) + "\n"


def refund(order_id: str) -> Iterator[str]:
    """What the agent does, as it does it."""
    trace = Trace()
    yield trace.step("tool_call", "lookup_order", arguments={"order_id": order_id})
    amount = ORDERS.get(order_id)
    if amount is None:
        yield trace.step("tool_result", "lookup_order", error="no such order")
        yield json.dumps({"output": {"answer": "unknown order"}, "terminal_status": "failure"})
        return
    yield trace.step("tool_result", "lookup_order", result={"amount": amount})
    tool, answer = ("issue_refund", "refunded") if amount <= MOST_REFUNDED else ("escalate", "escalated")
    yield trace.step("tool_call", tool, arguments={"order_id": order_id, "amount": amount})
    yield json.dumps({"output": {"answer": answer}, "terminal_status": "success"})


async def run(request: Request) -> StreamingResponse:
    """One case: the question is the body, the answer a line for each thing that happens."""
    asked = await request.json()
    return StreamingResponse(refund(asked["input"]["order_id"]), media_type="application/x-ndjson")


app = Starlette(routes=[Route("/run", run, methods=["POST"])])
