"""Statements about every value at a time: one automaton, in as many states as the values have led it to.

For each value that a record holds where a statement looks, its automaton reads the calls, with "is this value" as one
more thing that is true of a call or not (slicing: Chen and Roşu 2009). Values in the same states move as one, so a call
costs what it costs one automaton, times the sets of states that there are, however many values come.

A value that was not recorded may be any. So every other value may be it, and for what it is itself there is one more
automaton. That is sound: a settled verdict is that of every run. It is complete where all values were recorded and the
run has ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from oloproof.evaluators.temporal.atoms import Known
from oloproof.evaluators.temporal.automaton import Automaton, States
from oloproof.evaluators.temporal.events import Bound
from oloproof.evaluators.temporal.letters import Alphabet, Letter, Letters, OfTool, Truths
from oloproof.evaluators.temporal.monitor import Finding, open_finding
from oloproof.evaluators.temporal.values import ABSENT, Key, key_at
from oloproof.model import trajectory
from oloproof.model.reading import Reading, given

_NOTHING: Final = ("nothing",)
"""What a call brings that does not have the value. Only a call that brings values is about it."""

_NEVER: Final = ("never",)
"""What no value is the same as."""


class ValueMonitor:
    """The automaton of a statement for one value, and the alphabet by which it reads records."""

    def __init__(self, alphabet: Alphabet, automaton: Automaton) -> None:
        self.alphabet = alphabet
        self._automaton = automaton
        self._steps: dict[Letters, Step] = {}
        self._fails = _Fails(automaton)
        self._readers = {name: self._reader(of_tool) for name, of_tool in alphabet.tools.items()}
        self._other = self._reader(alphabet.other)

    def watch(self, reading: Reading, known: Known) -> Finding:
        """Read the calls, up to the one that settles the matter."""
        automaton = self._automaton
        values = _Values()
        for position, name in enumerate(reading.names):
            reader = self._readers.get(name, self._other)
            changed: Iterable[States]
            if isinstance(reader, Step):
                changed = () if reader.is_idle else values.move(reader)
            else:
                changed = self._read(values, reader, reading, position, known)
            for states in changed:
                if self._fails[states]:
                    return Finding("fail", position)
        fates = {automaton.fate(states, ended=not reading.truncated) for states in values.states()}
        if "fail" in fates:
            return Finding("fail")
        if fates == {"pass"}:
            return Finding("pass")
        return open_finding(automaton, frozenset().union(*values.states()), reading, self.alphabet, known)

    def _read(
        self, values: _Values, reader: _Reader, reading: Reading, position: int, known: Known
    ) -> Iterable[States]:
        """Take in a call that is about some values, or may be, and give the states that it led to."""
        of_tool = reader.of_tool
        unbound = of_tool.unbound(reading, position, known)
        if reader[(*unbound, *reader.may_be)].is_idle:
            return ()
        keys = [_key(reading.calls[position], bound) for bound in of_tool.bounds]
        fresh = reader[(*unbound, *reader.none_is)]
        others = fresh
        if None in keys:
            if not values.doubtful:
                self._begin_to_doubt(values, reading, position, known)
            others = reader[(*unbound, *(None if own is None else False for own in keys))]
        moved = [
            (key, reader[(*unbound, *(None if own is None else own == key for own in keys))][values.states_of(key)])
            for key in (keys if len(keys) == 1 else dict.fromkeys(keys))
            if key is not None and key is not _NEVER
        ]
        if values.doubtful:
            may_be = tuple([None if own is not _NEVER else False for own in keys])
            places = [place for place, own in enumerate(keys) if own is None]
            found = [reader[(*unbound, *may_be[:place], True, *may_be[place + 1 :])][values.any] for place in places]
            values.move_lost(reader[(*unbound, *may_be)], found)
        values.move_others(fresh, others)
        for key, states in moved:
            values.put(key, states)
        if not others.is_idle or values.doubtful:
            return values.states()
        return [values.fresh, *(states for _, states in moved)]

    def _begin_to_doubt(self, values: _Values, reading: Reading, position: int, known: Known) -> None:
        """Where an unrecorded value may have led up to its first call; no other value depends on it."""
        values.doubtful = True
        for earlier in range(position):
            reader = self._readers.get(reading.names[earlier], self._other)
            if isinstance(reader, Step):
                values.any = reader[values.any]
                continue
            keys = [_key(reading.calls[earlier], bound) for bound in reader.of_tool.bounds]
            may_be = [None if own is not _NEVER else False for own in keys]
            values.any = reader[(*reader.of_tool.unbound(reading, earlier, known), *may_be)][values.any]

    def _reader(self, of_tool: Letter | OfTool) -> Step | _Reader:
        return self._step(frozenset([of_tool])) if isinstance(of_tool, int) else _Reader(of_tool, self._step)

    def _step(self, letters: Letters) -> Step:
        found = self._steps.get(letters)
        if found is None:
            found = self._steps[letters] = Step(self._automaton, letters)
        return found


class Step(dict[States, States]):
    """What a call that may be these letters does to states. ``is_idle``: nothing."""

    def __init__(self, automaton: Automaton, letters: Letters) -> None:
        self._automaton = automaton
        self._letters = letters
        rows = enumerate(automaton.steps)
        self.is_idle = all(row[letter] == state for state, row in rows for letter in letters)

    def __missing__(self, states: States) -> States:
        found = self[states] = self._automaton.after(states, self._letters)
        return found


class _Reader(dict[Truths, Step]):
    """What a call of one tool does, by what is true of it."""

    def __init__(self, of_tool: OfTool, step: Callable[[Letters], Step]) -> None:
        self.of_tool = of_tool
        self.none_is: Truths = (False,) * len(of_tool.bounds)
        self.may_be: Truths = (None,) * len(of_tool.bounds)
        self._step = step

    def __missing__(self, truths: Truths) -> Step:
        found = self[truths] = self._step(self.of_tool.letters(truths))
        return found


class _Fails(dict[States, bool]):
    """Whether nothing can pass any more from the states."""

    def __init__(self, automaton: Automaton) -> None:
        self._automaton = automaton

    def __missing__(self, states: States) -> bool:
        found = self[states] = self._automaton.fate(states, ended=False) == "fail"
        return found


def _key(call: trajectory.Step, bound: Bound) -> Key | None:
    key: Key | None = key_at(given(call), bound.paths)
    return key if key is not ABSENT else _NOTHING if bound.anchors else _NEVER


class _Group:
    """Values that are in the same states."""

    __slots__ = ("keys", "states")

    def __init__(self, states: States) -> None:
        self.states = states
        self.keys: set[Key] = set()


class _Values:
    """Where the automaton is for each value.

    ``fresh`` is for a value that comes nowhere in the record, ``later`` for one that will come yet. Once some value was
    not recorded (``doubtful``), ``any`` is for what it may be, and ``lost`` for each of those.
    """

    def __init__(self) -> None:
        start: States = frozenset([0])
        self.fresh = self.later = self.any = start
        self.doubtful = False
        self.lost: set[States] = set()
        self._groups: dict[States, _Group] = {}
        self._group_of: dict[Key, _Group] = {}

    def states(self) -> Iterator[States]:
        """Those of every value that the statement is about."""
        yield self.fresh
        yield from self.lost
        yield from self._groups

    def states_of(self, key: Key) -> States:
        group = self._group_of.get(key)
        return self.later if group is None else group.states

    def put(self, key: Key, states: States) -> None:
        """Say where the automaton is for a value."""
        group = self._group_of.get(key)
        if group is not None:
            if group.states == states:
                return
            group.keys.discard(key)
            if not group.keys:
                del self._groups[group.states]
        group = self._groups.get(states)
        if group is None:
            group = self._groups[states] = _Group(states)
        group.keys.add(key)
        self._group_of[key] = group

    def move(self, step: Step) -> Iterable[States]:
        """A call that is the same for every value."""
        if self.doubtful:
            self.move_lost(step, ())
        self.move_others(step, step)
        return self.states()

    def move_others(self, fresh: Step, others: Step) -> None:
        """A call that is about none of the values that come nowhere, or that have come so far.

        Groups that meet are one from then on; the smaller joins the larger, so that no value changes its group often.
        """
        self.fresh, self.later = fresh[self.fresh], others[self.later]
        if others.is_idle:
            return
        before, self._groups = self._groups, {}
        for group in before.values():
            group.states = others[group.states]
            other = self._groups.setdefault(group.states, group)
            if other is group:
                continue
            larger, smaller = (other, group) if len(other.keys) >= len(group.keys) else (group, other)
            for key in smaller.keys:
                self._group_of[key] = larger
            larger.keys |= smaller.keys
            self._groups[group.states] = larger

    def move_lost(self, step: Step, found: Iterable[States]) -> None:
        """A call as it may be for unrecorded values, and where it leads those that are found in it."""
        self.any = step[self.any]
        self.lost = {*(step[states] for states in self.lost), *found}
