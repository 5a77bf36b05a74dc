"""What is left to be shown of a rule once some calls have come: statements over letters, and their derivatives.

A derivative (Brzozowski 1964) is what the calls after a first one must satisfy; where none come, :func:`holds_now` says
whether it is satisfied. Runs are finite and may be empty, which is LTLf (De Giacomo and Vardi 2013) over calls, with
counts and scopes. And, or and not are kept in a form in which few equal statements look unequal, for each of them
becomes a state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import assert_never

from msgspec import Struct

from oloproof.evaluators.temporal import syntax
from oloproof.evaluators.temporal.events import Event
from oloproof.evaluators.temporal.syntax import Statement

Kind = tuple[bool, ...]
"""Of one call: which of the events it is."""


class Times(Struct, frozen=True):
    event: int
    least: int
    most: int | None


class Within(Struct, frozen=True):
    event: int
    calls: int


class Every(Struct, frozen=True):
    event: int


class Last(Struct, frozen=True):
    """``holds``: the call before was the event."""

    event: int
    holds: bool = False


class Until(Struct, frozen=True):
    event: int
    goal: int


class Precedes(Struct, frozen=True):
    first: int
    then: int


class Follows(Struct, frozen=True):
    """``then`` only right after ``first``; ``ready``: the call before was ``first``."""

    first: int
    then: int
    ready: bool = False


class After(Struct, frozen=True):
    event: int
    body: Residual


class Before(Struct, frozen=True):
    event: int
    body: Residual


class Not(Struct, frozen=True):
    operand: Residual


class All(Struct, frozen=True):
    operands: frozenset[Residual]


class Some(Struct, frozen=True):
    operands: frozenset[Residual]


Residual = bool | Times | Within | Every | Last | Until | Precedes | Follows | After | Before | Not | All | Some


def residual(statement: Statement, number: Mapping[Event, int]) -> Residual:
    """The statement with the numbers of its events."""
    of = number.__getitem__
    match statement:
        case syntax.Times(event, least, most):
            return _times(of(event), least, most)
        case syntax.Within(event, calls):
            return Within(of(event), calls)
        case syntax.Every(event):
            return Every(of(event))
        case syntax.Last(event):
            return Last(of(event))
        case syntax.Until(event, goal):
            return Until(of(event), of(goal))
        case syntax.Precedes(first, then, immediately):
            return Follows(of(first), of(then)) if immediately else Precedes(of(first), of(then))
        case syntax.After(event, body):
            return _after(of(event), residual(body, number))
        case syntax.Before(event, body):
            return _before(of(event), residual(body, number))
        case syntax.If(body, event):
            return some([_times(of(event), 0, 0), residual(body, number)])
        case syntax.Not(inner):
            return negation(residual(inner, number))
        case syntax.All(statements):
            return all_of([residual(each, number) for each in statements])
        case syntax.Some(statements):
            return some([residual(each, number) for each in statements])
        case _:
            assert_never(statement)


def holds_now(left: Residual) -> bool:
    """Whether it is satisfied where no further call comes."""
    match left:
        case bool():
            return left
        case Times(_, least, _):
            return least == 0
        case Within() | Until():
            return False
        case Every() | Precedes() | Follows() | After() | Before():
            return True
        case Last(_, holds):
            return holds
        case Not(operand):
            return not holds_now(operand)
        case All(operands):
            return all(map(holds_now, operands))
        case Some(operands):
            return any(map(holds_now, operands))
        case _:
            assert_never(left)


def derivative(left: Residual, call: Kind) -> Residual:
    """What the calls after ``call`` must satisfy."""
    match left:
        case bool():
            return left
        case Times(event, least, most):
            if not call[event]:
                return left
            return False if most == 0 else _times(event, max(0, least - 1), None if most is None else most - 1)
        case Within(event, calls):
            return call[event] or (calls > 1 and Within(event, calls - 1))
        case Every(event):
            return call[event] and left
        case Last(event):
            return Last(event, call[event])
        case Until(event, goal):
            return call[goal] or (call[event] and left)
        case Precedes(first, then):
            return not call[then] and (call[first] or left)
        case Follows(first, then, ready):
            return (ready or not call[then]) and Follows(first, then, call[first])
        case After(event, body):
            return all_of([left, body]) if call[event] else left
        case Before(event, body):
            return holds_now(body) if call[event] else _before(event, derivative(body, call))
        case Not(operand):
            return negation(derivative(operand, call))
        case All(operands):
            return all_of([derivative(each, call) for each in operands])
        case Some(operands):
            return some([derivative(each, call) for each in operands])
        case _:
            assert_never(left)


def size(left: Residual) -> int:
    """How many parts it has, which is what a derivative costs."""
    match left:
        case All(operands) | Some(operands):
            return 1 + sum(map(size, operands))
        case After(_, body) | Before(_, body):
            return 1 + size(body)
        case Not(operand):
            return 1 + size(operand)
        case _:
            return 1


# Forms


def _times(event: int, least: int, most: int | None) -> Residual:
    if most is None:
        return least == 0 or Times(event, least, None)
    return least <= most and Times(event, least, most)


def _after(event: int, body: Residual) -> Residual:
    return body is True or After(event, body)


def _before(event: int, body: Residual) -> Residual:
    return body is True or Before(event, body)


def negation(left: Residual) -> Residual:
    """Not ``left``, with "not" as far inside as it goes."""
    match left:
        case bool():
            return not left
        case Not(operand):
            return operand
        case Times(event, 0, int(most)):
            return Times(event, most + 1, None)
        case Times(event, least, None):
            return _times(event, 0, least - 1)
        case All(operands):
            return some([negation(each) for each in operands])
        case Some(operands):
            return all_of([negation(each) for each in operands])
        case _:
            return Not(left)


def all_of(parts: Iterable[Residual]) -> Residual:
    """All of the parts: flat, each once, and one for several that ask the same of the same event."""
    flat = {each for part in parts for each in (part.operands if isinstance(part, All) else (part,))}
    if False in flat:
        return False
    flat.discard(True)
    left = frozenset(_merged(flat, _both))
    if False in left or any(negation(each) in left for each in left):
        return False
    return True if not left else next(iter(left)) if len(left) == 1 else All(left)


def some(parts: Iterable[Residual]) -> Residual:
    """One of the parts."""
    flat = {each for part in parts for each in (part.operands if isinstance(part, Some) else (part,))}
    if True in flat:
        return True
    flat.discard(False)
    left = frozenset(_merged(flat, _either))
    if True in left or any(negation(each) in left for each in left):
        return True
    return False if not left else next(iter(left)) if len(left) == 1 else Some(left)


def _merged(parts: Iterable[Residual], merge: Callable[[Residual, Residual], Residual | None]) -> list[Residual]:
    """The parts, those of one shape and event merged where that can be."""
    left: dict[object, Residual] = {}
    for part in parts:
        key: object = (type(part), part.event) if isinstance(part, Times | Within | After | Before) else part
        other = left.get(key)
        merged = part if other is None else merge(other, part)
        if merged is None:
            key, merged = part, part
        left[key] = merged
    return list(left.values())


def _both(a: Residual, b: Residual) -> Residual | None:
    match a, b:
        case Times(event, least, most), Times(_, other_least, other_most):
            mosts = [bound for bound in (most, other_most) if bound is not None]
            return _times(event, max(least, other_least), min(mosts, default=None))
        case Within(event, calls), Within(_, other):
            return Within(event, min(calls, other))
        case After(event, body), After(_, other):
            return _after(event, all_of([body, other]))
        case Before(event, body), Before(_, other):
            return _before(event, all_of([body, other]))
        case _:
            return None


def _either(a: Residual, b: Residual) -> Residual | None:
    match a, b:
        case Times(event, least, None), Times(_, other, None):
            return Times(event, min(least, other), None)
        case Times(event, 0, int(most)), Times(_, 0, int(other)):
            return Times(event, 0, max(most, other))
        case Within(event, calls), Within(_, other):
            return Within(event, max(calls, other))
        case _:
            return None
