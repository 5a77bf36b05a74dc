"""The support agent twice: the second version reads an order's status first, and trusts what a search says of one."""

from __future__ import annotations

from typing import Any

from oloproof import current_case

ORDERS = {"paid": "refundable", "shipped": "refundable", "unpaid": "not refundable", "disputed": "needs a person"}


def answer(order: dict[str, Any], *, version: int) -> str:
    """Look the order up, by its number or by a search, and say what becomes of it; recorded as it goes."""
    with current_case().trace() as trace:
        if order.get("number") is None:
            with trace.calling("search", text=order["text"]) as call:
                # Version 2 takes the first hit, which is of an older order where the customer has several.
                call.result = {
                    "status": order["older_status"] if version == 2 and "older_status" in order else order["status"]
                }
        else:
            with trace.calling("lookup_order", number=order["number"]) as call:
                # Version 1 did not know the status that orders in dispute have.
                known = order["status"] != "disputed" or version == 2
                call.result = {"status": order["status"] if known else "paid"}
        status = call.result["status"]
        if ORDERS[status] == "refundable":
            with trace.calling("issue_refund", status=status) as refund:
                refund.result = "done"
            trace.finish("success")
            return "refunded"
        trace.finish("success")
        return "refused" if ORDERS[status] == "not refundable" else "escalated"
