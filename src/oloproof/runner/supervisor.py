"""Keeps a worker at work: feeds it, collects what it answers in the order of the jobs, and replaces it when it dies.

Jobs are read from their iterator only as far as the window reaches past the oldest unanswered one, so memory does not
grow with their number. A few more orders than can run are sent ahead, so that no worker waits for its parent; those
that a dead worker had not begun go to the next one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from time import monotonic
from typing import Generic, Literal, Protocol, TypeVar, assert_never

from msgspec import Struct

from oloproof.errors import BrokenError, Problem, UsageError
from oloproof.model.trajectory import Trajectory
from oloproof.record.journal import recorded
from oloproof.runner.process import RunLog, Waker, WorkerEnded, WorkerProcess
from oloproof.runner.protocol import (
    Declared,
    Dropped,
    Failed,
    Halt,
    JudgeCase,
    Judged,
    LoadEvaluators,
    LoadSystem,
    Ran,
    Ready,
    RunCase,
    Word,
)

LOAD_TIMEOUT_S = 120.0
"""How long the user's module may take to be imported."""

GRACE_S = 2.0
"""How long past a deadline a worker may stay silent. It reports late cases itself, unless it is stuck as a whole."""

FRUITLESS_WORKERS = 3
"""How many workers in a row may end before they begin anything, until what they held counts as lost."""

AHEAD = 32
"""Orders that wait inside the worker."""

J = TypeVar("J", contravariant=True)
R = TypeVar("R", covariant=True)
Job = TypeVar("Job")
Result = TypeVar("Result")


class Loss(Struct, frozen=True):
    """Why a job begun by a worker was never answered, and what it had recorded by then."""

    kind: Literal["system_error", "timeout"]
    message: str
    trajectory: Trajectory | None


class Desk(Protocol[J, R]):
    """What a job is to the worker, and what its end is to whoever asked."""

    def order(self, n: int, job: J) -> RunCase | JudgeCase: ...

    def answered(self, job: J, word: Ran | Judged) -> R: ...

    def lost(self, job: J, loss: Loss) -> R: ...

    def not_run(self, job: J) -> R: ...


