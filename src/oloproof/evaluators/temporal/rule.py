"""A compiled rule, and what it costs to make one: once a configuration."""

from __future__ import annotations

from collections.abc import Iterable

from oloproof.evaluators.temporal.automaton import TooLarge, compiled
from oloproof.evaluators.temporal.errors import SAYS_NOTHING, TOO_LARGE, RuleError
from oloproof.evaluators.temporal.interpreter import Blame, Calls, Exhausted
from oloproof.evaluators.temporal.letters import Alphabet, tools_of
from oloproof.evaluators.temporal.monitor import Finding, Monitor
from oloproof.evaluators.temporal.parser import Parsed, parse
from oloproof.evaluators.temporal.residual import residual
from oloproof.evaluators.temporal.syntax import (
    After,
    AllOf,
    AnyOf,
    Before,
    By,
    Call,
    Derived,
    Ended,
    Event,
    If,
    NoEvent,
    Precedes,
    Same,
    Statement,
    Times,
    Unlike,
    parts,
    walk,
)
from oloproof.evaluators.temporal.worlds import TooManyWorlds
from oloproof.model.reading import Reading


class Rule:
    """A rule that says something: some runs pass it, and others fail. Errors: RuleError."""

    def __init__(self, text: str) -> None:
        parsed = parse(text)
        self.statement = parsed.statement
        self.tools = tuple(dict.fromkeys(tools_of(parsed.statement)))
        self.names_agents = any(isinstance(part, By) for part in walk(parsed.statement))
        self._events = tuple(dict.fromkeys(events_of(parsed.statement)))
        self._number = {event: number for number, event in enumerate(self._events)}
        self.monitor = self._compile(parsed)

    def watch(self, reading: Reading) -> Finding:
        """What the rule says of a record."""
        return self.monitor.watch(reading, {})

    def blame(self, reading: Reading) -> Blame | None:
        """Why a record fails it, None where that takes long to say."""
        calls = self.calls(reading)
        try:
            return calls.blame(self.statement, calls.all)
        except Exhausted:
            return None

    @property
    def trigger(self) -> str:
        """The events that the rule waits for, "" where it waits for none."""
        return " and ".join(str(event) for event in triggers(self.statement))

    def fired(self, reading: Reading) -> bool:
        """Whether the record gave the rule something to say."""
        calls = self.calls(reading)
        try:
            return calls.fired(self.statement, calls.all)
        except Exhausted:
            return True

    def calls(self, reading: Reading) -> Calls:
        alphabet = self.monitor.alphabet
        spelled = alphabet.spell(reading, {})

        def occurs(event: Event, position: int) -> bool | None:
            letter, number = spelled[position], self._number[event]
            letters = (letter,) if isinstance(letter, int) else letter
            found = {alphabet.kinds[each][number] for each in letters}
            return found.pop() if len(found) == 1 else None

        indexes = [call.index for call in reading.calls]
        return Calls(reading.names, indexes, occurs, truncated=reading.truncated)

    def _compile(self, parsed: Parsed) -> Monitor:
        _refuse_flow(parsed)
        try:
            alphabet = Alphabet(self._events)
            for number, event in enumerate(self._events):
                if not any(kind[number] for kind in alphabet.kinds):
                    raise RuleError(f"no call can be {event}", parsed.text, parsed.place(event), code=SAYS_NOTHING)
            automaton = compiled(residual(parsed.statement, self._number), alphabet.kinds)
        except TooManyWorlds:
            raise _too_large(parsed, "its events can be true together in too many ways") from None
        except TooLarge:
            raise _too_large(parsed, "it has to remember too much") from None
        match automaton.fates[0]:
            case "pass":
                raise RuleError("this rule is true of every run", parsed.text, 0, code=SAYS_NOTHING)
            case "fail":
                raise RuleError("no run can satisfy this rule", parsed.text, 0, code=SAYS_NOTHING)
            case "open":
                return Monitor(alphabet, automaton)


def _refuse_flow(parsed: Parsed) -> None:
    for node in walk(parsed.statement):
        if isinstance(node, Times) and node.per is not None:
            raise RuleError("`per` is not there yet", parsed.text, parsed.place(node))
        for condition in node.conditions if isinstance(node, Call) else ():
            bare = condition.condition if isinstance(condition, Unlike) else condition
            if isinstance(bare, Same | Derived):
                raise RuleError(f"{condition} is not there yet", parsed.text, parsed.place(condition))


def _too_large(parsed: Parsed, why: str) -> RuleError:
    return RuleError(
        f"the rule is too large: {why}", parsed.text, 0, hint="split it, or use smaller numbers", code=TOO_LARGE
    )


def triggers(statement: Statement) -> list[Event]:
    """The events without which a statement says nothing."""
    found: list[Event] = []
    for node in walk(statement):
        match node:
            case Precedes(_, event) | After(event) | Before(event) | If(_, event):
                found.append(event)
            case _:
                pass
    return list(dict.fromkeys(found))


def events_of(statement: Statement) -> Iterable[Event]:
    """The events of a statement, from left to right, but not those inside them."""
    pending: list[Event | Statement] = [statement]
    while pending:
        node = pending.pop()
        if isinstance(node, Call | Ended | By | NoEvent | AllOf | AnyOf):
            yield node
        else:
            pending.extend(reversed(parts(node)))
