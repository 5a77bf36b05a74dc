"""Files of recordings as the attempts of a run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from oloproof.errors import UsageError
from oloproof.model.case import Case
from oloproof.model.project import Project, RecordedSystem, SystemSpec
from oloproof.runner.recorded import Recordings


def recordings(directory: Path, *lines: dict[str, Any], cases: Sequence[str] | None = None) -> Recordings:
    path = directory / "traces.jsonl"
    path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    return of_file(path, cases=cases)


def of_file(path: Path, *, cases: Sequence[str] | None = None) -> Recordings:
    system = RecordedSystem(patterns=(str(path),), files=(str(path),))
    project = Project(
        name="p",
        config=str(path.parent / "oloproof.yaml"),
        directory=str(path.parent),
        system=SystemSpec(kind=system),
        evaluators=(),
    )
    return Recordings(project, system, None if cases is None else [Case(id=name) for name in cases])


def read_until(source: Recordings, *, stopped_after: int) -> list[tuple[str, int]]:
    attempts = []
    for item in source.attempts():
        attempts.append((item.attempt.case_id, item.attempt.trial))
        if len(attempts) == stopped_after:
            source.stop()
    return attempts


LINES = [{"case": "a"}, {"case": "b"}, {"case": "a", "trial": 2}]


@pytest.mark.parametrize(
    ("after", "read", "interrupted"),
    [
        (1, [("a", 1)], True),
        (2, [("a", 1), ("b", 1)], True),
        (3, [("a", 1), ("b", 1), ("a", 2)], False),
        (9, [("a", 1), ("b", 1), ("a", 2), ("b", 2)], False),
    ],
)
def test_a_stop_that_left_recordings_unread_is_told(
    tmp_path: Path, after: int, read: list[tuple[str, int]], interrupted: bool
) -> None:
    own = recordings(tmp_path, *LINES)
    assert read_until(own, stopped_after=after) == read
    assert own.interrupted == interrupted
    joined = recordings(tmp_path, *LINES, cases=["a", "b"])
    assert {*read} <= {*read_until(joined, stopped_after=after)}
    assert joined.interrupted == interrupted


def test_a_case_that_was_brought_beside_a_dataset_is_told(tmp_path: Path) -> None:
    lines = [{"case": "a", "expected": {}}, {"case": "b", "input": None}, {"case": "c"}]
    joined = recordings(tmp_path, *lines, cases=["a", "b", "c"])
    assert joined.warnings == ()
    read_until(joined, stopped_after=9)
    told = "2 recordings bring input, expected or metadata, which are ignored beside a dataset"
    assert joined.warnings == (told,)
    own = recordings(tmp_path, *lines)
    read_until(own, stopped_after=9)
    assert own.warnings == ()


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "traces.jsonl"
    os.mkfifo(path)
    with pytest.raises(UsageError) as caught:
        of_file(path)
    (problem,) = caught.value.problems
    assert (problem.code, problem.message) == ("OLO313", "cannot be read: it is no regular file")
