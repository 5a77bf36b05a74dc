"""What an evaluator may look at, and what an evaluator is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol

from msgspec import Struct

from oloproof.model.case import Attempt, Case
from oloproof.model.judgment import Judgment
from oloproof.model.reading import Reading


class Evidence:
    """A case, the attempt at it, and the verdicts that user functions gave of it (by criterion).

    ``reading`` is the trajectory, read once for every evaluator; None when none was recorded. ``veiled``: secrets were
    taken out of the attempt, and the texts that held them are tags, of which nothing is known but their clear parts.
    """

    def __init__(
        self,
        case: Case,
        attempt: Attempt,
        user_verdicts: Mapping[str, Judgment] | None = None,
        *,
        veiled: bool = False,
    ) -> None:
        self.case = case
        self.attempt = attempt
        self.output: Any = attempt.output
        self.error = attempt.error
        self.reading = None if attempt.trajectory is None else Reading(attempt.trajectory)
        self.user_verdicts = user_verdicts or {}
        self.veiled = veiled


class CaseProblem(Struct, frozen=True):
    """Something wrong with a case's reference, as the end of a sentence whose subject is the value of ``expected``, or
    of another ``root`` of the case, that ``path`` leads to (keys and, in lists, positions from 0). ``hint`` says what
    to write, "" where that is clear."""

    message: str
    path: tuple[str | int, ...]
    hint: str = ""
    root: Literal["expected", "input"] = "expected"

    def __str__(self) -> str:
        return f"{'.'.join(map(str, self.place))} {self.message}"

    @property
    def place(self) -> tuple[str | int, ...]:
        """The path from the case on."""
        return (self.root, *self.path)


class Evaluator(Protocol):
    """One criterion. Built from the configuration, then asked once a case."""

    @property
    def criterion(self) -> str:
        """The name under which its judgments are counted."""

    @property
    def reads(self) -> Literal["output", "trajectory", "anything"]:
        """What it needs of an attempt; "trajectory" makes the record's declaration mandatory."""

    @property
    def expected_fields(self) -> tuple[str, ...]:
        """The keys of ``expected`` that it reads."""

    @property
    def reads_reference(self) -> bool:
        """Some case could be wrong for it."""

    @property
    def compares_within(self) -> bool:
        """Whether it compares parts of one attempt with each other alone."""

    @property
    def reads_results(self) -> bool:
        """Whether it looks into what tools gave back."""

    def case_problems(self, case: Case) -> tuple[CaseProblem, ...]:
        """What is wrong with the case's reference, found before anything runs."""

    def judge(self, evidence: Evidence) -> Judgment:
        """The verdict, total: it never raises on any evidence."""
