"""A line read in two parts: the steps, which are nearly all of it, and the rest.

Both together cost hardly more than the line as a whole. They tell where the steps end, and in the short rest it costs
next to nothing to see that no key is there twice.
"""

from __future__ import annotations

from typing import Final

from msgspec import MsgspecError
from msgspec.structs import force_setattr

from oloproof.importers.duplicates import TrajectoryOutline, has_each_key_once, outline
from oloproof.model.recording import Reader, Recording

_KEY: Final = b'"steps":'
_TAKEN_OUT: Final = b"[ \t]"
"""What stands for the steps in the rest: an empty array, as nobody writes it."""

_AFTER_STEPS: Final = ("terminal_status", "truncated", "step_limit", "errors_recorded", "constraints", "checkpoints")
_AFTER_TRAJECTORY: Final = ("state", "input", "expected", "metadata")
_NEXT_KEYS: Final = tuple(f'"{key}"'.encode() for key in (*_AFTER_STEPS, *_AFTER_TRAJECTORY))
"""What may stand behind the steps, in the order in which it is written."""
_TAIL: Final = 1024


def read_sound(line: bytes, reader: Reader) -> Recording | None:
    """The recording on a line that surely gives no key twice (as :func:`repeated_key` means it), None in doubt.

    Where the steps end is guessed, and then proven. The rest is JSON with an array in place of what was taken out; so
    one JSON value stands there, and what was taken out is another one, since it can be read by itself. Hence the line
    is JSON too, and says what both parts say. That array is the trajectory's steps: it is there once.
    """
    parts = _parts(line)
    if parts is None:
        return None
    rest, steps = parts
    try:
        outlined = outline(rest)
        trajectory = outlined.trajectory
        if not isinstance(trajectory, TrajectoryOutline) or bytes(trajectory.steps) != _TAKEN_OUT:
            return None
        if rest.count(_TAKEN_OUT) > 1 or not has_each_key_once(rest, outlined):
            return None
        recording = reader.rest(rest)
        assert recording.trajectory is not None  # the outline shows it
        force_setattr(recording.trajectory, "steps", reader.steps(steps))
    except (MsgspecError, RecursionError):
        return None
    return recording


def _parts(line: bytes) -> tuple[bytes, bytes] | None:
    """The line without its steps, and the steps, where they seem to be; None where they do not seem to be anywhere."""
    start = line.find(_KEY) + len(_KEY)
    start += line[start : start + 1] == b" "
    if start < len(_KEY) or line[start : start + 1] != b"[":
        return None
    tail, end = max(start, len(line) - _TAIL), len(line)
    for key in _NEXT_KEYS:
        following = line.rfind(key, tail)
        if following > 0:
            end = following
            break
    end = line.rfind(b"]", start, end) + 1
    return line[:start] + _TAKEN_OUT + line[end:], line[start:end]
