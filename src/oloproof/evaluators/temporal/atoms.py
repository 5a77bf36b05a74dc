"""Atoms: what is simply true or false of a call. An event is a formula over them, lowered here tool by tool.

For one tool most atoms are settled: of a call of ``search``, nothing about the arguments of ``issue_refund`` is asked.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

from msgspec import UNSET, Struct

from oloproof.evaluators.patterns import compile_pattern
from oloproof.evaluators.temporal.events import (
    AllOf,
    AnyOf,
    Bound,
    By,
    Call,
    Condition,
    Derived,
    Ended,
    Equals,
    Event,
    Given,
    Matches,
    NoEvent,
    OneOf,
    Ordered,
    Same,
    Unlike,
)
from oloproof.model.values import UNKNOWN, Json, equal, is_incomplete, lookup_known


class MadeBy(Struct, frozen=True):
    """``agent`` made the call."""

    agent: str


class Failed(Struct, frozen=True):
    """The call ended in an error."""


Tested = Equals | Ordered | OneOf | Matches | Given
"""An atom about one value of the arguments alone."""

Atom = MadeBy | Failed | Tested | Derived | Same | Bound
Known = dict[Atom, list[bool | None]]
"""For atoms that need more than the call itself: what is true of each call of the record, None where unknown."""


class Negation(Struct, frozen=True):
    operand: Formula


class Conjunction(Struct, frozen=True):
    operands: tuple[Formula, ...]


Formula = bool | Atom | Negation | Conjunction


def lowered(event: Event, tool: str | None) -> Formula:
    """What the event asks of a call of ``tool`` (None: of a tool that the rule does not name)."""
    match event:
        case Call(name, conditions):
            if name is not None and name != tool:
                return False
            return _conjunction([_condition(condition) for condition in conditions])
        case Ended(inner, failed):
            return _conjunction([lowered(inner, tool), Failed() if failed else Negation(Failed())])
        case By(inner, agent):
            return _conjunction([lowered(inner, tool), MadeBy(agent)])
        case NoEvent(inner):
            return _negation(lowered(inner, tool))
        case AllOf(events):
            return _conjunction([lowered(each, tool) for each in events])
        case AnyOf(events):
            return _negation(_conjunction([_negation(lowered(each, tool)) for each in events]))


def _condition(condition: Condition) -> Formula:
    return Negation(condition.condition) if isinstance(condition, Unlike) else condition


def _negation(formula: Formula) -> Formula:
    if isinstance(formula, bool):
        return not formula
    return formula.operand if isinstance(formula, Negation) else Negation(formula)


def _conjunction(operands: Sequence[Formula]) -> Formula:
    if any(operand is False for operand in operands):
        return False
    left = tuple(operand for operand in operands if operand is not True)
    return True if not left else left[0] if len(left) == 1 else Conjunction(left)


def atoms_of(formula: Formula) -> Iterator[Atom]:
    """The atoms of a formula, from left to right."""
    match formula:
        case bool():
            pass
        case Negation(operand):
            yield from atoms_of(operand)
        case Conjunction(operands):
            for operand in operands:
                yield from atoms_of(operand)
        case _:
            yield formula


def holds(formula: Formula, true: frozenset[Atom]) -> bool:
    """Whether the formula holds where exactly these atoms are true."""
    match formula:
        case bool():
            return formula
        case Negation(operand):
            return not holds(operand, true)
        case Conjunction(operands):
            return all(holds(operand, true) for operand in operands)
        case _:
            return formula in true


def truth_value(formula: Formula, true: Callable[[Atom], bool | None]) -> bool | None:
    """Whether the formula holds, None where that is not certain (Kleene 1952)."""
    match formula:
        case bool():
            return formula
        case Negation(operand):
            inner = truth_value(operand, true)
            return None if inner is None else not inner
        case Conjunction(operands):
            inside = {truth_value(operand, true) for operand in operands}
            return False if False in inside else None if None in inside else True
        case _:
            return true(formula)


# Values


Test = Callable[[Json], bool]
_ORDERS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def truth(atom: Tested, arguments: Json) -> bool | None:
    """Whether the atom is true of a call with these arguments, None where that is unknown."""
    value = lookup_known(arguments, atom.path)
    if value is UNSET:
        return False
    if value is UNKNOWN:
        return None
    if isinstance(atom, Given):
        return True
    return None if is_incomplete(value) else test_of(atom)(value)


@lru_cache(maxsize=10_000)
def test_of(atom: Equals | Ordered | OneOf | Matches) -> Test:
    """The question that an atom asks of a value that is there."""
    match atom:
        case Equals(_, text):
            literal = json.loads(text)
            return lambda value: equal(value, literal)
        case Ordered(_, order, text):
            compare, bound = _ORDERS[order], json.loads(text)
            return lambda value: is_number(value) and compare(value, bound)
        case OneOf(_, texts):
            literals = [json.loads(text) for text in texts]
            return lambda value: any(equal(value, literal) for literal in literals)
        case Matches(_, pattern):
            search = compile_pattern("rule", pattern).search
            return lambda value: isinstance(value, str) and search(value) is not None


def is_number(value: Json) -> bool:
    """A number, which true and false are not. (A fraction may stand for the numbers between two others.)"""
    return isinstance(value, int | float | Fraction) and not isinstance(value, bool)
