"""The cases that changed between two runs, each with both of its attempts and their calls side by side."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from oloproof import metrics
from oloproof.errors import BrokenError
from oloproof.model.alignment import Move
from oloproof.model.comparison import Comparison
from oloproof.model.reading import Reading
from oloproof.model.run import CaseRecord, Run
from oloproof.pipeline.parting import AttemptId, TrialsToShow
from oloproof.pipeline.ports import Baseline
from oloproof.store import Store


class ChangedCase(Struct, frozen=True, kw_only=True):
    """A case whose verdict is another one now, or was known and is missing.

    ``changes`` says by criterion what became of it. ``now`` and ``was`` are the attempts that tell, None where they
    cannot be read or a baseline file keeps none; ``moves`` are their calls in one list, () where a trajectory lacks.
    """

    case: str
    changes: dict[str, str]
    now: CaseRecord | None
    was: CaseRecord | None
    moves: tuple[Move, ...]


def changed_cases(store: Store, candidate: Run, baseline: Baseline, comparison: Comparison) -> Iterator[ChangedCase]:
    """Each case once, those that broke first; those that the candidate does not have are left out."""
    changes = _changes(comparison)
    shown = TrialsToShow(store, candidate)
    shown_was = TrialsToShow(store, baseline) if isinstance(baseline, Run) else None
    for case_id, by_criterion in changes.items():
        criterion = next(iter(by_criterion))
        now = _record(store, shown.attempt(case_id, criterion))
        was = None if shown_was is None else _record(store, shown_was.attempt(case_id, criterion))
        yield ChangedCase(case=case_id, changes=by_criterion, now=now, was=was, moves=_moves(now, was))


def _changes(comparison: Comparison) -> dict[str, dict[str, str]]:
    gone = set(comparison.only_in_baseline)
    found: dict[str, dict[str, str]] = {}
    for what, field in (("broken", "broken_cases"), ("missing, was known", "lost_cases"), ("fixed", "fixed_cases")):
        for criterion in comparison.criteria:
            for case_id in getattr(criterion, field):
                if case_id not in gone:
                    found.setdefault(case_id, {})[criterion.id] = what
    return found


def _record(store: Store, attempt: AttemptId) -> CaseRecord | None:
    try:
        return store.case(*attempt)
    except BrokenError:  # the recorded file is not what it was
        return None


def _moves(now: CaseRecord | None, was: CaseRecord | None) -> tuple[Move, ...]:
    if now is None or was is None or now.attempt.trajectory is None or was.attempt.trajectory is None:
        return ()
    return metrics.align(Reading(now.attempt.trajectory).calls, Reading(was.attempt.trajectory).calls)
