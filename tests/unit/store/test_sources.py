from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from oloproof.errors import BrokenError
from oloproof.importers.recordings import encode
from oloproof.model.recording import Recording
from oloproof.store import file_digest
from oloproof.store.sources import Checked, Sources

FIRST, SECOND = Recording(case="a", output=1), Recording(case="b", output=2)


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    path = tmp_path / "traces.jsonl"
    path.write_bytes(encode(FIRST) + encode(SECOND))
    return path


def read(path: Path, *, digest: str, offset: int = 0, length: int | None = None) -> Recording:
    sources = Sources(path.parent)
    try:
        return sources.read(
            path.name, digest=digest, offset=offset, length=len(encode(FIRST)) if length is None else length
        )
    finally:
        sources.close()


def test_the_digest_is_the_files_sha256(traces: Path) -> None:
    assert file_digest(traces) == hashlib.sha256(traces.read_bytes()).hexdigest()


def test_a_recording_is_read_back_from_its_place(traces: Path) -> None:
    digest = file_digest(traces)
    assert read(traces, digest=digest) == FIRST
    assert read(traces, digest=digest, offset=len(encode(FIRST)), length=len(encode(SECOND))) == SECOND


def test_absolute_paths_are_taken_as_they_are(traces: Path, tmp_path: Path) -> None:
    sources = Sources(tmp_path / "elsewhere")
    try:
        found = sources.read(str(traces), digest=file_digest(traces), offset=0, length=len(encode(FIRST)))
        assert found == FIRST
    finally:
        sources.close()


def test_a_changed_file_is_told(traces: Path) -> None:
    digest = file_digest(traces)
    traces.write_bytes(traces.read_bytes().replace(b"1", b"3"))
    with pytest.raises(BrokenError, match=r"traces\.jsonl, and that file has changed since") as caught:
        read(traces, digest=digest)
    assert caught.value.problems[0].code == "OLO508"


def test_a_lost_file_is_told(traces: Path) -> None:
    digest = file_digest(traces)
    traces.unlink()
    with pytest.raises(BrokenError, match="is gone"):
        read(traces, digest=digest)


def test_a_directory_in_its_place_is_told(traces: Path) -> None:
    traces.unlink()
    traces.mkdir()
    with pytest.raises(BrokenError, match=r"cannot be read \(Is a directory\)"):
        read(traces, digest="")


@pytest.mark.parametrize(("offset", "length"), [(1, 9), (0, 5), (10_000, 10)])
def test_a_place_without_a_recording_is_told(traces: Path, offset: int, length: int) -> None:
    with pytest.raises(BrokenError, match=f"holds no recording at byte {offset}"):
        read(traces, digest=file_digest(traces), offset=offset, length=length)


def test_a_file_that_was_checked_before_is_checked_again_once_it_changed(traces: Path) -> None:
    digest, size = file_digest(traces), len(encode(FIRST))
    checked = Checked()

    def again() -> Recording:
        sources = Sources(traces.parent, checked)
        try:
            return sources.read(traces.name, digest=digest, offset=0, length=size)
        finally:
            sources.close()

    assert [again(), again()] == [FIRST, FIRST]
    before = traces.stat()
    traces.write_bytes(traces.read_bytes().replace(b"1", b"3"))
    os.utime(traces, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(BrokenError, match="has changed since"):
        again()
