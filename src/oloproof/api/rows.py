"""A sequence of results that is also a table: in a notebook, as dictionaries, as a data frame."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, overload

from oloproof.errors import Problem, UsageError, counted, did_you_mean
from oloproof.reports.inert import inert
from oloproof.reports.shapes import Table

if TYPE_CHECKING:
    import pandas

MOST_SHOWN = 60
"""Rows of a table in a notebook; all of them are there to be asked for."""


class Row(Protocol):
    """One result. ``cells`` are inert texts."""

    @property
    def key(self) -> Hashable: ...
    @property
    def cells(self) -> tuple[str, ...]: ...
    def to_dict(self) -> dict[str, Any]: ...


R = TypeVar("R", bound=Row)


class Rows(Sequence[R], Generic[R]):
    """Results in order, found by position or by key: ``metrics["answer_correct"]``, ``cases["c1"]``."""

    __slots__ = ("_by_key", "_columns", "_rows", "_title")

    def __init__(self, title: str, columns: tuple[str, ...], rows: Sequence[R]) -> None:
        self._title = title
        self._columns = columns
        self._rows = tuple(rows)
        self._by_key: dict[Hashable, R] = {row.key: row for row in self._rows}

    @overload
    def __getitem__(self, which: int) -> R: ...
    @overload
    def __getitem__(self, which: slice) -> Rows[R]: ...
    @overload
    def __getitem__(self, which: str | tuple[str, int]) -> R: ...
    def __getitem__(self, which: Any) -> R | Rows[R]:
        if isinstance(which, slice):
            return Rows(self._title, self._columns, self._rows[which])
        if isinstance(which, int):
            try:
                return self._rows[which]
            except IndexError:
                raise IndexError(f"no position {which:,} among {self._counted()}, from 0 on") from None
        try:
            return self._by_key[which]
        except KeyError:
            hint = did_you_mean(str(which), map(str, self._by_key)) if len(self._by_key) <= 1000 else ""
            raise KeyError(" ".join(filter(None, (f"no {which!r} among {self._counted()}.", hint)))) from None

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[R]:
        return iter(self._rows)

    def where(self, holds: Callable[[R], bool]) -> Rows[R]:
        """Those of which it holds."""
        return Rows(self._title, self._columns, [row for row in self._rows if holds(row)])

    def to_dicts(self) -> list[dict[str, Any]]:
        """A dictionary a row, of JSON values."""
        return [row.to_dict() for row in self._rows]

    def to_pandas(self) -> pandas.DataFrame:
        """The same as a data frame. UsageError where pandas is not installed."""
        return frame(self.to_dicts())

    def _counted(self) -> str:
        return counted(len(self), self._title.removesuffix("s"))

    def __repr__(self) -> str:
        shown = ", ".join(inert(str(row.key)) for row in self._rows[:5])
        return f"<{self._counted()}: {shown}{', …' if len(self) > 5 else ''}>"

    def _repr_html_(self) -> str:
        from oloproof.api.html import table

        return table(self.table)

    @property
    def table(self) -> Table:
        """The first rows as texts."""
        left_out = len(self) - MOST_SHOWN
        title = f"{self._title}, the first {MOST_SHOWN} of {len(self):,}" if left_out > 0 else self._title
        return Table(title, self._columns, tuple(row.cells for row in self._rows[:MOST_SHOWN]))


def frame(rows: list[dict[str, Any]]) -> pandas.DataFrame:
    """A data frame. UsageError where pandas is not installed."""
    try:
        from pandas import DataFrame
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "pandas":
            raise
        what = "to_pandas needs pandas: pip install 'oloproof[pandas]'"
        raise UsageError(Problem("OLO730", what, "or use to_dicts()")) from None
    return DataFrame(rows)
