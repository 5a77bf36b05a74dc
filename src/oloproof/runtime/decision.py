"""What a planner decides: to act or to finish, and what deciding cost."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, isfinite
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import force_setattr

from oloproof.model.values import equal, snapshot
from oloproof.record.steps import printable


def is_json(value: object) -> bool:
    """``value`` is a JSON value as it stands: None, bool, int, finite float, text, list, or dict with text keys."""
    return equal(value, snapshot(value))


def amount(value: object, what: str, *, most: float = inf) -> float:
    """A finite number from 0 up. Errors: TypeError for no number, ValueError for one that is out of range."""
    if type(value) is not int and type(value) is not float:
        raise TypeError(f"{what} is {value!r:.80}, not a number")
    if not isfinite(value) or not 0 <= value <= most:
        raise ValueError(f"{what} is {value!r}, not a finite number from 0 up")
    return float(value)


def count(value: object, what: str, *, least: int = 0) -> int:
    """A whole number from ``least`` up. Errors: TypeError for no int, ValueError for a smaller one."""
    if type(value) is not int:
        raise TypeError(f"{what} is {value!r:.80}, not a whole number")
    if value < least:
        raise ValueError(f"{what} is {value}, not a whole number from {least} up")
    return value


class Usage(Struct, frozen=True, forbid_unknown_fields=True):
    """What one decision cost: tokens, and money or another unit of the caller's in ``cost``.

    Errors: TypeError, ValueError for what is no finite number from 0 up.
    """

    tokens: int = 0
    cost: float = 0.0

    def __post_init__(self) -> None:
        count(self.tokens, "tokens")
        force_setattr(self, "cost", amount(self.cost, "cost"))


class Decision(Struct, frozen=True):
    """What the planner wants next: :meth:`act` or :meth:`finish`. The runtime copies it as it is decided."""

    @staticmethod
    def act(
        tool: str, arguments: Mapping[str, Any] | None = None, *, thought: str = "", usage: Usage | None = None
    ) -> Act:
        """Call a tool. Errors: TypeError where an argument has the wrong type."""
        given: Any = {} if arguments is None else arguments
        return _checked(Act(tool=tool, arguments=given, thought=thought, usage=usage))

    @staticmethod
    def finish(answer: Any = None, *, thought: str = "", usage: Usage | None = None) -> Finish:
        """End the run with an answer, a JSON value. Errors: TypeError where an argument has the wrong type."""
        return _checked(Finish(answer=answer, thought=thought, usage=usage))


class Act(Decision, frozen=True, kw_only=True, tag="act", forbid_unknown_fields=True):
    """Call ``tool`` with ``arguments``."""

    tool: str
    arguments: dict[str, Any]
    thought: str = ""
    usage: Usage | None = None


class Finish(Decision, frozen=True, tag="finish", forbid_unknown_fields=True):
    """End with ``answer``."""

    answer: Any = None
    thought: str = ""
    usage: Usage | None = None


D = TypeVar("D", bound="Act | Finish")


def own(decision: object) -> Act | Finish:
    """A copy of what a planner returned, of which it holds no part. What JSON cannot carry is tagged in it.

    Errors: TypeError where it is no decision.
    """
    if not isinstance(decision, Act | Finish):
        raise TypeError(f"the planner returned {type(decision).__name__}, no Decision")
    _checked(decision)
    thought = printable(str.__str__(decision.thought))
    if isinstance(decision, Finish):
        return Finish(answer=snapshot(decision.answer), thought=thought, usage=decision.usage)
    tool = printable(str.__str__(decision.tool))
    return Act(tool=tool, arguments=snapshot(decision.arguments), thought=thought, usage=decision.usage)


def _checked(decision: D) -> D:
    if isinstance(decision, Act):
        _require(decision.tool, str, "tool")
        _require(decision.arguments, Mapping, "arguments")
    _require(decision.thought, str, "thought")
    if decision.usage is not None:
        _require(decision.usage, Usage, "usage")
    return decision


def _require(value: object, kind: type, what: str) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"{what} is of type {type(value).__name__}, not {kind.__name__}")
