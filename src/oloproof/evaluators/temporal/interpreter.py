"""The meaning of statements, read off the calls directly, for the words and the steps of a verdict.

Three-valued by Kleene's tables, so never wrong and not always certain; the automaton has decided by then. It may take
time quadratic in the calls, and gives up (:class:`Exhausted`) where that would be long.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple, assert_never

from oloproof.evaluators.counts import Count
from oloproof.evaluators.temporal.events import Event, Path, path_text
from oloproof.evaluators.temporal.syntax import (
    After,
    All,
    Before,
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
    sames_in,
)
from oloproof.evaluators.temporal.values import ABSENT

MOST_LOOKS: Final = 20_000
_TRUTH: Final = {"pass": True, "fail": False, "missing": None}

Truth = bool | None
Occurs = Callable[[Event, int, int | None], Truth]
"""Whether the call at a position is the event; ``same`` refers to the call at the other position, None for none."""

KeyAt = Callable[[int, Path], Any]
"""The key of the value that a call has at a path: ABSENT, None where it is not known."""


class Exhausted(Exception):
    """More than :data:`MOST_LOOKS` looks at calls."""


class Span(NamedTuple):
    """The calls from ``start`` to before ``stop``. ``is_open``: further ones may follow. ``anchor``: the call that
    ``same`` refers to, None for none."""

    start: int
    stop: int
    is_open: bool
    anchor: int | None = None

    @property
    def positions(self) -> range:
        return range(self.start, self.stop)

    def after(self, position: int) -> Span:
        """The calls after one, which is what they are about."""
        return self._replace(start=position + 1, anchor=position)

    def before(self, position: int) -> Span:
        """The calls before one."""
        return self._replace(stop=position, is_open=False)

    def about(self, position: int) -> Span:
        """The same calls, about that one where they are about none yet."""
        return self if self.anchor is not None else self._replace(anchor=position)


class Blame(NamedTuple):
    """The calls that break a statement, by position, and what was found, in words."""

    positions: tuple[int, ...]
    found: str


class Calls:
    """The calls of a record: ``names`` their tools, ``indexes`` their steps."""

    def __init__(
        self, names: Sequence[str], indexes: Sequence[int], occurs: Occurs, key_at: KeyAt, *, truncated: bool
    ) -> None:
        self._names = names
        self._indexes = indexes
        self._occurs = occurs
        self._key_at = key_at
        self._looks = 0
        self.all = Span(0, len(names), truncated)

    def occurs(self, event: Event, position: int, anchor: int | None) -> Truth:
        self._looks += 1
        if self._looks > MOST_LOOKS:
            raise Exhausted
        return self._occurs(event, position, anchor)

    def certain(self, event: Event, span: Span) -> list[int]:
        """Where the event occurs for certain."""
        return [position for position in span.positions if self.occurs(event, position, span.anchor) is True]

    def possible(self, event: Event, span: Span) -> list[int]:
        """Where it may occur."""
        return [position for position in span.positions if self.occurs(event, position, span.anchor) is not False]

    def shown(self, position: int) -> str:
        """``search (step 3)``."""
        return f"{self._names[position]} (step {self._indexes[position]})"

    # What holds

    def holds(self, statement: Statement, span: Span) -> Truth:
        """Whether the statement holds of the calls in the span, and of all that may follow where it is open."""
        match statement:
            case Times(event, _, most, per) if per is not None:
                return self._times_per(event, most or 0, per, span)
            case Times(event, least, most):
                certain, possible = len(self.certain(event, span)), len(self.possible(event, span))
                return _TRUTH[Count(certain, None if span.is_open else possible).within(least, most)]
            case Within(event, calls):
                first = span._replace(stop=min(span.stop, span.start + calls))
                if self.certain(event, first):
                    return True
                ended = not span.is_open or first.stop - first.start == calls
                return False if ended and not self.possible(event, first) else None
            case Every(event):
                return _all([*(self.occurs(event, at, span.anchor) for at in span.positions), *_unless_ended(span)])
            case Last(event):
                return None if span.is_open else bool(span.positions) and self.occurs(event, span.stop - 1, span.anchor)
            case Until(event, goal):
                return self._until(event, goal, span)
            case Precedes(first, then, immediately):
                return self._follows(first, then, span) if immediately else self._precedes(first, then, span)
            case After(event, body):
                return _all([*(each for _, each in self._bodies(event, body, span)), *_unless_ended(span)])
            case Before(event, body):
                return self._before(event, body, span)
            case If(body, event):
                if span.anchor is not None or not any(sames_in(body)):
                    return _if(self.holds(Times(event, 1, None), span), self.holds(body, span))
                truths = [_if(self.occurs(event, at, None), self.holds(body, span.about(at))) for at in span.positions]
                return _all([*truths, *_unless_ended(span)])
            case Not(inner):
                return _not(self.holds(inner, span))
            case All(statements):
                return _all([self.holds(each, span) for each in statements])
            case Some(statements):
                return _not(_all([_not(self.holds(each, span)) for each in statements]))
            case _:
                assert_never(statement)

    def _bodies(self, event: Event, body: Statement, span: Span) -> Iterator[tuple[int, Truth]]:
        """Of each call that may be the event: that, if it is, the body holds of what follows it."""
        for at in self.possible(event, span):
            yield at, _if(self.occurs(event, at, span.anchor), self.holds(body, span.after(at)))

    def _times_per(self, event: Event, most: int, per: Path, span: Span) -> Truth:
        certain: Counter[Any] = Counter()
        doubtful = 0
        for at in self.possible(event, span):
            key = self._key_at(at, per)
            if key is None or self.occurs(event, at, span.anchor) is None:
                doubtful += key is not ABSENT
            elif key is not ABSENT:
                certain[key] += 1
        largest = max(certain.values(), default=0)
        if largest > most:
            return False
        return None if span.is_open or (doubtful and largest + doubtful > most) else True

    def _until(self, event: Event, goal: Event, span: Span) -> Truth:
        for position in span.positions:
            reached = self.occurs(goal, position, span.anchor)
            if reached is not False:
                return reached
            if (going := self.occurs(event, position, span.anchor)) is not True:
                return going
        return None if span.is_open else False

    def _precedes(self, first: Event, then: Event, span: Span) -> Truth:
        truths = []
        for at in self.possible(then, span):
            earlier = [self.occurs(first, each, at) for each in span.before(at).positions]
            truths.append(_if(self.occurs(then, at, span.anchor), _any(earlier)))
        came = any(self.occurs(first, at, None) for at in span.positions)  # never certain of what is about values
        return _all(truths if came else [*truths, *_unless_ended(span)])

    def _follows(self, first: Event, then: Event, span: Span) -> Truth:
        truths = []
        for at in self.possible(then, span):
            ready = at > span.start and self.occurs(first, at - 1, at)
            truths.append(_if(self.occurs(then, at, span.anchor), ready))
        return _all([*truths, *_unless_ended(span)])

    def _before(self, event: Event, body: Statement, span: Span) -> Truth:
        truths: list[Truth] = []
        for at in self.possible(event, span):
            is_first = self._is_first(at, event, body, span)
            held = self.holds(body, span.before(at).about(at))
            truths.append(_if(_all([self.occurs(event, at, span.anchor), is_first]), held))
        return _all([*truths, *_unless_ended(span)])

    def _is_first(self, position: int, event: Event, body: Statement, span: Span) -> Truth:
        """Whether no such event comes before that one (of the values that it brings, where the body is about them)."""
        paths = () if span.anchor is not None else tuple(dict.fromkeys(same.other_path for same in sames_in(body)))
        earlier = []
        for at in span.before(position).positions:
            same = [self._same(at, position, path) for path in paths]
            earlier.append(_all([self.occurs(event, at, span.anchor), *same]))
        return _not(_any(earlier))

    def _same(self, a: int, b: int, path: Path) -> Truth:
        keys = self._key_at(a, path), self._key_at(b, path)
        return None if None in keys else keys[0] == keys[1]

    # What is to blame

    def blame(self, statement: Statement, span: Span) -> Blame | None:
        """Why the statement does not hold, None where that is not certain."""
        if self.holds(statement, span) is not False:
            return None
        match statement:
            case Times():
                return self._blame_times(statement, span)
            case Within(event, calls):
                return self._blame_first(event, calls, span)
            case Every(event):
                at = next(at for at in span.positions if self.occurs(event, at, span.anchor) is False)
                return Blame((at,), f"{self.shown(at)} is not {event}")
            case Last():
                last = span.positions[-1:]
                return Blame(tuple(last), f"the last call is {self.shown(last[0])}" if last else "no calls")
            case Until(event, goal):
                at = next((at for at in span.positions if self.occurs(event, at, span.anchor) is False), span.stop)
                wrong = (at,) if at < span.stop else ()
                return Blame(wrong, f"{self.shown(at)} before any {goal}" if wrong else f"no {goal}")
            case Precedes(first, then, immediately):
                return self._blame_order(first, then, span, immediately=immediately)
            case After(event, body):
                return self._blame_inside(
                    body, [(at, span.after(at)) for at in self.certain(event, span)], "after {}: {}"
                )
            case Before(event, body):
                scopes = [
                    (at, span.before(at)._replace(anchor=at if span.anchor is None else span.anchor))
                    for at in self.certain(event, span)
                    if self._is_first(at, event, body, span)
                ]
                return self._blame_inside(body, scopes, "before {}: {}")
            case If(body, event):
                brought = [
                    (at, span if span.anchor is not None else span._replace(anchor=at))
                    for at in self.certain(event, span)
                ]
                return self._blame_inside(body, brought, "{}, and {}")
            case Not(inner):
                return Blame((), f"it holds that {inner}")
            case All(statements):
                return next(filter(None, (self.blame(each, span) for each in statements)), None)
            case Some(statements):
                blames = [each for each in (self.blame(part, span) for part in statements) if each is not None]
                positions = tuple(at for each in blames for at in each.positions)
                return Blame(positions, "; and ".join(each.found for each in blames))
            case _:
                assert_never(statement)

    def _blame_times(self, statement: Times, span: Span) -> Blame:
        event, most, per = statement.event, statement.most, statement.per
        occurrences = self._of_one_value(event, most or 0, per, span) if per else self.certain(event, span)
        over = most is not None and len(occurrences) > most
        shown = occurrences[: (most or 0) + 1] if over else occurrences
        if over and most == 0:
            return Blame(tuple(shown), self.shown(shown[0]))
        same = f" with the same {path_text(per)}" if per else ""
        perhaps = "" if over else self._perhaps(event, span)
        return Blame(tuple(shown), self._times(event, occurrences) + same + perhaps)

    def _blame_inside(self, body: Statement, scopes: Iterable[tuple[int, Span]], words: str) -> Blame | None:
        """The first of the scopes in which the body does not hold; each has the call that makes it."""
        for at, scope in scopes:
            inner = self.blame(body, scope)
            if inner is not None:
                return Blame((at, *inner.positions), words.format(self.shown(at), inner.found))
        return None

    def _blame_first(self, event: Event, calls: int, span: Span) -> Blame:
        first = tuple(span.positions[:calls])
        which = "first" if span.start == 0 else "next"
        if calls > 1:
            return Blame(first, f"no {event} in the {which} {calls} calls")
        return Blame(first, f"the {which} call is {self.shown(first[0])}" if first else "no calls")

    def _blame_order(self, first: Event, then: Event, span: Span, *, immediately: bool) -> Blame | None:
        for at in self.certain(then, span):
            if not immediately:
                if not any(self.occurs(first, each, at) is not False for each in span.before(at).positions):
                    return Blame((at,), f"{self.shown(at)} with no {first} before it")
            elif at == span.start:
                return Blame((at,), f"{self.shown(at)} comes first")
            elif self.occurs(first, at - 1, at) is False:
                return Blame((at - 1, at), f"{self.shown(at)} comes right after {self.shown(at - 1)}")
        return None

    def _of_one_value(self, event: Event, most: int, per: Path, span: Span) -> list[int]:
        """The first calls that share a value and are too many."""
        by_key: defaultdict[Any, list[int]] = defaultdict(list)
        for at in self.certain(event, span):
            key = self._key_at(at, per)
            if key is not None and key is not ABSENT:
                by_key[key].append(at)
        return next(found for found in by_key.values() if len(found) > most)

    def _times(self, event: Event, found: Sequence[int]) -> str:
        if not found:
            return f"no {event}"
        return f"{event} {'once' if len(found) == 1 else f'{len(found)} times'} ({self._where(found)})"

    def _perhaps(self, event: Event, span: Span) -> str:
        """Where the event may have occurred, for all that is known."""
        doubtful = [at for at in span.positions if self.occurs(event, at, span.anchor) is None]
        return f", and perhaps at {self._where(doubtful)}" if doubtful else ""

    def _where(self, found: Sequence[int]) -> str:
        where = ", ".join(str(self._indexes[at]) for at in found[:5]) + (", …" if len(found) > 5 else "")
        return f"step{'' if len(found) == 1 else 's'} {where}"


def _unless_ended(span: Span) -> tuple[Truth, ...]:
    """What further calls may make of it."""
    return (None,) if span.is_open else ()


def _not(a: Truth) -> Truth:
    return None if a is None else not a


def _all(truths: Iterable[Truth]) -> Truth:
    seen = set(truths)
    return False if False in seen else None if None in seen else True


def _any(truths: Iterable[Truth]) -> Truth:
    return _not(_all(map(_not, truths)))


def _if(a: Truth, b: Truth) -> Truth:
    """a implies b."""
    return _any([_not(a), b])
