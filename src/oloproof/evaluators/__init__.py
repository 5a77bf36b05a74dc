"""The questions: each evaluator gives one word, with its evidence, for a case under a criterion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from oloproof.evaluators.agents import Route, ToolPermissions
from oloproof.evaluators.base import ConfigError, EvaluatorBase
from oloproof.evaluators.budget import Budget
from oloproof.evaluators.canary import CanaryAbsent
from oloproof.evaluators.constraints import ConstraintsSatisfied
from oloproof.evaluators.counting import MaxHandoffs, MaxSteps, MaxToolCalls, ToolCallCounts, ToolCalled, ToolNotCalled
from oloproof.evaluators.ending import EndsWithStatus
from oloproof.evaluators.equality import ExactMatch, Numeric
from oloproof.evaluators.json_schema import JsonSchema
from oloproof.evaluators.loops import NoToolLoop
from oloproof.evaluators.rule import AgentRule
from oloproof.evaluators.sequence import NoUndeclaredTool, ToolSequence
from oloproof.evaluators.state import StateMatches, StateUnchanged
from oloproof.evaluators.text import Contains, Regex
from oloproof.evaluators.tool_errors import ToolErrors
from oloproof.evaluators.user import UserEvaluator
from oloproof.evaluators.vacuity import Vacuity
from oloproof.model.evidence import Evaluator, Evidence
from oloproof.model.judgment import Judgment

__all__ = ["EVALUATORS", "ConfigError", "EvaluatorBase", "UserEvaluator", "Vacuity", "judge", "judge_all"]

EVALUATORS: Final[Mapping[str, type[EvaluatorBase]]] = MappingProxyType(
    {
        str(evaluator.__struct_config__.tag): evaluator
        for evaluator in (
            Contains,
            ExactMatch,
            Regex,
            JsonSchema,
            Numeric,
            ToolCalled,
            ToolNotCalled,
            ToolCallCounts,
            ToolSequence,
            NoUndeclaredTool,
            NoToolLoop,
            ToolErrors,
            ConstraintsSatisfied,
            MaxSteps,
            MaxToolCalls,
            Budget,
            EndsWithStatus,
            CanaryAbsent,
            StateMatches,
            StateUnchanged,
            Route,
            ToolPermissions,
            MaxHandoffs,
            AgentRule,
        )
    }
)
"""The built-in evaluators by the ``type`` that configurations name. The fields of each are its configuration's keys."""


def judge(evaluators: Sequence[Evaluator], evidence: Evidence) -> tuple[Judgment, ...]:
    """One judgment an evaluator, in their order."""
    return tuple([evaluator.judge(evidence) for evaluator in evaluators])


def judge_all(evaluators: Sequence[Evaluator], evidence: Sequence[Evidence]) -> list[tuple[Judgment, ...]]:
    """:func:`judge` of many attempts; each evaluator sees all of them before the next one does."""
    if not evaluators:
        return [()] * len(evidence)
    columns = [[evaluator.judge(each) for each in evidence] for evaluator in evaluators]
    return list(zip(*columns, strict=True))
