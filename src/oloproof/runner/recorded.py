"""Attempts that were recorded earlier: files of recordings, joined to the dataset by case id.

Nothing is run. A case without a recording is an attempt without a trajectory, so that it stays in the denominator; a
recording without a case, and a second one for a case and trial, are refused.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from oloproof.errors import MOST_PROBLEMS, Problem, UsageError
from oloproof.importers import codes, recordings
from oloproof.importers.alike import Alike
from oloproof.inputs import READ_AT_ONCE
from oloproof.model.case import Attempt, AttemptError, Case
from oloproof.model.evidence import CaseProblem
from oloproof.model.fingerprints import Fingerprints
from oloproof.model.project import MOST_TRIALS, ImportSpec, Project, RecordedSystem
from oloproof.model.recording import READ, SKIM, Recording, brings_a_case, to_attempt, to_case
from oloproof.model.run import RECORDED
from oloproof.project import check_cases, place_in_line
from oloproof.record.steps import printable
from oloproof.runner.attempted import Attempted
from oloproof.store import SourceRef, file_digest, identity

if TYPE_CHECKING:
    from oloproof.importers.reading import Import


_Found = tuple[tuple[str, int], Recording, SourceRef | None]
"""The file and the line or number in it, the recording, and where it lies in a file of recordings."""


class Recordings:
    """The recorded system of a project. Files are hashed when this is built, and read when attempts are asked for."""

    def __init__(self, project: Project, system: RecordedSystem, cases: Iterable[Case] | None) -> None:
        """``cases``, which can be gone through more than once; None: the recordings are their own dataset. Raises
        UsageError for a file that cannot be read."""
        self._import = None if system.imported is None else _import(system.files, system.imported)
        formats = "" if self._import is None else f" ({', '.join(self._import.formats)})"
        self.source = printable(f"{RECORDED}{' '.join(system.patterns)}{formats}")
        self.interrupted = False
        """:meth:`stop` left some recordings unread."""
        self.trials = project.trials or 1
        """How many trials each case has; once all is read, the highest number where the project does not say."""
        self._project = project
        self._system = system
        looks_inside = (
            project.redact
            or project.user_evaluators
            or any(evaluator.reads_results for evaluator in project.evaluators)
        )
        self._reader = READ if looks_inside else SKIM
        self._strict = system.imported is not None and system.imported.strict
        self._own_dataset = cases is None
        self._cases = () if cases is None else cases
        self._joined = Joined(self._cases)
        self._files = [(file, _reference(file, project.directory), _digest(file)) for file in system.files]
        self._stopped = False
        self._read_count = 0
        self._ignored = 0
        self._lacking = 0

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is odd with the recordings that were read so far."""
        told = [] if self._import is None else list(self._import.told_losses())
        if self._ignored:
            noun, verb = ("recording", "brings") if self._ignored == 1 else ("recordings", "bring")
            told.append(
                f"{self._ignored:,} {noun} {verb} input, expected or metadata, which are ignored beside a dataset"
            )
        if self._lacking and self.trials > 1:
            noun, verb = ("trial", "was") if self._lacking == 1 else ("trials", "were")
            told.append(f"{self._lacking:,} {noun} {verb} not recorded of the {self.trials} that each case should have")
        return tuple(told)

    @property
    def digest(self) -> str:
        """Identifies the content of all the files together."""
        return hashlib.sha256("".join(digest for _, _, digest in self._files).encode()).hexdigest()

    def stop(self) -> None:
        """Read no further; the cases that were not reached are not run."""
        self._stopped = True

    def attempts(self) -> Iterator[Attempted]:
        """Every recording, in the order of the files, then the cases and trials for which there is none.

        After the first problem nothing more is yielded; the rest is still checked, and a UsageError tells all.
        """
        seen = Fingerprints()
        highest = 1
        problems: list[Problem] = []
        alike = Alike()
        keys: dict[str, tuple[str, Case]] = {}
        most = self._project.trials or MOST_TRIALS
        for place, recording, source in self._read():
            seen.add((recording.case, recording.trial))
            highest = max(highest, recording.trial)
            case: Case | None
            if self._own_dataset:
                case = to_case(recording)
                if not case.expected.keys() <= keys.keys():
                    keys |= {key: (place[0], replace(case, line=place[1])) for key in case.expected if key not in keys}
            else:
                case = self._joined.find(recording.case)
                self._ignored += brings_a_case(recording)
            if case is None or recording.trial > most:
                alike.add(self._joins_nothing(place, recording, most=most), case=recording.case)
            elif self._own_dataset:
                problems += self._problems(place, case, source)
                if len(problems) >= MOST_PROBLEMS:
                    break
            if case is not None and not problems and not alike:
                yield Attempted(case, to_attempt(recording), source)
        self._find_recorded_twice(seen.repeated(), alike)
        problems += alike.problems()
        if problems:
            raise UsageError(sorted(problems, key=lambda problem: problem.line)[:MOST_PROBLEMS])
        for file, case in keys.values():
            # One case a key is enough to find an `expected` key that nothing reads and that is nearly one that is read.
            check_cases([case], self._project, file=file)
        not_run = AttemptError(kind="not_run", message="the run was stopped") if self._stopped else None
        self.trials = self._project.trials or highest
        for case_id, trial, case in self._lacking_trials():
            self._lacking += 1
            yield Attempted(case, Attempt(case_id=case_id, trial=trial, error=not_run))

    def _lacking_trials(self) -> Iterator[tuple[str, int, Case]]:
        """The cases and trials for which there is no recording."""
        if self.trials == 1:
            yield from ((case.id, 1, case) for case in self._joined.rest())
            return
        recorded = {(recording.case, recording.trial) for _, recording, _ in self._read_again()}
        for case in self._incomplete(recorded) if self._own_dataset else self._cases:
            yield from (
                (case.id, trial, case) for trial in range(1, self.trials + 1) if (case.id, trial) not in recorded
            )

    def _read(self) -> Iterator[_Found]:
        """Every recording, until it is stopped."""
        for found in self._read_own() if self._import is None else self._read_foreign(self._import):
            if self._stopped:
                self.interrupted = True
                return
            self._read_count += 1
            yield found

    def _read_again(self) -> Iterator[_Found]:
        """Those that were read, once more."""
        if self._import is None or self._system.imported is None:
            return islice(self._read_own(), self._read_count)
        return islice(self._read_foreign(_import(self._system.files, self._system.imported)), self._read_count)

    def _read_foreign(self, found: Import) -> Iterator[_Found]:
        for item in found.recordings():
            yield (item.file, item.number), item.recording, None
        if self._strict:
            found.refuse_losses()

    def _read_own(self) -> Iterator[_Found]:
        for file, reference, digest in self._files:
            with open(file, "rb", buffering=READ_AT_ONCE) as lines:
                for line, recording in recordings.decode(lines, reader=self._reader, file=file):
                    yield (file, line.number), recording, SourceRef(reference, digest, line.offset, line.length)

    def _incomplete(self, seen: Collection[tuple[str, int]]) -> Iterator[Case]:
        """Where recordings are their own dataset, the cases that lack a trial. Raises a UsageError unless all
        recordings of a case bring the same one. They are read again for it, since only what has trials needs it."""
        if self.trials == 1 or self._stopped:
            return
        counts = Counter(case_id for case_id, _ in seen)
        first: dict[str, tuple[str, tuple[str, int]]] = {}
        alike = Alike()
        lacking: list[Case] = []
        for place, recording, _ in self._read_again():
            case = to_case(recording)
            # Metadata may be about the trial, a label, a reward, unless it names the cluster: which of them counts
            # would depend on the order of the recordings. A foreign format decides itself what is one task.
            asked = None if self._import else (case.input, case.expected)
            brought = identity((asked, self._project.cluster_of(case)))
            known, known_at = first.setdefault(case.id, (brought, place))
            if known_at is place and counts[case.id] < self.trials:
                lacking.append(case)
            if known != brought:
                where = f"{known_at[0]}:{known_at[1]}"
                what = f"case {case.id!r}, trial {recording.trial}, is another case than at {where}"
                hint = "give every trial of a case the same input, expected and cluster"
                alike.add(Problem("OLO632", what, hint, file=place[0], line=place[1]), case=case.id)
        if alike:
            raise UsageError(alike.problems())
        yield from lacking

    def _find_recorded_twice(self, hashes: Collection[int], alike: Alike) -> None:
        """Tell of the recordings whose case and trial have one before, among those that have one of these hashes. All
        are read again for it."""
        first: dict[tuple[str, int], tuple[str, int]] = {}
        for (file, line), recording, _ in self._read_again() if hashes else ():
            key = recording.case, recording.trial
            if hash(key) not in hashes or recording.trial > (self._project.trials or MOST_TRIALS):
                continue
            if key in first:
                before, at = first[key]
                what = f"case {recording.case!r}, trial {recording.trial}, was recorded already at {before}:{at}"
                hint = "number the trials of a case 1, 2, 3 …"
                problem = Problem(codes.RECORDED_TWICE, what, hint, file=file, line=line)
                alike.add(problem, case=recording.case)
            first.setdefault(key, (file, line))

    def _joins_nothing(self, place: tuple[str, int], recording: Recording, *, most: int) -> Problem:
        """Why a recording is of no case and trial that there may be."""
        file, line = place
        if recording.trial > most:
            what = f"trial {recording.trial:,} of case {recording.case!r}, and a case has at most {most:,}"
            hint = "number the trials of a case 1, 2, 3 …, and write `trials:`, how many they are"
            return Problem("OLO631", what, hint, file=file, line=line)
        what = f"a recording of {recording.case!r}, and the dataset has no such case"
        return Problem("OLO311", what, "record the dataset's cases under their own ids", file=file, line=line)

    def _problems(self, place: tuple[str, int], case: Case, source: SourceRef | None) -> list[Problem]:
        """What is wrong with the case that a recording brings."""
        file, line = place
        wrongs = (wrong for evaluator in self._project.evaluators for wrong in evaluator.case_problems(case))
        return [
            Problem("OLO312", f"case {case.id!r}: {wrong}", wrong.hint, file, line, _column(place, source, wrong))
            for wrong in dict.fromkeys(wrongs)
        ]


