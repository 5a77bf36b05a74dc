"""A compiled rule, and what it costs to make one: once a configuration."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

from oloproof.evaluators.temporal.atoms import Atom, Formula, Known, lowered, truth_value
from oloproof.evaluators.temporal.automaton import Automaton, TooLarge, compiled
from oloproof.evaluators.temporal.binding import ForEveryValue, Joined, Part, Plain, parts_of
from oloproof.evaluators.temporal.errors import SAYS_NOTHING, TOO_LARGE, RuleError
from oloproof.evaluators.temporal.events import By, Derived, Event, Path, Same
from oloproof.evaluators.temporal.interpreter import Blame, Calls, Exhausted, Span
from oloproof.evaluators.temporal.letters import Alphabet, reader_of, tools_of
from oloproof.evaluators.temporal.monitor import Finding, JoinedMonitor, Monitor, Watcher
from oloproof.evaluators.temporal.parser import Parsed, parse
from oloproof.evaluators.temporal.quantified import ValueMonitor
from oloproof.evaluators.temporal.residual import residual
from oloproof.evaluators.temporal.syntax import Statement, conditions_in, parts, walk
from oloproof.evaluators.temporal.trigger import fired, triggers
from oloproof.evaluators.temporal.values import derived, key_at, same
from oloproof.evaluators.temporal.worlds import TooManyWorlds
from oloproof.model.reading import Reading, given


class Rule:
    """A rule that says something: some runs pass it, and others fail. Errors: RuleError."""

    def __init__(self, text: str) -> None:
        parsed = parse(text)
        self.statement = parsed.statement
        self.tools = tuple(dict.fromkeys(tools_of(parsed.statement)))
        self._tools = frozenset(self.tools)
        self.names_agents = any(isinstance(part, By) for part in walk(parsed.statement))
        self._derived = tuple(dict.fromkeys(derived_in(parsed.statement)))
        self.reads_results = any(atom.source == "result" for atom in self._derived)
        self.monitor = _Compiler(parsed).monitor(parts_of(parsed))
        self._lowered: dict[tuple[Event, str | None], Formula] = {}

    @property
    def waits(self) -> bool:
        """Whether there are runs of which the rule says nothing."""
        return fired(self.statement) is not None

    @property
    def trigger(self) -> str:
        """The events that the rule waits for, "" where it waits for none."""
        return " and ".join(str(event) for event in triggers(self.statement))

    def watch(self, reading: Reading) -> Finding:
        """What the rule says of a record."""
        return self.monitor.watch(reading, self._known(reading))

    def blame(self, reading: Reading, position: int | None) -> Blame | None:
        """Why a record fails it, which the call at ``position`` settled (None: the end); None where that takes long."""
        calls = self.calls(reading)
        seen = calls.all if position is None else Span(0, position + 1, is_open=True)
        try:
            return calls.blame(self.statement, seen)
        except Exhausted:
            return None

    def fired(self, reading: Reading) -> bool:
        """Whether the record gave the rule something to say."""
        return self._trigger is None or self._trigger.watch(reading, self._known(reading)).fate == "pass"

    @cached_property
    def _trigger(self) -> Watcher | None:
        """What watches for what the rule waits for, None where it waits for nothing."""
        waited_for = fired(self.statement)
        return None if waited_for is None else Monitor(*_automaton(waited_for))

    def calls(self, reading: Reading) -> Calls:
        """The calls of a record, for questions about single statements."""
        known, calls = self._known(reading), reading.calls
        names = [name if name in self._tools else None for name in reading.names]

        def occurs(event: Event, position: int, anchor: int | None) -> bool | None:
            def true(atom: Atom) -> bool | None:
                if isinstance(atom, Same) and anchor is not None:
                    return same(given(calls[position]), atom.path, given(calls[anchor]), atom.other_path)
                return reader_of(atom)(reading, position, known)

            formula = self._formula(event, names[position])
            return formula if isinstance(formula, bool) else truth_value(formula, true)

        def key(position: int, path: Path) -> Any:
            return key_at(given(calls[position]), [path])

        indexes = [call.index for call in calls]
        return Calls(reading.names, indexes, occurs, key, truncated=reading.truncated)

    def _formula(self, event: Event, tool: str | None) -> Formula:
        """What is left of an event for a call of a tool."""
        found = self._lowered.get((event, tool))
        if found is None:
            found = self._lowered[event, tool] = lowered(event, tool)
        return found

    def _known(self, reading: Reading) -> Known:
        return derived(reading, self._derived) if self._derived else {}


class _Compiler:
    def __init__(self, parsed: Parsed) -> None:
        self.parsed = parsed

    def monitor(self, part: Part) -> Watcher:
        """What watches a part of the rule."""
        match part:
            case Plain(statement):
                return Monitor(*self._automaton(statement))
            case ForEveryValue(statement):
                return ValueMonitor(*self._automaton(statement))
            case Joined(how, parts):
                return JoinedMonitor(how, [self.monitor(each) for each in parts])

    def _automaton(self, statement: Statement) -> tuple[Alphabet, Automaton]:
        text = self.parsed.text
        try:
            alphabet, automaton = _automaton(statement)
        except TooManyWorlds:
            raise self._too_large("its events can be true together in too many ways") from None
        except TooLarge:
            raise self._too_large("it has to remember too much") from None
        for event, occurs in zip(alphabet.events, zip(*alphabet.kinds, strict=True), strict=True):
            if not any(occurs):
                raise RuleError(f"no call can be {event}", text, self.parsed.place(event), code=SAYS_NOTHING)
        match automaton.fates[0]:
            case "pass":
                raise RuleError(f"{self._what(statement)} is true of every run", text, 0, code=SAYS_NOTHING)
            case "fail":
                raise RuleError(f"no run can satisfy {self._what(statement)}", text, 0, code=SAYS_NOTHING)
            case "open":
                return alphabet, automaton

    def _what(self, statement: Statement) -> str:
        return "this rule" if statement == self.parsed.statement else f"`{statement}`"

    def _too_large(self, why: str) -> RuleError:
        hint = "split it, or use smaller numbers"
        return RuleError(f"the rule is too large: {why}", self.parsed.text, 0, hint=hint, code=TOO_LARGE)


def _automaton(statement: Statement) -> tuple[Alphabet, Automaton]:
    """Errors: TooManyWorlds, TooLarge."""
    events = tuple(dict.fromkeys(events_of(statement)))
    alphabet = Alphabet(events)
    number = {event: place for place, event in enumerate(events)}
    return alphabet, compiled(residual(statement, number), alphabet.kinds)


def derived_in(statement: Statement) -> Iterable[Derived]:
    """Every ``from`` that stands in a statement."""
    return (condition for condition in conditions_in(statement) if isinstance(condition, Derived))


def events_of(statement: Statement) -> Iterable[Event]:
    """The events of a statement, from left to right, but not those inside them."""
    pending: list[Event | Statement] = [statement]
    while pending:
        node = pending.pop()
        if isinstance(node, Event):
            yield node
        else:
            pending.extend(reversed(parts(node)))
