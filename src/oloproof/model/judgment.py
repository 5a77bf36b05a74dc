"""The four words for a case under a criterion, with the evidence for each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

from msgspec import UNSET, Struct

Word = Literal["pass", "fail", "missing", "excluded"]

MissingReason = Literal[
    "truncated_trajectory",
    "arguments_not_recorded",
    "errors_not_recorded",
    "output_not_recorded",
    "metadata_not_recorded",
    "state_not_recorded",
    "status_not_recorded",
    "metric_not_recorded",
    "redacted",
    "no_trajectory",
    "unnamed_agents",
    "constraint_not_recorded",
    "system_error",
    "timeout",
    "not_run",
    "evaluator_error",
]
ExcludedReason = Literal["no_declared_tools", "no_declared_route", "no_reference", "not_selected"]

WORDS: Mapping[str, Word] = {"p": "pass", "f": "fail", "m": "missing", "x": "excluded"}
"""Each word by the letter that stands for it where there are many: a case's codes are one letter a criterion."""

LETTERS: Mapping[Word, str] = {word: letter for letter, word in WORDS.items()}
"""The letter of each word."""

MISSING_REASONS: tuple[str, ...] = get_args(MissingReason)
EXCLUDED_REASONS: tuple[str, ...] = get_args(ExcludedReason)


class Judgment(Struct, frozen=True, omit_defaults=True, gc=False):
    """One word and its evidence: the reason, the step indexes it read, what was expected and what was found.

    ``reason`` is None on a plain pass or fail, one of :data:`MISSING_REASONS` or :data:`EXCLUDED_REASONS` on the two
    others, and free for a fail. ``expected`` and ``found`` are JSON values, UNSET where there is nothing to compare.
    ``modes`` says how calls were compared with a reference (their order, their arguments) where they do not fit it, so
    that the two can be shown beside each other.
    """

    verdict: Word
    reason: str | None = None
    steps: tuple[int, ...] = ()
    expected: Any = UNSET
    found: Any = UNSET
    detail: str | None = None
    modes: tuple[str, ...] = ()


PASS = Judgment("pass")


def missing(reason: MissingReason, *, detail: str | None = None) -> Judgment:
    """The criterion applies and the record cannot say."""
    return Judgment("missing", reason, detail=detail)


def excluded(reason: ExcludedReason) -> Judgment:
    """The criterion does not apply to the case."""
    return Judgment("excluded", reason)
