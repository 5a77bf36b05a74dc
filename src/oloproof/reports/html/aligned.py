"""What was expected beside what was found, line by line, and the calls of two trajectories."""

from __future__ import annotations

import json
from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import Any, Literal

from msgspec import UNSET, Struct

from oloproof.model.alignment import Move
from oloproof.model.trajectory import Trajectory
from oloproof.reports.inert import inert, inert_json

MOST_LINES = 200
"""Lines compared of either side; the rest is in the JSON documents."""

_LINE = 300


_Kind = Literal["same", "changed", "expected", "found"]


class Line(Struct, frozen=True, array_like=True):
    """A row: ``same`` on both sides, ``changed``, or only ``expected`` or ``found``. "" where a side has no line."""

    kind: _Kind
    expected: str
    found: str


def aligned(expected: Any, found: Any) -> tuple[Line, ...]:
    """Two JSON values as indented lines, equal ones beside one another (Ratcliff & Metzener 1988). Nothing where either
    is UNSET or a single line, since there is nothing to align then."""
    if expected is UNSET or found is UNSET:
        return ()
    was, now = _lines(expected), _lines(found)
    if len(was) <= 1 or len(now) <= 1:
        return ()
    rows: list[Line] = []
    for tag, i, j, k, m in SequenceMatcher(None, was, now, autojunk=False).get_opcodes():
        if tag == "equal":
            rows += [Line("same", line, line) for line in was[i:j]]
            continue
        both = min(j - i, m - k)
        rows += [Line("changed", old, new) for old, new in zip(was[i : i + both], now[k : k + both], strict=True)]
        rows += [Line("expected", line, "") for line in was[i + both : j]]
        rows += [Line("found", "", line) for line in now[k + both : m]]
    return tuple(rows)


def calls_beside(moves: Iterable[Move], now: Trajectory, was: Trajectory, *, content: bool) -> tuple[Line, ...]:
    """The calls of a trajectory beside those of the baseline's, ``was``, which stands for what was expected. Without
    ``content`` the arguments are left out."""
    kinds: dict[str, _Kind] = {
        "same": "same",
        "inserted": "found",
        "deleted": "expected",
        "changed_arguments": "changed",
    }
    return tuple(
        Line(kinds[move.kind], _call(was, move.was, content=content), _call(now, move.now, content=content))
        for move in moves
    )


def _call(trajectory: Trajectory, index: int | None, *, content: bool) -> str:
    if index is None:
        return ""
    step = trajectory.steps[index - 1]
    arguments = inert_json(step.arguments, _LINE) if content and step.arguments is not None else ""
    return f"{index}. {inert(step.tool_name or '')} {arguments}".rstrip()


def _lines(value: Any) -> list[str]:
    """A text's own lines, or those of indented JSON."""
    if isinstance(value, str):
        return [inert(line, _LINE) for line in value.splitlines()[:MOST_LINES]]
    try:
        lines = json.dumps(value, ensure_ascii=False, indent=2).split("\n")
    except (RecursionError, ValueError):  # nested by the thousand, or an integer of thousands of digits
        return ["(cannot be shown)"]
    return [inert(line.removesuffix(","), _LINE) for line in lines[:MOST_LINES]]  # a comma tells what comes after
