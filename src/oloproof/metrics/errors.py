"""What went wrong beside the answers: crashes, time-outs and evaluators that raised, counted by what they said.

Messages that name the case differ in ids alone, and have one cause; they are one group.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from oloproof.model.evidence import Evidence
from oloproof.model.judgment import Judgment
from oloproof.model.measured import ErrorGroup

MOST_GROUPS = 20
"""Messages that are told apart; who has more of them hardly has as many causes."""

_MOST_CHARACTERS = 500

_ID = re.compile(r"(?=[\w-]{5})[\w-]*\d[\w-]*")
"""A word of some length that holds a digit: ``case_001``, an address. Short numbers tell causes apart (404)."""


class _Group(Struct):
    message: str | None
    first: str
    trial: int
    cases: int = 0
    varied: bool = False


class ErrorGroups:
    """Watches the attempts of a run go by and groups their errors. Its memory does not grow with the run.

    ``criteria`` names the judgments of an attempt in their order.
    """

    def __init__(self, criteria: Sequence[str]) -> None:
        self._criteria = criteria
        self._groups: dict[tuple[str, str | None], _Group] = {}
        self._messages = 0

    def see(self, evidence: Evidence, judgments: Sequence[Judgment]) -> None:
        """The next attempt. One that was not run did not go wrong."""
        error = evidence.error
        if error is not None and error.kind != "not_run":
            self._count(error.kind, error.message, evidence)
        if "evaluator_error" not in [judgment.reason for judgment in judgments]:
            return  # nearly every attempt
        for criterion, judgment in zip(self._criteria, judgments, strict=True):
            if judgment.reason == "evaluator_error" and judgment.verdict == "missing":
                message = f"{criterion}: {judgment.detail or 'no verdict'}"
                self._count("evaluator_error", message, evidence)

    def groups(self) -> tuple[ErrorGroup, ...]:
        """In the order in which they first occurred; the uncounted messages of a kind last."""
        ordered = sorted(self._groups.items(), key=lambda item: item[0][1] is None)
        return tuple(
            ErrorGroup(
                kind=kind,
                message=group.message,
                cases=group.cases,
                first=group.first,
                trial=group.trial,
                varied=group.varied,
            )
            for (kind, _), group in ordered
        )

    def _count(self, kind: str, text: str, evidence: Evidence) -> None:
        message = text.split("\n", 1)[0][:_MOST_CHARACTERS]
        key: tuple[str, str | None] = (kind, _ID.sub("#", message))
        if key not in self._groups:
            if self._messages < MOST_GROUPS:
                self._messages += 1
            else:
                key = (kind, None)
        told = None if key[1] is None else message
        group = self._groups.setdefault(key, _Group(told, evidence.case.id, evidence.attempt.trial))
        group.cases += 1
        group.varied = group.varied or group.message != told
