"""The system under test in its worker: cases go out, attempts come back."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple
from zlib import crc32

from oloproof.model.case import Attempt, AttemptError, Case
from oloproof.model.project import CallableSystem
from oloproof.runner.protocol import Declared, Judged, LoadSystem, Ran, RunCase
from oloproof.runner.supervisor import Loss, Supervisor


class Turn(NamedTuple):
    """A case, and which of its trials."""

    case: Case
    trial: int

    @property
    def seed(self) -> int:
        """The same whenever this trial of this case runs: CRC-32 of ``TRIAL:ID`` in UTF-8."""
        return crc32(f"{self.trial}:{self.case.id}".encode())


def turns(
    cases: Iterable[Case], trials: Sequence[int], done: Container[tuple[str, int]] = frozenset()
) -> Iterator[Turn]:
    """One case after the other, each with all its trials but those that are ``done``, by case id and trial."""
    return (Turn(case, trial) for case in cases for trial in trials if not done or (case.id, trial) not in done)


class WorkerSystem:
    """A system in a worker process."""

    def __init__(self, kind: CallableSystem, config: str) -> None:
        self._supervisor: Supervisor[Turn, Attempt] = Supervisor(
            LoadSystem(kind.target, os.fsencode(kind.directory), kind.timeout_s),
            _Attempts(),
            config=config,
            concurrency=kind.concurrency,
        )
        self.identity = Declared()

    @property
    def log(self) -> str:
        return self._supervisor.log

    def run(
        self,
        cases: Iterable[Case],
        *,
        trials: Sequence[int] = (1,),
        window: int | None = None,
        done: Container[tuple[str, int]] = frozenset(),
    ) -> Iterator[Attempt]:
        return self._supervisor.run(turns(cases, trials, done), window=window)

    def stop(self) -> None:
        self._supervisor.stop()

    @contextmanager
    def started(self) -> Iterator[WorkerSystem]:
        """The system once it is loaded, until the block ends. The worker never outlives it."""
        try:
            self.identity = self._supervisor.start()
            yield self
        except BaseException:
            self._supervisor.kill()
            raise
        self._supervisor.close()


class _Attempts:
    """The desk of a system: a turn becomes an attempt, whatever its end."""

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
        )

    def not_run(self, job: Turn) -> Attempt:
        return not_run(job)


def order_of(n: int, turn: Turn) -> RunCase:
    """What the system may know of a case: not what is expected of it."""
    case = turn.case
    return RunCase(n, case.id, case.input, turn.seed, turn.trial, case.metadata)


def attempt_of(turn: Turn, ran: Ran) -> Attempt:
    """The attempt that an answer describes."""
    return Attempt(
        case_id=turn.case.id,
        trial=turn.trial,
        output=ran.output,
        error=ran.error,
        trajectory=ran.trajectory,
        state=ran.state,
        log=ran.log,
        duration_ms=ran.duration_ms,
    )


def not_run(turn: Turn) -> Attempt:
    """The attempt that the run ended before."""
    error = AttemptError(kind="not_run", message="the run was stopped before this case began")
    return Attempt(case_id=turn.case.id, trial=turn.trial, error=error)
