from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from oloproof.metrics.alignment import align, parting
from oloproof.model.alignment import Move
from oloproof.model.trajectory import Step


def calls(*named: str | tuple[str, Any]) -> list[Step]:
    pairs = [(name, {}) if isinstance(name, str) else name for name in named]
    return [
        Step(index=2 * at + 1, kind="tool_call", tool_name=tool, arguments=arguments)
        for at, (tool, arguments) in enumerate(pairs)
    ]


def test_what_came_between_is_inserted_and_what_went_is_deleted() -> None:
    assert align(calls("look", "search", "refund"), calls("look", "refund", "mail")) == (
        Move("same", "look", 1, 1),
        Move("inserted", "search", 3, None),
        Move("same", "refund", 5, 3),
        Move("deleted", "mail", None, 5),
    )


def test_other_arguments_are_told_and_unrecorded_ones_differ_from_nothing() -> None:
    now = calls(("a", {"x": 1}), ("a", None), ("a", {"x": 1}))
    was = calls(("a", {"x": 2}), ("a", {"x": 9}), ("a", {"x": True}))
    assert [move.kind for move in align(now, was)] == ["changed_arguments", "same", "changed_arguments"]


def test_trajectories_part_where_they_first_differ() -> None:
    assert parting(calls("a", "b"), calls("a", "b")) is None
    assert parting(calls("a", "b"), calls("a", "c")) == Move("deleted", "c", None, 3)
    assert parting(calls("a"), calls()) == Move("inserted", "a", 1, None)


names = st.lists(st.sampled_from("abc"), max_size=6)


@given(names, names)
@settings(deadline=None, max_examples=150)
def test_each_call_stands_in_one_row_and_in_order(now: list[str], was: list[str]) -> None:
    moves = align(calls(*now), calls(*was))
    assert [move.now for move in moves if move.now] == [call.index for call in calls(*now)]
    assert [move.was for move in moves if move.was] == [call.index for call in calls(*was)]
    assert (parting(calls(*now), calls(*was)) is None) == (now == was)
