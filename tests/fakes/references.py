"""References with arguments, parallel parts and alternatives, for the prefix law: what to draw, and an oracle.

Shares no code with the evaluators. The arguments asked for here are those of :data:`PATTERNS`; the fillings hold, for
each of them, values that have it and values that no pattern asks for, and the further calls can serve each of them.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from hypothesis import strategies as st

from oloproof.model.trajectory import Step, Trajectory
from oloproof.model.values import TAG

LOST = {TAG: "float nan"}
PATTERNS: tuple[dict[str, Any], ...] = (
    {"q": 1},
    {"q": 1.0, "r": 1},
    {"q": {"any": True}},
    {"q": {"absent": True}},
    {"q": {"one_of": [1, "ab"]}},
    {"q": {"approx": 1.5, "tolerance": 0.5}},
    {"q": {"regex": "^a"}},
    {"q.id": 1},
    {},
)
FILLS: tuple[Any, ...] = (1, 2, "ab", {"id": 1}, 7)
GIVEN: tuple[Any, ...] = (*({"q": value} for value in FILLS), {"q": 1, "r": 1}, {})


def _call(tool: str, arguments: Any, turn: int | None = None) -> Step:
    return Step(index=0, kind="tool_call", tool_name=tool, arguments=arguments, turn=turn)


@st.composite
def steps_with_arguments(draw: st.DrawFn, longest: int) -> list[Step]:
    """Up to four calls in turns or without; the arguments of at most two are unknown, whole or in part."""
    turn, unknown = 1, 0
    steps = []
    for _ in range(draw(st.integers(0, min(longest, 4)))):
        turn += draw(st.sampled_from((0, 0, 1)))
        arguments = draw(st.sampled_from((*GIVEN, None, {"q": LOST}, {"q": LOST, "r": 1})))
        hidden = arguments is None or LOST in arguments.values()
        unknown += hidden
        if hidden and unknown > 2:
            arguments = {"q": 1}
        tool = draw(st.sampled_from("aaab"))
        steps.append(_call(tool, arguments, draw(st.sampled_from((turn, None)))))
    return steps


def fillings(step: Step) -> list[Step]:
    """The call with every filling of what is unknown in its arguments."""
    if step.kind != "tool_call":
        return [step]
    if step.arguments is None:
        return [msgspec.structs.replace(step, arguments=value) for value in (*GIVEN, "no object")]
    if step.arguments.get("q") == LOST:
        return [msgspec.structs.replace(step, arguments=step.arguments | {"q": value}) for value in FILLS]
    return [step]


def further_arguments(record: Trajectory) -> list[Step]:
    """Calls that serve every pattern, and a strange one."""
    calls = [("a", arguments) for arguments in ({"q": 1}, {"q": "ab"}, {"q": {"id": 1}}, {"q": 1, "r": 1}, {})]
    return [_call(*call) for call in (*calls, ("b", {}), ("x", {}))]


def further_in_turns(record: Trajectory) -> list[Step]:
    """The same, in the last turn or after it."""
    turns = [step.turn for step in record.steps if step.turn is not None]
    added = {None, turns[-1] if turns else None}
    return [msgspec.structs.replace(step, turn=turn) for step in further_arguments(record) for turn in added]


def references(record: Trajectory) -> st.SearchStrategy[dict[str, Any]]:
    """What the case declares: the record's tools and up to two others in any order, some in parallel parts."""
    return _references(record, longest=None)


def short_references(record: Trajectory) -> st.SearchStrategy[dict[str, Any]]:
    """The same, cut to what two further calls can serve where the record is truncated."""
    return _references(record, longest=2 if record.truncated else None)


@st.composite
def _references(draw: st.DrawFn, record: Trajectory, longest: int | None) -> dict[str, Any]:
    count = draw(st.sampled_from((1, 1, 2)))
    declared = [_reference(draw, record, longest) for _ in range(count)]
    return {"tools": declared[0]} if count == 1 else {"any_of": declared}


