"""One pass over the calls of a record: what the rule says of every run that the record may be the beginning of.

A call of which something was not recorded may be several letters, so the pass goes on in several states. They are
exactly the states in which the runs that the record stands for can be, since what is unknown of one call has nothing to
do with what is unknown of another. (Sources of values and ``same`` are the exception: there, more than these.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

from oloproof.evaluators.temporal.atoms import Failed, Known
from oloproof.evaluators.temporal.automaton import Automaton, Fate, States
from oloproof.evaluators.temporal.letters import Alphabet, Letter, Letters
from oloproof.model.judgment import MissingReason
from oloproof.model.reading import Reading


class Finding(NamedTuple):
    """What was found of a record. ``position``: the call with which it was settled, None where only the end did, or
    where it is open. ``reason``: why it is open."""

    fate: Fate
    position: int | None = None
    reason: MissingReason | None = None


class Watcher(Protocol):
    """What reads a record and says what is settled."""

    def watch(self, reading: Reading, known: Known) -> Finding: ...


class JoinedMonitor:
    """All of the parts hold, some do, or (of one part) it does not: by Kleene's tables, which are never wrong."""

    def __init__(self, how: Literal["all", "some", "not"], parts: Sequence[Watcher]) -> None:
        self._how = how
        self._parts = parts

    def watch(self, reading: Reading, known: Known) -> Finding:
        findings = [part.watch(reading, known) for part in self._parts]
        if self._how == "not":
            (found,) = findings
            return found if found.fate == "open" else found._replace(fate="fail" if found.fate == "pass" else "pass")
        settling: Fate = "fail" if self._how == "all" else "pass"
        settled = [found for found in findings if found.fate == settling]
        if settled:
            return min(settled, key=lambda found: len(reading.calls) if found.position is None else found.position)
        left = [found for found in findings if found.fate == "open"]
        if not left:
            return Finding("pass" if self._how == "all" else "fail")
        return next((found for found in left if found.reason == "truncated_trajectory"), left[0])


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
        return open_finding(automaton, states, reading, self.alphabet, known) if fate == "open" else Finding(fate)


def open_finding(automaton: Automaton, states: States, reading: Reading, alphabet: Alphabet, known: Known) -> Finding:
    """What leaves a matter open: truncation, where some way to fill in the values does; else what was not recorded."""
    if reading.truncated and any(automaton.fates[state] == "open" for state in states):
        return Finding("open", None, "truncated_trajectory")
    return Finding("open", None, _unrecorded(reading, alphabet, known))


def _unrecorded(reading: Reading, alphabet: Alphabet, known: Known) -> MissingReason:
    """What is lacking of a record that values alone leave open: errors, where it is nothing but them."""
    reasons: set[MissingReason] = set()
    for position, answer in enumerate(reading.answers):
        for atom in alphabet.unknown(reading, position, known):
            if not isinstance(atom, Failed):
                return "arguments_not_recorded"
            # a call that waits for its result where the record breaks off would have got it further on
            reasons.add("truncated_trajectory" if reading.truncated and answer is None else "errors_not_recorded")
    return "truncated_trajectory" if reasons == {"truncated_trajectory"} else "errors_not_recorded"
