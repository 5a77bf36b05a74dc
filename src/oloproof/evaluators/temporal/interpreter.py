"""The meaning of statements, read off the calls directly, for the words and the steps of a verdict.

Three-valued by Kleene's tables, so never wrong and not always certain; the automaton has decided by then. It may take
time quadratic in the calls, and gives up (:class:`Exhausted`) where that would be long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple, assert_never

from oloproof.evaluators.counts import Count
from oloproof.evaluators.temporal.syntax import (
    After,
    All,
    Before,
    Event,
    Every,
    If,
    Last,
    Not,
    Precedes,
    Some,
    Statement,
    Times,
    Until,
    Within,
)

MOST_LOOKS: Final = 20_000
_TRUTH: Final = {"pass": True, "fail": False, "missing": None}

Truth = bool | None


class Exhausted(Exception):
    """More than :data:`MOST_LOOKS` looks at calls."""


class Span(NamedTuple):
    """The calls from ``start`` to before ``stop``; ``is_open``: further ones may follow."""

    start: int
    stop: int
    is_open: bool

    @property
    def positions(self) -> range:
        return range(self.start, self.stop)


class Blame(NamedTuple):
    """The calls that break a statement, by position, and what was found, in words."""

    positions: tuple[int, ...]
    found: str


class Calls:
    """The calls of a record: ``names`` their tools, ``indexes`` their steps, ``occurs`` whether a call is an event."""

    def __init__(
        self, names: Sequence[str], indexes: Sequence[int], occurs: Callable[[Event, int], Truth], *, truncated: bool
    ) -> None:
        self._names = names
        self._indexes = indexes
        self._occurs = occurs
        self._looks = 0
        self.all = Span(0, len(names), truncated)

    def occurs(self, event: Event, position: int) -> Truth:
        self._looks += 1
        if self._looks > MOST_LOOKS:
            raise Exhausted
        return self._occurs(event, position)

    def certain(self, event: Event, span: Span) -> list[int]:
        """Where the event occurs for certain."""
        return [position for position in span.positions if self.occurs(event, position) is True]

    def possible(self, event: Event, span: Span) -> list[int]:
        """Where it may occur."""
        return [position for position in span.positions if self.occurs(event, position) is not False]

    def shown(self, position: int) -> str:
        """``search (step 3)``."""
        return f"{self._names[position]} (step {self._indexes[position]})"

    # What holds

    def holds(self, statement: Statement, span: Span) -> Truth:
        """Whether the statement holds of the calls in the span, and of all that may follow where it is open."""
        match statement:
            case Times(event, least, most):
                certain, possible = len(self.certain(event, span)), len(self.possible(event, span))
                return _TRUTH[Count(certain, None if span.is_open else possible).within(least, most)]
            case Within(event, calls):
                first = Span(span.start, min(span.stop, span.start + calls), is_open=False)
                if self.certain(event, first):
                    return True
                ended = not span.is_open or first.stop - first.start == calls
                return False if ended and not self.possible(event, first) else None
            case Every(event):
                truths = [self.occurs(event, position) for position in span.positions]
                return _all([*truths, None] if span.is_open else truths)
            case Last(event):
                return None if span.is_open else span.stop > span.start and self.occurs(event, span.stop - 1)
            case Until(event, goal):
                return self._until(event, goal, span)
            case Precedes(first, then, immediately):
                return self._follows(first, then, span) if immediately else self._precedes(first, then, span)
            case After(event, body):
                rest = [(self.occurs(event, at), at) for at in span.positions]
                bodies = [
                    _if(true, self.holds(body, span._replace(start=at + 1))) for true, at in rest if true is not False
                ]
                return _all([*bodies, None] if span.is_open else bodies)
            case Before(event, body):
                at = next(iter(self.possible(event, span)), None)
                if at is None or self.occurs(event, at) is None:
                    return None if at is not None or span.is_open else True
                return self.holds(body, Span(span.start, at, is_open=False))
            case If(body, event):
                return _if(self.holds(Times(event, 1, None), span), self.holds(body, span))
            case Not(inner):
                return _not(self.holds(inner, span))
            case All(statements):
                return _all([self.holds(each, span) for each in statements])
            case Some(statements):
                return _not(_all([_not(self.holds(each, span)) for each in statements]))
            case _:
                assert_never(statement)

    def _until(self, event: Event, goal: Event, span: Span) -> Truth:
        for position in span.positions:
            reached = self.occurs(goal, position)
            if reached is not False:
                return reached
            if (going := self.occurs(event, position)) is not True:
                return going
        return None if span.is_open else False

    def _precedes(self, first: Event, then: Event, span: Span) -> Truth:
        doubted = False
        for position in span.positions:
            if self.occurs(then, position) is not False:
                if self.occurs(then, position) and not self.possible(first, span._replace(stop=position)):
                    return False
                doubted = True
            if self.occurs(first, position):
                return None if doubted else True
        return None if doubted or span.is_open else True

    def _follows(self, first: Event, then: Event, span: Span) -> Truth:
        truths = []
        ready: Truth = False
        for position in span.positions:
            truths.append(_if(self.occurs(then, position), ready))
            ready = self.occurs(first, position)
        return _all([*truths, None] if span.is_open else truths)

    # What is to blame

    def blame(self, statement: Statement, span: Span) -> Blame | None:
        """Why the statement does not hold, None where that is not certain."""
        if self.holds(statement, span) is not False:
            return None
        match statement:
            case Times(event, _, most):
                occurrences = self.certain(event, span)
                over = most is not None and len(occurrences) > most
                shown = occurrences[: (most or 0) + 1] if over else occurrences
                return Blame(tuple(shown), self._times(event, occurrences))
            case Within(event, calls):
                first = span.positions[:calls]
                which = "first" if span.start == 0 else "next"
                if calls == 1:
                    return Blame(tuple(first), f"the {which} call is {self.shown(first[0])}" if first else "no calls")
                return Blame(tuple(first), f"no {event} in the {which} {calls} calls")
            case Every(event):
                at = next(at for at in span.positions if self.occurs(event, at) is False)
                return Blame((at,), f"{self.shown(at)} is not {event}")
            case Last():
                at = span.stop - 1
                if at < span.start:
                    return Blame((), "no calls")
                return Blame((at,), f"the last call is {self.shown(at)}")
            case Until(event, goal):
                at = next((at for at in span.positions if self.occurs(event, at) is False), span.stop)
                if at == span.stop:
                    return Blame((), f"no {goal}")
                return Blame((at,), f"{self.shown(at)} before any {goal}")
            case Precedes(first, then, immediately):
                return self._blame_order(first, then, span, immediately=immediately)
            case After(event, body):
                for at in self.certain(event, span):
                    inner = self.blame(body, span._replace(start=at + 1))
                    if inner is not None:
                        return Blame((at, *inner.positions), f"after {self.shown(at)}: {inner.found}")
            case Before(event, body):
                at = self.certain(event, span)[0]
                inner = self.blame(body, Span(span.start, at, is_open=False))
                if inner is not None:
                    return Blame((*inner.positions, at), f"before {self.shown(at)}: {inner.found}")
            case If(body, event):
                at = self.certain(event, span)[0]
                inner = self.blame(body, span)
                if inner is not None:
                    return Blame((at, *inner.positions), f"{self.shown(at)}, and {inner.found}")
            case Not(inner_statement):
                return Blame((), f"it holds that {inner_statement}")
            case All(statements):
                return next(filter(None, (self.blame(each, span) for each in statements)), None)
            case Some(statements):
                blames = [each for each in (self.blame(part, span) for part in statements) if each is not None]
                positions = tuple(at for each in blames for at in each.positions)
                return Blame(positions, "; and ".join(each.found for each in blames))
        return None

    def _blame_order(self, first: Event, then: Event, span: Span, *, immediately: bool) -> Blame | None:
        for at in self.certain(then, span):
            if immediately:
                if at > span.start and self.occurs(first, at - 1) is False:
                    return Blame((at - 1, at), f"{self.shown(at)} comes right after {self.shown(at - 1)}")
                if at == span.start:
                    return Blame((at,), f"{self.shown(at)} comes first")
            elif not self.possible(first, span._replace(stop=at)):
                return Blame((at,), f"{self.shown(at)} with no {first} before it")
        return None

    def _times(self, event: Event, found: Sequence[int]) -> str:
        if not found:
            return f"no {event}"
        if len(found) == 1:
            return f"{event} once (step {self._indexes[found[0]]})"
        where = ", ".join(str(self._indexes[at]) for at in found[:5]) + (", …" if len(found) > 5 else "")
        return f"{event} {len(found)} times (steps {where})"

    # What occurred

    def fired(self, statement: Statement, span: Span) -> bool:
        """Whether the calls gave the statement something to say: its trigger, where it has one, occurred."""
        match statement:
            case Precedes(_, then):
                return bool(self.certain(then, span))
            case After(event, body):
                return any(self.fired(body, span._replace(start=at + 1)) for at in self.certain(event, span))
            case Before(event, body):
                occurred = self.certain(event, span)
                return bool(occurred) and self.fired(body, span._replace(stop=occurred[0]))
            case If(body, event):
                return bool(self.certain(event, span)) and self.fired(body, span)
            case Not(inner):
                return self.fired(inner, span)
            case All(statements) | Some(statements):
                return any(self.fired(each, span) for each in statements)
            case _:
                return True


def _not(a: Truth) -> Truth:
    return None if a is None else not a


def _all(truths: Iterable[Truth]) -> Truth:
    seen = set(truths)
    return False if False in seen else None if None in seen else True


def _if(a: Truth, b: Truth) -> Truth:
    """a implies b."""
    return _not(_all([a, _not(b)]))
