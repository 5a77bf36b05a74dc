"""What a process records that user code forked while a case ran: nothing, and the case's record says that it lacks it.

Such a process has a copy of everything, and what it adds to its copy is lost without a word. It shares one thing with
the process that it came from: a page of bytes, one for each record that is being made.
"""

from __future__ import annotations

import mmap
import os
from functools import cache
from itertools import count
from typing import Protocol
from weakref import WeakSet

_MARKS = 4096
"""Many more than cases run at once in one process: after so many records a byte is used again."""

_OPEN, _SET = 1, 2

_numbers = count()


class Watched(Protocol):
    """What must not be used in a forked process as if nothing had happened."""

    def forked(self) -> None:
        """Called in the forked process, before anything else is done there."""


class Mark:
    """One byte that a process has together with those that are forked from it. ``watched`` is told in these.

    A forked process may outlive its case and serve others (a pool does): what it would add to a record that is closed
    belongs to one of those that are being made then, and nobody knows to which.
    """

    def __init__(self, watched: Watched) -> None:
        self._at = next(_numbers) % _MARKS
        _page()[self._at] = _OPEN
        _watched.add(watched)

    def set(self) -> None:
        page = _page()
        if page[self._at] & _OPEN:
            page[self._at] |= _SET
            return
        for at, state in enumerate(page[:]):
            if state & _OPEN:
                page[at] |= _SET

    def close(self) -> None:
        """The record is over; what was set stays."""
        _page()[self._at] &= ~_OPEN

    @property
    def is_set(self) -> bool:
        return bool(_page()[self._at] & _SET)


_watched: WeakSet[Watched] = WeakSet()


@cache
def _page() -> mmap.mmap:
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_tell)
    return mmap.mmap(-1, _MARKS)


def _tell() -> None:
    for each in list(_watched):
        each.forked()
