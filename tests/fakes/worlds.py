"""Small worlds in which the prefix law can be checked against every finished run that a record may stand for.

A world gives, for one evaluator type, random evaluators, cases and records over a small alphabet, the steps that a run
may go on with, and an *oracle*: the question asked of a finished run, in the plainest words, sharing no code with the
evaluator.

Two bounds make brute force finite, and lose nothing:

- *Values.* Verdicts depend on values only through which of them are equal (to one another or to what the configuration
  asks for). A record here has at most three unknown values. Each is filled with the two values that occur in the world,
  a new one that all unknowns share, and a new one of its own: every pattern of equality arises.
- *Further steps.* The parameters here ask for at most three of anything, so a run that lacks something has it three
  steps on, and a run that goes over a bound is over it by then. The alphabet holds a tool and an agent that no
  reference names.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import msgspec
from hypothesis import strategies as st

from fakes.references import (
    fillings,
    further_arguments,
    further_in_turns,
    oracle_calls,
    references,
    short_references,
    steps_with_arguments,
)
from fakes.rules import made_in, satisfied
from oloproof.evaluators import EVALUATORS
from oloproof.evaluators.counting import CallBounds
from oloproof.model.evidence import Evaluator
from oloproof.model.trajectory import ConstraintCheck, Step, TerminalStatus, Trajectory
from oloproof.model.values import TAG

TOOLS = ("a", "b")
STRANGE_TOOL = "x"
AGENTS = ("p", "q")
STRANGE_AGENT = "r"
VALUES = (1, 2)
FURTHER_STEPS = 3
UNKNOWN_VALUE = {TAG: "float nan"}


Oracle = Callable[[Any, dict[str, Any], Trajectory], bool]


@dataclass(frozen=True, kw_only=True)
class World:
    """See the module. ``steps`` makes records of up to so many steps, ``checks`` the checks of so many steps,
    ``expected`` what the case of a record may expect; ``further`` lists the steps (indexes aside) that a truncated
    record may go on with. ``fills`` gives what the step at a place of a record may be in truth, where the record does
    not say all of it, and ``unrecorded`` is the reason for which a verdict is open then. ``errors_recorded``,
    ``endings`` and ``output`` are what else records say; a run that ended as ``unknown`` ended in one of the other
    ways."""

    type: str
    variant: str = ""
    evaluators: st.SearchStrategy[Evaluator]
    steps: Callable[[int], st.SearchStrategy[list[Step]]]
    oracle: Oracle
    further: Callable[[Trajectory], list[Step]]
    expected: Callable[[Trajectory], st.SearchStrategy[dict[str, Any]]] = lambda record: st.just({})
    checks: Callable[[int], st.SearchStrategy[tuple[ConstraintCheck, ...]]] = lambda steps: st.just(())
    fills: Callable[[Trajectory, int], list[Step]] = lambda record, place: arguments_filled(record.steps[place], place)
    unrecorded: str = "arguments_not_recorded"
    errors_recorded: tuple[bool, ...] = (True,)
    further_steps: int = FURTHER_STEPS
    endings: tuple[TerminalStatus, ...] = ("unknown",)
    output: Any = None

    def __str__(self) -> str:
        return f"{self.type} {self.variant}".strip()

    def records(self, *, truncated: bool | None = None, longest: int = 5) -> st.SearchStrategy[Trajectory]:
        """Random records, truncated or not (None: either)."""
        return _records(self, truncated, longest)


def filled(record: Trajectory, world: World) -> Iterator[Trajectory]:
    """The record with a value in place of each unknown one."""
    choices = [world.fills(record, place) for place in range(len(record.steps))]
    for steps in itertools.product(*choices):
        fill = msgspec.structs.replace(record, steps=steps)
        yield from [fill] if record.truncated else _ended(fill, world)


def finished(record: Trajectory, world: World) -> Iterator[Trajectory]:
    """The finished runs that begin with a record without unknown values."""
    if not record.truncated:
        yield record
        return
    alphabet = world.further(record)
    for length in range(world.further_steps + 1):
        for added in itertools.product(alphabet, repeat=length):
            yield from _ended(_continued(record, added), world)


def _ended(run: Trajectory, world: World) -> list[Trajectory]:
    ways = [run.terminal_status] if run.terminal_status != "unknown" else world.endings[1:] or world.endings
    return [msgspec.structs.replace(run, terminal_status=way) for way in ways]


def arguments_filled(step: Step, number: int) -> list[Step]:
    values = [*VALUES, 100, 200 + number]
    if step.kind == "tool_call" and step.arguments is None:
        return [msgspec.structs.replace(step, arguments={"q": value}) for value in values]
    if step.arguments == {"q": UNKNOWN_VALUE}:
        return [msgspec.structs.replace(step, arguments={"q": value}) for value in values]
    return [step]


def _continued(record: Trajectory, added: tuple[Step, ...]) -> Trajectory:
    start = len(record.steps)
    steps = tuple(msgspec.structs.replace(step, index=start + number) for number, step in enumerate(added, 1))
    checks = tuple(
        ConstraintCheck(name=name, passed=passed, step_index=step.index)
        for step in steps
        for name, passed in (step.metadata or {}).items()
    )
    return msgspec.structs.replace(
        record, steps=record.steps + steps, constraints=record.constraints + checks, truncated=False
    )


@st.composite
def _records(draw: st.DrawFn, world: World, truncated: bool | None, longest: int) -> Trajectory:
    steps = numbered(draw(world.steps(longest)))
    return Trajectory(
        steps=steps,
        constraints=draw(world.checks(len(steps))),
        truncated=draw(st.booleans()) if truncated is None else truncated,
        errors_recorded=draw(st.sampled_from(world.errors_recorded)),
        terminal_status=draw(st.sampled_from(world.endings)),
    )


# Steps


def call(tool: str, *, arguments: Any = {"q": 1}, agent: str | None = None, turn: int | None = None) -> Step:  # noqa: B006
    return Step(index=0, kind="tool_call", tool_name=tool, arguments=arguments, agent=agent, turn=turn)


def message(*, agent: str | None = None, turn: int | None = None) -> Step:
    return Step(index=0, kind="message", agent=agent, turn=turn)


def handoff(agent: str, to_agent: str) -> Step:
    return Step(index=0, kind="handoff", agent=agent, to_agent=to_agent)


def numbered(steps: list[Step]) -> tuple[Step, ...]:
    return tuple(msgspec.structs.replace(step, index=number) for number, step in enumerate(steps, 1))


def _few_unknown(steps: list[Step]) -> list[Step]:
    """At most three calls keep an unknown value."""
    kept = []
    unknown = 0
    for step in steps:
        if step.kind == "tool_call" and step.arguments in (None, {"q": UNKNOWN_VALUE}):
            unknown += 1
            if unknown > 3:
                step = msgspec.structs.replace(step, arguments={"q": 1})
        kept.append(step)
    return kept


ARGUMENTS = st.sampled_from([{"q": 1}, {"q": 1}, {"q": 1.0}, {"q": 2}, None, {"q": UNKNOWN_VALUE}])
CALLS = st.builds(lambda tool, arguments: call(tool, arguments=arguments), st.sampled_from(TOOLS), ARGUMENTS)


def steps_of_calls(longest: int) -> st.SearchStrategy[list[Step]]:
    """Calls and a few messages, some of them said again; some arguments are unknown, whole or in part."""
    phrases = st.lists(CALLS | CALLS | CALLS | st.just(message()), min_size=1, max_size=3)
    said = st.lists(st.builds(lambda phrase, times: phrase * times, phrases, st.integers(1, 3)), max_size=longest)
    return said.map(lambda said: _few_unknown([step for phrase in said for step in phrase][:longest]))


@st.composite
def steps_in_turns(draw: st.DrawFn, longest: int) -> list[Step]:
    """Calls and messages of turns that are counted up, some steps without a turn."""
    turn = 1
    steps = []
    for _ in range(draw(st.integers(0, min(longest, 5)))):
        turn += draw(st.sampled_from((0, 0, 1)))
        in_turn = draw(st.sampled_from((turn, turn, None)))
        tool = draw(st.sampled_from((*TOOLS, None)))
        steps.append(message(turn=in_turn) if tool is None else call(tool, turn=in_turn))
    return steps


@st.composite
def steps_of_agents(draw: st.DrawFn, longest: int) -> list[Step]:
    """Calls, messages and hand-offs of two agents; some steps are inside the first call."""
    steps: list[Step] = []
    for _ in range(draw(st.integers(0, longest))):
        agent = draw(st.sampled_from(AGENTS))
        other = AGENTS[1 - AGENTS.index(agent)]
        step = draw(st.sampled_from([message(agent=agent), handoff(agent, other), call("a", agent=agent)]))
        if steps and steps[0].kind == "tool_call" and step.kind != "handoff" and draw(st.booleans()):
            step = msgspec.structs.replace(step, inside=1)
        steps.append(step)
    return steps


@st.composite
def checks_of_all(draw: st.DrawFn, steps: int) -> tuple[ConstraintCheck, ...]:
    """One or two checks of every constraint of the world."""
    return tuple(
        ConstraintCheck(
            name=name,
            passed=draw(st.sampled_from((True, True, True, False))),
            step_index=draw(st.sampled_from((None, *range(1, steps + 1)))),
        )
        for name in ("kept", "quiet")
        for _ in range(draw(st.integers(1, 2)))
    )


# Further steps


def further_calls(record: Trajectory) -> list[Step]:
    return [call(tool, arguments={"q": value}) for tool in TOOLS for value in VALUES] + [message()]


def further_turns(record: Trajectory) -> list[Step]:
    turns = [step.turn for step in record.steps if step.turn is not None]
    last = turns[-1] if turns else None
    return [call(tool, turn=turn) for tool in (*TOOLS, STRANGE_TOOL) for turn in {None, last, 99}]


def further_control(record: Trajectory) -> list[Step]:
    messages = [message(agent=agent) for agent in (*AGENTS, STRANGE_AGENT)]
    return [*messages, handoff("p", "q"), handoff("q", STRANGE_AGENT)]


def further_agent_calls(record: Trajectory) -> list[Step]:
    return [call(tool, agent=agent) for tool in TOOLS for agent in (*AGENTS, STRANGE_AGENT)]


def further_checks(record: Trajectory) -> list[Step]:
    """Steps that were checked or not. Of a name that was checked for the whole run, the last word is spoken."""
    spoken = {check.name for check in record.constraints if check.step_index is None}
    open_names = [name for name in ("kept", "quiet") if name not in spoken]
    checks = [{name: passed} for name in open_names for passed in (True, False)]
    return [message(), *(msgspec.structs.replace(message(), metadata=check) for check in checks)]


# Oracles: a finished run, the plainest words


def _names(run: Trajectory) -> list[str]:
    return [step.tool_name or "" for step in run.steps if step.kind == "tool_call"]


def _in_some_order(run: Trajectory) -> Iterator[list[str]]:
    """The called tools in every order that the turns allow."""
    calls = [step for step in run.steps if step.kind == "tool_call"]
    numbered_calls = enumerate(calls)
    blocks = [
        [step.tool_name or "" for _, step in block]
        for _, block in itertools.groupby(numbered_calls, lambda pair: (pair[1].turn, pair[1].turn is None and pair[0]))
    ]
    for orders in itertools.product(*(set(itertools.permutations(block)) for block in blocks)):
        yield [name for order in orders for name in order]


def _is_subsequence(wanted: list[str], names: list[str]) -> bool:
    rest = iter(names)
    return all(name in rest for name in wanted)


def oracle_tool_called(evaluator: Any, expected: dict[str, Any], run: Trajectory) -> bool:
    calls = [step for step in run.steps if step.kind == "tool_call" and step.tool_name == evaluator.tool_name]
    if evaluator.arguments:
        calls = [step for step in calls if step.arguments == evaluator.arguments]
    return evaluator.min_calls <= len(calls) <= (math.inf if evaluator.max_calls is None else evaluator.max_calls)


def oracle_tool_not_called(evaluator: Any, expected: dict[str, Any], run: Trajectory) -> bool:
    wanted = evaluator.arguments
    return not any(
        step.tool_name == evaluator.tool_name and (wanted is None or step.arguments == wanted)
        for step in run.steps
        if step.kind == "tool_call"
    )


def oracle_call_counts(evaluator: Any, expected: dict[str, Any], run: Trajectory) -> bool:
    names = _names(run)
    return all(
        bounds.min <= names.count(tool) and (bounds.max is None or names.count(tool) <= bounds.max)
        for tool, bounds in evaluator.bounds.items()
    )


def oracle_sequence(evaluator: Any, expected: dict[str, Any], run: Trajectory) -> bool:
    names, wanted = _names(run), expected["tools"]
    enough = all(names.count(name) >= wanted.count(name) for name in wanted)
    none_over = all(names.count(name) <= wanted.count(name) for name in names)
    match evaluator.mode:
        case "exact":
            return wanted in _in_some_order(run)
        case "in_order":
            return any(_is_subsequence(wanted, order) for order in _in_some_order(run))
        case "any_order":
            return sorted(names) == sorted(wanted)
        case "superset":
            return enough
        case "subset":
            return none_over
    raise AssertionError(evaluator.mode)


def oracle_declared(evaluator: Any, expected: dict[str, Any], run: Trajectory) -> bool:
    return set(_names(run)) <= set(expected["tools"])


def oracle_no_loop(evaluator: Any, expected: dict[str, Any], run: Trajectory) -> bool:
    calls = [(step.tool_name, step.arguments) for step in run.steps if step.kind == "tool_call"]
    times = evaluator.max_repeats + 1
    return not any(
        len(calls[start:]) >= period * times
        and calls[start : start + period * times] == calls[start : start + period] * times
        for period in range(1, evaluator.max_cycle + 1)
        for start in range(len(calls))
    )


def oracle_constraints(evaluator: Any, expected: dict[str, Any], run: Trajectory) -> bool:
    return all(check.passed for check in run.constraints if check.name in evaluator.constraints)


def _route(run: Trajectory) -> list[str]:
    control = []
    for step in run.steps:
        if step.inside is None:
            control.append(step.agent)
            if step.kind == "handoff":
                control.append(step.to_agent)
    return [agent or "" for agent, _ in itertools.groupby(control)]


def oracle_permissions(evaluator: Any, expected: dict[str, Any], run: Trajectory) -> bool:
    return all(
        step.tool_name in evaluator.permissions.get(step.agent, ()) for step in run.steps if step.kind == "tool_call"
    )


# Worlds


@lru_cache
def _rule(text: str) -> Evaluator:
    return EVALUATORS["agent_rule"](rule=text)


def _build(type_name: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Evaluator]:
    return st.builds(EVALUATORS[type_name], **fields)


def any_tools(record: Trajectory) -> st.SearchStrategy[dict[str, Any]]:
    tools = st.lists(st.sampled_from(TOOLS), max_size=3) | st.permutations(_names(record)).map(lambda names: names[:3])
    return st.fixed_dictionaries({"tools": tools})


def tools_in_reach(record: Trajectory) -> st.SearchStrategy[dict[str, Any]]:
    """The record's calls in any order, and up to two more."""
    more = st.lists(st.sampled_from(TOOLS), max_size=2)
    return st.fixed_dictionaries({"tools": more.flatmap(lambda added: st.permutations([*_names(record), *added]))})


