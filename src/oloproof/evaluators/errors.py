"""What went wrong beside the answers: crashes, time-outs and evaluators that raised, counted by what they said."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from oloproof.model.evidence import Evaluator, Evidence
from oloproof.model.judgment import Judgment
from oloproof.model.tally import ErrorGroup

MOST_GROUPS = 20
"""Messages that are told apart; who has more of them has one cause, and messages that name the case."""

_MOST_CHARACTERS = 500


class _Group(Struct):
    first: str
    trial: int
    cases: int = 0


class Errors:
    """Watches the attempts of a run go by and groups their errors. Its memory does not grow with the run."""

    def __init__(self, evaluators: Sequence[Evaluator]) -> None:
        self._criteria = [evaluator.criterion for evaluator in evaluators]
        self._groups: dict[tuple[str, str | None], _Group] = {}
        self._messages = 0

    def see(self, evidence: Evidence, judgments: Sequence[Judgment]) -> None:
        """The next attempt. One that was not run went not wrong."""
        error = evidence.error
        if error is not None and error.kind != "not_run":
            self._count(error.kind, error.message, evidence)
        for index, judgment in enumerate(judgments):
            if judgment.reason == "evaluator_error" and judgment.verdict == "missing":
                message = f"{self._criteria[index]}: {judgment.detail or 'no verdict'}"
                self._count("evaluator_error", message, evidence)

    def groups(self) -> tuple[ErrorGroup, ...]:
        """In the order in which they first occurred; the uncounted messages of a kind last."""
        ordered = sorted(self._groups.items(), key=lambda item: item[0][1] is None)
        return tuple(
            ErrorGroup(kind=kind, message=message, cases=group.cases, first=group.first, trial=group.trial)
            for (kind, message), group in ordered
        )

    def _count(self, kind: str, text: str, evidence: Evidence) -> None:
        message = text.split("\n", 1)[0][:_MOST_CHARACTERS]
        key: tuple[str, str | None] = (kind, message)
        if key not in self._groups:
            if self._messages < MOST_GROUPS:
                self._messages += 1
            else:
                key = (kind, None)
        group = self._groups.setdefault(key, _Group(evidence.case.id, evidence.attempt.trial))
        group.cases += 1
