"""The system under test in its worker: cases go out, attempts come back."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial

from oloproof.model.case import Attempt, AttemptError, Case
from oloproof.model.project import CallableSystem, Retry
from oloproof.runner.desk import Loss
from oloproof.runner.ports import EACH_ONCE, SILENT, Launch
from oloproof.runner.protocol import Declared, Judged, LoadSystem, Ran, RunCase
from oloproof.runner.seat import Seat
from oloproof.runner.supervisor import AHEAD, Supervisor
from oloproof.runner.turns import Again, Turn, again, attempt_of, not_run, order_of, turns


class WorkerSystem:
    """A system in a worker process."""

    def __init__(self, kind: CallableSystem, config: str) -> None:
        self._attempts = _Attempts(kind.launching.retry)
        load = LoadSystem(kind.target, os.fsencode(kind.directory), kind.timeout_s, spare_chars=kind.spare_chars)
        self._seat = Seat(load, config=config, slots=kind.concurrency)
        self._supervisor: Supervisor[Turn, Attempt] = Supervisor(
            self._seat,
            self._attempts,
            ahead=AHEAD if kind.launching.max_per_minute is None else 0,
            launching=kind.launching,
        )
        self.identity = Declared()

    @property
    def log(self) -> str:
        return self._seat.printed

    @property
    def warnings(self) -> tuple[str, ...]:
        return self._seat.warnings

    def run(self, cases: Iterable[Case], launch: Launch = EACH_ONCE) -> Iterator[Attempt]:
        def began(turn: Turn) -> None:
            launch.listener.began(turn.case.id, turn.trial)

        self._attempts.listener = launch.listener
        run = partial(self._supervisor.run, may_launch=launch.may_launch, began=began, waiting=launch.listener.waiting)
        return run(turns(cases, launch), window=launch.window)

    def stop(self) -> None:
        self._supervisor.stop()

    @contextmanager
    def started(self) -> Iterator[WorkerSystem]:
        """The system once it is loaded, until the block ends. The worker never outlives it."""
        try:
            self.identity = self._seat.start()
            yield self
        except Exception:
            self._seat.fail()
            raise
        except BaseException:
            self._seat.kill()
            raise
        self._seat.close()


class _Attempts:
    """The desk of a system: a turn becomes an attempt, whatever its end."""

    def __init__(self, retry: Retry | None) -> None:
        self._retry = retry
        self.listener = SILENT

    def order(self, n: int, job: Turn) -> RunCase:
        return order_of(n, job)

    def answered(self, job: Turn, word: Ran | Judged) -> Attempt:
        if not isinstance(word, Ran):
            return self.lost(job, Loss("system_error", "the worker answered what was not asked"))
        return attempt_of(job, word)

    def lost(self, job: Turn, loss: Loss) -> Attempt:
        error = AttemptError(kind=loss.kind, message=loss.message)
        return Attempt(
            case_id=job.case.id,
            trial=job.trial,
            error=error,
            trajectory=loss.trajectory,
            state=loss.state,
            log=loss.log,
            earlier=job.earlier,
        )

    def again(self, job: Turn, result: Attempt) -> Again | None:
        return again(self._retry, job, result, self.listener)

    def not_run(self, job: Turn) -> Attempt:
        return not_run(job)
