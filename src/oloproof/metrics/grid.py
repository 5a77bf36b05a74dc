"""Pair tables of very many groups of pairs, counted by columns.

Under a criterion every pair has one cell of the table; a group of pairs is a whole number with one bit a pair. So each
count of each table is the number of bits that two such numbers share.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import compress
from typing import Final, NamedTuple

from oloproof.model.tally import PairTable

Codes = tuple[str, str]
"""The letters of one pair, the candidate's and the baseline's, one a criterion."""

_FIELDS: Final = PairTable.__struct_fields__
_CELLS: Final = {
    tuple(letters): _FIELDS.index(field)
    for letters, field in {
        "pp": "both_pass",
        "pf": "fixed",
        "fp": "broken",
        "ff": "both_fail",
        "pm": "now_pass",
        "fm": "now_fail",
        "mp": "was_pass",
        "mf": "was_fail",
        "mm": "both_missing",
        "xx": "excluded",
    }.items()
}
"""Which count of a table a pair adds to, by the candidate's letter and the baseline's. A criterion that applies to one
side only (``x`` with another letter) applies to another question now: both verdicts are missing."""

_BOTH_MISSING: Final = _CELLS["m", "m"]
_BYTES: Final = 256


class Group(NamedTuple):
    """The pairs that share a value: how many, and a table a criterion."""

    value: str
    support: int
    tables: tuple[PairTable, ...]


class Grid:
    """The cell of every pair under every criterion, from the letters of the pairs."""

    def __init__(self, codes: Sequence[Codes], *, criteria: int) -> None:
        now, was = ("".join([pair[side] for pair in codes]) for side in (0, 1))
        self._columns = [
            bytes([_CELLS.get(pair, _BOTH_MISSING) for pair in zip(now[at::criteria], was[at::criteria], strict=True)])
            for at in range(criteria)
        ]
        self._masks = [[_mask(column, cell) for cell in range(len(_FIELDS))] for column in self._columns]

    def tables(self) -> tuple[PairTable, ...]:
        """The table of each criterion over all pairs."""
        return tuple([PairTable(*[mask.bit_count() for mask in masks]) for masks in self._masks])

    def chosen(self, ids: Sequence[str], criterion: int, field: str) -> tuple[str, ...]:
        """Of ``ids``, one a pair, those of the pairs that add to ``field`` of the criterion's table."""
        wanted = _FIELDS.index(field)
        return tuple(compress(ids, [cell == wanted for cell in self._columns[criterion]]))

    def grouped(self, values: Sequence[str]) -> Iterator[Group]:
        """The pairs by their value, of which there is one a pair."""
        numbers = {value: number for number, value in enumerate(dict.fromkeys(values))}
        if len(numbers) > _BYTES:
            yield from self._scattered(values)
            return
        column = bytes(map(numbers.__getitem__, values))
        for value, number in numbers.items():
            group = _mask(column, number)
            # A mask of 0, and most are, costs next to nothing.
            tables = [PairTable(*[(group & mask).bit_count() for mask in masks]) for masks in self._masks]
            yield Group(value, group.bit_count(), tuple(tables))

    def _scattered(self, values: Sequence[str]) -> Iterator[Group]:
        """The same where the values are many, and so most groups small."""
        places: defaultdict[str, list[int]] = defaultdict(list)
        for place, value in enumerate(values):
            places[value].append(place)
        for value, inside in places.items():
            cells = (bytes([column[place] for place in inside]) for column in self._columns)
            tables = [PairTable(*map(column.count, range(len(_FIELDS)))) for column in cells]
            yield Group(value, len(inside), tuple(tables))


def _mask(column: bytes, value: int) -> int:
    """One bit a byte of the column, set where the byte is ``value``."""
    return int(column.translate(b"0" * value + b"1" + b"0" * (_BYTES - value - 1)) or b"0", 2)
