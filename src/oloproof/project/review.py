"""What is wrong or odd with sound cases taken together, found before any of them runs.

A reference that no evaluator can use is a problem; so is a key of ``expected`` that nothing reads and that is nearly
the name of one that is read, since a case with ``tool`` for ``tools`` would silently count as one without a reference.
Where no case at all has the key that is read, it is the configuration that misspells it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from itertools import chain, islice, repeat
from typing import Any

import msgspec
from msgspec import UNSET

from oloproof.errors import MOST_PROBLEMS, counted, did_you_mean, shown
from oloproof.evaluators import UserEvaluator
from oloproof.evaluators.canary import CanaryAbsent
from oloproof.evaluators.output import ReferenceEvaluator
from oloproof.model.case import Case
from oloproof.model.evidence import CaseProblem
from oloproof.model.fingerprints import Fingerprints
from oloproof.model.project import METADATA_PREFIX, Project
from oloproof.model.values import lookup
from oloproof.project import codes
from oloproof.project.places import case_places, evaluator_place
from oloproof.project.problems import Problems, refuse
from oloproof.project.related import Clustering

_WITH_EXPECTED_FIELD = (ReferenceEvaluator, CanaryAbsent)

RESERVED = ("tools", "any_of", "route", "state")
NEAR = 2
MOST_SUGGESTED = 1000
"""How many keys of metadata are remembered, to suggest one of them."""

_encode = msgspec.json.Encoder(order="sorted").encode


class Review:
    """Sees the cases one by one, notes the problems of their references, and keeps of them only what must be compared.

    ``whole`` says that these are all the cases there are, so that what none of them has is not there. Where functions
    of the user's judge too, which may read any key of ``expected``, a suspicious key is a warning.
    """

    def __init__(self, problems: Problems, project: Project, *, whole: bool) -> None:
        self._problems = problems
        self._config = Problems(project.config)
        self._evaluators = project.evaluators
        self._user_functions = any(isinstance(evaluator, UserEvaluator) for evaluator in self._evaluators)
        # Only an evaluator that reads a reference can find one wrong.
        self._checks = [evaluator.case_problems for evaluator in self._evaluators if evaluator.reads_reference]
        self._read = {field for evaluator in self._evaluators for field in evaluator.expected_fields}
        self._bad: list[tuple[Case, CaseProblem]] = []
        self._unread: Counter[str] = Counter()
        self._first: dict[str, int] = {}
        self._absent = set(self._read) if whole else set()
        self._empty_slices = {spec.path for spec in project.slices if spec.kind == "metadata"} if whole else set()
        self._metadata: set[str] = set()
        self._clusters = Clustering(project, self._config) if whole else None
        self._inputs = Fingerprints()

    def see(self, case: Case) -> None:
        """The next case."""
        for check in self._checks:
            for problem in check(case):
                self._bad.append((case, problem))
        if not case.expected.keys() <= self._read:
            for key in case.expected.keys() - self._read:
                self._unread[key] += 1
                self._first.setdefault(key, case.line)
        if self._absent:
            self._absent.difference_update(case.expected)
        if self._empty_slices:
            self._empty_slices -= {path for path in self._empty_slices if lookup(case.metadata, path) is not UNSET}
            if len(self._metadata) < MOST_SUGGESTED:
                self._metadata.update(_paths(case.metadata, ""))
        if self._clusters is not None:
            self._clusters.see(case)
        if case.input is not None:
            self._inputs.add(_encode(case.input))

    @property
    def related(self) -> bool:
        """Whether some of the cases seen so far belong to one cluster."""
        return self._clusters is not None and self._clusters.related

    def conclude(self) -> tuple[str, ...]:
        """What is only worth a warning. Raises a UsageError with every problem, those of the configuration first."""
        self._locate_bad_references()
        if self._problems.found:  # a row that was refused may hold what the others lack
            self._absent.clear()
        misread = dict(self._misread())
        warnings = [*self._expected_keys(misread.values()), *self._absences(misread), *self._slices()]
        if self._clusters is not None:
            self._clusters.conclude()
        refuse([*self._config.found, *self._problems.found])
        return (*warnings, *self._identical_inputs())

    def _locate_bad_references(self) -> None:
        """Note them with their places, as far as they will be told."""
        told = {(case.line, case.id, problem): case for case, problem in self._bad}
        wanted = [(case, problem.place) for (_, _, problem), case in islice(told.items(), MOST_PROBLEMS)]
        places = chain(case_places(self._problems.file, wanted) if wanted else (), repeat(None))
        for (line, case_id, problem), place in zip(told, places, strict=False):
            message = f"case {shown(case_id)}: {problem}"
            self._problems.on(*(place or (line, 0)), codes.BAD_REFERENCE, message, hint=problem.hint)

    def _misread(self) -> Iterator[tuple[str, str]]:
        """Keys that the configuration names, that no case has, and that are nearly one that nothing reads; with that
        one. Each is a problem where it is named."""
        if self._user_functions:
            return
        for number, evaluator in enumerate(self._evaluators):
            for key in evaluator.expected_fields:
                near = next((word for word in sorted(self._unread) if _near(key, word)), None)
                if key not in self._absent or key in RESERVED or near is None:
                    continue
                is_reference = isinstance(evaluator, _WITH_EXPECTED_FIELD) and key in evaluator.reference_fields()
                name, message = ("expected_field", shown(key)) if is_reference else ("only", f"expected.{key}")
                line, column = evaluator_place(self._config.file, number, name)
                hint = f"did you mean {near!r}?"
                self._config.on(line, column, codes.MISREAD_EXPECTED, f"{name} {message} is in no case", hint=hint)
                yield key, near

    def _absences(self, misread: Collection[str]) -> Iterator[str]:
        """References that no case has."""
        for evaluator in self._evaluators:
            for key in evaluator.expected_fields:
                if isinstance(evaluator, _WITH_EXPECTED_FIELD) and key in self._absent and key not in misread:
                    text = f"expected_field {key!r} is in no case: {evaluator.criterion} applies to none"
                    yield _suggesting(text, did_you_mean(key, {*self._unread, *(self._read - self._absent)}))

    def _slices(self) -> Iterator[str]:
        for path in sorted(self._empty_slices):
            name = METADATA_PREFIX + ".".join(path)
            yield _suggesting(f"no case has {name}", did_you_mean(name, sorted(self._metadata)))

    def _expected_keys(self, misread: Collection[str]) -> Iterable[str]:
        """Keys of cases that nothing reads, but for those that ``misread`` explains."""
        unread = []
        for key, count in sorted(self._unread.items(), key=lambda item: (self._first[item[0]], item[0])):
            if key in misread:
                continue
            near = (
                None if key in RESERVED else next((w for w in (*sorted(self._read), *RESERVED) if _near(key, w)), None)
            )
            message = f"nothing reads expected.{key}, which is nearly expected.{near} ({counted(count, 'case')})"
            if near is None:
                unread.append((key, count))
            elif self._user_functions:
                yield message
            else:
                hint = f"did you mean {near!r}? a note to yourself belongs in metadata"
                self._problems.on(self._first[key], 0, codes.MISSPELT_EXPECTED, message, hint=hint)
        if unread and not self._user_functions:
            told = (f"expected.{key} ({counted(count, 'case')})" for key, count in unread)
            yield f"nothing reads {', '.join(told)}"

    def _identical_inputs(self) -> Iterable[str]:
        # 64 bits are enough for a count that is only told
        repeated = len(self._inputs) - self._inputs.distinct()
        if repeated:
            verb, noun = ("repeats", "case") if repeated == 1 else ("repeat", "cases")
            yield f"{repeated:,} {noun} {verb} the input of an earlier case; every case is executed"


def _suggesting(text: str, hint: str) -> str:
    return f"{text}; {hint}" if hint else text


def _paths(metadata: dict[str, Any], prefix: str) -> Iterator[str]:
    """Every dotted path into metadata, as a slice names it."""
    for key, value in metadata.items():
        yield f"{METADATA_PREFIX}{prefix}{key}"
        if isinstance(value, dict):
            yield from _paths(value, f"{prefix}{key}.")


def _near(a: str, b: str) -> bool:
    """Whether at most NEAR insertions, deletions and substitutions turn one into the other (Levenshtein 1966)."""
    if abs(len(a) - len(b)) > NEAR:
        return False
    row = list(range(len(b) + 1))
    for i, left in enumerate(a, 1):
        diagonal, row[0] = row[0], i
        for j, right in enumerate(b, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (left != right))
    return row[-1] <= NEAR
