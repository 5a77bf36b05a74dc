"""The version that is in use."""

from __future__ import annotations

from typing import Any

import agent

from oloproof import system


@system(name="support-agent", version="1", records=("agent_trajectory/v1",))
def run(order: dict[str, Any]) -> dict[str, str]:
    return {"answer": agent.answer(order, version=1)}