class Supervisor(Generic[Job, Result]):
    """One worker at a time, and what it holds. ``config`` is named in problems with what the user wrote there."""

    def __init__(
        self,
        load: LoadSystem | LoadEvaluators,
        desk: Desk[Job, Result],
        *,
        config: str,
        concurrency: int,
        ahead: int = AHEAD,
    ) -> None:
        self.log = RunLog()
        self._load = load
        self._desk = desk
        self._config = config
        self._concurrency = concurrency
        self._ahead = ahead
        self._window = max(256, 4 * (concurrency + ahead))
        self._waker = Waker()
        self._stopping = False
        self._halted = False
        self._worker: WorkerProcess | None = None
        self._silent_since = 0.0
        self._fruitless = 0
        self._numbered = 0
        self._held: dict[int, Job] = {}
        self._again: deque[tuple[int, Job]] = deque()
        self._done: dict[int, Result] = {}

    # --- the worker's life -----------------------------------------------------------------------------------------

    def start(self) -> Declared:
        """Start a worker and have it load the user's code. What the decorator says of it.

        Errors: UsageError when the name is wrong, BrokenError when what it names fails to load.
        """
        try:
            worker = WorkerProcess(self._load.directory, slots=self._concurrency, log=self.log, waker=self._waker)
        except OSError as exc:
            raise BrokenError(f"no worker process could be started: {exc}", code="OLO408") from exc
        self._worker = worker
        worker.send([self._load])
        until = monotonic() + LOAD_TIMEOUT_S
        what = _name_of(self._load)
        while (left := until - monotonic()) > 0:
            try:
                words = worker.receive(left)
            except (WorkerEnded, ValueError) as exc:
                raise self._broken_while_loading(f"the worker process {exc} while it loaded {what}", "OLO405") from None
            for word in words:
                if isinstance(word, Ready):
                    self._silent_since = monotonic()
                    return word.declared
                if isinstance(word, Failed):
                    raise self._not_loaded(word)
        raise self._broken_while_loading(f"loading {what} took more than {LOAD_TIMEOUT_S:g} s", "OLO406")

    def close(self) -> None:
        """Let the worker end normally."""
        if self._worker is not None:
            self._worker.say_goodbye()
        self._forget()

    def kill(self) -> None:
        """End the worker at once."""
        if self._worker is not None:
            self._worker.kill()
        self._forget()

    def stop(self) -> None:
        """Launch nothing more. May be called from a signal handler or another thread."""
        self._stopping = True
        self._waker.wake()

    def _forget(self) -> None:
        self._worker = None
        self._waker.close()

    def _not_loaded(self, failed: Failed) -> UsageError | BrokenError:
        if failed.usage:
            return UsageError(Problem(self._config, 0, 0, failed.code, failed.message, failed.hint))
        return BrokenError(failed.message, code=failed.code, hint=failed.hint)

    def _broken_while_loading(self, message: str, code: str) -> BrokenError:
        if self._worker is not None:
            self._worker.kill()
            self._worker = None
        last = self.log.text().strip()[-2000:]
        return BrokenError(message, code=code, hint=f"the last that it printed:\n{last}" if last else "")

    # --- jobs ------------------------------------------------------------------------------------------------------

    def run(self, jobs: Iterable[Job]) -> Iterator[Result]:
        """The results, in the order of the jobs, as far as each is there.

        Errors: BrokenError when a worker that died cannot be replaced.
        """
        source = enumerate(jobs, self._numbered)
        given, more = self._numbered, True
        while True:
            while given in self._done:
                yield self._done.pop(given)
                given += 1
                self._silent_since = monotonic()  # whoever took it may have taken long; nobody was listening
            room = self._room()
            batch: list[tuple[int, Job]] = []
            while more and (room > len(batch) or self._stopping) and self._numbered - given < self._window:
                item = next(source, None)
                if item is None:
                    more = False
                    break
                self._numbered += 1
                batch.append(item)
            self._hand_out(batch)
            if given in self._done:
                continue
            if not more and given == self._numbered:
                return
            if self._held:
                self._collect()

    def _room(self) -> int:
        """How many orders the worker should be sent now; none until enough can be sent at once."""
        waiting = len(self._held) - self._concurrency + len(self._again)
        return 0 if waiting > self._ahead // 2 else self._ahead - waiting

    def _hand_out(self, batch: list[tuple[int, Job]]) -> None:
        """Send orders to the worker, first those that its predecessor had not begun."""
        batch = [*self._again, *batch]
        self._again.clear()
        if self._stopping:
            self._done.update((n, self._desk.not_run(job)) for n, job in batch)
            if self._worker is not None and self._held and not self._halted:
                self._worker.send([Halt()])
                self._halted = True
            return
        if not batch:
            return
        if self._worker is None:
            self.start()
        if not self._held:
            self._silent_since = monotonic()
        self._held.update(batch)
        if self._worker is not None:
            self._worker.send([self._desk.order(n, job) for n, job in batch])

    def _collect(self) -> None:
        """Wait for the worker to say something, or for its end, or for its silence to have lasted too long."""
        worker = self._worker
        if worker is None:
            return
        limit = self._load.timeout_s + GRACE_S
        try:
            words = worker.receive(max(0.0, self._silent_since + limit - monotonic()))
        except WorkerEnded as exc:
            self._bury(worker, f"the worker process {exc} while this case ran", late=False)
            return
        except ValueError as exc:
            self._bury(worker, f"the worker process was ended while this case ran: {exc}", late=False)
            return
        if words:
            self._fruitless = 0
            self._silent_since = monotonic()
            for word in words:
                self._take(word)
        elif monotonic() >= self._silent_since + limit:
            self._bury(worker, "the worker process was stuck and had to be killed while this case ran", late=True)

    def _take(self, word: Word) -> None:
        match word:
            case Dropped(numbers):
                for n in numbers:
                    if n in self._held:
                        self._done[n] = self._desk.not_run(self._held.pop(n))
            case Ran(n) | Judged(n):
                if n in self._held:
                    self._done[n] = self._desk.answered(self._held.pop(n), word)
            case Ready() | Failed():
                return
            case _ as never:
                assert_never(never)

    def _bury(self, worker: WorkerProcess, message: str, *, late: bool) -> None:
        """Give up a worker: what it had begun is lost, the rest is for the next one."""
        now = monotonic()
        held, self._held = self._held, {}
        self._worker = None
        begun = {n: slot for n, slot in worker.bury().items() if n in held}
        self._fruitless = 0 if begun else self._fruitless + 1
        for n, job in held.items():
            if n in begun:
                began, events = begun[n]
                is_late = late and now - began.at >= self._load.timeout_s
                kind: Literal["system_error", "timeout"] = "timeout" if is_late else "system_error"
                self._done[n] = self._desk.lost(job, Loss(kind, message, recorded(events)))
            elif self._fruitless < FRUITLESS_WORKERS:
                self._again.append((n, job))
            else:
                self._done[n] = self._desk.lost(job, Loss("system_error", message, None))


def _name_of(load: LoadSystem | LoadEvaluators) -> str:
    match load:
        case LoadSystem(target):
            return target
        case LoadEvaluators(functions):
            return ", ".join(spec.target for spec in functions)
