"""What a test reads of the run: each rule's decision, each case's verdicts, and the texts that a failure shows."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from oloproof import pipeline
from oloproof.errors import BrokenError
from oloproof.model.judgment import Judgment
from oloproof.model.run import CaseRecord
from oloproof.pipeline.world import name_of_baseline
from oloproof.reports.case import case_view
from oloproof.reports.inert import TEXT_LIMIT, inert
from oloproof.reports.lists import NOT_PASSED, not_passed_lines
from oloproof.reports.shapes import Fact
from oloproof.reports.view import DecisionRow, View, view
from oloproof.store import Store

WIDTH = 100
"""Columns of a case in a failure; a table that needs more is drawn as records."""

Trial = tuple[int, str]
"""The number of a trial and its verdicts, one letter a criterion."""


class StoredRun:
    """A run of the store, open until :meth:`close`."""

    def __init__(self, store: Store, run: str, *, config: str) -> None:
        """Errors: BrokenError for a run that concluded nothing, or that cannot be read."""
        self._store = store
        self._run = store.find(run)
        self._report = pipeline.stored_report(store, self._run, store.policy(self._run.id))
        self.view: View = view(self._report, config=config, baseline=name_of_baseline(store, self._report))
        self._trials: dict[str, list[Trial]] = {}
        for row in store.verdicts(self._run.id):
            if row.trial <= self._run.trials:
                self._trials.setdefault(row.case_id, []).append((row.trial, row.codes))

    def close(self) -> None:
        self._store.close()

    @property
    def exit_code(self) -> int:
        """Of the verdict."""
        return self._report.gate.exit_code

    def decision(self, rule: str) -> DecisionRow | None:
        """The decision of the rule with this id, None where the run was decided without it."""
        rows = zip(self._report.decisions, self.view.decisions, strict=True)
        return next((row for decision, row in rows if decision.rule == rule), None)

    def trials(self, case_id: str) -> list[Trial]:
        """Every trial of the case, none where the run does not have it."""
        return sorted(self._trials.get(case_id, []))

    def judgments(self, case_id: str, trial: int) -> tuple[tuple[str, Judgment], ...]:
        """By criterion."""
        return self._store.case(self._run.id, case_id, trial).judgments

    def failure(self, case_id: str, trial: int) -> str:
        """The error, where a verdict is missing for it, each verdict that did not pass in a line, and below the case
        step by step with the offending ones marked."""
        try:
            record = self._store.case(self._run.id, case_id, trial)
        except BrokenError as error:  # a recorded file is not what it was
            return f"{inert(case_id)} did not pass, and cannot be shown: {inert(str(error), TEXT_LIMIT)}"
        lines = not_passed_lines(record)
        if self._run.trials > 1:
            lines[:1] = [f"trial {trial}: {lines[0]}"]
        return "\n".join((*lines, "", _drawn(record)))


def rule_text(row: DecisionRow) -> str:
    """A rule that did not pass: what met what, what would settle it, and what to do."""
    first = f"{row.rule}: {row.state} ({row.reason}): {row.words}"
    rest = [text for text in (row.achieved, row.settling) if text]
    return "\n".join((first, *rest, *advice(row.next_steps)))


def advice(steps: Iterable[Fact]) -> list[str]:
    """What to do next, each with its command."""
    return [f"{step.label}: {step.text}" for step in steps]


def _drawn(record: CaseRecord) -> str:
    from oloproof.reports import terminal

    drawn = case_view(record, alignments=pipeline.alignments(record))
    told = tuple(row for row in drawn.judgments if row.verdict in NOT_PASSED)
    return terminal.render_case(replace(drawn, judgments=told), width=WIDTH, color=False).rstrip("\n")
