"""The system under test in its worker: cases go out, attempts come back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from zlib import crc32

from oloproof.model.case import Attempt, AttemptError, Case
from oloproof.model.project import CallableSystem
from oloproof.runner.ports import Progress
from oloproof.runner.protocol import Declared, Judged, LoadSystem, Ran, RunCase
from oloproof.runner.supervisor import Loss, Supervisor

Trial = tuple[Case, int]


class WorkerSystem:
    """A system in a worker process."""

    def __init__(self, kind: CallableSystem, config: str) -> None:
        self._desk = _Attempts()
        self._supervisor: Supervisor[Trial, Attempt] = Supervisor(
            LoadSystem(kind.target, kind.directory, kind.timeout_s),
            self._desk,
            config=config,
            concurrency=kind.concurrency,
        )
        self.identity = Declared()

    @property
    def log(self) -> str:
        return self._supervisor.log.text()

    def run(self, cases: Iterable[Case], *, trials: int = 1, progress: Progress | None = None) -> Iterator[Attempt]:
        self._desk.progress = progress
        return self._supervisor.run((case, trial) for case in cases for trial in range(1, trials + 1))

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
    """The desk of a system: a trial of a case becomes an attempt, whatever its end."""

    def __init__(self) -> None:
        self.progress: Progress | None = None

    def order(self, n: int, job: Trial) -> RunCase:
        return order_of(n, *job)

    def answered(self, job: Trial, word: Ran | Judged) -> Attempt:
        case, trial = job
        if not isinstance(word, Ran):
            return self.lost(job, Loss("system_error", "the worker answered what was not asked", None))
        return self._told(attempt_of(case, trial, word))

    def lost(self, job: Trial, loss: Loss) -> Attempt:
        case, trial = job
        error = AttemptError(kind=loss.kind, message=loss.message)
        return self._told(Attempt(case_id=case.id, trial=trial, error=error, trajectory=loss.trajectory))

    def not_run(self, job: Trial) -> Attempt:
        return self._told(not_run(*job))

    def _told(self, attempt: Attempt) -> Attempt:
        if self.progress is not None:
            self.progress(attempt)
        return attempt


def order_of(n: int, case: Case, trial: int) -> RunCase:
    """What the system may know of a case: not what is expected of it."""
    seed = crc32(f"{trial}:{case.id}".encode())
    return RunCase(n, case.id, case.input, seed, trial, case.metadata)


def attempt_of(case: Case, trial: int, ran: Ran) -> Attempt:
    """The attempt that an answer describes."""
    return Attempt(
        case_id=case.id,
        trial=trial,
        output=ran.output,
        error=ran.error,
        trajectory=ran.trajectory,
        log=ran.log,
        duration_ms=ran.duration_ms,
    )


def not_run(case: Case, trial: int) -> Attempt:
    """The attempt that the run ended before."""
    error = AttemptError(kind="not_run", message="the run was stopped before this case began")
    return Attempt(case_id=case.id, trial=trial, error=error)