def _reference(draw: st.DrawFn, record: Trajectory, longest: int | None) -> list[Any]:
    tools = [step.tool_name for step in record.steps if step.kind == "tool_call"]
    tools += draw(st.lists(st.sampled_from("ab"), max_size=2))
    tools = draw(st.permutations(tools))[: draw(st.sampled_from((longest, longest, 1)))]
    parts: list[Any] = []
    for tool in tools:
        arguments = draw(st.sampled_from((None, *PATTERNS) if tool == "a" else (None, {})))
        call = tool if arguments is None else {"tool": tool, "arguments": arguments}
        if parts and draw(st.sampled_from((False, False, True))):
            last = parts.pop()
            before = last["parallel"] if isinstance(last, dict) and "parallel" in last else [last]
            parts.append({"parallel": [*before, call]})
        else:
            parts.append(call)
    return parts


def oracle_calls(evaluator: Any, expected: dict[str, Any], run: Trajectory) -> bool:
    declared = expected["any_of"] if "any_of" in expected else [expected["tools"]]
    blocks: list[list[Step]] = []
    for step in run.steps:
        if blocks and step.turn is not None and step.turn == blocks[-1][-1].turn:
            blocks[-1].append(step)
        else:
            blocks.append([step])
    return any(_fits(evaluator, blocks, reference) for reference in declared)


def _fits(evaluator: Any, blocks: list[list[Step]], reference: list[Any]) -> bool:
    parts = [part["parallel"] if isinstance(part, dict) and "parallel" in part else [part] for part in reference]
    calls = [call for block in blocks for call in block]
    wanted = [call for part in parts for call in part]
    if evaluator.mode in ("exact", "any_order") and len(calls) != len(wanted):
        return False
    # All below is said of their numbers, so that two of them are compared once and not in every order.
    matches = [[_alike(evaluator, call, want) for want in wanted] for call in calls]
    given, asked = range(len(calls)), range(len(wanted))

    def alike(some: Iterable[int], others: Iterable[int]) -> bool:
        return all(matches[call][want] for call, want in zip(some, others, strict=True))

    match evaluator.mode:
        case "exact":
            references = list(_orders(_numbered(parts)))
            return any(alike(order, wants) for order in _orders(_numbered(blocks)) for wants in references)
        case "in_order":
            references = list(_orders(_numbered(parts)))
            return any(
                alike(chosen, wants)
                for order in _orders(_numbered(blocks))
                for chosen in itertools.combinations(order, len(wanted))
                for wants in references
            )
        case "any_order":
            return any(alike(given, order) for order in itertools.permutations(asked))
        case "superset":
            return any(alike(chosen, asked) for chosen in itertools.permutations(given, len(wanted)))
        case "subset":
            return any(alike(given, chosen) for chosen in itertools.permutations(asked, len(calls)))
    raise AssertionError(evaluator.mode)


def _numbered(groups: list[list[Any]]) -> list[list[int]]:
    """The places that the members of each group have among all."""
    places = itertools.count()
    return [[next(places) for _ in group] for group in groups]


def _orders(blocks: list[list[Any]]) -> Iterator[list[Any]]:
    for orders in itertools.product(*(list(itertools.permutations(block)) for block in blocks)):
        yield [item for order in orders for item in order]


def _alike(evaluator: Any, call: Step, want: Any) -> bool:
    if isinstance(want, str):
        return call.tool_name == want
    if call.tool_name != want["tool"] or evaluator.arguments_mode == "ignore":
        return call.tool_name == want["tool"]
    pattern, given = want["arguments"], call.arguments
    if evaluator.arguments_mode == "subset" and not pattern:
        return True
    if not isinstance(given, dict):
        return False
    heads = {name.split(".")[0] for name in pattern}
    if evaluator.arguments_mode == "exact" and not set(given) <= heads:
        return False
    return all(_holds(given, name, value) for name, value in pattern.items())


def _holds(given: dict[str, Any], name: str, wanted: Any) -> bool:
    if name == "q.id":
        return isinstance(given.get("q"), dict) and given["q"].get("id") == wanted
    here, value = name in given, given.get(name)
    match wanted:
        case {"any": True}:
            return here
        case {"absent": True}:
            return not here
        case {"one_of": choices}:
            return here and value in choices
        case {"approx": number, "tolerance": tolerance}:
            return isinstance(value, int) and abs(value - number) <= tolerance
        case {"regex": pattern}:
            return isinstance(value, str) and re.search(pattern, value) is not None
    return here and value == wanted
