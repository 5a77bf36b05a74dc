"""The cases of stored runs, as they are read: verdicts as rows, details (outputs, trajectories, evidence) from
compressed blocks or from the recorded files that a run refers to."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import lru_cache
from os import fsdecode
from pathlib import Path
from typing import Any, Self

from msgspec import Struct
from msgspec.structs import replace

from oloproof.errors import BrokenError, Problem, UsageError
from oloproof.model.case import Attempt, AttemptError
from oloproof.model.comparison import QuantileId, Side, Sides
from oloproof.model.judgment import Judgment
from oloproof.model.measured import Quantile
from oloproof.model.recording import to_attempt, to_case
from oloproof.model.redaction import has_marker
from oloproof.model.run import CaseRecord, Run
from oloproof.store import codes
from oloproof.store.codec import (
    Detail,
    Placed,
    SourceRef,
    Unreadable,
    identity,
    inflate,
    unpack,
    unpack_sides,
)
from oloproof.store.faults import store_errors
from oloproof.store.kept import Kept, Key, StoredAt, kept_of
from oloproof.store.runs import StoredRuns
from oloproof.store.sources import Checked, Sources
from oloproof.store.waiting import waiting_of

OPEN_BLOCKS = 32
"""Blocks that are kept inflated while a run is read case by case."""


class AttemptVerdicts(Struct, frozen=True, gc=False):
    """One attempt's verdicts, one letter a criterion in the run's order (``p`` pass, ``f`` fail, ``m`` missing,
    ``x`` excluded)."""

    case_id: str
    trial: int
    codes: str


class StoredCases(StoredRuns):
    """The same with the cases of each run. Open it with :meth:`open`."""

    def __init__(self, directory: Path, checked: Checked | None = None) -> None:
        super().__init__(directory)
        self._sources = Sources(directory.parent, checked)
        self._named: dict[tuple[int, int], tuple[str, str]] = {}

    @classmethod
    def open(cls, directory: Path, *, create: bool = True, checked: Checked | None = None) -> Self:
        """The store in ``directory`` (``.oloproof``). With ``create`` it is made where there is none, at its first use;
        without, a missing one is a :class:`UsageError`. ``checked`` remembers recorded files for the next time."""
        store = cls(directory, checked)
        with store_errors(store._path):
            if not create and not store._path.exists():
                raise UsageError(
                    Problem(
                        codes.NO_STORE, "no run has been stored here", "`oloproof run` makes one", file=str(directory)
                    )
                )
        return store

    def close(self) -> None:
        """Give back the file, and every recorded file that was read."""
        self._sources.close()
        super().close()

    def kept(self, run_id: str) -> Kept:
        """The attempts of a run that stand: those that began and ended."""
        header, row = self._header(run_id), self._row(run_id)
        detail = self._reader()
        with store_errors(self._path):
            return kept_of(self._db, row, detail, lambda place: self._resolved(header, row, detail(place)))

    def waiting(self, run_id: str) -> dict[Key, tuple[Attempt, ...]]:
        """By case id and trial the attempts that waited to be made again when the run was killed, in their order."""
        row = self._row(run_id)
        with store_errors(self._path):
            return waiting_of(self._db, row)

    def verdicts(self, run_id: str) -> Iterator[AttemptVerdicts]:
        """Every attempt's verdicts, in the order of the run, without reading any detail."""
        row = self._row(run_id)
        with store_errors(self._path):
            for fields in self._db.execute(
                "SELECT case_id, trial, codes FROM cases WHERE run = ? ORDER BY ordinal", (row,)
            ):
                yield AttemptVerdicts(*fields)

    def judgments(self, run_id: str) -> Iterator[tuple[str, int, tuple[Judgment, ...], AttemptError | None]]:
        """Every attempt's case id, trial, judgments and error, in the order of the run. No recorded file is read again,
        so the error of a recorded attempt is not told."""
        yield from map(_judged, self._details(self._row(run_id)))

    def failing(
        self, run_id: str, criteria: Collection[str]
    ) -> Iterator[tuple[str, int, tuple[Judgment, ...], AttemptError | None]]:
        """The same of the attempts alone that fail one of these criteria. The details of no other are read, so that the
        first few of a long run are found at once."""
        header = self._header(run_id)
        columns = [at for at, criterion in enumerate(header.criteria) if criterion in criteria]
        details = self._details(self._row(run_id), where=lambda letters: any(letters[at] == "f" for at in columns))
        yield from map(_judged, details)

    def records(self, run_id: str) -> Iterator[tuple[str, int, tuple[Judgment, ...], CaseRecord | None]]:
        """Every attempt's case id, trial and judgments, and everything that is known of it, in the order of the run;
        None where a recorded file is not what it was, or is gone."""
        header, row = self._header(run_id), self._row(run_id)
        lost: set[int] = set()
        for case_id, trial, detail in self._details(row):
            source = detail.attempt.source if isinstance(detail.attempt, Placed) else None
            record = None
            if source not in lost:
                try:
                    record = self._resolved(header, row, detail)
                except BrokenError:
                    if source is None:
                        raise
                    lost.add(source)  # it is not read through again for each of its cases
            yield case_id, trial, detail.judgments, record

    def lines(self, run_id: str) -> Iterator[tuple[str, int, int | SourceRef]]:
        """Case id and trial of every attempt that fails or leaves something missing, with the line of its case in the
        dataset, 0 where it is not known, or with the recording that is its own dataset."""
        row = self._row(run_id)
        with store_errors(self._path):
            rows = self._db.execute("SELECT source, path, digest FROM sources WHERE run = ?", (row,)).fetchall()
        sources = {number: (fsdecode(path), digest) for number, path, digest in rows}
        for case_id, trial, detail in self._details(row):
            if all(judgment.verdict in ("pass", "excluded") for judgment in detail.judgments):
                continue
            if detail.case is not None:
                yield case_id, trial, detail.case.line
            elif isinstance(detail.attempt, Placed) and detail.attempt.source in sources:
                number, offset, length = detail.attempt
                yield case_id, trial, SourceRef(*sources[number], offset, length)

    def case(self, run_id: str, case_id: str, trial: int = 1) -> CaseRecord:
        """One attempt. Raises :class:`UsageError` when the run has none of that name and trial."""
        header, row = self._header(run_id), self._row(run_id)
        with store_errors(self._path):
            found = self._db.execute(
                """SELECT start, size, data FROM cases JOIN blocks USING (block)
                   WHERE run = ? AND case_id = ? AND trial = ?""",
                (row, case_id, trial),
            ).fetchone()
            if found is None:
                raise self._no_case(header, case_id, trial)
            start, size, data = found
            return self._resolved(header, row, unpack(inflate(data)[start : start + size]))

    def attempts(self, run_id: str) -> Iterator[tuple[int, Side]]:
        """Every attempt's trial and what is counted of it, in the order in which they were stored, also while a run
        goes on; those of a run that was resumed in the order of the run. Re-runs are not counted."""
        header, row = self._header(run_id), self._row(run_id)
        with store_errors(self._path):
            stored = self._db.execute("SELECT ordinal, trial FROM cases WHERE run = ? ORDER BY block, start", (row,))
            pairs: Iterable[tuple[tuple[int, int], Side]] = zip(stored, self._sides(row), strict=True)
            for (_, trial), side in sorted(pairs, key=lambda pair: pair[0]) if header.resumed else pairs:
                if _counts(header, trial):
                    yield trial, side

    def sides(self, run_id: str, *, identified: bool) -> Sides:
        """The run as a comparison sees it, each attempt a side. ``identified``: say also what each case asked and
        expected."""
        header, row = self._header(run_id), self._row(run_id)
        quantiles = [metric for metric in self.aggregates(run_id).metrics if isinstance(metric, Quantile)]
        sources = list(dict.fromkeys(metric.source for metric in quantiles))
        picks = [sources.index(metric.source) for metric in quantiles]
        same: dict[str, str] = {}  # slice values repeat; one text each will do
        cases = [
            replace(
                side,
                places=tuple(map(same.setdefault, side.places, side.places)),
                amounts=tuple([side.amounts[at] for at in picks]),
            )
            for side in self._own_sides(header, row)
        ]
        if header.stopping is not None:  # blocks are written in the launch order
            rows = (verdicts for verdicts in self.verdicts(run_id) if verdicts.trial == 1)
            places = {verdicts.case_id: place for place, verdicts in enumerate(rows)}
            cases.sort(key=lambda side: places[side.case_id])
        if identified:
            details = [
                detail.case or self._resolved(header, row, detail).case
                for _, trial, detail in self._details(row)
                if _counts(header, trial)
            ]
            cases = [
                replace(side, question=_asked(header, case.input), reference=_asked(header, case.expected))
                for side, case in zip(cases, details, strict=True)
            ]
        return Sides(
            run=header.id,
            project=header.project,
            system=" ".join(filter(None, (header.system.name, header.system.version))),
            criteria=header.criteria,
            judged_by=header.judged_by,
            by_functions=header.by_functions,
            judging_code=header.judging_code,
            slices=header.slices,
            quantiles=tuple(QuantileId(q.id, q.source, q.quantile, q.unit) for q in quantiles),
            cases=tuple(cases),
            trials=header.trials,
        )

    # --- beneath -----------------------------------------------------------------------------------------------------

    def _details(self, row: int, *, where: Callable[[str], bool] = lambda _: True) -> Iterator[tuple[str, int, Detail]]:
        """Case id, trial and detail of each attempt, in the order of the run and a few blocks in memory at a time;
        of those alone ``where`` this is true of the letters of its verdicts.

        Where cases were launched in another order, neighbours lie in blocks far apart.
        """
        detail = self._reader()
        with store_errors(self._path):
            cursor = self._db.execute(
                "SELECT case_id, trial, codes, ordinal, block, start, size FROM cases WHERE run = ? ORDER BY ordinal",
                (row,),
            )
            for case_id, trial, letters, ordinal, block, start, size in cursor:
                if where(letters):
                    yield case_id, trial, detail(StoredAt(ordinal, block, start, size))

    def _reader(self) -> Callable[[StoredAt], Detail]:
        """Reads details, a few blocks in memory at a time."""
        inflated = lru_cache(OPEN_BLOCKS)(lambda number: inflate(self._block(number)))
        return lambda place: unpack(inflated(place.block)[place.start : place.start + place.size])

    def _sides(self, row: int) -> Iterator[Side]:
        """Each attempt's side, in the order in which they were stored."""
        with store_errors(self._path):
            blocks = self._db.execute("SELECT data FROM sides WHERE run = ? ORDER BY block", (row,))
            for (data,) in blocks:
                yield from unpack_sides(data)

    def _own_sides(self, header: Run, row: int) -> Iterator[Side]:
        """The sides of :meth:`attempts` by themselves. Most runs hold nothing else and in their order, so that no row
        need be looked at."""
        if header.reruns or header.resumed:
            return (side for _, side in self.attempts(header.id))
        return self._sides(row)

    def _block(self, number: int) -> bytes:
        found = self._db.execute("SELECT data FROM blocks WHERE block = ?", (number,)).fetchone()
        if found is None:
            raise Unreadable(f"block {number} is missing")
        return bytes(found[0])

    def _resolved(self, header: Run, row: int, detail: Detail) -> CaseRecord:
        """The detail with what it refers to in a recorded file read back."""
        case, attempt = detail.case, detail.attempt
        if isinstance(attempt, Placed):
            path, digest = self._source(row, attempt.source)
            recording = self._sources.read(path, digest=digest, offset=attempt.offset, length=attempt.length)
            case, attempt = case or to_case(recording), to_attempt(recording)
        if case is None or len(detail.judgments) != len(header.criteria):
            raise Unreadable(f"the detail of case {attempt.case_id!r} is incomplete")
        judgments = tuple(zip(header.criteria, detail.judgments, strict=True))
        return CaseRecord(run_id=header.id, case=case, attempt=attempt, judgments=judgments)

    def _source(self, row: int, number: int) -> tuple[str, str]:
        """The path and the digest of a recorded file, which all its attempts have and which never change."""
        if (row, number) not in self._named:
            where = "WHERE run = ? AND source = ?"
            found = self._db.execute(f"SELECT path, digest FROM sources {where}", (row, number)).fetchone()
            if found is None:
                raise Unreadable(f"source {number} is missing")
            self._named[row, number] = fsdecode(found[0]), found[1]
        return self._named[row, number]

    def _no_case(self, header: Run, case_id: str, trial: int) -> UsageError:
        trials = [row.trial for row in self.verdicts(header.id) if row.case_id == case_id]
        if trials:
            message = f"case {case_id!r} has no trial {trial} in run {header.id}"
            hint = f"it has: {', '.join(map(str, sorted(trials)))}"
        else:
            message = f"run {header.id} has no case {case_id!r}"
            near = sorted({row.case_id for row in self.verdicts(header.id) if case_id and case_id in row.case_id})
            hint = (
                f"do you mean {', '.join(near[:5])}?"
                if near
                else f"`oloproof inspect {header.id} --verdicts` lists them"
            )
        return UsageError(Problem(codes.NO_CASE, message, hint))


def _judged(told: tuple[str, int, Detail]) -> tuple[str, int, tuple[Judgment, ...], AttemptError | None]:
    """What was judged of an attempt, and its error, where that is not in a recorded file."""
    case_id, trial, detail = told
    error = detail.attempt.error if isinstance(detail.attempt, Attempt) else None
    return case_id, trial, detail.judgments, error


def _counts(header: Run, trial: int) -> bool:
    """Whether the attempt is one of the run's own, and not a re-run, which some left that never came to their end."""
    return not (header.reruns or header.resumed) or trial <= header.trials


def _asked(header: Run, value: Any) -> str:
    """Identifies what was asked, or expected. Out of what a secret was taken may be something else in every other
    version of the dataset."""
    is_open = bool(header.redaction) and has_marker(value)
    return identity([value, header.redaction, header.dataset_digest] if is_open else value)
