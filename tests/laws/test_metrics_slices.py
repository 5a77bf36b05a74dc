"""The prefix law for slices: a case is placed exactly where every run that its record stands for has one value.

A record stands for itself with any JSON value in place of each one that was not recorded and, when it is truncated,
with any further steps.
"""

from __future__ import annotations

from itertools import product

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from oloproof.metrics import parse_slice, placer
from oloproof.model.case import Case
from oloproof.model.reading import Reading
from oloproof.model.slice_values import UNPLACED
from oloproof.model.trajectory import Step, Trajectory

# `terminal_status` is as recorded, whatever follows.
TEXTS = ("first_tool", "repeated_action", "trajectory_length:1,3", "tool_calls:1", "handoffs:1", "route")
CASE = Case(id="c")
TAG = {"$unrepresentable": "bytes"}

FILLS = ({"q": 1}, {"q": 2}, {"q": 3})
FURTHER = (
    Step(index=0, kind="message", agent="x"),
    Step(index=0, kind="message", agent="y"),
    Step(index=0, kind="tool_call", tool_name="search", arguments={"q": 1}, agent="x"),
    Step(index=0, kind="tool_call", tool_name="refund", arguments={"q": 9}, agent="y"),
)
steps = st.builds(
    Step,
    index=st.just(0),
    kind=st.sampled_from(["message", "tool_call"]),
    tool_name=st.sampled_from(["search", "refund"]),
    arguments=st.sampled_from([None, {"q": 1}, {"q": 2}, {"q": TAG}]),
    agent=st.sampled_from(["x", "y"]),
)


def runs(recorded: tuple[Step, ...], *, truncated: bool) -> list[Trajectory]:
    """Runs of the set that a record stands for: with each choice of fills, and with up to four further steps."""
    known = [
        [msgspec.structs.replace(step, arguments=fill) for fill in FILLS]
        if step.arguments is None or step.arguments == {"q": TAG}
        else [step]
        for step in recorded
    ]
    tails: list[tuple[Step, ...]] = [()]
    if truncated:
        tails += [tail for length in (1, 2) for tail in product(FURTHER, repeat=length)]
        tails += [tuple(FURTHER[index % len(FURTHER)] for index in range(length)) for length in (3, 4)]
    return [Trajectory(steps=tuple(filled) + tail) for filled in product(*known) for tail in tails]


@given(st.lists(steps, max_size=4).map(tuple), st.booleans(), st.sampled_from(TEXTS))
@settings(deadline=None, max_examples=200)
def test_a_value_is_settled_exactly_when_every_run_has_it(recorded, truncated, text) -> None:
    place = placer(parse_slice(text))
    value = place(CASE, Reading(Trajectory(steps=recorded, truncated=truncated)))
    finished = {place(CASE, Reading(run)) for run in runs(recorded, truncated=truncated)}
    assert UNPLACED not in finished
    if value == UNPLACED:
        assert len(finished) > 1
    else:
        assert finished == {value}
