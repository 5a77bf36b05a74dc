"""What is wrong or odd with sound cases taken together, found before any of them runs.

A reference that no evaluator can use is a problem; so is a key of ``expected`` that nothing reads and that is nearly
the name of one that is read, since a case with ``tool`` for ``tools`` would silently count as one without a reference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from oloproof.evaluators import UserEvaluator
from oloproof.model.case import Case
from oloproof.model.evidence import Evaluator
from oloproof.project import codes
from oloproof.project.problems import Problems, shown

RESERVED = ("tools", "route", "state")
NEAR = 2

_encode = msgspec.json.Encoder(order="sorted").encode


class Review:
    """Sees the cases one by one, notes the problems of their references, and keeps of them only what must be compared.

    Where functions of the user's judge too, which may read any key of ``expected``, a suspicious key is a warning.
    """

    def __init__(self, problems: Problems, *, evaluators: Sequence[Evaluator]) -> None:
        self._problems = problems
        self._user_functions = any(isinstance(evaluator, UserEvaluator) for evaluator in evaluators)
        # Only an evaluator that reads a reference can find one wrong.
        self._checks = [evaluator.case_problem for evaluator in evaluators if evaluator.expected_fields]
        self._read = {field for evaluator in evaluators for field in evaluator.expected_fields}
        self._unread: Counter[str] = Counter()
        self._first: dict[str, int] = {}
        self._inputs: set[int] = set()
        self._repeated = 0

    def see(self, case: Case) -> None:
        """The next case."""
        for check in self._checks:
            problem = check(case)
            if problem is not None:
                self._problems.on(case.line, 0, codes.BAD_REFERENCE, f"case {shown(case.id)}: {problem}")
        for key in case.expected.keys() - self._read:
            self._unread[key] += 1
            self._first.setdefault(key, case.line)
        if case.input is not None:
            seen = len(self._inputs)
            self._inputs.add(_digest(case))
            self._repeated += len(self._inputs) == seen

    def conclude(self) -> tuple[str, ...]:
        """Note the problems of all cases together; return what is only worth a warning."""
        return (*self._expected_keys(), *(() if self._problems.found else self._identical_inputs()))

    def _expected_keys(self) -> Iterable[str]:
        unread = []
        for key, count in sorted(self._unread.items(), key=lambda item: (self._first[item[0]], item[0])):
            near = (
                None if key in RESERVED else next((w for w in (*sorted(self._read), *RESERVED) if _near(key, w)), None)
            )
            message = f"nothing reads expected.{key}, which is nearly expected.{near} ({_cases(count)})"
            if near is None:
                unread.append((key, count))
            elif self._user_functions:
                yield message
            else:
                hint = f"did you mean {near!r}? a note to yourself belongs in metadata"
                self._problems.on(self._first[key], 0, codes.MISSPELT_EXPECTED, message, hint=hint)
        if unread and not self._user_functions:
            yield f"nothing reads {', '.join(f'expected.{key} ({_cases(count)})' for key, count in unread)}"

    def _identical_inputs(self) -> Iterable[str]:
        if self._repeated:
            verb, noun = ("repeats", "case") if self._repeated == 1 else ("repeat", "cases")
            yield f"{self._repeated:,} {noun} {verb} the input of an earlier case; every case is executed"


def _digest(case: Case) -> int:
    # 64 bits are enough for a count that is only told; the inputs themselves may be large
    return hash(_encode(case.input))


def _cases(count: int) -> str:
    return f"{count:,} {'case' if count == 1 else 'cases'}"


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
