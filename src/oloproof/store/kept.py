"""What a run left that was cut short: the attempts that stand, and room where others never began."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import groupby
from typing import NamedTuple

from oloproof.model.case import Attempt
from oloproof.model.run import CaseRecord
from oloproof.store.codec import Detail, pack_sides, unpack_sides

Key = tuple[str, int]
"""A case's id, and a trial of it."""


class StoredAt(NamedTuple):
    """Where an attempt lies: its place in the run, and its detail in the inflated block."""

    ordinal: int
    block: int
    start: int
    size: int


class Kept(Mapping[Key, CaseRecord]):
    """The attempts of a run that stand, by case id and trial, each read when it is asked for; :meth:`ordinals` says
    where they are in the run."""

    def __init__(
        self,
        places: Mapping[Key, StoredAt],
        read: Callable[[StoredAt], CaseRecord],
        waiting: frozenset[Key] = frozenset(),
    ) -> None:
        self._places = places
        self._read = read
        self.waiting = waiting
        """Those that ended with an error and waited to be made again when the run was stopped."""

    def __getitem__(self, key: Key) -> CaseRecord:
        return self._read(self._places[key])

    def __contains__(self, key: object) -> bool:
        return key in self._places

    def __iter__(self) -> Iterator[Key]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def without(self, keys: Collection[Key]) -> Kept:
        """The same but for these."""
        places = {key: place for key, place in self._places.items() if key not in keys}
        return Kept(places, self._read, self.waiting.difference(keys))

    def ordinals(self) -> Iterator[tuple[int, Key]]:
        """Each attempt's place in the run, from 0."""
        return ((place.ordinal, key) for key, place in self._places.items())


def kept_of(
    db: sqlite3.Connection, row: int, detail_at: Callable[[StoredAt], Detail], read: Callable[[StoredAt], CaseRecord]
) -> Kept:
    """The attempts of a run, without those that never began. A settled verdict says that one did."""
    places, waiting = {}, set()
    for case_id, trial, codes, *rest in db.execute(
        "SELECT case_id, trial, codes, ordinal, block, start, size FROM cases WHERE run = ? ORDER BY ordinal", (row,)
    ):
        place = StoredAt(*rest)
        never_began = None if "p" in codes or "f" in codes else _never_began(detail_at(place))
        if never_began is not None:
            if not never_began.earlier:
                continue
            waiting.add((case_id, trial))
        places[case_id, trial] = place
    return Kept(places, read, frozenset(waiting))


def discard(db: sqlite3.Connection, row: int, ordinals: Collection[int]) -> None:
    """Take attempts out of a run, each in the block where it lies, within the transaction of whoever asks."""
    if not ordinals:
        return
    where = "WHERE run = ? ORDER BY block, start"
    rows = db.execute(f"SELECT block, ordinal FROM cases {where}", (row,)).fetchall()
    for block, inside in groupby(rows, key=lambda each: each[0]):
        stands = [ordinal not in ordinals for _, ordinal in inside]
        if all(stands):
            continue
        if any(stands):
            (data,) = db.execute("SELECT data FROM sides WHERE block = ?", (block,)).fetchone()
            sides = [side for side, stays in zip(unpack_sides(data), stands, strict=True) if stays]
            db.execute("UPDATE sides SET data = ? WHERE block = ?", (pack_sides(sides), block))
        else:
            db.execute("DELETE FROM sides WHERE block = ?", (block,))
            db.execute("DELETE FROM blocks WHERE block = ?", (block,))
    db.executemany("DELETE FROM cases WHERE run = ? AND ordinal = ?", [(row, ordinal) for ordinal in ordinals])


def _never_began(detail: Detail) -> Attempt | None:
    """The attempt, where it never began."""
    attempt = detail.attempt
    return attempt if isinstance(attempt, Attempt) and attempt.not_run else None
