"""Which atoms can be true of one call together.

What is known of the values decides equality, one_of and bounds completely, by trying one value of each kind that the
atoms tell apart: the literals, a number between and beyond each two of them, a text of its own, an object, nothing.
Patterns on a text of its own, sources of values and ``same`` count as free: any of them may be true beside any other.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import chain, combinations, pairwise, product
from typing import Any, Final

from msgspec import Struct, field

from oloproof.evaluators.temporal.atoms import Atom, MadeBy, Tested, is_number, test_of
from oloproof.evaluators.temporal.events import Equals, Given, Matches, OneOf, Ordered
from oloproof.model.values import Json

World = frozenset[Atom]
"""The atoms that are true."""

MAX_WORLDS: Final = 4_096


class TooManyWorlds(Exception):
    """More than :data:`MAX_WORLDS` of them."""


def worlds(atoms: Iterable[Atom]) -> set[World]:
    """Every set of the atoms that can be exactly what is true of a call. Errors: TooManyWorlds."""
    left = list(dict.fromkeys(atoms))
    tested = [atom for atom in left if isinstance(atom, Tested)]
    one_agent: set[World] = {frozenset(), *(frozenset([atom]) for atom in left if isinstance(atom, MadeBy))}
    free: list[set[World]] = [
        {frozenset(), frozenset([atom])} for atom in left if not isinstance(atom, MadeBy | Tested)
    ]
    return _joined([one_agent, _worlds_below(_tree(tested)), *free])


def _joined(choices: Iterable[set[World]]) -> set[World]:
    """One of each, together."""
    result: set[World] = {frozenset()}
    for choice in choices:
        if len(result) * len(choice) > MAX_WORLDS:
            raise TooManyWorlds
        result = {a | b for a, b in product(result, choice)}
    return result


class _Place(Struct):
    """What is asked of the value at one path, and of those inside it."""

    atoms: list[Tested] = field(default_factory=list)
    inside: dict[str, _Place] = field(default_factory=dict)


def _tree(atoms: Sequence[Tested]) -> _Place:
    root = _Place()
    for atom in atoms:
        place = root
        for key in atom.path:
            place = place.inside.setdefault(key, _Place())
        place.atoms.append(atom)
    return root


def _worlds_at(place: _Place) -> set[World]:
    """Of a value that may be absent, a plain one, or an object or array."""
    given = frozenset[Atom](atom for atom in place.atoms if isinstance(atom, Given))
    asked = [atom for atom in place.atoms if not isinstance(atom, Given)]
    return {
        frozenset(),
        *(given | {atom for atom in asked if test_of(atom)(value)} for value in _values(asked)),
        *(given | matched for matched in _subsets([atom for atom in asked if isinstance(atom, Matches)])),
        *(given | inside for inside in _worlds_below(place)),
    }


def _worlds_below(place: _Place) -> set[World]:
    return _joined(_worlds_at(inner) for inner in place.inside.values())


def _values(atoms: Iterable[Equals | Ordered | OneOf | Matches]) -> Iterator[Json]:
    """A plain value of each kind that the atoms tell apart, but for texts that none of them names."""
    texts = chain.from_iterable(_literals(atom) for atom in atoms)
    literals = [json.loads(text) for text in texts]
    yield from (None, True, False, *literals)
    numbers = sorted({Fraction(value) for value in literals if is_number(value)})
    yield from ((a + b) / 2 for a, b in pairwise(numbers))
    yield from (numbers[0] - 1, numbers[-1] + 1) if numbers else (0,)


def _literals(atom: Equals | Ordered | OneOf | Matches) -> tuple[str, ...]:
    match atom:
        case Equals(_, value) | Ordered(_, _, value):
            return (value,)
        case OneOf(_, values):
            return values
        case Matches():
            return ()


def _subsets(atoms: Sequence[Atom]) -> Iterator[World]:
    if 2 ** len(atoms) > MAX_WORLDS:
        raise TooManyWorlds
    sizes: Any = (combinations(atoms, size) for size in range(len(atoms) + 1))
    yield from map(frozenset, chain.from_iterable(sizes))
