"""Foreign files from memory, imported; whatever comes out obeys what every import must."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO

import pytest
from msgspec import Struct

from oloproof.errors import UsageError
from oloproof.importers import recordings
from oloproof.importers.format import Confidence
from oloproof.importers.head import Head
from oloproof.importers.reading import Import, Imported, Summary
from oloproof.importers.registry import FORMATS, importer
from oloproof.model.recording import Recording
from oloproof.model.trajectory import Step, contradiction


class Memory:
    """A file that is only in memory."""

    def __init__(self, data: bytes, name: str = "runs/file.json") -> None:
        self.data = data
        self.name = name

    def head(self) -> bytes:
        return self.data[: 64 * 1024]

    def lines(self) -> Iterator[bytes]:
        return iter(io.BytesIO(self.data))

    def read(self) -> bytes:
        return self.data

    def open(self) -> BinaryIO:
        return io.BytesIO(self.data)


class Found(Struct, frozen=True):
    """What an import found: its recordings, the losses of all files together, and the summary of the first file."""

    recordings: tuple[Recording, ...]
    losses: dict[str, int]
    summary: Summary
    lines: tuple[Imported, ...] = ()

    @property
    def only(self) -> Recording:
        (recording,) = self.recordings
        return recording

    @property
    def steps(self) -> list[Step]:
        """The steps of the only recording."""
        trajectory = self.only.trajectory
        assert trajectory is not None
        return list(trajectory.steps)

    @property
    def paired(self) -> list[tuple[str, str | None, str | None, int | None]]:
        """What kind each step of the only recording is, its tool, its call and its turn."""
        return [(step.kind, step.tool_name, step.call_id, step.turn) for step in self.steps]

    @property
    def names(self) -> list[tuple[str, int]]:
        return [(recording.case, recording.trial) for recording in self.recordings]


def crossed(first: str, second: str) -> list[tuple[str, str | None, str | None, int | None]]:
    """:attr:`Found.paired` where find and look are called together, and answered the other way round."""
    return [
        ("message", None, None, None),
        ("tool_call", "find", first, 1),
        ("tool_call", "look", second, 1),
        ("tool_result", "look", second, None),
        ("tool_result", "find", first, None),
    ]


def imported(
    name: str,
    *files: bytes | Any,
    file: str = "runs/file.json",
    files_by_name: Mapping[str, bytes] | None = None,
    metadata: Sequence[str] = (),
) -> Found:
    """The files read as the format ``name``; what is not bytes is written as JSON.

    ``file`` names the first file (further ones get a number before their suffix). No recording contradicts itself, all
    are read back as they were, and every loss is explained.
    """
    sources = [Memory(data, each) for each, data in (files_by_name or {}).items()]
    for number, value in enumerate(files, 1):
        stem, dot, suffix = file.rpartition(".")
        each = file if number == 1 else f"{stem}_{number}{dot}{suffix}"
        sources.append(Memory(value if isinstance(value, bytes) else json.dumps(value).encode(), each))
    found = Import(sources, name, metadata=metadata)
    lines = tuple(found.recordings())
    losses: dict[str, int] = {}
    for _, kind, count, meaning in found.losses:
        assert meaning
        losses[kind] = losses.get(kind, 0) + count
    for line in lines:
        if line.recording.trajectory is not None:
            assert contradiction(line.recording.trajectory) is None
    again = [recording for _, recording in recordings.decode([line.line for line in lines])]
    assert again == [line.recording for line in lines]
    return Found(tuple(again), losses, found.files[sources[0].name].summary, lines)


def as_lines(*values: Any) -> bytes:
    """JSON Lines."""
    return "\n".join(json.dumps(value) for value in values).encode()


def refusal(name: str, data: bytes, file: str = "f.json") -> list[tuple[int, int, str, str]]:
    """What is told of a file that cannot be read: line, column, code and message."""
    with pytest.raises(UsageError) as caught:
        imported(name, data, file=file)
    assert {problem.file for problem in caught.value.problems} == {file}
    return [(problem.line, problem.column, problem.code, problem.message) for problem in caught.value.problems]


def claims(data: bytes | Any, file: str = "runs/file.json") -> dict[str, Confidence]:
    """How sure each format is that the file is its own; those that are not at all are left out."""
    head = Head(data if isinstance(data, bytes) else json.dumps(data).encode(), file)
    found = {name: importer(name).sniff(head) for name in FORMATS}
    return {name: confidence for name, confidence in found.items() if confidence is not None}
