"""Where the calls of two attempts part: a candidate's and a baseline's, or a failing trial's and a passing one's."""

from __future__ import annotations

from oloproof import metrics
from oloproof.errors import BrokenError
from oloproof.model.alignment import NOWHERE, Move
from oloproof.model.reading import Reading
from oloproof.model.run import Run
from oloproof.model.trajectory import Step
from oloproof.store import Store

MOST_PARTINGS = 20
"""Cases a criterion of which it is looked up where their trajectories part."""

AttemptId = tuple[str, str, int]
"""A run, a case and a trial."""


def parting_of(store: Store, now: AttemptId, was: AttemptId) -> Move | None:
    """The first row in which the calls differ, :data:`NOWHERE` where they are the same; None where a trajectory is not
    there (any more)."""
    calls = [_calls(store, attempt) for attempt in (now, was)]
    if calls[0] is None or calls[1] is None:
        return None
    return metrics.parting(calls[0], calls[1]) or NOWHERE


def _calls(store: Store, attempt: AttemptId) -> list[Step] | None:
    try:
        trajectory = store.case(*attempt).attempt.trajectory
    except BrokenError:  # the recorded file is not what it was; where the calls part is not worth the report
        return None
    return None if trajectory is None else Reading(trajectory).calls


class TrialsToShow:
    """Which trial of a case tells why it did not pass: the first that failed, else the first that is missing."""

    def __init__(self, store: Store, run: Run) -> None:
        self._run = run
        self._trials: dict[str, list[tuple[int, str]]] = {}
        for row in store.verdicts(run.id) if run.trials > 1 else ():
            if row.trial <= run.trials:
                self._trials.setdefault(row.case_id, []).append((row.trial, row.codes))

    def attempt(self, case_id: str, criterion: str) -> AttemptId:
        """The attempt at the case that says most under the criterion."""
        at = self._run.criteria.index(criterion)
        first = {codes[at]: trial for trial, codes in reversed(self._trials.get(case_id, []))}
        return self._run.id, case_id, first.get("f", first.get("m", 1))
