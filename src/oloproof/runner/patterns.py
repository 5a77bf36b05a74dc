"""Patterns that RE2 refuses, matched in the evaluation worker: one that never ends meets the time-out there."""

from __future__ import annotations

import re
from typing import Any

from msgspec import UNSET

from oloproof.model.reading import final_answer
from oloproof.model.trajectory import Trajectory
from oloproof.model.values import lookup
from oloproof.record.marks import Verdict


def search_final(trajectory: Trajectory, *, pattern: str, path: list[str]) -> Verdict:
    """:func:`search` in what the trajectory's last final step says (``source: final``)."""
    return search(final_answer(trajectory), pattern=pattern, path=path)


def search(output: Any, *, pattern: str, path: list[str]) -> Verdict:
    """Whether ``pattern`` matches somewhere in the text at ``path`` of the output (``engine: python``)."""
    found = lookup(output, path)
    if found is UNSET:
        return Verdict(False, "field_absent", expected=pattern)
    if type(found) is not str:
        return Verdict(False, "not_text", expected=pattern, found=found)
    return Verdict(re.search(pattern, found) is not None, expected=pattern, found=found)
