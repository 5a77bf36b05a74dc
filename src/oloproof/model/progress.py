"""A run that has concluded nothing: how far it came."""

from __future__ import annotations

from msgspec import Struct

from oloproof.model.run import Run
from oloproof.model.tally import Tally


class Progress(Struct, frozen=True, kw_only=True):
    """What is stored of a run so far. ``attempts`` are those that ended, of ``of``, 0 where their number is not known;
    re-runs are in neither. ``tallies`` are in the run's order of criteria."""

    run: Run
    attempts: int
    of: int
    tallies: tuple[Tally, ...]
