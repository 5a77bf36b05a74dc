"""What a call may be: conditions on its arguments, and events, which are calls that meet them.

``str()`` of each is its text, in one fixed spelling, which parses into the same tree. Values are kept as JSON text,
since 1, 1.0 and true are three values and would be one as keys of a dict.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

KEYWORDS: Final = frozenset(
    {
        *("absent", "after", "and", "any", "at", "before", "between", "by", "call", "calls", "error", "eventually"),
        *("every", "exactly", "false", "first", "from", "if", "immediately", "in", "is", "last", "least", "matches"),
        *("most", "never", "next", "not", "null", "once", "only", "or", "per", "present", "same", "success", "time"),
        *("times", "true", "twice", "until", "within"),
    }
)
WORD: Final = re.compile(r"[^\W\d][\w/-]*(?:\.[\w/-]+)*")
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
        if self.tool is not None and {"result", "arguments"} & set(self.tool.split(".")):
            tool = quoted(self.tool)
        return f"{path_text(self.path)} from {'.'.join((tool, self.source, *self.source_path))}"


class Same(Struct, frozen=True):
    """The value equals the one that the call which the statement is about has at ``other_path``."""

    path: Path
    other_path: Path

    def __str__(self) -> str:
        other = "" if self.path == self.other_path else f" {path_text(self.other_path)}"
        return f"{path_text(self.path)} = same{other}"


class Bound(Struct, frozen=True):
    """The values at ``paths`` are those that the statement is about, which is what ``same`` and ``per`` come to.

    ``anchors``: the call brings them, and where it does not have them, it is about that.
    """

    paths: tuple[Path, ...]
    anchors: bool

    def __str__(self) -> str:
        return ", ".join(f"{path_text(path)} = same" for path in self.paths)


Deniable = Equals | OneOf | Matches | Given | Derived | Same | Bound


class Unlike(Struct, frozen=True):
    """The condition is false, be it that the value is absent."""

    condition: Deniable

    def __str__(self) -> str:
        text = str(self.condition)
        match self.condition:
            case Equals() | Same() | Bound():
                return text.replace(" = ", " != ", 1)
            case Given(path):
                return f"{path_text(path)} absent"
            case OneOf(path) | Matches(path) | Derived(path):
                return f"{path_text(path)} not{text.removeprefix(path_text(path))}"


Condition = Deniable | Ordered | Unlike


def bare(condition: Condition) -> Condition:
    """What a condition says or denies."""
    return condition.condition if isinstance(condition, Unlike) else condition


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


def event_mapped(event: Event, on_call: Callable[[Call], Call]) -> Event:
    """The event with other calls in it."""
    match event:
        case Call():
            return on_call(event)
        case AllOf(events) | AnyOf(events):
            return replace(event, events=tuple(event_mapped(each, on_call) for each in events))
        case _:
            return replace(event, event=event_mapped(event.event, on_call))


def closed(event: Event, *, but_for: type | object = ()) -> str:
    """The event's text where one word is expected: in parentheses unless it is one call, or of a type ``but_for``."""
    is_open = isinstance(event, NoEvent | AllOf | AnyOf) and not isinstance(event, but_for)  # type: ignore[arg-type]
    return f"({event})" if is_open else str(event)


def word(name: str) -> str:
    """A name as a rule writes it: bare where it reads as one word, quoted where not."""
    return name if WORD.fullmatch(name) and name not in KEYWORDS else quoted(name)


def path_text(path: Path) -> str:
    """A path as a rule writes it. A key that holds a dot is quoted and stands alone."""
    return ".".join(path) if len(path) > 1 else word(path[0]) if "." not in path[0] else quoted(path[0])


def quoted(text: str) -> str:
    """A text in quotes, as JSON writes it."""
    return json.dumps(text, ensure_ascii=False)
