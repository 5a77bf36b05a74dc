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
        return (*tools, *fields, *idle)

    def _meant(self, tool: str) -> str:
        """Which tool was called that is named nearly like one which was not."""
        from difflib import get_close_matches  # only where a tool was not called

        near = get_close_matches(tool, sorted(self._called), n=1, cutoff=_NEAR)
        return f"; did you mean {near[0]!r}?" if near else ""
