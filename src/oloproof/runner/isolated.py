"""A callable whose cases run in processes of their own: as many workers as cases at a time, each with one case.

What hangs, crashes or eats memory costs its own case and no other.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from oloproof.model.case import Attempt, Case
from oloproof.model.project import CallableSystem
from oloproof.runner.pool import Pool
from oloproof.runner.ports import EACH_ONCE, Launch
from oloproof.runner.protocol import Declared, LoadSystem
from oloproof.runner.workers import Workers


class IsolatedSystem:
    """A system in a pool of workers."""

    def __init__(self, kind: CallableSystem, config: str) -> None:
        directory = os.fsencode(kind.directory)
        load = LoadSystem(kind.target, directory, kind.timeout_s, kind.memory_mb, kind.spare_chars)
        self._workers = Workers(load, config)
        self._pool = Pool(self._workers.ask, concurrency=kind.concurrency, launching=kind.launching)
        self.identity = Declared()

    @property
    def log(self) -> str:
        return self._workers.log

    @property
    def warnings(self) -> tuple[str, ...]:
        return self._workers.warnings

    def run(self, cases: Iterable[Case], launch: Launch = EACH_ONCE) -> Iterator[Attempt]:
        return self._pool.run(cases, launch)

    def stop(self) -> None:
        self._pool.stop()

    @contextmanager
    def started(self) -> Iterator[IsolatedSystem]:
        """The system once one worker has loaded it, until the block ends. No worker outlives it."""
        self.identity = self._workers.start()
        try:
            yield self
        except BaseException as exc:
            self._pool.stop()
            if isinstance(exc, Exception):
                self._workers.fail()
            else:
                self._workers.kill()
            raise
        self._workers.close()
