"""Letters: what a call can be to a rule, which is which of the rule's events it is.

A call that was recorded in full is one letter; one of which something is not known may be several. What tool was called
says most of it, so a call costs a look-up, and its arguments are read only where an event asks for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final

from oloproof.evaluators.temporal.atoms import Atom, Failed, Known, MadeBy, atoms_of, holds, lowered, truth
from oloproof.evaluators.temporal.events import (
    Bound,
    Call,
    Derived,
    Equals,
    Event,
    Given,
    Matches,
    OneOf,
    Ordered,
    Same,
)
from oloproof.evaluators.temporal.syntax import Statement, walk
from oloproof.evaluators.temporal.values import key_at
from oloproof.evaluators.temporal.worlds import TooManyWorlds, World, worlds
from oloproof.model.reading import Reading, given

Letter = int
Letters = frozenset[Letter]
Truths = tuple[bool | None, ...]
"""Of some atoms: whether they are true of a call, None where unknown."""

MAX_TRIED: Final = 500_000
"""Events that are asked about worlds, tool by tool, to find the letters: about a second."""

_COST_OF_WORLD: Final = 10


class Alphabet:
    """The letters of some events. ``kinds`` says of each letter which of the events it is.

    ``tools`` says of each tool that the events name what a call of it may be, ``other`` what any other call may be.

    Errors: TooManyWorlds where the atoms of the events can be true in too many ways.
    """

    def __init__(self, events: Sequence[Event]) -> None:
        self.events = tuple(events)
        numbers: dict[tuple[bool, ...], Letter] = {}
        tried = 0
        self.tools: dict[str, Letter | OfTool] = {}
        tools = dict.fromkeys(tool for event in events for tool in tools_of(event))
        for tool in (*tools, None):
            formulas = [lowered(event, tool) for event in events]
            atoms = tuple(dict.fromkeys(atom for formula in formulas for atom in atoms_of(formula)))
            ways = worlds(atoms)
            tried += len(ways) * (len(events) + _COST_OF_WORLD)
            if tried > MAX_TRIED:
                raise TooManyWorlds
            kinds = {world: tuple([holds(formula, world) for formula in formulas]) for world in ways}
            letters = {world: numbers.setdefault(kind, len(numbers)) for world, kind in kinds.items()}
            known = set(letters.values())
            of_tool = OfTool(atoms, letters) if len(known) > 1 else known.pop()
            if tool is None:
                self.other = of_tool
            else:
                self.tools[tool] = of_tool
        self.kinds = tuple(numbers)
        self._by_name_alone = not any(isinstance(each, OfTool) for each in (self.other, *self.tools.values()))

    def spell(self, reading: Reading, known: Known) -> list[Letter | Letters]:
        """What each call of the record is."""
        find, other = self.tools.get, self.other
        spelled: list[Letter | Letters] = []
        if self._by_name_alone:
            spelled += [find(name, other) for name in reading.names]  # type: ignore[misc]
            return spelled
        for position, name in enumerate(reading.names):
            found = find(name, other)
            spelled.append(found if isinstance(found, int) else found.letter(reading, position, known))
        return spelled

    def unknown(self, reading: Reading, position: int, known: Known) -> list[Atom]:
        """The atoms of which it is not known whether they are true of a call."""
        found = self.tools.get(reading.names[position], self.other)
        return [] if isinstance(found, int) else found.unknown(reading, position, known)


class OfTool:
    """The letters that a call of one tool may be, where its atoms tell several apart."""

    def __init__(self, atoms: Sequence[Atom], letters: Mapping[World, Letter]) -> None:
        self.bounds = tuple([atom for atom in atoms if isinstance(atom, Bound)])
        self._atoms = (*(atom for atom in atoms if not isinstance(atom, Bound)), *self.bounds)
        self._readers = [reader_of(atom) for atom in self._atoms]
        self._unbound_readers = self._readers[: len(self._atoms) - len(self.bounds)]
        self._letters = letters
        self._seen: dict[Truths, Letter | Letters] = {}

    def letter(self, reading: Reading, position: int, known: Known) -> Letter | Letters:
        """What a call may be."""
        return self._of(self._truths(reading, position, known))

    def unbound(self, reading: Reading, position: int, known: Known) -> Truths:
        """What is true of a call, but for what its values are."""
        return tuple([read(reading, position, known) for read in self._unbound_readers])

    def letters(self, truths: Truths) -> Letters:
        """What a call may be of which this is true: ``unbound``, and then one truth each of the ``bounds``."""
        found = self._of(truths)
        return frozenset([found]) if isinstance(found, int) else found

    def unknown(self, reading: Reading, position: int, known: Known) -> list[Atom]:
        """The atoms of which it is not known whether they are true of a call."""
        truths = self._truths(reading, position, known)
        return [atom for atom, true in zip(self._atoms, truths, strict=True) if true is None]

    def _truths(self, reading: Reading, position: int, known: Known) -> Truths:
        return tuple([read(reading, position, known) for read in self._readers])

    def _of(self, truths: Truths) -> Letter | Letters:
        found = self._seen.get(truths)
        if found is None:
            found = self._seen[truths] = self._agreeing(truths)
        return found

    def _agreeing(self, truths: Truths) -> Letter | Letters:
        told = {atom: true for atom, true in zip(self._atoms, truths, strict=True) if true is not None}
        agreeing = [
            letter
            for world, letter in self._letters.items()
            if all((atom in world) is true for atom, true in told.items())
        ]
        return agreeing[0] if len(set(agreeing)) == 1 else frozenset(agreeing)


Reader = Callable[[Reading, int, Known], bool | None]


@lru_cache(maxsize=10_000)
def reader_of(atom: Atom) -> Reader:
    """What says whether the atom is true of a call, None where that is unknown.

    Of values that are not said, no call's are the ones, for certain or as far as is known.
    """
    match atom:
        case MadeBy(agent):
            return lambda reading, position, _: reading.calls[position].agent == agent
        case Equals() | Ordered() | OneOf() | Matches() | Given():
            return lambda reading, position, _: truth(atom, given(reading.calls[position]))
        case Failed():
            return lambda reading, position, _: reading.failed[position]
        case Derived():
            return lambda _, position, known: known[atom][position]
        case Bound(paths):
            return lambda reading, position, _: None if key_at(given(reading.calls[position]), paths) is None else False
        case Same():
            return lambda *_: None


def tools_of(node: Event | Statement) -> Iterable[str]:
    """The tools that an event or a statement names, with repeats."""
    return (part.tool for part in walk(node) if isinstance(part, Call) and part.tool is not None)
