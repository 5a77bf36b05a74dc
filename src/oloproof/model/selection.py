"""A part of a dataset, as named on the command line. A run over a part reports and never gates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from msgspec import Struct

from oloproof.model.case import Case
from oloproof.model.project import METADATA_PREFIX
from oloproof.model.slice_values import RESERVED, value_text
from oloproof.model.values import lookup

_MOST_NAMED = 5
"""Cases that a selection's text names; of more it says how many they are."""


class MetadataValue(Struct, frozen=True):
    """The cases with this ``value`` at ``path`` in their metadata, written as reports print it (``(none)``: no value
    there). A text that they put in quotes, to tell it from another value, may also go without."""

    path: tuple[str, ...]
    value: str

    def __str__(self) -> str:
        return f"{self.name}={self.value}"

    @property
    def name(self) -> str:
        """What is looked at, ``metadata.surface``."""
        return f"{METADATA_PREFIX}{'.'.join(self.path)}"

    def holds(self, case: Case) -> bool:
        if self.value in RESERVED:
            return self.of(case) == self.value
        return self.value in (self.of(case), lookup(case.metadata, self.path))

    def of(self, case: Case) -> str:
        """The case's own value there."""
        return value_text(lookup(case.metadata, self.path))


class Selection(Struct, frozen=True, kw_only=True):
    """Cases named by id, cases of one metadata value, or the first few. Empty means all of them."""

    case_ids: tuple[str, ...] = ()
    slice: MetadataValue | None = None
    limit: int | None = None

    def __bool__(self) -> bool:
        """Whether it narrows anything."""
        return self != Selection()

    def __str__(self) -> str:
        parts = [f"--case {case_id}" for case_id in self.case_ids[:_MOST_NAMED]]
        if len(self.case_ids) > _MOST_NAMED:
            parts.append(f"and {len(self.case_ids) - _MOST_NAMED:,} more")
        if self.slice is not None:
            parts.append(f"--slice {self.slice}")
        if self.limit is not None:
            parts.append(f"--limit {self.limit}")
        return " ".join(parts)

    def of(self, cases: Iterable[Case]) -> Iterator[Case]:
        """The selected cases, in the dataset's order."""
        named = frozenset(self.case_ids)
        chosen = (case for case in cases if not named or case.id in named)
        return islice((case for case in chosen if self.slice is None or self.slice.holds(case)), self.limit)
