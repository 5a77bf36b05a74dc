"""Keys that a recording gives twice, of which a reader would keep the last without a word.

A file is read by the hundred thousand lines, so the sound line is told by what is left of it when only its last keys
are kept and written again: every key has two quotes of its own, and one that is dropped takes them along.
"""

from __future__ import annotations

import json
from typing import Any, Final

from msgspec import UNSET, MsgspecError, Raw, Struct, UnsetType
from msgspec.json import Decoder, Encoder

_ABSENT: Final = Raw(b"")


class TrajectoryOutline(Struct, frozen=True, omit_defaults=True, gc=False):
    """A trajectory with its values as they are written; its keys are those of the model's."""

    steps: Raw = _ABSENT
    terminal_status: Raw = _ABSENT
    truncated: Raw = _ABSENT
    step_limit: Raw = _ABSENT
    errors_recorded: Raw = _ABSENT
    constraints: Raw = _ABSENT
    checkpoints: Raw = _ABSENT


class Outline(Struct, frozen=True, omit_defaults=True, gc=False):
    """A recording likewise."""

    case: Raw = _ABSENT
    trial: Raw = _ABSENT
    output: Raw = _ABSENT
    error: Raw = _ABSENT
    state: Raw = _ABSENT
    trajectory: TrajectoryOutline | UnsetType | None = UNSET
    input: Raw = _ABSENT
    expected: Raw = _ABSENT
    metadata: Raw = _ABSENT


outline: Final = Decoder(Outline).decode
"""The outline of a line that was, or will be, read as a recording. Raises msgspec's DecodeError, or RecursionError."""

_encode: Final = Encoder().encode


def repeated_key(line: bytes) -> str | None:
    """The first key that ``line``, which was read as a recording, gives twice: one of its own or of its trajectory.
    None where there is none; what lies deeper is not looked at."""
    try:
        if has_each_key_once(line, outline(line)):
            return None
    except MsgspecError:  # only a lenient reader takes the line
        pass
    members = json.loads(line, object_pairs_hook=_Members)
    trajectories = (value for key, value in members if key == "trajectory" and isinstance(value, _Members))
    inside = (f"trajectory.{key}" for trajectory in trajectories if (key := trajectory.repeated()) is not None)
    return members.repeated() or next(inside, None)


def has_each_key_once(line: bytes, outlined: Outline) -> bool:
    """Whether a line gives every key of its outline once, as far as its own keys and its trajectory's go."""
    return line.count(b'"') == _encode(outlined).count(b'"')


class _Members(list[tuple[str, Any]]):
    """An object as it is written, equal keys and all."""

    def repeated(self) -> str | None:
        seen = set()
        for key, _ in self:
            if key in seen:
                return key
            seen.add(key)
        return None
