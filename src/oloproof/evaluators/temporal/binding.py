"""What ``same`` refers to, and which parts of a rule are about one value at a time.

A statement with ``same`` or ``per`` holds if it holds for every value. Which call brings the value:

- In ``E(p = same) before F``, which is ``F only after E(p = same)``, the F.
- In ``after E: S``, for all in S that is not the above, the E; so too in ``S between E and F``, where F may say it too.
- In ``before E: S`` and ``S if E`` that stand in no ``after``, the E.

A value that this call does not have is not the same as any other. "For every value" goes well with "and" and with
scopes, which are about all of something themselves. So a rule is cut where "or" and "not" stand around such
statements, into parts that are decided one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

from msgspec import Struct

from oloproof.evaluators.temporal.errors import RuleError
from oloproof.evaluators.temporal.events import (
    AllOf,
    Bound,
    Call,
    Condition,
    Event,
    Path,
    Same,
    Unlike,
    bare,
    event_mapped,
)
from oloproof.evaluators.temporal.parser import Parsed
from oloproof.evaluators.temporal.syntax import (
    After,
    All,
    Before,
    If,
    Not,
    Precedes,
    Some,
    Statement,
    Times,
    mapped,
    sames_in,
    walk,
)

_NO_REFERENCE: Final = "same refers to no call here"
_REFERENCE_HINT: Final = "for example: issue_refund only after approve(order_id = same)"


class Plain(Struct, frozen=True):
    """A statement about calls alone."""

    statement: Statement


class ForEveryValue(Struct, frozen=True):
    """A statement that holds if it does for every value that its ``Bound`` conditions may mean."""

    statement: Statement


class Joined(Struct, frozen=True):
    """All of the parts hold, or some of them, or (of one part) it does not."""

    how: Literal["all", "some", "not"]
    parts: tuple[Part, ...]


Part = Plain | ForEveryValue | Joined


def parts_of(parsed: Parsed) -> Part:
    """The rule, cut into parts. RuleError where ``same`` refers to nothing, or to too much."""
    return _Cutter(parsed).cut(parsed.statement)


class _Cutter:
    def __init__(self, parsed: Parsed) -> None:
        self.parsed = parsed

    def cut(self, statement: Statement) -> Part:
        if not _is_about_values(statement):
            return Plain(statement)
        match statement:
            case All(statements):
                return Joined("all", self._each(statements, All))
            case Some(statements):
                return Joined("some", self._each(statements, Some))
            case Not(inner):
                return Joined("not", (self.cut(inner),))
            case After(event, All(statements)) if not _binds(statement):
                return self.cut(All(tuple(After(event, each) for each in statements)))
            case Before(event, All(statements)) if not _binds(statement):
                return self.cut(All(tuple(Before(event, each) for each in statements)))
            case _:
                return ForEveryValue(self.bind(statement))

    def _each(
        self, statements: tuple[Statement, ...], join: Callable[[tuple[Statement, ...]], Statement]
    ) -> tuple[Part, ...]:
        """The statements about calls alone as one part, which decides more than each of them would."""
        plain = tuple(each for each in statements if not _is_about_values(each))
        others = tuple(self.cut(each) for each in statements if _is_about_values(each))
        return (Plain(join(plain) if len(plain) > 1 else plain[0]), *others) if plain else others

    def bind(self, statement: Statement) -> Statement:
        """The statement with ``same`` and ``per`` as what they mean."""
        match statement:
            case Times(event, least, most, per) if per is not None:
                self._refuse_same(event)
                return Times(_with(event, Bound((per,), anchors=False)), least, most)
            case Precedes(first, then, immediately):
                self._refuse_same(then)
                paths = self._paths([first])
                return Precedes(self._referring(first, paths), _with(then, Bound(paths, anchors=True)), immediately)
            case After(event, body) | Before(event, body) | If(body, event):
                self._refuse_same(event)
                if not _binds(statement):
                    return mapped(statement, lambda each: each, self.bind)
                self._refuse_binders(body)
                paths = self._paths(_events_of(body))
                anchor = _with(event, Bound(paths, anchors=True))
                return mapped(statement, lambda _: anchor, lambda inner: self._all_referring(inner, paths))
            case Not() | Some() | All() if not _is_free(statement):
                raise self._error("under `not`, `or` or `and` in a scope, `same` and `per` cannot be told", statement)
            case _:
                raise self._error(_NO_REFERENCE, *_events_of(statement), hint=_REFERENCE_HINT)

    def _all_referring(self, statement: Statement, paths: tuple[Path, ...]) -> Statement:
        return mapped(
            statement,
            lambda event: self._referring(event, paths),
            lambda inner: self._all_referring(inner, paths),
        )

    def _referring(self, event: Event, paths: tuple[Path, ...]) -> Event:
        """The event with ``same`` as the values that another call has at the paths."""
        return event_mapped(event, lambda call: self._bound(call, paths))

    def _bound(self, call: Call, paths: tuple[Path, ...]) -> Call:
        same = [condition for condition in call.conditions if isinstance(bare(condition), Same)]
        if not same:
            return call
        others = tuple(condition for condition in call.conditions if condition not in same)
        if len(paths) == 1:
            return Call(call.tool, (*others, *(_as_bound(condition) for condition in same)))
        own = {condition.other_path: condition.path for condition in same if isinstance(condition, Same)}
        if len(own) < len(same) or own.keys() != set(paths):
            raise self._error("every `same` of a statement refers to the same values", call)
        return Call(call.tool, (*others, Bound(tuple(own[path] for path in paths), anchors=False)))

    def _paths(self, events: list[Event]) -> tuple[Path, ...]:
        """The paths that the events refer to."""
        return tuple(sorted({same.other_path for event in events for same in sames_in(event)}))

    def _refuse_same(self, event: Event) -> None:
        if any(sames_in(event)):
            raise self._error(_NO_REFERENCE, event, hint=_REFERENCE_HINT)

    def _refuse_binders(self, statement: Statement) -> None:
        for node in walk(statement):
            if isinstance(node, Times | Precedes | After) and _binds(node):
                raise self._error("what `same` or `per` refers to is told once in a scope: write two rules", node)

    def _error(self, message: str, *nodes: Event | Statement, hint: str = "") -> RuleError:
        place = max(map(self.parsed.place, nodes), default=0)
        return RuleError(message, self.parsed.text, place, hint=hint)


def _is_about_values(statement: Statement) -> bool:
    """``same`` or ``per`` stands in it."""
    return any(
        any(sames_in(node)) if isinstance(node, Call) else isinstance(node, Times) and node.per is not None
        for node in walk(statement)
    )


def _binds(statement: Statement) -> bool:
    """Whether something in the statement refers to a call of its own event."""
    match statement:
        case Times(_, _, _, per):
            return per is not None
        case Precedes(first):
            return any(sames_in(first))
        case After(_, body) | Before(_, body) | If(body):
            return _is_free(body)
        case _:
            return False


def _is_free(statement: Statement) -> bool:
    """Whether something in the statement refers to a call outside of it."""
    match statement:
        case Precedes(_, then):
            return any(sames_in(then))
        case After(event):
            return any(sames_in(event))
        case Before(event, body) | If(body, event):
            return any(sames_in(event)) or _is_free(body)
        case Not(inner):
            return _is_free(inner)
        case All(statements) | Some(statements):
            return any(map(_is_free, statements))
        case _:
            return any(sames_in(statement))


def _events_of(statement: Statement) -> list[Event]:
    return [node for node in walk(statement) if isinstance(node, Event)]


def _as_bound(condition: Condition) -> Condition:
    """``same`` of a single value as a condition on it."""
    if isinstance(condition, Unlike):
        bound = _as_bound(condition.condition)
        assert isinstance(bound, Bound)
        return Unlike(bound)
    assert isinstance(condition, Same)
    return Bound((condition.path,), anchors=False)


def _with(event: Event, bound: Bound) -> Event:
    return AllOf((event, Call(None, (bound,))))
