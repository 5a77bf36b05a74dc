"""What must not change a verdict: how a free reference is written, in which order parallel calls were recorded."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from fakes.evidence import of_steps
from fakes.references import PATTERNS, steps_with_arguments
from oloproof.evaluators.sequence import ToolSequence
from oloproof.model.judgment import Judgment
from oloproof.model.trajectory import Step

CALL = st.sampled_from(["a", "b", *({"tool": "a", "arguments": pattern} for pattern in PATTERNS)])
REFERENCE = st.lists(CALL, max_size=5)
FREE = st.sampled_from(("any_order", "superset", "subset"))
ORDERED = st.sampled_from(("exact", "in_order"))
ARGUMENTS = st.sampled_from(("exact", "subset", "ignore"))


def judged(steps: list[Step], tools: list[Any], mode: str, arguments: str, *, truncated: bool = False) -> Judgment:
    evaluator = ToolSequence(mode=mode, arguments_mode=arguments)  # type: ignore[arg-type]
    return evaluator.judge(of_steps(steps, {"tools": tools}, truncated=truncated))


def word(*given: Any, **options: Any) -> tuple[str, str | None]:
    judgment = judged(*given, **options)
    return judgment.verdict, judgment.reason


@given(st.data(), steps_with_arguments(5), REFERENCE, FREE, ARGUMENTS, st.booleans())
@settings(max_examples=150, deadline=None)
def test_the_order_of_a_free_reference_and_of_the_calls_does_not_matter(
    data: st.DataObject, steps: list[Step], tools: list[Any], mode: str, arguments: str, truncated: bool
):
    before = word(steps, tools, mode, arguments, truncated=truncated)
    tools, steps = data.draw(st.permutations(tools)), data.draw(st.permutations(steps))
    assert word(steps, tools, mode, arguments, truncated=truncated) == before


@given(st.data(), steps_with_arguments(4), REFERENCE, ORDERED, ARGUMENTS, st.booleans())
@settings(max_examples=150, deadline=None)
def test_the_order_of_a_parallel_part_does_not_matter(
    data: st.DataObject, steps: list[Step], tools: list[Any], mode: str, arguments: str, truncated: bool
):
    parallel = tools[1:4]
    shuffled = data.draw(st.permutations(parallel))
    written = [[*tools[:1], *([{"parallel": part}] if part else []), *tools[4:]] for part in (parallel, shuffled)]
    words = [word(steps, reference, mode, arguments, truncated=truncated) for reference in written]
    assert words[0] == words[1]


@given(st.data(), steps_with_arguments(4), REFERENCE, ORDERED | FREE, ARGUMENTS, st.booleans())
@settings(max_examples=150, deadline=None)
def test_the_order_in_which_parallel_calls_were_recorded_does_not_matter(
    data: st.DataObject, steps: list[Step], tools: list[Any], mode: str, arguments: str, truncated: bool
):
    turn = [step for step in steps if step.turn == 1]
    shuffled = data.draw(st.permutations(turn))
    rest = [step for step in steps if step.turn != 1]
    words = [word(turn + rest, tools, mode, arguments, truncated=truncated) for turn in (turn, shuffled)]
    assert words[0] == words[1]


@given(steps_with_arguments(3), REFERENCE, FREE, ARGUMENTS, st.integers(1, 3))
@settings(max_examples=100, deadline=None)
def test_everything_said_so_many_times_is_worth_the_same(
    steps: list[Step], tools: list[Any], mode: str, arguments: str, times: int
):
    """Identical calls are calls of their own, and never merged (by Hall's theorem, 1935)."""
    assert word(steps * times, tools * times, mode, arguments) == word(steps, tools, mode, arguments)


@given(steps_with_arguments(4), REFERENCE, REFERENCE, ORDERED | FREE, ARGUMENTS, st.booleans())
@settings(max_examples=100, deadline=None)
def test_an_alternative_more_never_takes_a_pass_away(
    steps: list[Step], tools: list[Any], other: list[Any], mode: str, arguments: str, truncated: bool
):
    words = [word(steps, each, mode, arguments, truncated=truncated)[0] for each in (tools, other)]
    evaluator = ToolSequence(mode=mode, arguments_mode=arguments)  # type: ignore[arg-type]
    either = [
        evaluator.judge(of_steps(steps, {"any_of": both}, truncated=truncated)).verdict
        for both in ([tools, other], [other, tools])
    ]
    best = "pass" if "pass" in words else "missing" if "missing" in words else "fail"
    assert either == [best, best]
