"""The tools that the support agent may reach for: a toy shop that answers the same on every run."""

from __future__ import annotations

from typing import Any


def search(query: str, page: int = 1) -> dict[str, Any]:
    """A search that finds nothing of use."""
    return {"query": query, "page": page, "hits": []}


def lookup_order(order_id: str) -> dict[str, Any]:
    number = int(order_id.removeprefix("ord-"))
    return {"order_id": order_id, "customer_id": f"cus-{number:03}", "amount": 20 + number, "status": "delivered"}


def issue_refund(order_id: str) -> dict[str, Any]:
    return {"order_id": order_id, "refunded": True}


def issue_voucher(order_id: str) -> dict[str, Any]:
    """Not what the customer asked for."""
    return {"order_id": order_id, "voucher": True}


def delete_customer(customer_id: str) -> dict[str, Any]:
    """What no refund ever needs."""
    return {"customer_id": customer_id, "deleted": True}
