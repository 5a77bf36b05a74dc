"""Our own ``traces.jsonl``: one recording a line, streamed, every problem located by its line.

A file of recordings is read by the hundred thousand lines, so the good line takes one decode and a few comparisons;
everything that explains a bad one happens after it failed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from msgspec import MsgspecError, Struct
from msgspec.json import encode as encode_json

from oloproof.errors import MOST_PROBLEMS, Problem, UsageError
from oloproof.importers.duplicates import repeated_key
from oloproof.model.case import AttemptError
from oloproof.model.recording import Recording, read
from oloproof.model.trajectory import contradiction
from oloproof.model.values import BOM

MOST_TRIALS: Final = 1_000_000


class Line(Struct, frozen=True, gc=False):
    """Where a recording stands: its line, from 1, and its bytes in the file (a byte order mark is not among them)."""

    number: int
    offset: int
    length: int


def decode(
    lines: Iterable[bytes], *, reader: Callable[[bytes], Recording] = read, file: str | None = None
) -> Iterator[tuple[Line, Recording]]:
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
            recording = reader(text)
        except (MsgspecError, RecursionError) as error:
            if text.strip():
                from oloproof.importers.unreadable import explained  # needed by files that are wrong

                problems.append(explained(text, error, file=file, number=number))
        else:
            if problem := _wrong(text, recording, file, number):
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


def _wrong(text: bytes, recording: Recording, file: str | None, number: int) -> Problem | None:
    """What the types cannot say."""
    if (key := repeated_key(text)) is not None:
        return Problem("OLO305", f"the key {key!r} is there twice", "keep one of them", file=file, line=number)
    if not recording.case:
        return Problem(
            "OLO303", "case: an empty id", "name the case of the dataset that this recorded", file=file, line=number
        )
    if not 1 <= recording.trial <= MOST_TRIALS:
        hint = f"trials are numbered 1, 2, 3 … up to {MOST_TRIALS:,}"
        return Problem("OLO303", f"trial: {str(recording.trial)[:20]}", hint, file=file, line=number)
    if isinstance(recording.error, AttemptError) and recording.error.kind == "not_run":
        hint = "leave the line out: a case of the dataset without a recording is missing"
        return Problem("OLO303", "error.kind: what did not run cannot be recorded", hint, file=file, line=number)
    if recording.trajectory is not None and (wrong := contradiction(recording.trajectory)):
        return Problem(
            "OLO304", f"the trajectory of {recording.case!r} contradicts itself: {wrong}", file=file, line=number
        )
    return None
