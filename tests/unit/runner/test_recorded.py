"""Files of recordings as the attempts of a run."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oloproof.errors import UsageError
from oloproof.model.case import Case
from oloproof.model.fingerprints import Fingerprints
from oloproof.model.project import Project, RecordedSystem, SystemSpec
from oloproof.runner.recorded import Joined, Recordings


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


class Counted(list[Case]):
    """Cases, and how many were taken from them so far."""

    taken = 0

    def __iter__(self) -> Iterator[Case]:
        for case in list.__iter__(self):
            self.taken += 1
            yield case


def of(names: str) -> Counted:
    return Counted(Case(id=name) for name in names)


@given(st.permutations("abcdefgh"), st.integers(0, 8), st.lists(st.sampled_from("abcdefghxy"), max_size=5))
def test_cases_are_found_in_any_order_and_the_rest_is_known(order: list[str], count: int, later: list[str]) -> None:
    cases = of("abcdefgh")
    joined = Joined(cases)
    asked = [*order[:count], *later]
    for name in asked:
        found = joined.find(name)
        assert (found.id if found is not None else None) == (name if name in "abcdefgh" else None)
    assert [case.id for case in joined.rest()] == [name for name in "abcdefgh" if name not in asked]


def test_in_the_order_of_the_dataset_no_case_is_read_before_its_recording_comes() -> None:
    cases = of("abcdef")
    joined = Joined(cases)
    for number, name in enumerate("abcdef", 1):
        for _ in range(2):
            assert joined.find(name) is cases[number - 1]
        assert cases.taken == number


def test_a_stop_among_trials_leaves_out_what_was_not_read_and_nothing_else(tmp_path: Path) -> None:
    own = recordings(tmp_path, *LINES, {"case": "b", "trial": 2}, cases=["a", "b"])
    attempts = []
    for item in own.attempts():
        error = item.attempt.error
        attempts.append((item.attempt.case_id, item.attempt.trial, error and error.kind))
        if len(attempts) == 3:
            own.stop()
    assert attempts == [("a", 1, None), ("b", 1, None), ("a", 2, None), ("b", 2, "not_run")]


@pytest.mark.parametrize("trials", [1, 2])
def test_equal_hashes_are_no_repetition(tmp_path: Path, trials: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def all_alike(prints: Fingerprints) -> frozenset[int]:
        return frozenset(hash((case, trial)) for case in "ab" for trial in (1, 2))

    monkeypatch.setattr(Fingerprints, "repeated", all_alike)
    lines = [{"case": case, "trial": trial} for trial in range(1, trials + 1) for case in "ab"]
    own = recordings(tmp_path, *lines, cases=["a", "b"])
    assert len(list(own.attempts())) == 2 * trials
    twice = recordings(tmp_path, *lines, lines[0], cases=["a", "b"])
    with pytest.raises(UsageError, match=r"case 'a', trial 1, was recorded already at .*traces.jsonl:1 \[OLO310\]"):
        list(twice.attempts())
