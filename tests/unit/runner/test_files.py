from __future__ import annotations

from pathlib import Path

import pytest

from oloproof.errors import UsageError
from oloproof.runner.files import File, files


def test_lines_and_bytes(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"one\n\ntwo")
    file = File(str(path))
    assert list(file.lines()) == [b"one\n", b"\n", b"two"]
    assert (file.head(), file.read()) == (b"one\n\ntwo", b"one\n\ntwo")
    with file.open() as opened:
        assert opened.read(3) == b"one"


def test_what_is_too_long_is_refused_where_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"one\nlonger\n")
    with pytest.raises(UsageError, match=r"a.jsonl:2: the line is longer than 5 bytes \[OLO693\]"):
        list(File(str(path), most_bytes=5).lines())
    with pytest.raises(UsageError, match=r"a.jsonl: the file is longer than 5 bytes \[OLO693\]"):
        File(str(path), most_bytes=5).read()


@pytest.mark.parametrize("name", ["gone.json", "."])
def test_a_file_that_cannot_be_read_is_told(tmp_path: Path, name: str) -> None:
    file = File(str(tmp_path / name))
    for attempt in (file.head, file.read, lambda: list(file.lines())):
        with pytest.raises(UsageError, match="OLO313"):
            attempt()


def test_a_file_that_is_named_twice_is_one(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    names = [str(tmp_path / "a"), str(tmp_path / "." / "a"), str(tmp_path / "b"), str(tmp_path / "c")]
    assert [file.name for file in files(names)] == [names[0], names[3]]
