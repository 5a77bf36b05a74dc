"""What a run, or the calls of one tool, may cost in time, tokens and money: ``agent_budget``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import isfinite
from typing import Annotated, Final

from msgspec import Meta

from oloproof.evaluators.base import ConfigError, Name, Size, TrajectoryEvaluator, open_reason
from oloproof.evaluators.numbers import exact
from oloproof.model.evidence import Evidence
from oloproof.model.judgment import Judgment
from oloproof.model.quantity import StepQuantity, carried, total
from oloproof.model.reading import Reading
from oloproof.model.trajectory import Step

_CLEAR: Final = 1e-9
"""Sums that differ from their bound by more than this share of it are on the same side of it as the exact sum: a
double is within 2⁻⁵³ of the decimal that it stands for."""

_Amount = Annotated[float, Meta(ge=0)]


class Budget(TrajectoryEvaluator, frozen=True, kw_only=True, dict=True, tag_field="type", tag="agent_budget"):
    """The steps took at most ``max_latency_ms``, ``max_tokens`` and ``max_cost_usd`` together; at least one is given.

    With ``tool_name``, only the calls and results of that tool are added up. Time is added too: calls that ran in
    parallel count each. Sums and bounds are compared as the decimals that were written.

    Where a step lacks a value that others of its kind have, or no step has it, the sum is a lower bound: a fail if it
    is over the budget, otherwise missing (``metric_not_recorded``). A truncated record fails once it is over, and
    never passes. Default criterion: ``agent_latency_ms_le_<n>``, ``agent_tokens_le_<n>`` or ``agent_cost_usd_le_<n>``,
    and ``agent_budget`` for several bounds; ``agent_tool_<tool_name>_…`` for one tool.
    """

    max_latency_ms: Annotated[_Amount | None, Meta(description="How many milliseconds the steps may take.")] = None
    max_tokens: Annotated[Size | None, Meta(description="How many tokens the steps may take.")] = None
    max_cost_usd: Annotated[_Amount | None, Meta(description="How many US dollars the steps may cost.")] = None
    tool_name: Annotated[Name | None, Meta(description="Add up only this tool's calls; default: every step.")] = None

    def __post_init__(self) -> None:
        if not self.bounds:
            raise ConfigError("max_latency_ms", "give at least one of max_latency_ms, max_tokens and max_cost_usd")
        for source, bound in self.bounds.items():
            if not isfinite(bound):
                raise ConfigError(f"max_{source}", "the bound must be finite")
        TrajectoryEvaluator.__post_init__(self)

    def default_criterion(self) -> str:
        prefix = "agent" if self.tool_name is None else f"agent_tool_{self.tool_name}"
        if len(self.bounds) > 1:
            return f"{prefix}_budget"
        ((source, bound),) = self.bounds.items()
        return f"{prefix}_{source}_le_{int(bound) if bound == int(bound) else bound}"

    def tools_named(self) -> tuple[str, ...]:
        return () if self.tool_name is None else (self.tool_name,)

    @cached_property
    def bounds(self) -> dict[StepQuantity, float]:
        """The bounds that were given."""
        given: dict[StepQuantity, float | None] = {
            "latency_ms": self.max_latency_ms,
            "tokens": self.max_tokens,
            "cost_usd": self.max_cost_usd,
        }
        return {source: bound for source, bound in given.items() if bound is not None}

    @cached_property
    def shown(self) -> dict[str, float]:
        """The bounds as evidence."""
        return {f"max_{source}": bound for source, bound in self.bounds.items()}

    def judge_reading(self, reading: Reading, evidence: Evidence) -> Judgment:
        steps: Sequence[Step] = reading.steps
        if self.tool_name is not None:
            steps = [step for step in steps if step.tool_name == self.tool_name]
        over: list[int] = []
        found: dict[str, float | None] = {}
        complete = not reading.truncated
        for source, bound in self.bounds.items():
            values, said = carried(source, steps)
            found[source] = summed = total(values)
            if summed is None or _exceeds(summed, values, bound):
                over.append(_first_over(source, steps, bound))
            complete = complete and (said or (said is None and not steps))
        if over:
            return Judgment("fail", None, tuple(sorted(set(over))), self.shown, found)
        if complete:
            return Judgment("pass", None, (), self.shown, found)
        return Judgment("missing", open_reason(reading, "metric_not_recorded"), (), self.shown, found)


def _exceeds(summed: float, values: Sequence[float], bound: float) -> bool:
    """Whether the values, which add up to about ``summed``, are more than ``bound``."""
    if abs(summed - bound) > _CLEAR * max(summed, bound):
        return summed > bound
    return sum(map(exact, values)) > exact(bound)


def _first_over(source: StepQuantity, steps: Sequence[Step], bound: float) -> int:
    """The step with which the sum is over the bound."""
    values: list[float] = []
    about = 0.0
    for step in steps:
        value: float | None = getattr(step, source)
        if value is not None:
            values.append(value)
            about += value
            if _exceeds(about, values, bound):
                return step.index
    raise ValueError("the sum is within the bound")
