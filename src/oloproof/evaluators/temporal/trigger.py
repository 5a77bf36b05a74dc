"""What a rule waits for: without it, the rule says nothing of a run, and that it holds is no evidence."""

from __future__ import annotations

from oloproof.evaluators.temporal.events import Call, Event, Same, bare, event_mapped
from oloproof.evaluators.temporal.syntax import (
    After,
    All,
    Before,
    If,
    Not,
    Precedes,
    Some,
    Statement,
    Times,
    walk,
)


def fired(statement: Statement) -> Statement | None:
    """What holds of the runs that give the statement something to say; None where every run does.

    ``same`` is left out: what it refers to makes no difference to whether something was there to be looked at.
    """
    match statement:
        case Precedes(_, then):
            return _occurs(then)
        case After(event, body) | Before(event, body) if fired(body) is None:
            return _occurs(event)
        case After(event, body):
            return Not(After(_without_same(event), _never(body)))
        case Before(event, body):
            return Not(Before(_without_same(event), _never(body)))
        case If(body, event):
            inner = fired(body)
            return _occurs(event) if inner is None else All((_occurs(event), inner))
        case Not(inner_statement):
            return fired(inner_statement)
        case All(statements) | Some(statements):
            parts = [fired(each) for each in statements]
            return None if None in parts else Some(tuple(part for part in parts if part is not None))
        case _:
            return None


def triggers(statement: Statement) -> list[Event]:
    """The events that it waits for."""
    found: list[Event] = []
    for node in walk(statement):
        match node:
            case Precedes(_, event) | After(event) | Before(event) | If(_, event):
                found.append(event)
            case _:
                pass
    return list(dict.fromkeys(found))


def _occurs(event: Event) -> Statement:
    return Times(_without_same(event), 1, None)


def _never(body: Statement) -> Statement:
    inner = fired(body)
    assert inner is not None  # where every run gives the body something to say, the event alone is waited for
    return Not(inner)


def _without_same(event: Event) -> Event:
    def without(call: Call) -> Call:
        return Call(call.tool, tuple(each for each in call.conditions if not isinstance(bare(each), Same)))

    return event_mapped(event, without)
