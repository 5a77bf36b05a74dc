"""Letters: what a call can be to a rule, which is which of the rule's events it is.

A call that was recorded in full is one letter; one of which something is not known may be several. What tool was called
says most of it, so a call costs a look-up, and its arguments are read only where an event asks for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from oloproof.evaluators.temporal.atoms import Atom, Failed, MadeBy, atoms_of, holds, lowered, truth
from oloproof.evaluators.temporal.syntax import Call, Equals, Event, Given, Matches, OneOf, Ordered, Statement, walk
from oloproof.evaluators.temporal.worlds import World, worlds
from oloproof.model.reading import Reading

Letter = int
Letters = frozenset[Letter]
Known = dict[Atom, list[bool | None]]
"""For atoms that need more than the call itself: what is true of each call of the record, None where unknown."""


class Alphabet:
    """The letters of some events. ``kinds`` says of each letter which of the events it is.

    Errors: TooManyWorlds where the atoms of the events can be true in too many ways.
    """

    def __init__(self, events: Sequence[Event]) -> None:
        numbers: dict[tuple[bool, ...], Letter] = {}
        self._of_tool: dict[str, Letter | OfTool] = {}
        tools = dict.fromkeys(tool for event in events for tool in tools_of(event))
        for tool in (*tools, None):
            formulas = [lowered(event, tool) for event in events]
            atoms = tuple(dict.fromkeys(atom for formula in formulas for atom in atoms_of(formula)))
            kinds = {world: tuple([holds(formula, world) for formula in formulas]) for world in worlds(atoms)}
            letters = {world: numbers.setdefault(kind, len(numbers)) for world, kind in kinds.items()}
            known = set(letters.values())
            of_tool = OfTool(atoms, letters) if len(known) > 1 else known.pop()
            if tool is None:
                self._other = of_tool
            else:
                self._of_tool[tool] = of_tool
        self.kinds = tuple(numbers)
        self._by_name_alone = not any(isinstance(each, OfTool) for each in (self._other, *self._of_tool.values()))

    def spell(self, reading: Reading, known: Known) -> list[Letter | Letters]:
        """What each call of the record is."""
        find, other = self._of_tool.get, self._other
        spelled: list[Letter | Letters] = []
        if self._by_name_alone:
            spelled += [find(name, other) for name in reading.names]  # type: ignore[misc]
            return spelled
        for position, name in enumerate(reading.names):
            found = find(name, other)
            spelled.append(found if isinstance(found, int) else found.letter(reading, position, known))
        return spelled

    def unknown(self, reading: Reading, position: int, known: Known) -> list[Atom]:
        """The atoms that make a call more than one letter."""
        found = self._of_tool.get(reading.names[position], self._other)
        return [] if isinstance(found, int) else found.unknown(reading, position, known)


class OfTool:
    """The letters that a call of one tool may be, where its ``atoms`` tell several apart."""

    def __init__(self, atoms: tuple[Atom, ...], letters: Mapping[World, Letter]) -> None:
        self._atoms = atoms
        self._readers = [_reader(atom) for atom in atoms]
        self._letters = letters
        self._seen: dict[tuple[bool | None, ...], Letter | Letters] = {}

    def letter(self, reading: Reading, position: int, known: Known) -> Letter | Letters:
        truths = tuple([read(reading, position, known) for read in self._readers])
        found = self._seen.get(truths)
        if found is None:
            found = self._seen[truths] = self._agreeing(truths)
        return found

    def unknown(self, reading: Reading, position: int, known: Known) -> list[Atom]:
        truths = [read(reading, position, known) for read in self._readers]
        return [atom for atom, true in zip(self._atoms, truths, strict=True) if true is None]

    def _agreeing(self, truths: tuple[bool | None, ...]) -> Letter | Letters:
        told = {atom: true for atom, true in zip(self._atoms, truths, strict=True) if true is not None}
        agreeing = [
            letter
            for world, letter in self._letters.items()
            if all((atom in world) is true for atom, true in told.items())
        ]
        return agreeing[0] if len(set(agreeing)) == 1 else frozenset(agreeing)


_Reader = Callable[[Reading, int, Known], bool | None]


def _reader(atom: Atom) -> _Reader:
    match atom:
        case MadeBy(agent):
            return lambda reading, position, _: reading.calls[position].agent == agent
        case Equals() | Ordered() | OneOf() | Matches() | Given():
            return lambda reading, position, _: truth(atom, reading.calls[position].arguments)
        case Failed():
            return lambda reading, position, _: reading.failed[position]
        case _:
            return lambda _, position, known: known[atom][position]


def tools_of(node: Event | Statement) -> Iterable[str]:
    """The tools that an event or a statement names, with repeats."""
    return (part.tool for part in walk(node) if isinstance(part, Call) and part.tool is not None)
