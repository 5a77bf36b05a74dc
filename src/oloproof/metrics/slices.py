"""Slices: the group that a case falls under, or ``(unplaced)`` when its record does not settle the value.

A record stands for a set of finished runs (its steps, any value in place of what was not recorded and, when it is
truncated, any further steps). A case is placed only where every run of that set has the same slice value.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import assert_never

from oloproof.errors import did_you_mean
from oloproof.model.case import Case
from oloproof.model.project import METADATA_PREFIX, SliceKind, SliceSpec
from oloproof.model.reading import Reading
from oloproof.model.slice_values import NONE, UNPLACED, value_text
from oloproof.model.trajectory import Step
from oloproof.model.values import CONFLICT, UNKNOWN, equal, has_unrepresentable, lookup_known, unify

Placer = Callable[[Case, Reading | None], str]

BOUNDED: tuple[SliceKind, ...] = ("trajectory_length", "tool_calls", "handoffs")
PLAIN: tuple[SliceKind, ...] = ("first_tool", "repeated_action", "route", "terminal_status")

_ROUTE_ARROW = ">"


def parse_slice(text: str) -> SliceSpec:
    """A ``slices:`` entry: ``metadata.<path>``, ``first_tool``, ``repeated_action``, ``route``, ``terminal_status``,
    or ``trajectory_length``, ``tool_calls``, ``handoffs`` with upper bounds (``trajectory_length:4,8``).

    The path of a metadata slice is relative to the case's metadata. Raises ValueError with a message for the author.
    """
    name, colon, bounds = (part.strip() for part in text.partition(":"))
    if text.startswith(METADATA_PREFIX):
        return SliceSpec(kind="metadata", name=text, path=_path(text))
    for plain in PLAIN:
        if name == plain:
            if colon:
                raise ValueError(f"slice '{name}' takes no bounds")
            return SliceSpec(kind=plain, name=name)
    for bounded in BOUNDED:
        if name == bounded:
            return SliceSpec(kind=bounded, name=name, bounds=_bounds(name, bounds))
    raise ValueError(f"unknown slice '{text}'; {_suggestion(name)}")


def labels(bounds: Sequence[int]) -> tuple[str, ...]:
    """The groups that upper bounds make, in order: (4, 8) gives ``0``, ``1-4``, ``5-8``, ``9+``."""
    lows = (1, *(bound + 1 for bound in bounds))
    groups = (str(low) if low == high else f"{low}-{high}" for low, high in zip(lows, bounds, strict=False))
    return ("0", *groups, f"{lows[-1]}+")


def placer(spec: SliceSpec) -> Placer:
    """The function from a case and its reading (None: no trajectory was recorded) to the text of its slice value."""
    match spec.kind:
        case "metadata":
            return _by_metadata(spec.path)
        case "first_tool":
            return _by_trajectory(_first_tool)
        case "repeated_action":
            return _by_trajectory(_repeated_action)
        case "route":
            return _by_trajectory(_route)
        case "terminal_status":
            return _by_trajectory(lambda reading: reading.trajectory.terminal_status)
        case "trajectory_length":
            return _by_count(spec.bounds, lambda reading: len(reading.steps))
        case "tool_calls":
            return _by_count(spec.bounds, lambda reading: len(reading.calls))
        case "handoffs":
            return _by_count(spec.bounds, _handoffs)
        case _:
            assert_never(spec.kind)


def _path(text: str) -> tuple[str, ...]:
    path = tuple(text.removeprefix(METADATA_PREFIX).split("."))
    if not all(path):
        raise ValueError(f"slice '{text}' has an empty key; write metadata.<key> or metadata.<key>.<key>")
    return path


def _bounds(name: str, text: str) -> tuple[int, ...]:
    if not text:
        raise ValueError(f"slice '{name}' needs upper bounds, as in '{name}:4,8'")
    parts = [part.strip() for part in text.split(",")]
    numbers = tuple(int(part) for part in parts if part.isascii() and part.isdigit() and len(part) <= 18)
    rising = all(low < high for low, high in pairwise((0, *numbers)))
    if len(numbers) != len(parts) or not rising:
        raise ValueError(f"the bounds of slice '{name}' must be increasing positive integers, not '{text}'")
    return numbers


def _suggestion(name: str) -> str:
    head, dot, rest = name.partition(".")
    if head == "metadata" or (dot and did_you_mean(head, ["metadata"])):
        return f"did you mean '{METADATA_PREFIX}{rest or '<key>'}'?"
    bounded = ", ".join(f"{kind}:<bounds>" for kind in BOUNDED)
    everything = f"the slices are metadata.<key>, {', '.join(PLAIN)}, {bounded}"
    return did_you_mean(name, [*PLAIN, *BOUNDED]) or everything


def _by_metadata(path: Sequence[str]) -> Placer:
    def place(case: Case, _reading: Reading | None) -> str:
        value = lookup_known(case.metadata, path)
        return UNPLACED if value is UNKNOWN or has_unrepresentable(value) else value_text(value)

    return place


def _by_trajectory(value: Callable[[Reading], str]) -> Placer:
    def place(_case: Case, reading: Reading | None) -> str:
        return UNPLACED if reading is None else value(reading)

    return place


def _by_count(bounds: Sequence[int], count: Callable[[Reading], int | None]) -> Placer:
    groups = labels(bounds)

    def value(reading: Reading) -> str:
        certain = count(reading)
        if certain is None:
            return UNPLACED
        group = groups[1 + bisect_left(bounds, certain)] if certain else groups[0]
        # What a truncated record goes on to do can leave any group but the last, which has no end.
        return UNPLACED if reading.truncated and group is not groups[-1] else group

    return _by_trajectory(value)


def _first_tool(reading: Reading) -> str:
    if reading.calls:
        return value_text(reading.names[0])
    return UNPLACED if reading.truncated else NONE


def _repeated_action(reading: Reading) -> str:
    possible = reading.truncated
    for before, after in pairwise(reading.calls):
        if before.tool_name == after.tool_name:
            if before.arguments is not None and equal(before.arguments, after.arguments):
                return "true"
            possible = possible or _may_be_equal(before, after)
    return UNPLACED if possible else "false"


def _may_be_equal(before: Step, after: Step) -> bool:
    """Some way to fill in what was not recorded gives both calls the same arguments."""
    if before.arguments is None or after.arguments is None:
        return True
    return unify(before.arguments, after.arguments) is not CONFLICT


def _handoffs(reading: Reading) -> int | None:
    return max(0, len(reading.route) - 1) if reading.agents_named else None


def _route(reading: Reading) -> str:
    if reading.truncated or not reading.agents_named:
        return UNPLACED
    return _ROUTE_ARROW.join(map(_agent_text, reading.route)) or NONE


def _agent_text(agent: str) -> str:
    """The agent's name, in quotes where two different routes could otherwise read the same."""
    return json.dumps(agent) if _ROUTE_ARROW in agent or agent.startswith('"') else value_text(agent)
