"""What a page shows of a stored run, or of two: an entry for each attempt, with as much as is known of it.

It is imported where a page is made, since templates come with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from msgspec.structs import replace

from oloproof.model.alignment import Alignment
from oloproof.model.run import CaseRecord, Report, Run
from oloproof.pipeline.beside import changed_cases
from oloproof.pipeline.explaining import alignments
from oloproof.pipeline.ports import Baseline
from oloproof.reports.html import Entry, calls_beside
from oloproof.store import Store


def attempts(store: Store, run: Run) -> Iterator[Entry]:
    """Every attempt of a stored run, with its slice values: what a list of them shows."""
    return _entries(store, run, lambda record: {})


def entries(store: Store, run: Run) -> Iterator[Entry]:
    """The same with all that is shown of each."""
    return _entries(store, run, alignments)


def _entries(store: Store, run: Run, explain: Callable[[CaseRecord], Mapping[str, Alignment]]) -> Iterator[Entry]:
    places = {(side.case_id, trial): side.places for trial, side in store.attempts(run.id)} if run.slices else {}
    for case_id, trial, judgments, record in store.records(run.id):
        yield Entry(
            case=case_id,
            trial=trial,
            judgments=judgments,
            record=record,
            places=places.get((case_id, trial), ()),
            alignments={} if record is None else explain(record),
        )


def entry(record: CaseRecord) -> Entry:
    """One attempt by itself."""
    return Entry(
        case=record.case.id,
        trial=record.attempt.trial,
        judgments=tuple(judgment for _, judgment in record.judgments),
        record=record,
        alignments=alignments(record),
    )


def changed_entries(store: Store, report: Report, baseline: Baseline, *, content: bool) -> Iterator[Entry]:
    """Each case that changed in the comparison that the report holds, where the candidate's attempt can still be
    read."""
    comparison = report.comparison
    assert comparison is not None
    for each in changed_cases(store, report.run, baseline, comparison):
        now = None if each.now is None else each.now.attempt.trajectory
        was = None if each.was is None else each.was.attempt.trajectory
        if each.now is not None:
            changes = (each.changes.get(criterion.id, "unchanged") for criterion in comparison.criteria)
            beside = () if now is None or was is None else calls_beside(each.moves, now, was, content=content)
            yield replace(entry(each.now), places=tuple(changes), calls=beside)
