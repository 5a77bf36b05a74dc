"""Each attempt of a run: what was asked and answered, what the agent did, and how it was judged."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from msgspec import UNSET

from oloproof.api.rows import Rows
from oloproof.model.case import Attempt, AttemptError, Case
from oloproof.model.collector import collector_paused
from oloproof.model.events import outcome_of
from oloproof.model.judgment import Judgment, Word
from oloproof.model.run import CaseRecord, Run
from oloproof.model.trajectory import Trajectory
from oloproof.pipeline import alignments
from oloproof.reports.case import CaseView, case_view
from oloproof.reports.document import case_document
from oloproof.reports.inert import inert
from oloproof.reports.lists import not_passed_lines
from oloproof.store import Store


class CaseResult:
    """One attempt at one case; its values do not change. Where a recorded file is gone, only the judgments are left."""

    __slots__ = ("_record",)

    def __init__(self, record: CaseRecord) -> None:
        self._record = record

    @property
    def key(self) -> Hashable:
        """The id, with the trial from the second on."""
        return self.id if self.trial == 1 else (self.id, self.trial)

    @property
    def id(self) -> str:
        return self._record.case.id

    @property
    def trial(self) -> int:
        return self._record.attempt.trial

    @property
    def input(self) -> Any:
        return self._record.case.input

    @property
    def expected(self) -> dict[str, Any]:
        return self._record.case.expected

    @property
    def metadata(self) -> dict[str, Any]:
        return self._record.case.metadata

    @property
    def output(self) -> Any:
        """None also where there is none: see :attr:`error`."""
        output = self._record.attempt.output
        return None if output is UNSET else output

    @property
    def error(self) -> AttemptError | None:
        """Why the attempt did not end normally."""
        return self._record.attempt.error

    @property
    def trajectory(self) -> Trajectory | None:
        """None where nothing was recorded."""
        return self._record.attempt.trajectory

    @property
    def judgments(self) -> dict[str, Judgment]:
        """By criterion, each with its evidence."""
        return dict(self._record.judgments)

    @property
    def verdicts(self) -> dict[str, Word]:
        """By criterion, in a word."""
        return {criterion: judgment.verdict for criterion, judgment in self._record.judgments}

    @property
    def verdict(self) -> Word:
        """Of all criteria together: fail where one failed, else missing where one is, else pass where one passed;
        excluded where none applies."""
        return outcome_of(self.verdicts.values())

    @property
    def cells(self) -> tuple[str, ...]:
        return inert(self.id), str(self.trial), self.verdict, "; ".join(not_passed_lines(self._record))

    @property
    def view(self) -> CaseView:
        """Ready to draw."""
        return case_view(self._record, alignments=alignments(self._record))

    def to_dict(self) -> dict[str, Any]:
        """``case``, ``trial``, and the verdict by criterion."""
        return {"case": self.id, "trial": self.trial, **self.verdicts}

    def to_document(self) -> dict[str, Any]:
        """``oloproof.case/v1``, as ``oloproof inspect --case ID --json`` prints it."""
        return case_document(self._record, alignments=alignments(self._record))

    def __repr__(self) -> str:
        said = ", ".join(f"{inert(criterion)}: {word}" for criterion, word in self.verdicts.items())
        trial = "" if self.trial == 1 else f", trial {self.trial}"
        return f"<case {inert(self.id)}{trial}: {said}>"

    def _repr_html_(self) -> str:
        from oloproof.api.html import case

        return case(self.view)


def read_cases(store: Store, run: Run) -> Rows[CaseResult]:
    """Every attempt of a stored run, in its order."""
    found = []
    with collector_paused():
        for case_id, trial, judgments, record in store.records(run.id):
            if trial > run.trials:
                continue
            if record is None:
                judged = tuple(zip(run.criteria, judgments, strict=True))
                attempt = Attempt(case_id=case_id, trial=trial)
                record = CaseRecord(run_id=run.id, case=Case(id=case_id), attempt=attempt, judgments=judged)
            found.append(CaseResult(record))
    return Rows("cases", ("case", "trial", "verdict", "what did not pass"), found)
