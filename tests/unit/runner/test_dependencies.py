"""What a system is made of besides its code."""

from __future__ import annotations

from pathlib import Path

import pytest

from oloproof.errors import UsageError
from oloproof.model.project import DependsOn
from oloproof.runner.dependencies import with_dependencies


def test_code_by_itself_stays_as_it_is() -> None:
    assert with_dependencies("abc", None) == "abc"


def test_an_empty_variable_is_not_an_absent_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named = DependsOn(directory=str(tmp_path), env=("MODEL",))
    monkeypatch.setenv("MODEL", "")
    empty = with_dependencies("", named)
    monkeypatch.delenv("MODEL")
    assert with_dependencies("", named) != empty


def test_a_file_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "weights"
    named = DependsOn(directory=str(tmp_path), files=("weights",))
    with path.open("wb") as file:
        file.truncate(65 * 1024 * 1024)
    before = with_dependencies("", named)
    with path.open("ab") as file:
        file.write(b"1")
    assert with_dependencies("", named) != before


def test_a_file_that_cannot_be_read_is_no_unchanged_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="OLO423"):
        with_dependencies("", DependsOn(directory=str(tmp_path), files=("gone.md",)))
