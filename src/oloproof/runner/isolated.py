"""A callable whose cases run in processes of their own: as many workers as cases at a time, each with one case.

A worker is used again until its case is late or ends it. Then it is killed, with whatever still runs in it, and the
next case gets a new one: what hangs, crashes or eats memory costs its own case and no other.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from threading import Lock

from msgspec.structs import replace

from oloproof.model.case import Attempt, AttemptError, Case
from oloproof.model.project import CallableSystem
from oloproof.runner.desk import Loss
from oloproof.runner.launching import always
from oloproof.runner.pool import Pool
from oloproof.runner.ports import SILENT, Listener
from oloproof.runner.protocol import Declared, Judged, LoadSystem, Ran, RunCase
from oloproof.runner.supervisor import Supervisor


class IsolatedSystem:
    """A system in a pool of workers."""

    def __init__(self, kind: CallableSystem, config: str) -> None:
        directory = os.fsencode(kind.directory)
        self._load = LoadSystem(kind.target, directory, kind.timeout_s, kind.memory_mb, kind.spare_chars)
        self._config = config
        self._pool = Pool(self._ask, concurrency=kind.concurrency, launching=kind.launching)
        self._lock = Lock()
        self._all: list[Supervisor[RunCase, Ran]] = []
        self._idle: list[Supervisor[RunCase, Ran]] = []
        self.identity = Declared()

    @property
    def log(self) -> str:
        with self._lock:
            return "".join(supervisor.log for supervisor in self._all)

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(each for supervisor in self._all for each in supervisor.warnings))

    def run(
        self,
        cases: Iterable[Case],
        *,
        trials: Sequence[int] = (1,),
        window: int | None = None,
        done: Container[tuple[str, int]] = frozenset(),
        may_launch: Callable[[], bool] = always,
        listener: Listener = SILENT,
    ) -> Iterator[Attempt]:
        run = partial(self._pool.run, may_launch=may_launch, listener=listener)
        return run(cases, trials=trials, window=window, done=done)

    def stop(self) -> None:
        self._pool.stop()

    @contextmanager
    def started(self) -> Iterator[IsolatedSystem]:
        """The system once one worker has loaded it, until the block ends. No worker outlives it."""
        first = self._hire()
        try:
            self.identity = first.start()
        except BaseException:
            first.kill()
            raise
        self._idle.append(first)
        try:
            yield self
        except BaseException as exc:
            self._pool.stop()
            resting = list(self._idle) if isinstance(exc, Exception) else []
            for supervisor in self._all:
                if supervisor not in resting:
                    supervisor.abort()
            for supervisor in resting:
                supervisor.fail()
            raise
        for supervisor in self._all:
            supervisor.dismiss()
        for supervisor in self._all:
            supervisor.close()

    def _hire(self) -> Supervisor[RunCase, Ran]:
        supervisor = Supervisor(self._load, _Rans(), config=self._config, concurrency=1)
        with self._lock:
            self._all.append(supervisor)
        return supervisor

    def _ask(self, order: RunCase) -> Ran:
        with self._lock:
            idle = self._idle.pop() if self._idle else None
        supervisor = idle or self._hire()
        (ran,) = supervisor.run([order], window=1)
        if ran.error is not None and ran.error.kind == "timeout":
            supervisor.replace_worker()
        with self._lock:
            self._idle.append(supervisor)
        return ran


class _Rans:
    """The desk of a worker with one case: whatever its end, it is an answer."""

    def order(self, n: int, job: RunCase) -> RunCase:
        return replace(job, n=n)

    def answered(self, job: RunCase, word: Ran | Judged) -> Ran:
        if not isinstance(word, Ran):
            return self.lost(job, Loss("system_error", "the worker answered what was not asked"))
        return word

    def lost(self, job: RunCase, loss: Loss) -> Ran:
        error = AttemptError(kind=loss.kind, message=loss.message)
        return Ran(job.n, error=error, trajectory=loss.trajectory, state=loss.state, log=loss.log)

    def again(self, job: RunCase, result: Ran) -> None:
        return None

    def not_run(self, job: RunCase) -> Ran:
        return Ran(job.n, error=AttemptError(kind="not_run", message="the run was stopped before this case began"))
