"""Recordings as rows of a dataset: what each case was asked and what is expected of it, without what came of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from msgspec import UNSET
from msgspec.json import encode

from oloproof.model.recording import Recording


class CaseRows:
    """The cases of recordings, in the order in which they were first met; one row is kept for each.

    ``conflicts`` counts the cases whose runs do not agree on what was asked or expected: the first is believed. What
    they do not agree on in their metadata is no fact of the case, and left out.
    """

    def __init__(self) -> None:
        self._rows: dict[str, dict[str, Any]] = {}
        self._unsure: set[str] = set()

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def conflicts(self) -> int:
        return len(self._unsure)

    def add(self, recording: Recording, of_case: Collection[str] | None) -> None:
        """One more recording. ``of_case`` are the keys of its metadata that describe the case (None: all)."""
        metadata = recording.metadata or {}
        row: dict[str, Any] = {"id": recording.case}
        if recording.input is not UNSET:
            row["input"] = recording.input
        if recording.expected:
            row["expected"] = recording.expected
        row["metadata"] = {key: fact for key, fact in metadata.items() if of_case is None or key in of_case}
        known = self._rows.setdefault(recording.case, row)
        if known is row:
            return
        if any(known.get(key) != row.get(key) for key in ("input", "expected")):
            self._unsure.add(recording.case)
        known["metadata"] = {
            key: fact
            for key, fact in known["metadata"].items()
            if key in row["metadata"] and row["metadata"][key] == fact
        }

    def lines(self) -> Iterator[bytes]:
        """Each row as a line of JSON Lines."""
        for row in self._rows.values():
            yield encode(row if row["metadata"] else {key: row[key] for key in row if key != "metadata"}) + b"\n"
