"""The tools of the team: billing may look orders up and refund them, tech may search the knowledge base."""

from __future__ import annotations

from typing import Any


def lookup_order(order_id: str) -> dict[str, Any]:
    return {"order_id": order_id, "amount": 20 + int(order_id.removeprefix("ord-"))}


def issue_refund(order_id: str) -> dict[str, Any]:
    return {"order_id": order_id, "refunded": True}


def search_kb(query: str) -> dict[str, Any]:
    return {"query": query, "article": "Sign out, sign in again."}
