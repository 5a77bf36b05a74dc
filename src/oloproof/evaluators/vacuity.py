"""What a configuration named and no case ever showed: answers that look like evidence and are none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from oloproof.evaluators.base import EvaluatorBase
from oloproof.evaluators.output import OutputEvaluator
from oloproof.evaluators.rule import AgentRule
from oloproof.model.case import ErrorKind
from oloproof.model.evidence import Evaluator
from oloproof.model.judgment import Judgment
from oloproof.model.reading import Reading

_CRASHES: Final[tuple[ErrorKind, ...]] = ("system_error", "timeout")
"""Reasons of a failure for which no output was looked at."""


_MOST_NAMES: Final = 1000
"""So many names of tools are kept for a guess at what was meant; an agent may make up any number of them."""

_NEAR: Final = 0.9
"""How alike two names are of which one may be a slip for the other: delete_customer is none for create_customer."""

_LACKING: Final[dict[str, str]] = {
    "no_trajectory": "no case left a trajectory: does the agent open `current_case().trace()`, or a recorder?",
    "unnamed_agents": "no step names its agent: steps take `agent=`, and so does `trace.within(…)`",
    "state_not_recorded": "no case left its state: the system gives it to `current_case().state(…)`",
    "constraint_not_recorded": "no case checked them: `trace.check(…)` records that it was done",
    "metric_not_recorded": "no step carries what is added up: `latency_ms=`, `tokens=` or `cost_usd=`",
    "status_not_recorded": "no case said how it ended: `trace.finish(…)` records that",
    "arguments_not_recorded": "no case recorded the arguments that it looks at",
    "metadata_not_recorded": "no case has such metadata",
    "no_declared_tools": "no case that ran has expected.tools",
    "no_declared_route": "no case that ran has expected.route",
    "not_selected": "`only:` holds of no case that ran",
}
"""By the reason for which no case was judged, what was forgotten, if that is likely. Errors are told elsewhere."""


class Vacuity:
    """Watches the cases of a run go by, and tells afterwards what was never met."""

    def __init__(self, evaluators: Sequence[Evaluator]) -> None:
        self._named = {
            evaluator.criterion: evaluator.tools_named()
            for evaluator in evaluators
            if isinstance(evaluator, EvaluatorBase)
        }
        self._fields = {
            index: evaluator
            for index, evaluator in enumerate(evaluators)
            if isinstance(evaluator, OutputEvaluator) and evaluator.field is not None
        }
        self._absent: set[int] = set()
        self._unjudged: dict[int, tuple[str, set[str]]] = {
            index: (evaluator.criterion, set()) for index, evaluator in enumerate(evaluators)
        }
        self._idle = {
            index: evaluator
            for index, evaluator in enumerate(evaluators)
            if isinstance(evaluator, AgentRule) and evaluator.waits
        }
        self._uncalled = {tool for named in self._named.values() for tool in named}
        self._called: set[str] = set()
        self._cases = 0

    def see(self, reading: Reading | None, judgments: Sequence[Judgment]) -> None:
        """The next case."""
        self._cases += 1
        if self._uncalled and reading is not None:
            self._uncalled.difference_update(reading.names)
            if len(self._called) < _MOST_NAMES:
                self._called.update(reading.names)
        for index in tuple(self._idle):
            if reading is not None and judgments[index].verdict != "excluded" and self._idle[index].fired(reading):
                del self._idle[index]
        for index in tuple(self._fields):
            judgment = judgments[index]
            if judgment.reason == "field_absent":
                self._absent.add(index)
            elif judgment.verdict == "pass" or (judgment.verdict == "fail" and judgment.reason not in _CRASHES):
                del self._fields[index]

        for index in tuple(self._unjudged):
            if judgments[index].verdict in ("pass", "fail"):
                del self._unjudged[index]
            else:
                self._unjudged[index][1].add(judgments[index].reason or "")

    @property
    def criteria(self) -> tuple[str, ...]:
        """The criteria that no case gave anything to say."""
        return tuple(evaluator.criterion for evaluator in self._idle.values()) if self._cases else ()

    def warnings(self) -> tuple[str, ...]:
        """One line a finding; none for a run without cases, of which it is said elsewhere that nothing ran."""
        if not self._cases:
            return ()
        tools = (
            f"criterion '{criterion}' names the tool '{tool}', which no case called{self._meant(tool)}"
            for criterion, named in self._named.items()
            for tool in named
            if tool in self._uncalled
        )
        fields = (
            f"criterion '{evaluator.criterion}' reads the field '{evaluator.field}', which no output has"
            for index, evaluator in self._fields.items()
            if index in self._absent
        )
        idle = (
            f"criterion '{evaluator.criterion}' says nothing: in no case was there {evaluator.trigger}"
            for evaluator in self._idle.values()
        )
        lacking = (
            f"criterion '{criterion}' has nothing to judge: {_LACKING[next(key for key in _LACKING if key in why)]}"
            for criterion, why in self._unjudged.values()
            if not why.isdisjoint(_LACKING)
        )
        return (*tools, *fields, *idle, *lacking)

    def _meant(self, tool: str) -> str:
        """Which tool was called that is named nearly like one which was not."""
        from difflib import get_close_matches  # only where a tool was not called

        near = get_close_matches(tool, sorted(self._called), n=1, cutoff=_NEAR)
        return f"; did you mean {near[0]!r}?" if near else ""
