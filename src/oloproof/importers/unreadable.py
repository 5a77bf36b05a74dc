"""Why a line is no recording, in words, from what msgspec said of it."""

from __future__ import annotations

import re
from typing import get_args

from msgspec import DecodeError, Struct, ValidationError

from oloproof.errors import Problem, did_you_mean, shown
from oloproof.importers import codes
from oloproof.importers.documents import not_json
from oloproof.model.case import AttemptError, ErrorKind
from oloproof.model.recording import Recording
from oloproof.model.trajectory import (
    Checkpoint,
    CheckpointKind,
    ConstraintCheck,
    Step,
    StepKind,
    TerminalStatus,
    Trajectory,
)

_AT = re.compile(r"(?P<what>.*) - at `\$\.?(?P<path>.*)`", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<key>.*)`", re.DOTALL)
_ABSENT = re.compile(r"Object missing required field `(?P<key>.*)`")

_KEYS: tuple[tuple[re.Pattern[str], type[Struct]], ...] = (
    (re.compile(r""), Recording),
    (re.compile(r"error"), AttemptError),
    (re.compile(r"trajectory"), Trajectory),
    (re.compile(r"trajectory\.steps\[\d+\]"), Step),
    (re.compile(r"trajectory\.constraints\[\d+\]"), ConstraintCheck),
    (re.compile(r"trajectory\.checkpoints\[\d+\]"), Checkpoint),
)
_WORDS: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = (
    (re.compile(r"trajectory\.steps\[\d+\]\.kind"), get_args(StepKind)),
    (re.compile(r"trajectory\.checkpoints\[\d+\]\.kind"), get_args(CheckpointKind)),
    (re.compile(r"trajectory\.terminal_status"), get_args(TerminalStatus)),
    (re.compile(r"error\.kind"), tuple(kind for kind in get_args(ErrorKind) if kind != "not_run")),
)
"""What may stand where, by the path that msgspec gives (it counts array elements from 0, as we do steps from 1)."""


_WHOLE = {
    "step": "trajectory.steps[0]",
    "check": "trajectory.constraints[0]",
    "checkpoint": "trajectory.checkpoints[0]",
    "terminal_status": "trajectory.terminal_status",
}
_STREAMED = re.compile(rf"^(?:{'|'.join(_WHOLE)})\b(?=\.|$)")


def explained(text: bytes, error: Exception) -> Problem:
    """The problem with a line that raised ``error`` when it was read; where the line is, the caller knows."""
    match error:
        case ValidationError():
            return _invalid(str(error))
        case DecodeError():
            wrong = not_json(text, error)
            what = f"the line is not JSON: {wrong}"
            return Problem("OLO301", what, "one JSON object a line", column=wrong.column)
        case _:
            return Problem("OLO301", "the line is nested too deeply to be read")


def remedy(error: ValidationError, keys: tuple[str, ...]) -> str:
    """What may stand where an answer is wrong, "" where msgspec says it itself. An answer is written like a recording;
    ``keys`` are its own outermost ones, and what it streams stands outside of a trajectory."""
    found = _AT.fullmatch(str(error))
    if found is None:
        unknown = _UNKNOWN.fullmatch(str(error))
        return _outermost(unknown["key"], keys) if unknown else ""
    path = _STREAMED.sub(lambda first: _WHOLE[first[0]], found["path"], count=1)
    return _invalid(f"{found['what']} - at `$.{path}`").hint


def _outermost(key: str, keys: tuple[str, ...]) -> str:
    """Of a key that an answer does not have: the one that is misspelt, or where an answer of another form belongs."""
    from difflib import get_close_matches  # only where a key is wrong

    near = get_close_matches(key.lower(), keys, n=1, cutoff=0.75)
    return f"did you mean {near[0]!r}?" if near else 'what the agent answered stands under output: {"output": …}'


def _invalid(said: str) -> Problem:
    """A line that is JSON and no recording, from what msgspec says of it."""
    found = _AT.fullmatch(said)
    what, path = (found["what"], found["path"]) if found else (said, "")
    within = f" in {path}" if path else ""
    if unknown := _UNKNOWN.fullmatch(what):
        known = next((kind.__struct_fields__ for at, kind in _KEYS if at.fullmatch(path)), ())
        return Problem(
            "OLO302",
            f"unknown key {shown(unknown['key'])}{within}",
            did_you_mean(unknown["key"], known, otherwise="known here"),
        )
    if absent := _ABSENT.fullmatch(what):
        return Problem(codes.BAD_VALUE, f"the key {absent['key']!r} is missing{within}")
    if not path:
        hint = "a line is one object: case, trial, output, error, trajectory; of another format: `--format auto`"
        return Problem(codes.BAD_VALUE, what.replace("`", ""), hint)
    words = next((words for at, words in _WORDS if at.fullmatch(path)), ())
    if path == "trajectory":
        return Problem(codes.BAD_VALUE, f"{path}: {what.replace('`', '')}", 'write {"steps": […]}')
    hint = f"one of: {', '.join(words)}" if words else ""
    return Problem(codes.BAD_VALUE, f"{path}: {what.replace('`', '')}", hint)
