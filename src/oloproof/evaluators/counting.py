"""Counts between bounds: calls of a tool, steps, tool calls, hand-offs. All are faces of one counter."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from oloproof.evaluators.arguments import Arguments, read_arguments
from oloproof.evaluators.base import UNNAMED_AGENTS, ConfigError, Name, Size, TrajectoryEvaluator, open_reason
from oloproof.evaluators.counts import Count, bounds_problem
from oloproof.model.evidence import CaseProblem, Evidence
from oloproof.model.judgment import Judgment
from oloproof.model.reading import Reading
from oloproof.model.trajectory import Step


class CountEvaluator(TrajectoryEvaluator, frozen=True, kw_only=True, dict=True):
    """A count with a lower bound ``least`` and an upper bound ``most`` (None: none)."""

    @property
    def least(self) -> int:
        return 0

    @property
    def most(self) -> int | None:
        raise NotImplementedError

    @cached_property
    def bounds(self) -> dict[str, int]:
        """The bounds as evidence."""
        return _shown(self.least, self.most)

    def judge_count(self, reading: Reading, certain: int, doubtful: int, steps: tuple[int, ...]) -> Judgment:
        """The verdict on ``certain`` known ones and ``doubtful`` others that may count. ``steps`` is its evidence."""
        word = Count(certain, None if reading.truncated else certain + doubtful).within(self.least, self.most)
        reason = open_reason(reading) if word == "missing" else None
        return Judgment(word, reason, steps, self.bounds, certain)


class CallsOfTool(CountEvaluator, frozen=True, kw_only=True, dict=True):
    """A count of the calls of one tool, or of those among them that have certain arguments."""

    tool_name: Annotated[Name, Meta(description="The tool.")]
    arguments: Annotated[
        Annotated[dict[str, Any], Meta(min_length=1)] | None,
        Meta(description="Count only calls that have each of these arguments."),
    ] = None
    arguments_mode: Annotated[
        Literal["subset", "exact"], Meta(description="Whether a call may have other arguments too, or these alone.")
    ] = "subset"

    def __post_init__(self) -> None:
        TrajectoryEvaluator.__post_init__(self)
        _ = self._wanted

    @cached_property
    def _wanted(self) -> Arguments | None:
        if self.arguments is None:
            return None
        problems: list[CaseProblem] = []
        wanted = read_arguments(self.arguments, self.arguments_mode, problems)
        if problems:
            problem = problems[0]
            where = ".".join(map(str, ("arguments", *problem.path)))
            raise ConfigError("arguments", f"{where} {problem.message}\n{problem.hint}", problem.path)
        return wanted

    def tools_named(self) -> tuple[str, ...]:
        return (self.tool_name,)

    def judge_reading(self, reading: Reading, evidence: Evidence) -> Judgment:
        tool = self.tool_name
        calls = [call for call in reading.calls if call.tool_name == tool]
        doubtful = 0
        wanted = self._wanted
        if wanted is not None:
            matches = [wanted.match(call.arguments) for call in calls]
            doubtful = matches.count(None)
            calls = [call for call, match in zip(calls, matches, strict=True) if match]
        return self.judge_count(reading, len(calls), doubtful, tuple([call.index for call in calls]))


class ToolCalled(CallsOfTool, frozen=True, kw_only=True, dict=True, tag_field="type", tag="agent_tool_called"):
    """``tool_name`` was called between ``min_calls`` (default 1) and ``max_calls`` (default: no bound) times.

    With ``arguments`` (literals, matchers and dotted paths), only calls that have each of these arguments count; what
    else they were given does not matter unless ``arguments_mode`` is ``exact``. Calls whose arguments were not recorded
    may count. A truncated record passes once there are enough calls and no upper bound, and fails once there are too
    many. Default criterion: ``agent_tool_<tool_name>_called``.
    """

    min_calls: Annotated[Size, Meta(description="How often it must be called.")] = 1
    max_calls: Annotated[Size | None, Meta(description="How often it may be called; default: no bound.")] = None

    def __post_init__(self) -> None:
        CallsOfTool.__post_init__(self)
        problem = bounds_problem(self.min_calls, self.max_calls, names=("min_calls", "max_calls"))
        if problem is not None:
            raise ConfigError("min_calls", problem)

    def default_criterion(self) -> str:
        return f"agent_tool_{self.tool_name}_called"

    @property
    def least(self) -> int:
        return self.min_calls

    @property
    def most(self) -> int | None:
        return self.max_calls


class ToolNotCalled(CallsOfTool, frozen=True, kw_only=True, dict=True, tag_field="type", tag="agent_tool_not_called"):
    """``tool_name`` was never called, or, with ``arguments``, never with each of these arguments.

    Calls whose arguments were not recorded may be such calls. A truncated record fails at the first one, and never
    passes. Default criterion: ``agent_tool_<tool_name>_not_called``.
    """

    def default_criterion(self) -> str:
        return f"agent_tool_{self.tool_name}_not_called"

    @property
    def most(self) -> int:
        return 0


class CallBounds(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How often one tool must and may be called; at least one of the two says something."""

    min: Annotated[Size, Meta(description="How often the tool must be called.")] = 0
    max: Annotated[Size | None, Meta(description="How often the tool may be called; default: no bound.")] = None


