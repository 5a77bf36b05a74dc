"""Rules by the plainest reading of their meaning, and random ones over a small alphabet.

:func:`satisfied` reads a statement off a finished run as its documentation says it, by slices of a list. It shares the
syntax tree with the program and nothing else: no automaton, no progression, no third value.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st
from msgspec import UNSET

from oloproof.evaluators.temporal import events, syntax
from oloproof.evaluators.temporal.events import Condition, Event, quoted
from oloproof.evaluators.temporal.syntax import Statement
from oloproof.model.reading import Reading
from oloproof.model.trajectory import Step, Trajectory

TOOLS = ("a", "b")
STRANGER = "x"
UNKNOWN = object()
"""In place of arguments that were not recorded."""


@dataclass(frozen=True)
class Made:
    """A call that was made. ``failed`` None: not recorded."""

    tool: str
    arguments: Any = None
    failed: bool | None = False
    agent: str | None = None

    def __repr__(self) -> str:
        given = (
            "" if self.arguments is None else "(…)" if self.arguments is UNKNOWN else f"({json.dumps(self.arguments)})"
        )
        agent = f" by {self.agent}" if self.agent else ""
        ended = {True: "!", False: "", None: "?"}[self.failed]
        return f"{self.tool}{given}{ended}{agent}"


Run = Sequence[Made]


def reading(calls: Run, *, truncated: bool = False) -> Reading:
    """The record of the calls, each answered at once."""
    steps: list[Step] = []
    for made in calls:
        arguments = None if made.arguments is UNKNOWN else made.arguments or {}
        error = UNSET if made.failed is None else "no" if made.failed else None
        of = {"tool_name": made.tool, "agent": made.agent}
        steps.append(Step(index=len(steps) + 1, kind="tool_call", arguments=arguments, **of))
        steps.append(Step(index=len(steps) + 1, kind="tool_result", result=1, error=error, **of))
    return Reading(Trajectory(steps=tuple(steps), truncated=truncated))


def made_in(run: Trajectory) -> Run:
    """The calls of a finished run, without their ends."""
    return [Made(step.tool_name or "", step.arguments) for step in run.steps if step.kind == "tool_call"]


# What a finished run satisfies


def satisfied(statement: Statement, run: Run, about: Made | None = None) -> bool:
    """``about`` is the call that ``same`` refers to."""
    match statement:
        case syntax.Times(event, _, most, per) if per is not None:
            values = [
                made.arguments[per[0]]
                for made in run
                if occurs(event, made, about) and per[0] in (made.arguments or {})
            ]
            return all(values.count(value) <= (most or 0) for value in values)
        case syntax.Times(event, least, most):
            count = sum(occurs(event, made, about) for made in run)
            return count >= least and (most is None or count <= most)
        case syntax.Within(event, calls):
            return any(occurs(event, made, about) for made in run[:calls])
        case syntax.Every(event):
            return all(occurs(event, made, about) for made in run)
        case syntax.Last(event):
            return bool(run) and occurs(event, run[-1], about)
        case syntax.Until(event, goal):
            goals = [at for at, made in enumerate(run) if occurs(goal, made, about)]
            return bool(goals) and all(occurs(event, made, about) for made in run[: goals[0]])
        case syntax.Precedes(first, then, immediately):
            return all(
                any(occurs(first, earlier, made) for earlier in (run[:at][-1:] if immediately else run[:at]))
                for at, made in enumerate(run)
                if occurs(then, made, about)
            )
        case syntax.After(event, body):
            return all(
                satisfied(body, run[at + 1 :], made) for at, made in enumerate(run) if occurs(event, made, about)
            )
        case syntax.Before(event, body):
            places = [at for at, made in enumerate(run) if occurs(event, made, about)]
            firsts = [
                at for at in places if not any(_alike(run[at], run[other], body) for other in places if other < at)
            ]
            if about is not None:
                firsts = firsts and [min(places)]
            return all(satisfied(body, run[:at], about or run[at]) for at in firsts)
        case syntax.If(body, event):
            return all(satisfied(body, run, about or made) for made in run if occurs(event, made, about))
        case syntax.Not(inner):
            return not satisfied(inner, run, about)
        case syntax.All(statements):
            return all(satisfied(each, run, about) for each in statements)
        case syntax.Some(statements):
            return any(satisfied(each, run, about) for each in statements)
    raise AssertionError(statement)


def _alike(a: Made, b: Made, body: Statement) -> bool:
    """The same, as far as the body asks (it asks for ``q``, if for anything)."""
    return not any(syntax.sames_in(body)) or (a.arguments or {}).get("q") == (b.arguments or {}).get("q")


def occurs(event: Event, made: Made, about: Made | None) -> bool:
    match event:
        case events.Call(tool, conditions):
            return tool in (None, made.tool) and all(met(each, made.arguments or {}, about) for each in conditions)
        case events.Ended(inner, failed):
            return occurs(inner, made, about) and made.failed is failed
        case events.By(inner, agent):
            return occurs(inner, made, about) and made.agent == agent
        case events.NoEvent(inner):
            return not occurs(inner, made, about)
        case events.AllOf(parts):
            return all(occurs(each, made, about) for each in parts)
        case events.AnyOf(parts):
            return any(occurs(each, made, about) for each in parts)
    raise AssertionError(event)


def met(condition: Condition, arguments: dict[str, Any], about: Made | None) -> bool:
    """Of arguments that are plain numbers and texts under one key each."""
    if isinstance(condition, events.Unlike):
        return not met(condition.condition, arguments, about)
    (key,) = condition.path
    if key not in arguments:
        return False
    value = arguments[key]
    match condition:
        case events.Same(_, (other,)):
            return about is not None and (about.arguments or {}).get(other) == value
        case events.Given():
            return True
        case events.OneOf(_, texts):
            return value in [json.loads(text) for text in texts]
        case events.Equals(_, text):
            return bool(value == json.loads(text))
        case events.Ordered(_, order, text) if not isinstance(value, str):
            bound = json.loads(text)
            return {"<": value < bound, "<=": value <= bound, ">": value > bound, ">=": value >= bound}[order]
    return False


# Finished runs that a record may be the beginning of


def finished(calls: Run, alphabet: Run, *, further: int) -> Iterator[Run]:
    """The calls, with everything that is unknown filled in from the alphabet, and up to ``further`` more."""
    for filled in itertools.product(*(list(_fills(made, alphabet)) for made in calls)):
        for length in range(further + 1):
            for more in itertools.product(alphabet, repeat=length):
                yield [*filled, *more]


def _fills(made: Made, alphabet: Run) -> Iterator[Made]:
    given = {json.dumps(each.arguments): each.arguments for each in alphabet if each.tool == made.tool}
    for arguments in given.values() if made.arguments is UNKNOWN else [made.arguments]:
        for failed in (True, False) if made.failed is None else (made.failed,):
            yield replace(made, arguments=arguments, failed=failed)


# Random rules

_VALUES = st.sampled_from(["1", "2"])
_ARGUMENT = st.just(("q",))
_DENIABLE = st.one_of(
    st.builds(events.Equals, _ARGUMENT, _VALUES),
    st.just(events.OneOf(("q",), ("1", "2"))),
    st.builds(events.Given, _ARGUMENT),
)
CONDITIONS: st.SearchStrategy[Condition] = st.one_of(
    _DENIABLE,
    st.builds(events.Unlike, _DENIABLE),
    st.builds(events.Ordered, _ARGUMENT, st.sampled_from(["<", "<=", ">", ">="]), _VALUES),
)
NAMED = [events.Call("a"), events.Call("b")]
NAMES: st.SearchStrategy[Event] = st.sampled_from(NAMED)
ARGUED: st.SearchStrategy[Event] = st.builds(
    events.Call, st.just("a"), st.tuples(CONDITIONS) | st.tuples(CONDITIONS, CONDITIONS)
)
ENDED: st.SearchStrategy[Event] = st.builds(events.Ended, NAMES | st.just(events.Call(None)), st.booleans())


OF_AGENTS: st.SearchStrategy[Event] = st.builds(events.By, st.sampled_from([*NAMED, events.Call(None)]), st.just("p"))


_KEYS = st.sampled_from([("q",), ("from",), ("a key",), ("a.b",), ("a", "0", "b-c"), ("é",)])
_ODD_NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5) | st.sampled_from(
    ["any", "not", "a.result.b", "result", "get-user", "mcp/x", "a b"]
)
_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
_LITERALS = (st.integers() | st.booleans() | st.none() | _TEXTS).map(quoted)
_ODD_CONDITIONS: st.SearchStrategy[Any] = st.one_of(
    st.builds(events.Equals, _KEYS, _LITERALS),
    st.builds(events.OneOf, _KEYS, st.lists(_LITERALS, min_size=1, max_size=2).map(tuple)),
    st.builds(events.Matches, _KEYS, st.sampled_from(["^x", '"', "\\d+"])),
    st.builds(events.Given, _KEYS),
    st.builds(events.Same, _KEYS, _KEYS),
    st.builds(
        events.Derived,
        _KEYS,
        st.none() | _ODD_NAMES,
        st.sampled_from(["result", "arguments"]),
        st.sampled_from([("id",), ("0", "x-y")]),
    ),
)


@st.composite
def odd_calls(draw: st.DrawFn) -> Event:
    """Calls whose names, keys and values look like something else."""
    conditions = draw(st.lists(_ODD_CONDITIONS | st.builds(events.Unlike, _ODD_CONDITIONS), max_size=2))
    return events.Call(draw(st.none() | _ODD_NAMES), tuple(conditions))


def combined(leaves: st.SearchStrategy[Event]) -> st.SearchStrategy[Event]:
    pairs = st.tuples(leaves, leaves)
    return st.one_of(
        leaves,
        leaves,
        leaves,
        st.builds(events.NoEvent, leaves),
        st.builds(events.AnyOf, pairs),
        st.builds(events.AllOf, pairs),
    )


COUNTS = st.sampled_from([(0, 0), (0, 1), (1, None), (1, 1), (2, None)])


def statements(leaves: st.SearchStrategy[Event], *, max_leaves: int = 3) -> st.SearchStrategy[Statement]:
    """Random statements about such events, with numbers up to two."""
    event = combined(leaves)
    simple: st.SearchStrategy[Statement] = st.one_of(
        st.builds(lambda event, count: syntax.Times(event, *count), event, COUNTS),
        st.builds(syntax.Precedes, event, event, st.booleans()),
        st.builds(syntax.Within, event, st.integers(1, 2)),
        st.builds(syntax.Every, event),
        st.builds(syntax.Last, event),
        st.builds(syntax.Until, event, event),
    )

    def larger(inner: st.SearchStrategy[Statement]) -> st.SearchStrategy[Statement]:
        pairs = st.tuples(inner, inner)
        return st.one_of(
            st.builds(syntax.After, event, inner),
            st.builds(syntax.Before, event, inner),
            st.builds(syntax.If, inner, event),
            st.builds(syntax.Not, inner),
            st.builds(syntax.All, pairs),
            st.builds(syntax.Some, pairs),
        )

    return st.recursive(simple, larger, max_leaves=max_leaves)
