"""A rule as a tree: statements about a run, over :mod:`events <oloproof.evaluators.temporal.events>`.

``str()`` of a statement is its text, in one fixed spelling, which parses into the same tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from oloproof.evaluators.temporal.events import (
    AllOf,
    AnyOf,
    Call,
    Condition,
    Event,
    Path,
    Same,
    bare,
    closed,
    path_text,
)

# Statements: what a run may be, or the part of it that a scope cuts out. "Calls" are those of that part.


class Times(Struct, frozen=True):
    """The event occurs ``least`` to ``most`` times (None: no bound); with ``per``, so often for each value there."""

    event: Event
    least: int
    most: int | None
    per: Path | None = None

    def __str__(self) -> str:
        event = closed(self.event)
        if self.per is None and (self.least, self.most) == (0, 0):
            return f"never {event}"
        if (self.least, self.most) == (1, None):
            return f"eventually {event}"
        count = self.least if self.most is None else self.most
        bound = "exactly" if self.least == self.most else "at least" if self.most is None else "at most"
        times = "once" if count == 1 else f"{count} times"
        return f"{event} {bound} {times}" + ("" if self.per is None else f" per {path_text(self.per)}")


class Within(Struct, frozen=True):
    """The event is among the first ``calls`` calls."""

    event: Event
    calls: int

    def __str__(self) -> str:
        return f"{closed(self.event)} within {self.calls} call{'' if self.calls == 1 else 's'}"


class Every(Struct, frozen=True):
    """Every call is the event."""

    event: Event

    def __str__(self) -> str:
        return f"every call is {closed(self.event)}"


class Last(Struct, frozen=True):
    """There are calls, and the last of them is the event."""

    event: Event

    def __str__(self) -> str:
        return f"last call is {closed(self.event)}"


class Until(Struct, frozen=True):
    """The goal occurs, and every call before it is the event."""

    event: Event
    goal: Event

    def __str__(self) -> str:
        return f"{closed(self.event)} until {closed(self.goal)}"


class Precedes(Struct, frozen=True):
    """No ``then`` unless ``first`` occurred earlier; with ``immediately``, unless it was the call right before."""

    first: Event
    then: Event
    immediately: bool = False

    def __str__(self) -> str:
        if self.immediately:
            return f"{closed(self.then)} only immediately after {closed(self.first)}"
        return f"{closed(self.first)} before {closed(self.then)}"


class After(Struct, frozen=True):
    """After every such event, the body holds of the calls that follow."""

    event: Event
    body: Statement

    def __str__(self) -> str:
        if isinstance(self.body, Before):
            return f"{_scoped(self.body.body)} between {closed(self.event)} and {closed(self.body.event)}"
        return f"after {closed(self.event)}: {_unary(self.body)}"


class Before(Struct, frozen=True):
    """If the event occurs, the body holds of the calls before the first one."""

    event: Event
    body: Statement

    def __str__(self) -> str:
        return f"before {closed(self.event)}: {_unary(self.body)}"


class If(Struct, frozen=True):
    """If the event occurs anywhere, the body holds of all the calls."""

    body: Statement
    event: Event

    def __str__(self) -> str:
        return f"{_scoped(self.body)} if {closed(self.event)}"


class Not(Struct, frozen=True):
    """The statement does not hold."""

    statement: Statement

    def __str__(self) -> str:
        return f"not {_unary(self.statement)}"


class All(Struct, frozen=True):
    """All the statements hold."""

    statements: tuple[Statement, ...]

    def __str__(self) -> str:
        return " and ".join(map(_unary, self.statements))


class Some(Struct, frozen=True):
    """One of the statements holds."""

    statements: tuple[Statement, ...]

    def __str__(self) -> str:
        return " or ".join(str(part) if isinstance(part, All) else _unary(part) for part in self.statements)


Simple = Times | Within | Every | Last | Until | Precedes
Statement = Simple | After | Before | If | Not | All | Some
Node = Condition | Event | Statement


def parts(node: Event | Statement) -> tuple[Event | Statement, ...]:
    """The events and statements right under a node, in the order of their text where it has one."""
    match node:
        case Call():
            return ()
        case Precedes(first, then):
            return first, then
        case Until(event, goal):
            return event, goal
        case After(event, body) | Before(event, body) | If(body, event):
            return event, body
        case AllOf(events) | AnyOf(events):
            return events
        case All(statements) | Some(statements):
            return statements
        case Not(statement):
            return (statement,)
        case _:
            return (node.event,)


def walk(node: Event | Statement) -> Iterator[Event | Statement]:
    """The node and all under it."""
    pending = [node]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(reversed(parts(node)))


def conditions_in(node: Event | Statement) -> Iterator[Condition]:
    """Every condition that stands in an event or a statement, be it that it is denied there."""
    for part in walk(node):
        if isinstance(part, Call):
            yield from map(bare, part.conditions)


def sames_in(node: Event | Statement) -> Iterator[Same]:
    """Every ``same`` that stands in an event or a statement."""
    return (condition for condition in conditions_in(node) if isinstance(condition, Same))


def mapped(
    statement: Statement, on_event: Callable[[Event], Event], on_statement: Callable[[Statement], Statement]
) -> Statement:
    """The statement with other events and statements right under it."""
    changed: dict[str, Any] = {}
    for name in statement.__struct_fields__:
        value = getattr(statement, name)
        if isinstance(value, Event):
            changed[name] = on_event(value)
        elif isinstance(value, Statement):
            changed[name] = on_statement(value)
        elif name == "statements":
            changed[name] = tuple(map(on_statement, value))
    return replace(statement, **changed)


def _unary(statement: Statement) -> str:
    return f"({statement})" if isinstance(statement, All | Some) else str(statement)


def _scoped(statement: Statement) -> str:
    is_between = isinstance(statement, After) and isinstance(statement.body, Before)
    is_open = isinstance(statement, After | Before | Not | All | Some) and not is_between
    return f"({statement})" if is_open else str(statement)
