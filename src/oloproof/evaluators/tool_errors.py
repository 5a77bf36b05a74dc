"""Calls that failed: ``agent_tool_errors``."""

from __future__ import annotations

from functools import cached_property
from math import floor
from typing import Annotated

from msgspec import Meta

from oloproof.evaluators.base import ConfigError, Name, Size, TrajectoryEvaluator, open_reason
from oloproof.evaluators.counts import Count
from oloproof.evaluators.numbers import exact
from oloproof.model.evidence import Evidence
from oloproof.model.judgment import Judgment
from oloproof.model.reading import Reading
from oloproof.model.trajectory import Step


class ToolErrors(TrajectoryEvaluator, frozen=True, kw_only=True, dict=True, tag_field="type", tag="agent_tool_errors"):
    """At most ``max_errors`` calls, or at most the share ``max_error_rate`` of the calls, ended in an error.

    With ``tool_name``, only calls of that tool are looked at. With ``ignore_recovered``, an error does not count if a
    call of the same tool that was made after it succeeded, whatever its arguments. Errors are compared with the rate
    times the number of calls, exactly, so a run without calls passes.

    A call failed if its result says so, succeeded if its result says ``error: null``, and is unknown otherwise: then
    what is open is missing (``errors_not_recorded``). A truncated record fails once there are too many errors, and
    never passes; where a recovery or further calls could still mend the count or the rate, it does not fail either.
    Default criterion: ``agent_tool_errors_le_<max_errors>`` or ``agent_tool_error_rate_le_<max_error_rate>``, with
    ``agent_tool_<tool_name>_…`` for one tool.
    """

    max_errors: Annotated[Size | None, Meta(description="How many calls may fail.")] = None
    max_error_rate: Annotated[
        Annotated[float, Meta(ge=0, lt=1)] | None, Meta(description="Which share of the calls may fail: 0.1.")
    ] = None
    tool_name: Annotated[Name | None, Meta(description="The tool; default: all of them.")] = None
    ignore_recovered: Annotated[
        bool, Meta(description="Whether a later successful call of the same tool makes up for an error.")
    ] = False

    def __post_init__(self) -> None:
        if (self.max_errors is None) == (self.max_error_rate is None):
            raise ConfigError("max_errors", "give either max_errors or max_error_rate")
        TrajectoryEvaluator.__post_init__(self)

    def default_criterion(self) -> str:
        of_tool = "" if self.tool_name is None else f"_{self.tool_name}"
        if self.max_errors is not None:
            return f"agent_tool{of_tool}_errors_le_{self.max_errors}"
        return f"agent_tool{of_tool}_error_rate_le_{self.max_error_rate}"

    def tools_named(self) -> tuple[str, ...]:
        return () if self.tool_name is None else (self.tool_name,)

    @cached_property
    def bounds(self) -> dict[str, float]:
        """The bound as evidence."""
        if self.max_errors is not None:
            return {"max_errors": self.max_errors}
        assert self.max_error_rate is not None
        return {"max_error_rate": self.max_error_rate}

    def judge_reading(self, reading: Reading, evidence: Evidence) -> Judgment:
        outcomes = [
            _Outcome(call, answer, failed)
            for call, answer, failed in zip(reading.calls, reading.answers, reading.failed, strict=True)
            if self.tool_name is None or call.tool_name == self.tool_name
        ]
        # More successes forgive more and add no error, so the extremes are that all unknown calls succeeded or failed.
        errors = self._counting([each for each in outcomes if each.failed], outcomes)
        doubtful = self._counting([each for each in outcomes if each.failed is not False], outcomes)
        most = self._most(len(outcomes))
        certain, possible = len(errors), None if reading.truncated else len(doubtful)
        if reading.truncated and (self.ignore_recovered or self.max_error_rate):
            certain = 0
        word = Count(certain, possible).within(0, most)
        reason = open_reason(reading, "errors_not_recorded") if word == "missing" else None
        found = {"errors": len(errors), "calls": len(outcomes)}
        steps = tuple([error.known_at for error in errors])
        return Judgment(word, reason, steps, self.bounds, found, _silent(outcomes) if word == "missing" else None)

    def _most(self, calls: int) -> int:
        """The largest number of errors that so many calls may have."""
        if self.max_errors is not None:
            return self.max_errors
        assert self.max_error_rate is not None
        return floor(exact(self.max_error_rate) * calls)

    def _counting(self, failed: list[_Outcome], outcomes: list[_Outcome]) -> list[_Outcome]:
        """Of the calls taken as failed, those that no later call of the tool, taken as successful, makes up for."""
        if not self.ignore_recovered:
            return failed
        taken = {each.call.index for each in failed}
        last = {each.call.tool_name: each.call.index for each in outcomes if each.call.index not in taken}
        return [each for each in failed if last.get(each.call.tool_name, 0) <= each.known_at]


def _silent(outcomes: list[_Outcome]) -> str | None:
    """Which call does not say how it ended, None where all do."""
    silent = next((each.known_at for each in outcomes if each.failed is None), None)
    if silent is None:
        return None
    return f"step {silent} does not say whether the call failed (error: null says that it did not)"


class _Outcome:
    """How a call ended: ``failed`` None where that was not recorded. ``known_at`` is the step that told."""

    __slots__ = ("call", "failed", "known_at")

    def __init__(self, call: Step, answer: Step | None, failed: bool | None) -> None:
        self.call = call
        self.known_at = call.index if answer is None else answer.index
        self.failed = failed
