"""What a file of trajectories that a receiver wrote before holds, so that the next one can go on with it."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable
from typing import Final, NamedTuple, TypeVar

from msgspec import MsgspecError, Struct
from msgspec.json import Decoder

V = TypeVar("V")

MOST_REMEMBERED: Final = 100_000
"""Of so many traces that were written it is known that they were."""

ROOM: Final = b" " * len('"truncated":true,')
"""Stands behind a trajectory that is whole, so that it can be said in its place that it is not."""


class Place(NamedTuple):
    """Where a line is that says that a run is whole: its offset and its length, both in bytes."""

    offset: int
    length: int


class NotOurs(ValueError):
    """A line (``line``, from 1) that no receiver wrote."""

    def __init__(self, line: int) -> None:
        super().__init__(f"line {line}")
        self.line = line


class Earlier:
    """``trajectories`` so far, the ``trials`` of each case, the traces that are ``written`` and, of those that count as
    whole, the place. ``size`` bytes are sound; what stands behind them was not written to its end, and ``missing``
    belongs there instead."""

    def __init__(self) -> None:
        self.trajectories = self.size = 0
        self.missing = b""
        self.trials: Counter[str] = Counter()
        self.written: OrderedDict[str, None] = OrderedDict()
        self.whole: OrderedDict[str, Place] = OrderedDict()


class _Trajectory(Struct):
    truncated: bool = False


class _Metadata(Struct):
    trace_id: str
    trace_ids: list[str] = []


class _Line(Struct):
    case: str
    trajectory: _Trajectory
    metadata: _Metadata
    trial: int = 1


_decode = Decoder(_Line).decode


def read(lines: Iterable[bytes]) -> Earlier:
    """What the lines of a file, as iterating over it in binary mode yields them, hold. Errors: :class:`NotOurs`."""
    found = Earlier()
    for number, line in enumerate(lines, 1):
        is_torn = not line.endswith(b"\n")
        text = line.rstrip() if is_torn else line
        try:
            said = _decode(text)
        except (MsgspecError, RecursionError):
            if is_torn:  # as a process leaves it that was killed; its traces are among those that it had begun
                break
            raise NotOurs(number) from None
        if is_torn:
            found.missing = ROOM + b"\n"
        elif not said.trajectory.truncated and not line.endswith(ROOM + b"\n"):
            raise NotOurs(number)
        _note(found, said, Place(found.size, len(text) + len(found.missing)))
        found.size += len(text)
    return found


def _note(found: Earlier, said: _Line, place: Place) -> None:
    found.trajectories += 1
    found.trials[said.case] = max(found.trials[said.case], said.trial)
    for trace_id in said.metadata.trace_ids or [said.metadata.trace_id]:
        remember(found.written, trace_id, None)
        if not said.trajectory.truncated:
            remember(found.whole, trace_id, place)


def remember(known: OrderedDict[str, V], trace_id: str, value: V) -> None:
    """Note something of a trace, the latest :data:`MOST_REMEMBERED` of which are kept."""
    known[trace_id] = value
    known.move_to_end(trace_id)
    if len(known) > MOST_REMEMBERED:
        known.popitem(last=False)
