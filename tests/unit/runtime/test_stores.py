"""The stores that need no server, under the laws of all stores."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fakes.store_laws import Opened, StoreLaws
from oloproof.errors import UsageError
from oloproof.runtime import MemoryStore, PostgresStore, SqliteStore


class TestMemory(StoreLaws):
    @pytest.fixture
    def opened(self) -> Opened:
        store = MemoryStore()
        return lambda: store


class TestSqlite(StoreLaws):
    @pytest.fixture
    def opened(self, tmp_path: Path) -> Iterator[Opened]:
        handles: list[SqliteStore] = []

        def another() -> SqliteStore:
            handles.append(SqliteStore(tmp_path / "runs.db"))
            return handles[-1]

        yield another
        for handle in handles:
            handle.close()


def test_without_its_package_a_store_in_postgres_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(UsageError) as raised:
        PostgresStore("postgresql://localhost/runs")
    assert [each.hint for each in raised.value.problems] == ["pip install 'oloproof[postgres]'"]
