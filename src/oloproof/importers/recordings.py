"""Our own ``traces.jsonl``: one recording a line, streamed, every problem located by its line.

A file of recordings is read by the hundred thousand lines, so the good line takes one decode and a few comparisons;
everything that explains a bad one happens after it failed.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from typing import get_args

from msgspec import DecodeError, MsgspecError, Struct, ValidationError
from msgspec.json import Decoder
from msgspec.json import encode as encode_json

from oloproof.errors import Problem, UsageError
from oloproof.model.case import AttemptError, ErrorKind, Recording, to_attempt, to_case
from oloproof.model.trajectory import (
    Checkpoint,
    CheckpointKind,
    ConstraintCheck,
    Step,
    StepKind,
    TerminalStatus,
    Trajectory,
    contradiction,
)

__all__ = ["Line", "decode", "encode", "to_attempt", "to_case"]

MOST_PROBLEMS = 50
BOM = b"\xef\xbb\xbf"

_decoder = Decoder(Recording)


class Line(Struct, frozen=True, gc=False):
    """Where a recording stands: its line, from 1, and its bytes in the file (a byte order mark is not among them)."""

    number: int
    offset: int
    length: int


def decode(lines: Iterable[bytes], *, file: str | None = None) -> Iterator[tuple[Line, Recording]]:
    """Read recordings from a file's lines, as iterating over it in binary mode yields them. Blank lines are skipped.

    After the first problem nothing more is yielded, but the rest is still checked; then a :class:`UsageError` tells
    the first 50 problems. ``file`` is how they name the file.
    """
    problems: list[Problem] = []
    offset = 0
    for number, text in enumerate(lines, 1):
        start, offset = offset, offset + len(text)
        if number == 1 and text.startswith(BOM):
            text = text[len(BOM) :]
            start += len(BOM)
        try:
            recording = _decoder.decode(text)
        except (MsgspecError, RecursionError) as error:
            if text.strip():
                problems.append(_undecodable(text, error, file, number))
        else:
            if problem := _contradictory(recording, file, number):
                problems.append(problem)
            elif not problems:
                yield Line(number, start, len(text)), recording
        if len(problems) == MOST_PROBLEMS:
            break
    if problems:
        raise UsageError(problems)


def encode(recording: Recording) -> bytes:
    """The recording as one line, with its newline."""
    return encode_json(recording) + b"\n"


def _contradictory(recording: Recording, file: str | None, number: int) -> Problem | None:
    """What the types cannot say."""
    if not recording.case:
        return Problem(
            file, number, 0, "OLO303", "case: an empty id", "name the case of the dataset that this recorded"
        )
    if recording.trial < 1:
        return Problem(file, number, 0, "OLO303", f"trial: {recording.trial}", "trials are numbered 1, 2, 3 …")
    if recording.trajectory is not None and (wrong := contradiction(recording.trajectory)):
        return Problem(file, number, 0, "OLO304", f"the trajectory of {recording.case!r} contradicts itself: {wrong}")
    return None


# --- explaining a line that could not be decoded ---------------------------------------------------------------------

_AT = re.compile(r"(?P<what>.*) - at `\$\.?(?P<path>.*)`", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<key>.*)`", re.DOTALL)
_ABSENT = re.compile(r"Object missing required field `(?P<key>.*)`")
_BYTE = re.compile(r"\(byte (?P<byte>\d+)\)")

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
    (re.compile(r"error\.kind"), get_args(ErrorKind)),
)
"""What may stand where, by the path that msgspec gives (it counts array elements from 0, as we do steps from 1)."""


def _undecodable(text: bytes, error: Exception, file: str | None, number: int) -> Problem:
    match error:
        case ValidationError():
            return _invalid(str(error), file, number)
        case DecodeError():
            said = str(error)
            found = _BYTE.search(said)
            column = len(text[: int(found["byte"])].decode(errors="replace")) + 1 if found else 0
            what = "it ends too early" if "truncated" in said else said.removeprefix("JSON is malformed: ")
            what = _BYTE.sub("", what).strip()
            return Problem(file, number, column, "OLO301", f"the line is not JSON: {what}", "one JSON object a line")
        case _:
            return Problem(file, number, 0, "OLO301", "the line is nested too deeply to be read")


def _invalid(said: str, file: str | None, number: int) -> Problem:
    """A line that is JSON and no recording, from what msgspec says of it."""
    found = _AT.fullmatch(said)
    what, path = (found["what"], found["path"]) if found else (said, "")
    within = f" in {path}" if path else ""
    if unknown := _UNKNOWN.fullmatch(what):
        known = next((kind.__struct_fields__ for at, kind in _KEYS if at.fullmatch(path)), ())
        return Problem(
            file, number, 0, "OLO302", f"unknown key {_shown(unknown['key'])}{within}", _nearest(unknown["key"], known)
        )
    if absent := _ABSENT.fullmatch(what):
        return Problem(file, number, 0, "OLO303", f"the key {absent['key']!r} is missing{within}")
    if not path:
        hint = "a line is one object: case, trial, output, error, trajectory"
        return Problem(file, number, 0, "OLO303", what.replace("`", ""), hint)
    words = next((words for at, words in _WORDS if at.fullmatch(path)), ())
    hint = f"one of: {', '.join(words)}" if words else ""
    return Problem(file, number, 0, "OLO303", f"{path}: {what.replace('`', '')}", hint)


def _nearest(key: str, known: tuple[str, ...]) -> str:
    near = difflib.get_close_matches(key, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"known here: {', '.join(known)}"


def _shown(key: str) -> str:
    return repr(key if len(key) <= 80 else key[:79] + "…")
