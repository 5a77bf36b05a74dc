"""Calls beside others, row by row: beside those that a reference declares, and beside those of another trajectory."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, Struct

AlignmentStatus = Literal["matched", "unknown", "changed", "missing", "extra"]


class AlignedCall(Struct, frozen=True, kw_only=True):
    """A declared call and the one that was paired with it.

    ``unknown``: it fits or not by what was not recorded; ``changed``: the tool is right and its arguments are not, as
    ``differences`` says in a line each. ``declared`` is UNSET for an ``extra`` call; ``step`` (its index), ``tool`` and
    ``arguments`` (None: not recorded) are None for a ``missing`` one.
    """

    status: AlignmentStatus
    declared: Any = UNSET
    step: int | None = None
    tool: str | None = None
    arguments: Any = None
    differences: tuple[str, ...] = ()


class Alignment(Struct, frozen=True, kw_only=True):
    """The alignment that costs least. ``alternative`` is the number, from 1, of the one of several references that is
    nearest; None where there is but one. ``ordered``: the rows keep the order of both sides."""

    rows: tuple[AlignedCall, ...]
    ordered: bool
    alternative: int | None = None


class Move(Struct, frozen=True):
    """One row of two trajectories' calls side by side. ``now`` and ``was`` are step indexes, None where that side has
    no such call."""

    kind: Literal["same", "inserted", "deleted", "changed_arguments"]
    tool: str
    now: int | None
    was: int | None


NOWHERE = Move("same", "", None, None)
"""Where the calls of two trajectories part that do not."""