class Joined:
    """Finds the case of each recording. What was recorded in the order of the dataset is found without keeping any; a
    case that was passed over is kept until its recording comes, and all are once a case is asked for again later."""

    def __init__(self, cases: Iterable[Case]) -> None:
        self._cases = cases
        self._unread = iter(cases)
        self._passed: dict[str, Case] = {}
        self._all: dict[str, Case] | None = None
        self._last: Case | None = None

    def find(self, case_id: str) -> Case | None:
        """The case of this id, None where there is none."""
        if self._last is not None and self._last.id == case_id:
            return self._last
        found = self._passed.pop(case_id, None)
        if found is None and self._all is None:
            found = self._next(case_id)
        if found is None:
            if self._all is None:
                self._all = {case.id: case for case in self._cases}
            found = self._all.get(case_id)
        self._last = found or self._last
        return found

    def rest(self) -> Iterator[Case]:
        """The cases that were never asked for, in their order."""
        yield from self._passed.values()
        yield from self._unread

    def _next(self, case_id: str) -> Case | None:
        for case in self._unread:
            if case.id == case_id:
                return case
            self._passed[case.id] = case
        return None


def _import(files: Sequence[str], spec: ImportSpec) -> Import:
    from oloproof.importers.reading import Import  # most recordings need no importer
    from oloproof.runner.files import files as opened

    return Import(opened(files), spec.format, metadata=spec.metadata)


def _column(place: tuple[str, int], source: SourceRef | None, problem: CaseProblem) -> int:
    """Where in its line a recording says what is wrong; 0 in a file of another format."""
    if source is None:
        return 0
    file, line = place
    with open(file, "rb") as recorded:
        recorded.seek(source.offset)
        return place_in_line(recorded.read(source.length), line, problem.place)[1]


def _digest(file: str) -> str:
    try:
        return file_digest(Path(file))
    except OSError as error:
        from oloproof.runner.files import unreadable  # most recordings can be read

        raise unreadable(file, error) from error


def _reference(file: str, directory: str) -> str:
    """The file's path as the store keeps it: relative inside the project, so that a project may move; else absolute."""
    path = os.path.abspath(file)
    inside = os.path.relpath(path, os.path.abspath(directory))
    return path if inside.startswith("..") else inside
