"""What a run may do: the policy's permissions and the limits."""

from __future__ import annotations

from collections.abc import Iterable, Set
from decimal import Decimal

from msgspec import Struct
from msgspec.structs import force_setattr

from oloproof.runtime.audit import canonical
from oloproof.runtime.decision import Act, amount, count
from oloproof.runtime.state import RunState, Spent, StepOutcome
from oloproof.runtime.tools import Tool, ToolEffect, scopes_of


class Policy(Struct, frozen=True, kw_only=True):
    """What is allowed. ``Policy()`` is least privilege: ``read`` tools that need no scope, and nothing else.

    ``allow_tools`` None allows every tool by name. ``approve_effects`` are the kinds of effect of which a person
    approves each call, ``approve_tools`` further tools of which one does.

    Errors: TypeError, ValueError for what is no such set.
    """

    allow_effects: Set[str] = frozenset({ToolEffect.READ})
    allow_tools: Set[str] | None = None
    granted_scopes: Set[str] = frozenset()
    approve_effects: Set[str] = frozenset({ToolEffect.WRITE, ToolEffect.EXTERNAL})
    approve_tools: Set[str] = frozenset()

    def __post_init__(self) -> None:
        for name in ("allow_effects", "approve_effects"):
            force_setattr(self, name, frozenset(map(ToolEffect, _all(getattr(self, name), name))))
        for name in ("allow_tools", "approve_tools"):
            if getattr(self, name) is not None:
                force_setattr(self, name, frozenset(_all(getattr(self, name), name)))
        force_setattr(self, "granted_scopes", scopes_of(self.granted_scopes, "granted_scopes"))

    def needs_approval(self, tool: Tool) -> bool:
        """A person approves each call of the tool."""
        return tool.effect in self.approve_effects or tool.name in self.approve_tools


class Limits(Struct, frozen=True, kw_only=True):
    """When a run ends. ``max_steps`` bounds the decisions and is required; None leaves any other unbounded.

    ``max_tool_calls``: calls beyond it are denied. ``max_cost``: a call that would pass it is denied, and at or past it
    no further decision is asked for. ``max_tokens``: at or past it no further decision is asked for; a planner must
    then report its usage. ``max_seconds``: running time, summed over a run's sessions, without the time spent waiting
    for an approval. ``max_repeats``: so many calls in a row that brought what the same call had brought before.

    Errors: TypeError, ValueError for what is no number from 0 up (``max_steps`` and ``max_repeats``: from 1).
    """

    max_steps: int
    max_tool_calls: int | None = None
    max_cost: float | None = None
    max_tokens: int | None = None
    max_seconds: float | None = None
    max_repeats: int | None = None

    def __post_init__(self) -> None:
        count(self.max_steps, "max_steps", least=1)
        for name, least in (("max_tool_calls", 0), ("max_tokens", 0), ("max_repeats", 1)):
            if getattr(self, name) is not None:
                count(getattr(self, name), name, least=least)
        for name in ("max_cost", "max_seconds"):
            if getattr(self, name) is not None:
                force_setattr(self, name, amount(getattr(self, name), name))

    def stop_reason(self, state: RunState) -> str | None:
        """The limit for which no further decision is asked for, None while there is none."""
        spent = state.spent
        if spent.decisions >= self.max_steps:
            return "max_steps"
        if self.max_cost is not None and spent.cost >= self.max_cost:
            return "max_cost"
        if self.max_tokens is not None and spent.tokens >= self.max_tokens:
            return "max_tokens"
        if self.max_seconds is not None and spent.seconds >= self.max_seconds:
            return "max_seconds"
        if self.max_repeats is not None and _repeats(state) >= self.max_repeats:
            return "diminishing_returns"
        return None

    def passed(self, spent: Spent) -> list[str]:
        """The limits that more was spent than they allow. What one decision costs is known only after it."""
        pairs = (
            ("max_steps", spent.decisions, self.max_steps),
            ("max_tool_calls", spent.tool_calls, self.max_tool_calls),
            ("max_cost", spent.cost, self.max_cost),
            ("max_tokens", spent.tokens, self.max_tokens),
            ("max_seconds", spent.seconds, self.max_seconds),
        )
        return [f"{name} is {most:g}, spent {used:g}" for name, used, most in pairs if most is not None and used > most]

    def refuses(self, spent: Spent, tool: Tool) -> str | None:
        """Why one more call of the tool is past a limit, None when it is within all."""
        if self.max_tool_calls is not None and spent.tool_calls >= self.max_tool_calls:
            return f"max_tool_calls is {self.max_tool_calls}, and as many calls were made"
        if self.max_cost is not None and plus(spent.cost, tool.cost) > self.max_cost:
            return f"max_cost is {self.max_cost:g}; {spent.cost:g} is spent, and one call costs {tool.cost:g}"
        if self.max_tokens is not None and spent.tokens >= self.max_tokens:
            return f"max_tokens is {self.max_tokens}, and {spent.tokens} are spent"
        if self.max_seconds is not None and spent.seconds >= self.max_seconds:
            return f"max_seconds is {self.max_seconds:g}, and they have passed"
        return None


def plus(spent: float, more: float) -> float:
    """The sum as a person would write it: ten times 0.1 is 1, and within a limit of 1."""
    return float(Decimal(repr(spent)) + Decimal(repr(more))) if spent and more else spent + more


def _repeats(state: RunState) -> int:
    """How many of the last steps, in a row, were calls that brought what the same call had brought before."""
    seen: set[bytes] = set()
    row = 0
    for step in state.steps:
        brought = b""
        if isinstance(step.decision, Act) and step.outcome is StepOutcome.EXECUTED:
            brought = canonical([step.decision.tool, step.decision.arguments, step.result])
        row = row + 1 if brought in seen else 0
        if brought:
            seen.add(brought)
    return row


def _all(given: object, what: str) -> list[str]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise TypeError(f"{what} is of type {type(given).__name__}, not a set of texts")
    values = list(given)
    for value in values:
        if not isinstance(value, str):
            raise TypeError(f"{what}: {value!r:.80} is no text")
    return values
