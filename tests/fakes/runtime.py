"""What the runtime's tests share: tools that count their calls, planners that follow a script, a clock."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from oloproof.runtime import Decision, RunState, Tool

Planner = Callable[[RunState, list[dict[str, Any]]], Any]


def closed(**properties: Any) -> dict[str, Any]:
    """A closed schema that requires all of its properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": sorted(properties),
        "additionalProperties": False,
    }


class Counted:
    """A function of one text that counts its calls and returns what it is told to, or raises it."""

    def __init__(self, returns: Any = "ok") -> None:
        self.calls: list[str] = []
        self.returns = returns

    def __call__(self, text: str) -> Any:
        self.calls.append(text)
        if isinstance(self.returns, BaseException):
            raise self.returns
        return self.returns

    def tool(self, name: str = "tool", **fields: Any) -> Tool:
        return Tool(name, self, parameters=closed(text={"type": "string"}), **fields)


def script(*decisions: Any) -> Planner:
    """A planner that decides by the number of steps taken, and finishes when the script is at its end."""

    def planner(state: RunState, _: Any) -> Any:
        number = len(state.steps)
        return decisions[number] if number < len(decisions) else Decision.finish("done")

    return planner


def acts(*texts: str, tool: str = "tool") -> Planner:
    return script(*(Decision.act(tool, {"text": text}) for text in texts))


class Ticking:
    """A clock that moves by the given seconds each time it is read."""

    def __init__(self, by: float) -> None:
        self.now, self.by = 0.0, by

    def __call__(self) -> float:
        self.now += self.by
        return self.now


def events(records: Iterable[Any]) -> list[str]:
    return [record.event for record in records]
