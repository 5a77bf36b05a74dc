"""A rule as a tree: statements about a run, events that a call may be, conditions on a call's arguments.

``str()`` of a statement or event is its text, in one fixed spelling, which parses into the same tree. Values are kept
as JSON text, since 1, 1.0 and true are three values and would be one as keys of a dict.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final, Literal

from msgspec import Struct

KEYWORDS: Final = frozenset(
    {
        *("absent", "after", "and", "any", "at", "before", "between", "by", "call", "calls", "error", "eventually"),
        *("every", "exactly", "false", "first", "from", "if", "immediately", "in", "is", "last", "least", "matches"),
        *("most", "never", "next", "not", "null", "once", "only", "or", "per", "present", "same", "success", "time"),
        *("times", "true", "twice", "until", "within"),
    }
)
WORD: Final = re.compile(r"[^\W\d][\w/-]*(?:\.[\w-]+)*")
ANY_TOOL: Final = "any"

Path = tuple[str, ...]
"""The keys of a dotted path."""

Order = Literal["<", "<=", ">", ">="]


# Conditions on the arguments of a call. Each is true or false of a call; what is written with "not" or "!=" is an
# :class:`Unlike` around it.


class Equals(Struct, frozen=True):
    """The value at ``path`` equals the literal (JSON text)."""

    path: Path
    value: str

    def __str__(self) -> str:
        return f"{path_text(self.path)} = {self.value}"


class Ordered(Struct, frozen=True):
    """The value is a number in that order to the literal (JSON text)."""

    path: Path
    order: Order
    value: str

    def __str__(self) -> str:
        return f"{path_text(self.path)} {self.order} {self.value}"


class OneOf(Struct, frozen=True):
    """The value equals one of the literals (JSON texts)."""

    path: Path
    values: tuple[str, ...]

    def __str__(self) -> str:
        return f"{path_text(self.path)} in [{', '.join(self.values)}]"


class Matches(Struct, frozen=True):
    """The value is a text in which RE2 finds the pattern."""

    path: Path
    pattern: str

    def __str__(self) -> str:
        return f"{path_text(self.path)} matches {quoted(self.pattern)}"


class Given(Struct, frozen=True):
    """There is a value at ``path``."""

    path: Path

    def __str__(self) -> str:
        return f"{path_text(self.path)} present"


class Derived(Struct, frozen=True):
    """The value equals one that an earlier call of ``tool`` (None: of any) had at ``source_path`` in its result or its
    arguments."""

    path: Path
    tool: str | None
    source: Literal["result", "arguments"]
    source_path: Path

    def __str__(self) -> str:
        tool = ANY_TOOL if self.tool is None else word(self.tool)
        return f"{path_text(self.path)} from {'.'.join((tool, self.source, *self.source_path))}"


class Same(Struct, frozen=True):
    """The value equals the one that the call which the statement is about has at ``other_path``."""

    path: Path
    other_path: Path

    def __str__(self) -> str:
        other = "" if self.path == self.other_path else f" {path_text(self.other_path)}"
        return f"{path_text(self.path)} = same{other}"


Deniable = Equals | OneOf | Matches | Given | Derived | Same


class Unlike(Struct, frozen=True):
    """The condition is false, be it that the value is absent."""

    condition: Deniable

    def __str__(self) -> str:
        path, text = path_text(self.condition.path), str(self.condition)
        match self.condition:
            case Equals() | Same():
                return text.replace(" = ", " != ", 1)
            case Given():
                return f"{path} absent"
            case _:
                return f"{path} not{text[len(path) :]}"


Condition = Deniable | Ordered | Unlike


# Events: what a call may be.


class Call(Struct, frozen=True):
    """A call of ``tool`` (None: of any) that meets all the conditions."""

    tool: str | None
    conditions: tuple[Condition, ...] = ()

    def __str__(self) -> str:
        name = ANY_TOOL if self.tool is None else word(self.tool)
        return f"{name}({', '.join(map(str, self.conditions))})" if self.conditions else name


class Ended(Struct, frozen=True):
    """``event``, and the call failed (or did not)."""

    event: Event
    failed: bool

    def __str__(self) -> str:
        return f"{'error' if self.failed else 'success'}({self.event})"


class By(Struct, frozen=True):
    """``event``, and ``agent`` made the call."""

    event: Call | Ended
    agent: str

    def __str__(self) -> str:
        return f"{self.event} by {word(self.agent)}"


class NoEvent(Struct, frozen=True):
    """A call that is not ``event``."""

    event: Event

    def __str__(self) -> str:
        return f"not {closed(self.event)}"


class AllOf(Struct, frozen=True):
    """A call that is all of these."""

    events: tuple[Event, ...]

    def __str__(self) -> str:
        return " and ".join(closed(event, but_for=NoEvent) for event in self.events)


class AnyOf(Struct, frozen=True):
    """A call that is one of these."""

    events: tuple[Event, ...]

    def __str__(self) -> str:
        return " or ".join(closed(event, but_for=NoEvent | AllOf) for event in self.events)


Event = Call | Ended | By | NoEvent | AllOf | AnyOf


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


def closed(event: Event, *, but_for: type | object = ()) -> str:
    """The event's text where one word is expected: in parentheses unless it is one call, or of a type ``but_for``."""
    is_open = isinstance(event, NoEvent | AllOf | AnyOf) and not isinstance(event, but_for)  # type: ignore[arg-type]
    return f"({event})" if is_open else str(event)


def _unary(statement: Statement) -> str:
    return f"({statement})" if isinstance(statement, All | Some) else str(statement)


def _scoped(statement: Statement) -> str:
    is_between = isinstance(statement, After) and isinstance(statement.body, Before)
    is_open = isinstance(statement, After | Before | Not | All | Some) and not is_between
    return f"({statement})" if is_open else str(statement)


def word(name: str) -> str:
    """A name as a rule writes it: bare where it reads as one word, quoted where not."""
    return name if WORD.fullmatch(name) and name not in KEYWORDS else quoted(name)


def path_text(path: Path) -> str:
    """A path as a rule writes it. A key that holds a dot is quoted and stands alone."""
    return ".".join(path) if len(path) > 1 else word(path[0]) if "." not in path[0] else quoted(path[0])


def quoted(text: str) -> str:
    """A text in quotes, as JSON writes it."""
    return json.dumps(text, ensure_ascii=False)
