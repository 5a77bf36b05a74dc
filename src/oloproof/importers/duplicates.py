"""Keys that a recording gives twice, of which a reader would keep the last without a word.

A file is read by the hundred thousand lines, so the sound line is told by one more skip over it: every key has two
quotes of its own, and what is left out when an equal key follows takes its quotes along.
"""

from __future__ import annotations

import json
from typing import Any, Final

from msgspec import UNSET, MsgspecError, Raw, Struct, UnsetType
from msgspec.json import Decoder
from msgspec.structs import astuple

_NOTHING: Final = Raw(b"")


class _Trajectory(Struct, frozen=True, gc=False):
    """A trajectory with its values as they are written; its keys are those of the model's."""

    steps: Raw = _NOTHING
    terminal_status: Raw = _NOTHING
    truncated: Raw = _NOTHING
    step_limit: Raw = _NOTHING
    errors_recorded: Raw = _NOTHING
    constraints: Raw = _NOTHING
    checkpoints: Raw = _NOTHING


class _Line(Struct, frozen=True, gc=False):
    """A recording likewise."""

    trajectory: _Trajectory | UnsetType | None = UNSET
    case: Raw = _NOTHING
    trial: Raw = _NOTHING
    output: Raw = _NOTHING
    error: Raw = _NOTHING
    state: Raw = _NOTHING
    input: Raw = _NOTHING
    expected: Raw = _NOTHING
    metadata: Raw = _NOTHING


_skim = Decoder(_Line).decode


def repeated_key(line: bytes) -> str | None:
    """The first key that ``line``, which was read as a recording, gives twice: one of its own or of its trajectory.
    None where there is none; what lies deeper is not looked at."""
    try:
        if _is_sound(line):
            return None
    except MsgspecError:  # only a lenient reader takes the line
        pass
    members = json.loads(line, object_pairs_hook=_Members)
    trajectories = (value for key, value in members if key == "trajectory" and isinstance(value, _Members))
    inside = (f"trajectory.{key}" for trajectory in trajectories if (key := trajectory.repeated()) is not None)
    return members.repeated() or next(inside, None)


def _is_sound(line: bytes) -> bool:
    trajectory, *values = astuple(_skim(line))
    written = [bytes(value) for value in values if value is not _NOTHING]
    steps = b""
    if isinstance(trajectory, _Trajectory):
        written += [bytes(value) for value in astuple(trajectory) if value is not _NOTHING]
        steps = bytes(trajectory.steps)
    keys = len(written) + (trajectory is not UNSET)
    at = line.find(b"[", line.find(b'"steps"'))
    if steps and line.startswith(steps, at):  # nearly always, and nearly all of the line
        written.remove(steps)
        line = line[:at] + line[at + len(steps) :]
    return line.count(b'"') == 2 * keys + b"".join(written).count(b'"')


class _Members(list[tuple[str, Any]]):
    """An object as it is written, equal keys and all."""

    def repeated(self) -> str | None:
        seen = set()
        for key, _ in self:
            if key in seen:
                return key
            seen.add(key)
        return None
