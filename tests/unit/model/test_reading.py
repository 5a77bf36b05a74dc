"""Which step holds the result of which call."""

from __future__ import annotations

from itertools import product

import pytest

from oloproof.model.reading import Reading, _answered_at_once, _answers
from oloproof.model.trajectory import Step, Trajectory


def reading(text: str) -> Reading:
    """``"a b/1 >a >b#x"``: calls of a, and of b in turn 1; a result of a; one of b with the call id x."""
    steps = []
    for index, word in enumerate(text.split(), 1):
        named, _, call_id = word.partition("#")
        tool, _, turn = named.removeprefix(">").partition("/")
        kind = "tool_result" if word.startswith(">") else "tool_call"
        own = {"error": "boom"} if tool.endswith("!") else {}
        step = Step(
            index=index,
            kind=kind,
            tool_name=tool.rstrip("!"),
            call_id=call_id or None,
            turn=int(turn or 0) or None,
            **own,
        )
        steps.append(step)
    return Reading(Trajectory(steps=tuple(steps)))


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        ("a >a a >a", [2, 4]),
        ("a a >a >a", [3, 4]),
        ("a b >b >a", [4, 3]),
        ("a#x a#y >a#y >a#x", [4, 3]),
        ("a#x >a#x b#x >b#x", [2, 4]),
        ("a#x a#x >a#x >a#x", [4, 3]),
        ("a#x b#x >a#x >b#x", [3, 4]),
        ("a#x b#x >b#x >b#x", [4, 3]),
        ("a#x b#x >other#x", [None, 3]),
        ("a#x >other#x", [2]),
        ("a#x >a", [2]),
        ("a#x >a#unknown", [2]),
        ("a >b", [None]),
        ("a >a >a", [2]),
        ("a#x >a#x >a#x", [2]),
        ("a/1 a/2 a/2 >a >a >a", [6, 4, 5]),
        ("a! a >a", [None, 3]),
        ("a!#x >a#x", [2]),
        (">a a", [None]),
    ],
)
def test_answers(text: str, answers: list[int | None]) -> None:
    assert [answer and answer.index for answer in reading(text).answers] == answers


def test_answers_that_come_at_once_are_those_that_are_found() -> None:
    taken = 0
    for words in product(("a", "a#x", "b/1#x", "a!", ">a", ">a#x", ">b#x"), repeat=4):
        steps = reading(" ".join(words)).steps
        at_once = _answered_at_once(steps)
        taken += at_once != []
        assert at_once == [] or at_once == _answers(steps, sum(step.kind == "tool_call" for step in steps))
    assert taken > 5


def test_many_calls_that_nothing_answers_do_not_slow_the_others_down() -> None:
    looked_at = reading("a " * 20_000 + "b >b " * 20_000)
    assert sum(answer is not None for answer in looked_at.answers) == 20_000
