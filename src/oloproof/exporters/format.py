"""What an exporter is, and how a stored attempt becomes what it is given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Final

from msgspec import UNSET, Struct

from oloproof.model.recording import Recording
from oloproof.model.run import CaseRecord

SHARED_LOSSES: Final[Mapping[str, str]] = {
    "changed_files": "cases whose recorded file is not what it was, or is gone: left out",
    "not_run": "cases that were not run: left out",
    "logs": "what user code printed while a case ran",
}
"""What no format has a place for."""

Writer = Callable[[Iterable[Recording], Counter[str]], Iterator[bytes]]


class Exporter(Struct, frozen=True, kw_only=True):
    """A format. ``write`` gives the file piece by piece and counts what it has no place for, by the kinds of
    ``losses``, each with what it means."""

    name: str
    about: str
    write: Writer
    losses: Mapping[str, str] = {}

    def meaning(self, kind: str) -> str:
        """What a kind of loss is."""
        return self.losses[kind] if kind in self.losses else SHARED_LOSSES[kind]


def recording_of(record: CaseRecord | None, losses: Counter[str]) -> Recording | None:
    """An attempt as a recording; None where there was none, or it cannot be read any more (None)."""
    if record is None:
        losses["changed_files"] += 1
        return None
    case, attempt = record.case, record.attempt
    if attempt.error is not None and attempt.error.kind == "not_run":
        losses["not_run"] += 1
        return None
    losses["logs"] += bool(attempt.log)
    return Recording(
        case=attempt.case_id,
        trial=attempt.trial,
        output=attempt.output,
        error=attempt.error,
        trajectory=attempt.trajectory,
        state=attempt.state,
        input=UNSET if case.input is None else case.input,
        expected=case.expected or None,
        metadata=case.metadata or None,
    )


def count_changes(before: Struct, after: Struct, losses: Counter[str], *, apart_from: Collection[str] = ()) -> None:
    """Count every field that differs, under its name."""
    for name in before.__struct_fields__:
        if name not in apart_from and getattr(before, name) != getattr(after, name):
            losses[name] += 1
