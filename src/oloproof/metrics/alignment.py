"""Two lists of calls side by side: where they part, and what was inserted, dropped or called otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from oloproof.model.alignment import Move
from oloproof.model.reading import given
from oloproof.model.trajectory import Step
from oloproof.model.values import CONFLICT, unify

MOST_CALLS = 2000
"""Beyond so many calls only the beginning is aligned; it holds the place where two trajectories part."""


def align(now: Sequence[Step], was: Sequence[Step]) -> tuple[Move, ...]:
    """The calls of two trajectories in order. Tools are aligned as texts are (Ratcliff & Metzener 1988); calls of one
    tool whose recorded arguments differ are ``changed_arguments``. What was not recorded differs from nothing."""
    now, was = now[:MOST_CALLS], was[:MOST_CALLS]
    tools_now, tools_was = [call.tool_name or "" for call in now], [call.tool_name or "" for call in was]
    moves: list[Move] = []
    for tag, i, j, k, m in SequenceMatcher(None, tools_was, tools_now, autojunk=False).get_opcodes():
        if tag == "equal":
            moves += [_beside(new, old) for new, old in zip(now[k:m], was[i:j], strict=True)]
            continue
        moves += [Move("deleted", old.tool_name or "", None, old.index) for old in was[i:j]]
        moves += [Move("inserted", new.tool_name or "", new.index, None) for new in now[k:m]]
    return tuple(moves)


def parting(now: Sequence[Step], was: Sequence[Step]) -> Move | None:
    """The first row in which two trajectories differ; None where their calls are the same."""
    return next((move for move in align(now, was) if move.kind != "same"), None)


def _beside(new: Step, old: Step) -> Move:
    same = unify(given(new), given(old)) is not CONFLICT
    return Move("same" if same else "changed_arguments", new.tool_name or "", new.index, old.index)
