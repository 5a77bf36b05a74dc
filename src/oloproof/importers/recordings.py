"""Our own ``traces.jsonl``: one recording a line, streamed, every problem located by its line.

A file of recordings is read by the hundred thousand lines, so the good line is decoded once and compared a little;
everything that explains a bad one happens after it failed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import MsgspecError, Struct
from msgspec.json import encode as encode_json
from msgspec.structs import replace

from oloproof.errors import MOST_PROBLEMS, Problem, UsageError
from oloproof.importers import codes
from oloproof.importers.duplicates import repeated_key
from oloproof.importers.parted import read_sound
from oloproof.inputs import BOM
from oloproof.model.case import AttemptError
from oloproof.model.recording import READ, Reader, Recording
from oloproof.model.trajectory import contradiction

MOST_TRIALS: Final = 1_000_000

_BLOCK_LINES: Final = 64
_BLOCK_BYTES: Final = 1 << 18


class Line(Struct, frozen=True, gc=False):
    """Where a recording stands: its line, from 1, and its bytes in the file (a byte order mark is not among them)."""

    number: int
    offset: int
    length: int


def decode(
    lines: Iterable[bytes], *, reader: Reader = READ, file: str | None = None
) -> Iterator[tuple[Line, Recording]]:
    """Read recordings from a file's lines, as iterating over it in binary mode yields them. Blank lines are skipped.

    After the first problem nothing more is yielded, but the rest is still checked; then a :class:`UsageError` tells
    the first 50 problems. ``file`` is how they name the file.
    """
    problems: list[Problem] = []
    for places, texts in _blocks(lines):
        # The block is held by this loop alone, so that the next one is built in the memory that it leaves, still warm.
        for line, recording in zip(places, _read_block(texts, reader), strict=True):
            if isinstance(recording, Problem):
                problems.append(replace(recording, file=file, line=line.number))
                if len(problems) == MOST_PROBLEMS:
                    raise UsageError(problems)
            elif not problems:
                yield line, recording
    if problems:
        raise UsageError(problems)


def encode(recording: Recording) -> bytes:
    """The recording as one line, with its newline."""
    return encode_json(recording) + b"\n"


def _blocks(lines: Iterable[bytes]) -> Iterator[tuple[list[Line], list[bytes]]]:
    """The lines that are not blank, and where they stand, some at a time: doing one thing to many lines and then the
    next thing to all of them keeps the code at hand, which counts for more than having one line there."""
    places: list[Line] = []
    texts: list[bytes] = []
    offset = size = 0
    for number, text in enumerate(lines, 1):
        start, offset = offset, offset + len(text)
        if number == 1 and text.startswith(BOM):
            text = text[len(BOM) :]
            start += len(BOM)
        if text.isspace() or not text:
            continue
        places.append(Line(number, start, len(text)))
        texts.append(text)
        size += len(text)
        if len(texts) == _BLOCK_LINES or size >= _BLOCK_BYTES:
            yield places, texts
            places, texts, size = [], [], 0
    if texts:
        yield places, texts


def _read_block(texts: list[bytes], reader: Reader) -> list[Recording | Problem]:
    """What is on each of these lines."""
    found = [read_sound(text, reader) or _read_alone(text, reader) for text in texts]
    return list(map(_checked, found))


def _read_alone(text: bytes, reader: Reader) -> Recording | Problem:
    """The recording on a line, or why there is none."""
    try:
        recording = reader.line(text)
    except (MsgspecError, RecursionError) as error:
        from oloproof.importers.unreadable import explained  # needed by files that are wrong

        return explained(text, error)
    key = repeated_key(text)
    return recording if key is None else Problem("OLO305", f"the key {key!r} is there twice", "keep one of them")


def _checked(recording: Recording | Problem) -> Recording | Problem:
    """The recording, or what is wrong with it that the types cannot say."""
    if isinstance(recording, Problem):
        return recording
    if not recording.case:
        return Problem(codes.BAD_VALUE, "case: an empty id", "name the case of the dataset that this recorded")
    if not 1 <= recording.trial <= MOST_TRIALS:
        hint = f"trials are numbered 1, 2, 3 … up to {MOST_TRIALS:,}"
        return Problem(codes.BAD_VALUE, f"trial: {str(recording.trial)[:20]}", hint)
    if isinstance(recording.error, AttemptError) and recording.error.kind == "not_run":
        hint = "leave the line out: a case of the dataset without a recording is missing"
        return Problem(codes.BAD_VALUE, "error.kind: what did not run cannot be recorded", hint)
    if recording.trajectory is not None and (wrong := contradiction(recording.trajectory)):
        return Problem("OLO304", f"the trajectory of {recording.case!r} contradicts itself: {wrong}")
    return recording
