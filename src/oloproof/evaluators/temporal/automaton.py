"""From a statement to the smallest automaton that decides it, and what each of its states can still lead to."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Literal

from msgspec import Struct

from oloproof.evaluators.temporal.letters import Letters
from oloproof.evaluators.temporal.residual import Kind, Residual, derivative, holds_now, size

MAX_STATES: Final = 2_000
MAX_TRANSITIONS: Final = 100_000
MAX_DERIVED: Final = 500_000
"""Parts of statements that are derived to find the states: a second or two."""

State = int
States = frozenset[State]
Fate = Literal["pass", "fail", "open"]


class TooLarge(Exception):
    """More than :data:`MAX_STATES` states, :data:`MAX_TRANSITIONS` transitions or :data:`MAX_DERIVED` parts."""


class Automaton(Struct, frozen=True):
    """Deterministic, complete, minimal; its first state is 0. ``steps[state][letter]`` is the next state.

    ``accepting`` says of each state whether a run may end there, ``fates`` whether every run that gets there passes
    however it goes on (``pass``), none does (``fail``), or both are possible.
    """

    steps: tuple[tuple[State, ...], ...]
    accepting: tuple[bool, ...]
    fates: tuple[Fate, ...]

    def after(self, states: States, letters: Letters) -> States:
        """Where the run may be after a call that may be any of the letters."""
        return frozenset([self.steps[state][letter] for state in states for letter in letters])

    def fate(self, states: Iterable[State], *, ended: bool) -> Fate:
        """The fate that all of the states share, of runs that have ended there or may go on."""
        if ended:
            fates: set[Fate] = {"pass" if self.accepting[state] else "fail" for state in states}
        else:
            fates = {self.fates[state] for state in states}
        return fates.pop() if len(fates) == 1 else "open"


def compiled(start: Residual, kinds: Sequence[Kind]) -> Automaton:
    """The automaton of a statement over letters of these kinds. Errors: TooLarge."""
    steps, accepting = _explored(start, kinds)
    blocks = _equivalent(steps, accepting)
    return _quotient(steps, accepting, blocks)


def _explored(start: Residual, kinds: Sequence[Kind]) -> tuple[list[list[State]], list[bool]]:
    """Every residual that calls can lead to, numbered as it is found."""
    number: dict[Residual, State] = {start: 0}
    waiting = deque([start])
    steps: list[list[State]] = []
    derived = 0
    while waiting:
        state = waiting.popleft()
        derived += size(state) * len(kinds)
        row = []
        for kind in kinds:
            following = derivative(state, kind)
            if following not in number:
                number[following] = len(number)
                waiting.append(following)
            row.append(number[following])
        steps.append(row)
        if len(number) > MAX_STATES or len(number) * len(kinds) > MAX_TRANSITIONS or derived > MAX_DERIVED:
            raise TooLarge
    return steps, [holds_now(state) for state in number]


def _equivalent(steps: Sequence[Sequence[State]], accepting: Sequence[bool]) -> list[int]:
    """The number of each state's class of equivalent ones (Hopcroft 1971)."""
    letters = range(len(steps[0]))
    before: list[defaultdict[State, list[State]]] = [defaultdict(list) for _ in letters]
    for state, row in enumerate(steps):
        for letter, following in enumerate(row):
            before[letter][following].append(state)
    blocks: list[set[State]] = []
    block_of = [0] * len(steps)
    for wanted in (True, False):
        members = {state for state, accepts in enumerate(accepting) if accepts is wanted}
        if members:
            for state in members:
                block_of[state] = len(blocks)
            blocks.append(members)
    waiting = set(range(len(blocks)))
    while waiting:
        splitter = list(blocks[waiting.pop()])
        for letter in letters:
            hit: defaultdict[int, set[State]] = defaultdict(set)
            for state in splitter:
                for earlier in before[letter].get(state, ()):
                    hit[block_of[earlier]].add(earlier)
            for block, inside in hit.items():
                rest = blocks[block] - inside
                if not rest:
                    continue
                smaller, larger = sorted((inside, rest), key=len)
                blocks[block] = larger
                for state in smaller:
                    block_of[state] = len(blocks)
                waiting.add(len(blocks))  # where the old block waits, both of its parts do now
                blocks.append(smaller)
    return block_of


def _quotient(steps: Sequence[Sequence[State]], accepting: Sequence[bool], blocks: Sequence[int]) -> Automaton:
    """One state a class, numbered from the first on in the order in which they are reached."""
    number: dict[int, State] = {}
    members: list[State] = []
    for state, block in enumerate(blocks):
        if block not in number:
            number[block] = len(members)
            members.append(state)
    smaller = tuple(tuple([number[blocks[following]] for following in steps[state]]) for state in members)
    accepts = tuple([accepting[state] for state in members])
    to_pass = _leading_to(smaller, lambda state: accepts[state])
    to_fail = _leading_to(smaller, lambda state: not accepts[state])
    fates: list[Fate] = [
        "pass" if state not in to_fail else "fail" if state not in to_pass else "open" for state in range(len(members))
    ]
    return Automaton(smaller, accepts, tuple(fates))


def _leading_to(steps: Sequence[Sequence[State]], wanted: Callable[[State], bool]) -> set[State]:
    """The states from which some way leads to a wanted one, be it no way at all."""
    before: defaultdict[State, list[State]] = defaultdict(list)
    for state, row in enumerate(steps):
        for following in row:
            before[following].append(state)
    found = {state for state in range(len(steps)) if wanted(state)}
    waiting = list(found)
    while waiting:
        for earlier in before[waiting.pop()]:
            if earlier not in found:
                found.add(earlier)
                waiting.append(earlier)
    return found
