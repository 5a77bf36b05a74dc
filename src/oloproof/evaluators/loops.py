"""Calls that repeat: ``agent_no_tool_loop``."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import accumulate, islice
from operator import eq
from typing import Annotated, Final

from msgspec import Meta

from oloproof.evaluators.base import TrajectoryEvaluator, excerpt, open_reason
from oloproof.model.evidence import Evidence
from oloproof.model.judgment import Judgment
from oloproof.model.reading import Reading, given
from oloproof.model.trajectory import Step
from oloproof.model.values import CONFLICT, UNKNOWN, Json, equal, has_unrepresentable, unify

LONGEST_CYCLE: Final = 100


class NoToolLoop(TrajectoryEvaluator, frozen=True, kw_only=True, dict=True, tag_field="type", tag="agent_no_tool_loop"):
    """No call is repeated, tool and arguments, more than ``max_repeats`` (default 2) times in a row.

    With ``max_cycle`` k (default 1, at most 100), no cycle of up to k calls comes more than ``max_repeats`` times in a
    row either.
    Results, messages and errors between the calls are ignored. A truncated record fails at the first such run, and
    never passes. Where arguments were not recorded, calls that are identical for certain fail, calls that cannot be
    identical pass, and the rest is missing (``arguments_not_recorded``).
    """

    max_repeats: Annotated[int, Meta(ge=1, description="How often a call may come in a row.")] = 2
    max_cycle: Annotated[
        int, Meta(ge=1, le=LONGEST_CYCLE, description="The longest cycle of calls that is looked for.")
    ] = 1

    @cached_property
    def _passed(self) -> Judgment:
        return Judgment("pass", None, (), self.bounds)

    @cached_property
    def bounds(self) -> dict[str, int]:
        """The bounds as evidence."""
        return {"max_repeats": self.max_repeats, "max_cycle": self.max_cycle}

    @property
    def compares_within(self) -> bool:
        return True

    def judge_reading(self, reading: Reading, evidence: Evidence) -> Judgment:
        names = reading.names
        times = self.max_repeats + 1
        possible = False
        for period in range(1, min(self.max_cycle, len(names) // times) + 1):
            length = period * times
            if list(map(eq, names, names[period:])).count(True) < length - period:
                continue  # too few repeats for one run, wherever they are: what most cases come to
            for start, stop in _stretches(names, period, length):
                calls = reading.calls[start:stop]
                run = _certain_run(calls, period, length)
                if run:
                    return self._looping(run, period)
                possible = possible or _possible_run(calls, period, times)
        if possible or reading.truncated:
            return Judgment("missing", open_reason(reading), (), self.bounds)
        return self._passed

    def _looping(self, run: list[Step], period: int) -> Judgment:
        cycle = [{"tool": call.tool_name, "arguments": call.arguments} for call in run[:period]]
        found = {"cycle": excerpt(cycle), "times": len(run) // period}
        return Judgment("fail", None, tuple([call.index for call in run]), self.bounds, found)


def _stretches(names: list[str], period: int, length: int) -> Iterator[tuple[int, int]]:
    """The longest ranges in which every tool equals the one ``period`` calls earlier, of at least ``length`` calls."""
    start = 0
    for index, (earlier, name) in enumerate(zip(names, islice(names, period, None), strict=False), period):
        if name != earlier:
            if index - start >= length:
                yield start, index
            start = index - period + 1
    if len(names) - start >= length:
        yield start, len(names)


def _certain_run(calls: list[Step], period: int, length: int) -> list[Step]:
    """The first run of at least ``length`` calls whose recorded arguments repeat with the period, [] if there is none.

    Only recorded arguments can make a run certain: an unknown value has a fill that nothing else equals.
    """
    start = 0
    for index in range(period, len(calls)):
        if not equal(given(calls[index]), given(calls[index - period])):
            if index - start >= length:
                return calls[start:index]
            start = index - period + 1
    return calls[start:] if len(calls) - start >= length else []


def _possible_run(calls: list[Step], period: int, times: int) -> bool:
    """Whether some values for what was not recorded make a run of ``times`` cycles of ``period`` calls.

    A run ends with ``period`` calls in a row that may each be the same as the calls of its place in the cycles before.
    """
    values = [given(call) for call in calls]
    if not any(value is UNKNOWN or has_unrepresentable(value) for value in values):
        return False
    agreeing = [_agreeing(values[place::period], times) for place in range(period)]
    row = 0
    for index in range(len(values)):
        row = row + 1 if agreeing[index % period][index // period] else 0
        if row == period:
            return True
    return False


def _agreeing(values: list[Json], times: int) -> list[bool]:
    """Whether each value and the ``times`` - 1 before it may all be the same, in time linear in the values.

    Blocks of ``times`` values are folded from both ends; a window is the end of one and the beginning of the next (van
    Herk 1992; Gil and Werman 1993).
    """
    forward: list[Json] = []
    backward: list[Json] = []
    for start in range(0, len(values), times):
        block = values[start : start + times]
        forward += accumulate(block, _both)
        backward += reversed(list(accumulate(reversed(block), _both)))
    windows = zip(backward, forward[times - 1 :], strict=False)
    return [False] * (times - 1) + [_both(first, last) is not CONFLICT for first, last in windows]


def _both(a: Json, b: Json) -> Json:
    return CONFLICT if a is CONFLICT or b is CONFLICT else unify(a, b)
