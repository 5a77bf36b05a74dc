"""One pass over the calls of a record: what the rule says of every run that the record may be the beginning of.

A call of which something was not recorded may be several letters, so the pass goes on in several states. They are
exactly the states in which the runs that the record stands for can be, since what is unknown of one call has nothing to
do with what is unknown of another. (Sources of values and ``same`` are the exception: there, more than these.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from oloproof.evaluators.temporal.atoms import Failed
from oloproof.evaluators.temporal.automaton import Automaton, Fate, States
from oloproof.evaluators.temporal.letters import Alphabet, Known, Letter, Letters
from oloproof.model.judgment import MissingReason
from oloproof.model.reading import Reading


class Finding(NamedTuple):
    """What was found of a record. ``position``: the call with which it was settled, None where only the end did, or
    where it is open. ``reason``: why it is open."""

    fate: Fate
    position: int | None = None
    reason: MissingReason | None = None


class Monitor:
    """An automaton, and the alphabet by which it reads records."""

    def __init__(self, alphabet: Alphabet, automaton: Automaton) -> None:
        self.alphabet = alphabet
        self.automaton = automaton
        self._steps = automaton.steps
        self._settled = tuple([fate != "open" for fate in automaton.fates])

    def watch(self, reading: Reading, known: Known) -> Finding:
        """Read the calls, up to the one that settles the matter."""
        steps, settled = self._steps, self._settled
        spelled = self.alphabet.spell(reading, known)
        state = 0
        for position, letter in enumerate(spelled):
            if type(letter) is not int:
                return self._watch_unknown(spelled, reading, known)
            state = steps[state][letter]
            if settled[state]:
                return Finding(self.automaton.fates[state], position)
        if reading.truncated:
            return Finding("open", None, "truncated_trajectory")
        return Finding("pass" if self.automaton.accepting[state] else "fail")

    def _watch_unknown(self, spelled: Sequence[Letter | Letters], reading: Reading, known: Known) -> Finding:
        automaton = self.automaton
        states: States = frozenset([0])
        for position, letter in enumerate(spelled):
            states = automaton.after(states, letter if isinstance(letter, frozenset) else frozenset([letter]))
            fate = automaton.fate(states, ended=False)
            if fate != "open":
                return Finding(fate, position)
        fate = automaton.fate(states, ended=not reading.truncated)
        return Finding(fate, None, self._reason(states, reading, known) if fate == "open" else None)

    def _reason(self, states: States, reading: Reading, known: Known) -> MissingReason:
        """Truncation, where some way to fill in the values leaves the matter open; else what was not recorded."""
        if reading.truncated and any(self.automaton.fates[state] == "open" for state in states):
            return "truncated_trajectory"
        return unrecorded(reading, self.alphabet, known)


def unrecorded(reading: Reading, alphabet: Alphabet, known: Known) -> MissingReason:
    """What is lacking of a record that values alone leave open: errors, where it is nothing but them."""
    reasons: set[MissingReason] = set()
    for position, answer in enumerate(reading.answers):
        for atom in alphabet.unknown(reading, position, known):
            if not isinstance(atom, Failed):
                return "arguments_not_recorded"
            # a call that waits for its result where the record breaks off would have got it further on
            reasons.add("truncated_trajectory" if reading.truncated and answer is None else "errors_not_recorded")
    return "truncated_trajectory" if reasons == {"truncated_trajectory"} else "errors_not_recorded"
