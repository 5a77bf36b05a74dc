"""``assert_trajectory(trace, tools=[…], no_loop=2)``: what must hold of one trajectory, for tests of the user's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

from oloproof.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from oloproof.model.case import Attempt
    from oloproof.model.recording import Recording
    from oloproof.model.run import CaseRecord
    from oloproof.model.trajectory import Trajectory
    from oloproof.testing.recorded import RecordedCase

    Traced = Trajectory | RecordedCase | Recording | Attempt | CaseRecord | None

Names = str | Sequence[str]
Call = str | Mapping[str, Any]


class Asked(TypedDict, total=False):
    """What ``assert_trajectory`` may be asked. Each keyword is a face of the evaluator that is named beside it."""

    tools: Sequence[Call]  # agent_tool_sequence
    any_of: Sequence[Sequence[Call]]  # agent_tool_sequence
    mode: Literal["exact", "in_order", "any_order", "superset", "subset"]  # with tools and any_of
    arguments_mode: Literal["exact", "subset", "ignore"]  # with tools and any_of
    allowed_tools: Sequence[str]  # agent_no_undeclared_tool
    called: Names  # agent_tool_called
    not_called: Names  # agent_tool_not_called
    no_loop: int  # agent_no_tool_loop, max_repeats
    rule: Names  # agent_rule
    constraints: Names  # agent_constraints_satisfied
    max_steps: int  # agent_max_steps
    max_tool_calls: int  # agent_max_tool_calls
    max_handoffs: int  # agent_max_handoffs
    max_errors: int  # agent_tool_errors
    max_latency_ms: float  # agent_budget
    max_tokens: int  # agent_budget
    max_cost_usd: float  # agent_budget
    route: Sequence[str]  # agent_route
    status: Literal["success", "failure"]  # agent_terminal_status
    final: Any  # exact_match of what the last final step says
    evaluators: Sequence[Mapping[str, Any]]  # any other, in the words of oloproof.yaml
    expected: Mapping[str, Any]  # what these read of a case


def assert_trajectory(trace: Traced, /, **asked: Unpack[Asked]) -> None:
    """Nothing where all that is asked holds of the trajectory for certain; an AssertionError that shows it otherwise.

    ``trace`` is a trajectory, or what has one: a :func:`recorded_case`, a recording that an importer read. None, for a
    case that recorded nothing, fails whatever is asked. What the record leaves open (it is truncated, arguments were
    not recorded) fails with the reason: not known is no pass.

    Errors: TypeError for a keyword that does not exist, for none at all, and for what is no trajectory; UsageError for
    a value that the evaluator refuses.
    """
    __tracebackhide__ = True
    _refuse_misspelt(asked)
    from oloproof.testing.asking import complaint  # the evaluators, and what draws: not at import

    try:
        told = complaint(trace, asked)
    except (TypeError, UsageError) as error:  # told at the line of the test, not of the evaluators
        raise error.with_traceback(None) from None
    if told:
        raise AssertionError(told)


def _refuse_misspelt(asked: Mapping[str, Any]) -> None:
    __tracebackhide__ = True
    known = Asked.__annotations__
    for name in asked:
        if name not in known:
            hint = did_you_mean(name, known, otherwise="the keywords are")
            raise TypeError(f"assert_trajectory() has no keyword {name!r}; {hint}")
    if not asked.keys() - {"mode", "arguments_mode", "expected"}:
        raise TypeError("assert_trajectory() is asked nothing: name what must hold, such as tools=[…]")
