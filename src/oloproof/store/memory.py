"""A store for a run that is looked at once, by the program that made it."""

from __future__ import annotations

from pathlib import Path

from oloproof.model.case import Attempt
from oloproof.store.schema import connect_in_memory
from oloproof.store.store import Store


class MemoryStore(Store):
    """A store that is written nowhere. Closing it forgets what it holds."""

    def __init__(self) -> None:
        super().__init__(Path(":memory:"))
        self._connection = connect_in_memory()

    def _is_there(self) -> bool:
        return True

    def keep_waiting(self, run_id: str, attempt: Attempt) -> None:
        """Nothing here outlives the process."""

    def _lock(self, run_id: str) -> bool:
        return True