ROUTES = st.lists(st.sampled_from((*AGENTS, STRANGE_AGENT)), min_size=1, max_size=3).map(
    lambda names: [name for name, _ in itertools.groupby(names)]
)
RULES = st.sampled_from(
    [
        "a before b",
        "never a(q = 1)",
        "eventually b",
        "b only after a(q = 2)",
        "after a: b within 2 calls",
        "never a between b and b(q in [1, 3])",
        "a exactly once or never b(q > 1)",
        "last call is a",
        "a until b",
        "not (a before b) and every call is (a or b)",
    ]
)
CALL_BOUNDS = st.sampled_from([(1, None), (2, None), (3, None), (0, 0), (0, 2), (1, 1), (1, 2), (2, 2)])
BOUNDS = st.sampled_from([(1, None), (0, 0), (0, 1), (1, 1), (1, 2)]).map(lambda b: CallBounds(min=b[0], max=b[1]))

WORLDS = (
    World(
        type="agent_tool_called",
        evaluators=st.builds(
            lambda bounds, arguments: EVALUATORS["agent_tool_called"](
                tool_name="a", min_calls=bounds[0], max_calls=bounds[1], arguments=arguments
            ),
            CALL_BOUNDS,
            st.sampled_from([None, {"q": 1}]),
        ),
        steps=steps_of_calls,
        oracle=oracle_tool_called,
        further=further_calls,
    ),
    World(
        type="agent_tool_not_called",
        evaluators=_build("agent_tool_not_called", tool_name=st.just("a"), arguments=st.sampled_from([None, {"q": 1}])),
        steps=steps_of_calls,
        oracle=oracle_tool_not_called,
        further=further_calls,
    ),
    World(
        type="agent_tool_call_counts",
        evaluators=_build("agent_tool_call_counts", bounds=st.dictionaries(st.sampled_from(TOOLS), BOUNDS, min_size=1)),
        steps=steps_of_calls,
        oracle=oracle_call_counts,
        further=further_calls,
    ),
    *(
        World(
            type="agent_tool_sequence",
            variant=mode,
            evaluators=_build("agent_tool_sequence", mode=st.just(mode)),
            steps=steps_in_turns,
            oracle=oracle_sequence,
            further=further_turns,
            expected=tools_in_reach if mode == "exact" else any_tools,
        )
        for mode in ("exact", "in_order", "any_order", "superset", "subset")
    ),
    *(
        World(
            type="agent_tool_sequence",
            variant=f"{mode} with arguments",
            evaluators=_build(
                "agent_tool_sequence",
                mode=st.just(mode),
                arguments_mode=st.sampled_from(("exact", "exact", "subset", "ignore")),
            ),
            steps=steps_with_arguments,
            oracle=oracle_calls,
            further=further_in_turns if mode == "exact" else further_arguments,
            expected=short_references if mode in ("in_order", "superset") else references,
            fills=lambda record, place: fillings(record.steps[place]),
            further_steps=2,
        )
        for mode in ("exact", "in_order", "any_order", "superset", "subset")
    ),
    World(
        type="agent_no_undeclared_tool",
        evaluators=_build("agent_no_undeclared_tool"),
        steps=steps_of_calls,
        oracle=oracle_declared,
        further=lambda record: [*further_calls(record), call(STRANGE_TOOL)],
        expected=any_tools,
    ),
    World(
        type="agent_no_tool_loop",
        evaluators=_build("agent_no_tool_loop", max_repeats=st.sampled_from((1, 2)), max_cycle=st.sampled_from((1, 2))),
        steps=steps_of_calls,
        oracle=oracle_no_loop,
        further=further_calls,
    ),
    World(
        type="agent_constraints_satisfied",
        evaluators=_build("agent_constraints_satisfied", constraints=st.sampled_from([("kept",), ("kept", "quiet")])),
        steps=lambda longest: st.lists(st.just(message()), max_size=2),
        checks=checks_of_all,
        oracle=oracle_constraints,
        further=further_checks,
    ),
    World(
        type="agent_max_steps",
        evaluators=_build("agent_max_steps", max_steps=st.integers(0, 2)),
        steps=steps_of_calls,
        oracle=lambda evaluator, expected, run: len(run.steps) <= evaluator.max_steps,
        further=further_calls,
    ),
    World(
        type="agent_max_tool_calls",
        evaluators=_build("agent_max_tool_calls", max_calls=st.integers(0, 2)),
        steps=steps_of_calls,
        oracle=lambda evaluator, expected, run: len(_names(run)) <= evaluator.max_calls,
        further=further_calls,
    ),
    World(
        type="agent_route",
        evaluators=_build("agent_route"),
        steps=steps_of_agents,
        oracle=lambda evaluator, expected, run: _route(run) == expected["route"],
        further=further_control,
        expected=lambda record: st.fixed_dictionaries({"route": ROUTES}),
    ),
    World(
        type="agent_tool_permissions",
        evaluators=_build(
            "agent_tool_permissions",
            permissions=st.dictionaries(st.sampled_from(AGENTS), st.lists(st.sampled_from(TOOLS)).map(tuple)),
        ),
        steps=steps_of_agents,
        oracle=oracle_permissions,
        further=further_agent_calls,
    ),
    World(
        type="agent_rule",
        evaluators=st.builds(_rule, RULES),
        steps=steps_of_calls,
        oracle=lambda evaluator, expected, run: satisfied(evaluator.compiled.statement, made_in(run)),
        further=lambda record: [*further_calls(record), call("b", arguments={"q": 100}), call(STRANGE_TOOL)],
    ),
    World(
        type="agent_max_handoffs",
        evaluators=_build("agent_max_handoffs", max_handoffs=st.integers(0, 2)),
        steps=steps_of_agents,
        oracle=lambda evaluator, expected, run: max(0, len(_route(run)) - 1) <= evaluator.max_handoffs,
        further=further_control,
    ),
)
