"""A part of a dataset, as named on the command line. A run over a part reports and never gates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from msgspec import UNSET, Struct

from oloproof.model.case import Case
from oloproof.model.project import METADATA_PREFIX
from oloproof.model.values import lookup


class Selection(Struct, frozen=True, kw_only=True):
    """Cases named by id, cases of one metadata value, or the first few. Empty means all of them."""

    case_ids: tuple[str, ...] = ()
    slice: tuple[str, str] | None = None
    limit: int | None = None

    def __bool__(self) -> bool:
        """Whether it narrows anything."""
        return self != Selection()

    def __str__(self) -> str:
        parts = [f"--case {case_id}" for case_id in self.case_ids]
        if self.slice is not None:
            parts.append(f"--slice {self.slice[0]}={self.slice[1]}")
        if self.limit is not None:
            parts.append(f"--limit {self.limit}")
        return " ".join(parts)

    def of(self, cases: Iterable[Case]) -> Iterator[Case]:
        """The selected cases, in the dataset's order. ``slice`` names a ``metadata.<path>`` and its value as text."""
        return islice((case for case in cases if self._holds(case)), self.limit)

    def _holds(self, case: Case) -> bool:
        if self.case_ids and case.id not in self.case_ids:
            return False
        if self.slice is None:
            return True
        name, wanted = self.slice
        value = lookup(case.metadata, name.removeprefix(METADATA_PREFIX).split("."))
        return value is not UNSET and (value if isinstance(value, str) else str(value).lower()) == wanted