class ToolCallCounts(
    TrajectoryEvaluator, frozen=True, kw_only=True, dict=True, tag_field="type", tag="agent_tool_call_counts"
):
    """Each tool in ``bounds`` was called between its ``min`` (default 0) and ``max`` (default: no bound) times.

    ``bounds: {search: {max: 3}, lookup_order: {min: 1}}``. Tools that are not named may be called at will. A truncated
    record passes once every tool has its minimum and none has a maximum, and fails once one is over its maximum.
    """

    bounds: Annotated[
        Annotated[dict[Name, CallBounds], Meta(min_length=1)], Meta(description="The bounds of each tool's calls.")
    ]

    def __post_init__(self) -> None:
        TrajectoryEvaluator.__post_init__(self)
        for tool, bounds in self.bounds.items():
            problem = bounds_problem(bounds.min, bounds.max, names=("min", "max"))
            if problem is not None:
                raise ConfigError("bounds", f"bounds of {tool!r}: {problem}")

    def tools_named(self) -> tuple[str, ...]:
        return tuple(self.bounds)

    @cached_property
    def wanted(self) -> dict[str, dict[str, int]]:
        """The bounds as evidence."""
        return {tool: _shown(bounds.min, bounds.max) for tool, bounds in self.bounds.items()}

    def judge_reading(self, reading: Reading, evidence: Evidence) -> Judgment:
        # Further calls of one tool change no other's count: all of what is open can go either way at once.
        found = {tool: reading.names.count(tool) for tool in self.bounds}
        words = {
            tool: Count(found[tool], None if reading.truncated else found[tool]).within(bounds.min, bounds.max)
            for tool, bounds in self.bounds.items()
        }
        broken = [tool for tool, word in words.items() if word == "fail"]
        if broken:
            steps = [call.index for call in reading.calls if call.tool_name in broken]
            return Judgment("fail", None, tuple(steps), self.wanted, found, _named(broken))
        if "missing" in words.values():
            return Judgment("missing", open_reason(reading), (), self.wanted, found)
        return Judgment("pass", None, (), self.wanted, found)


class MaxSteps(CountEvaluator, frozen=True, kw_only=True, dict=True, tag_field="type", tag="agent_max_steps"):
    """The run took at most ``max_steps`` steps, of whatever kind.

    A truncated record fails once it holds more, and never passes. Default criterion: ``agent_steps_le_<max_steps>``.
    """

    max_steps: Annotated[Size, Meta(description="How many steps a run may take.")]

    def default_criterion(self) -> str:
        return f"agent_steps_le_{self.max_steps}"

    @property
    def most(self) -> int:
        return self.max_steps

    def judge_reading(self, reading: Reading, evidence: Evidence) -> Judgment:
        return self.judge_count(reading, len(reading.steps), 0, _first_over(reading.steps, self.max_steps))


class MaxToolCalls(CountEvaluator, frozen=True, kw_only=True, dict=True, tag_field="type", tag="agent_max_tool_calls"):
    """The run called tools at most ``max_calls`` times.

    A truncated record fails once it holds more, and never passes. Default criterion:
    ``agent_tool_calls_le_<max_calls>``.
    """

    max_calls: Annotated[Size, Meta(description="How many tool calls a run may make.")]

    def default_criterion(self) -> str:
        return f"agent_tool_calls_le_{self.max_calls}"

    @property
    def most(self) -> int:
        return self.max_calls

    def judge_reading(self, reading: Reading, evidence: Evidence) -> Judgment:
        return self.judge_count(reading, len(reading.calls), 0, _first_over(reading.calls, self.max_calls))


class MaxHandoffs(CountEvaluator, frozen=True, kw_only=True, dict=True, tag_field="type", tag="agent_max_handoffs"):
    """Control passed from agent to agent at most ``max_handoffs`` times.

    Control changes with a ``handoff`` step and when another agent takes the next step; steps inside an agent used as a
    tool change nothing. A truncated record fails once it holds more, and never passes. A record that names no agents is
    missing (``unnamed_agents``). Default criterion: ``agent_handoffs_le_<max_handoffs>``.
    """

    max_handoffs: Annotated[Size, Meta(description="How often control may pass.")]

    def default_criterion(self) -> str:
        return f"agent_handoffs_le_{self.max_handoffs}"

    @property
    def most(self) -> int:
        return self.max_handoffs

    def judge_reading(self, reading: Reading, evidence: Evidence) -> Judgment:
        if not reading.agents_named:
            return UNNAMED_AGENTS
        handoffs = max(0, len(reading.route) - 1)
        over = () if handoffs <= self.max_handoffs else (reading.route_steps[self.max_handoffs + 1],)
        return self.judge_count(reading, handoffs, 0, over)


def _shown(least: int, most: int | None) -> dict[str, int]:
    return {key: bound for key, bound in (("min", least or None), ("max", most)) if bound is not None}


def _named(tools: list[str]) -> str:
    return f"the calls of {', '.join(map(repr, tools))} are out of bounds"


def _first_over(steps: tuple[Step, ...] | list[Step], bound: int) -> tuple[int, ...]:
    return (steps[bound].index,) if len(steps) > bound else ()
