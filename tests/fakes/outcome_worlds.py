"""Worlds (:mod:`fakes.worlds`) of what came of the steps: errors of calls, what steps took, what was said at the end.

Where errors are concerned, a run goes on with calls that carry their outcome themselves, so that three further steps
are three further outcomes; records hold results of their own too, each right after its call.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import msgspec
from hypothesis import strategies as st
from msgspec import UNSET

from fakes.worlds import TOOLS, UNKNOWN_VALUE, World
from oloproof.evaluators import EVALUATORS
from oloproof.evaluators.budget import Budget
from oloproof.evaluators.tool_errors import ToolErrors
from oloproof.model.trajectory import Step, Trajectory

OUTCOMES = (None, "boom")
TOKENS = (0, 1, 100)


def ended(tool: str, error: Any = UNSET, **fields: Any) -> Step:
    """A call that carries its outcome."""
    return Step(index=0, kind="tool_call", tool_name=tool, call_id="same", arguments={}, error=error, **fields)


def result(tool: str, error: Any = UNSET, **fields: Any) -> Step:
    return Step(index=0, kind="tool_result", tool_name=tool, call_id="same", error=error, **fields)


# Errors


def steps_of_outcomes(longest: int) -> st.SearchStrategy[list[Step]]:
    """Calls that carry their outcome, calls with a result after them, and messages."""
    said = st.sampled_from((UNSET, *OUTCOMES, *OUTCOMES))
    phrases = st.builds(
        lambda tool, own, after, answered: [ended(tool, own), *([result(tool, after)] if answered else [])],
        *(st.sampled_from(TOOLS), said, said, st.booleans()),
    ) | st.just([Step(index=0, kind="message")])
    return st.lists(phrases, max_size=longest).map(lambda said: [step for phrase in said for step in phrase][:longest])


def _outcomes_filled(record: Trajectory, place: int) -> list[Step]:
    """An outcome for a call of which none is recorded; another than what its result says cannot be."""
    step = record.steps[place]
    if step.kind != "tool_call":
        return [step]
    said = [step.error, *(after.error for after in record.steps[place + 1 : place + 2] if after.kind == "tool_result")]
    if "boom" in said or (None in said and record.errors_recorded):
        return [step]
    return [msgspec.structs.replace(step, error=outcome) for outcome in OUTCOMES]


def oracle_errors(evaluator: Any, expected: dict[str, Any], run: Trajectory) -> bool:
    calls = []
    for place, step in enumerate(run.steps):
        if step.kind == "tool_call" and evaluator.tool_name in (None, step.tool_name):
            answered = place + 1 < len(run.steps) and run.steps[place + 1].kind == "tool_result"
            failed = "boom" in (step.error, run.steps[place + 1].error if answered else None)
            calls.append((step.tool_name, place, place + answered, failed))
    errors = [
        known
        for tool, _, known, failed in calls
        if failed
        and not (
            evaluator.ignore_recovered
            and any(other == tool and later > known and not broke for other, later, _, broke in calls)
        )
    ]
    if evaluator.max_errors is not None:
        return len(errors) <= evaluator.max_errors
    return len(errors) <= Fraction(str(evaluator.max_error_rate)) * len(calls)


def _error_world(variant: str, longest: Callable[[int], int], **bound: st.SearchStrategy[Any]) -> World:
    return World(
        type="agent_tool_errors",
        variant=variant,
        evaluators=st.builds(
            ToolErrors, tool_name=st.sampled_from((None, "a")), ignore_recovered=st.booleans(), **bound
        ),
        steps=lambda most: steps_of_outcomes(longest(most)),
        errors_recorded=(True, True, False),
        oracle=oracle_errors,
        further=lambda record: [ended(tool, outcome) for tool in TOOLS for outcome in OUTCOMES],
        fills=_outcomes_filled,
        unrecorded="errors_not_recorded",
    )


# Quantities


def steps_with_tokens(longest: int) -> st.SearchStrategy[list[Step]]:
    tokens = st.sampled_from((None, 0, 1, 1, 2))
    step = st.builds(
        lambda make, tool, took: make(tool, tokens=took),
        st.sampled_from((ended, result, lambda tool, tokens: Step(index=0, kind="message", tokens=tokens))),
        st.sampled_from(TOOLS),
        tokens,
    )
    return st.lists(step, max_size=longest)


def _tokens_filled(tool: str | None) -> Callable[[Trajectory, int], list[Step]]:
    def fill(record: Trajectory, place: int) -> list[Step]:
        step = record.steps[place]
        counted = [each for each in record.steps if tool in (None, each.tool_name)]
        carrying = {each.kind for each in counted if each.tokens is not None}
        known = step.tokens is not None or tool not in (None, step.tool_name)
        if known or (carrying and step.kind not in carrying):
            return [step]
        return [msgspec.structs.replace(step, tokens=tokens) for tokens in TOKENS]

    return fill


def oracle_budget(evaluator: Any, expected: dict[str, Any], run: Trajectory) -> bool:
    tool = evaluator.tool_name
    return sum(step.tokens or 0 for step in run.steps if tool in (None, step.tool_name)) <= evaluator.max_tokens


# Answers and secrets

ANSWERS = ("yes", "no", {"a": "yes"})
SECRET = "yes"


def steps_with_answers(longest: int) -> st.SearchStrategy[list[Step]]:
    said = st.sampled_from((*ANSWERS, None, UNKNOWN_VALUE))
    step = st.builds(
        lambda kind, content: Step(index=0, kind=kind, tool_name=kind, arguments=content),
        st.sampled_from(("final", "message", "tool_call")),
        said,
    )
    return st.lists(step, max_size=min(longest, 4))


def _answers_filled(record: Trajectory, place: int) -> list[Step]:
    step = record.steps[place]
    if step.kind == "message" or step.arguments not in (None, UNKNOWN_VALUE):
        return [step]
    return [msgspec.structs.replace(step, arguments=answer) for answer in ANSWERS]


def further_answers(record: Trajectory) -> list[Step]:
    return [Step(index=0, kind="final", arguments=answer) for answer in ANSWERS] + [Step(index=0, kind="message")]


def oracle_final(evaluator: Any, expected: dict[str, Any], run: Trajectory) -> bool:
    finals = [step.arguments for step in run.steps if step.kind == "final"]
    return bool(finals) and finals[-1] == "yes"


def oracle_canary(evaluator: Any, expected: dict[str, Any], run: Trajectory) -> bool:
    return not any("yes" in str(step.arguments) for step in run.steps if step.kind in ("final", "tool_call"))


OUTCOME_WORLDS = (
    *(
        World(
            type=kind,
            variant="final",
            evaluators=st.just(EVALUATORS[kind](source="final", value="yes")),
            steps=steps_with_answers,
            oracle=oracle_final,
            further=further_answers,
            fills=_answers_filled,
        )
        for kind in ("contains", "exact_match")
    ),
    World(
        type="canary_absent",
        evaluators=st.just(EVALUATORS["canary_absent"](value=SECRET)),
        steps=steps_with_answers,
        oracle=oracle_canary,
        further=further_answers,
        fills=_answers_filled,
        output="fine",
    ),
    World(
        type="agent_terminal_status",
        evaluators=st.builds(EVALUATORS["agent_terminal_status"], status=st.sampled_from(("success", "failure"))),
        steps=steps_with_tokens,
        oracle=lambda evaluator, expected, run: run.terminal_status == evaluator.status,
        further=lambda record: [],
        endings=("unknown", "success", "failure"),
        unrecorded="status_not_recorded",
    ),
    _error_world("count", lambda most: most, max_errors=st.integers(0, 2)),
    # Three further calls bring two calls over a rate of 0.4, and below it again.
    _error_world("rate", lambda most: min(most, 2) if most < 9 else most, max_error_rate=st.sampled_from((0.0, 0.4))),
    *(
        World(
            type="agent_budget",
            variant=tool or "",
            evaluators=st.builds(Budget, max_tokens=st.integers(0, 4), tool_name=st.just(tool)),
            steps=steps_with_tokens,
            oracle=oracle_budget,
            further=lambda record: [ended(tool, tokens=tokens) for tool in TOOLS for tokens in TOKENS],
            fills=_tokens_filled(tool),
            unrecorded="metric_not_recorded",
        )
        for tool in (None, "a")
    ),
)
