"""Worker processes with one case each, as many as are asked at a time.

Each is used again until its case is late or ends it. Then it is killed, with whatever still runs in it, and the next
case gets a new one.
"""

from __future__ import annotations

from collections.abc import Iterable
from threading import Lock

from msgspec.structs import replace

from oloproof.model.case import AttemptError
from oloproof.runner.desk import Loss
from oloproof.runner.protocol import Declared, Judged, LoadSystem, Ran, RunCase
from oloproof.runner.seat import Seat
from oloproof.runner.supervisor import Supervisor


class Workers:
    """The workers of one system. ``ask`` may be called from many threads, and none outlives ``close``, ``fail`` or
    ``kill``."""

    def __init__(self, load: LoadSystem, config: str) -> None:
        self._load = load
        self._config = config
        self._lock = Lock()
        self._all: list[Supervisor[RunCase, Ran]] = []
        self._idle: list[Supervisor[RunCase, Ran]] = []

    @property
    def log(self) -> str:
        """What they printed outside of any case so far."""
        with self._lock:
            return "".join(supervisor.seat.printed for supervisor in self._all)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What went wrong beside the cases, known once they have ended."""
        with self._lock:
            return tuple(dict.fromkeys(each for supervisor in self._all for each in supervisor.seat.warnings))

    def start(self) -> Declared:
        """Have a first worker load the system. What its decorator says.

        Errors: UsageError when the name is wrong, BrokenError when what it names fails to load.
        """
        first = self._hire()
        try:
            declared = first.seat.start()
        except BaseException:
            first.seat.kill()
            raise
        self._idle.append(first)
        return declared

    def ask(self, order: RunCase) -> Ran:
        """Run the system on one case. Whatever becomes of it is an answer."""
        with self._lock:
            idle = self._idle.pop() if self._idle else None
        supervisor = idle or self._hire()
        (ran,) = supervisor.run([order], window=1)
        if ran.error is not None and ran.error.kind == "timeout":
            supervisor.seat.drop_worker()
        with self._lock:
            self._idle.append(supervisor)
        return ran

    def close(self) -> None:
        """Let all of them end normally."""
        for supervisor in self._all:
            supervisor.seat.dismiss()
        for supervisor in self._all:
            supervisor.seat.close()

    def fail(self) -> None:
        """End at once what runs a case; the others as they end where something went wrong."""
        resting = list(self._idle)
        self._abort(resting)
        for supervisor in resting:
            supervisor.seat.fail()

    def kill(self) -> None:
        """End all of them at once."""
        self._abort(())

    def _abort(self, resting: Iterable[Supervisor[RunCase, Ran]]) -> None:
        spared = list(resting)
        for supervisor in self._all:
            if supervisor not in spared:
                supervisor.abort()

    def _hire(self) -> Supervisor[RunCase, Ran]:
        supervisor = Supervisor(Seat(self._load, config=self._config, slots=1), _Rans())
        with self._lock:
            self._all.append(supervisor)
        return supervisor


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
