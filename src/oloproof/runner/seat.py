"""A worker's seat: who sits there has loaded the user's code, and is followed by another when it dies."""

from __future__ import annotations

from time import monotonic

from oloproof.errors import BrokenError, OloproofError
from oloproof.runner.output import last_of, to_bytes
from oloproof.runner.process import Remains, RunLog, Waker, WorkerEnded, WorkerProcess
from oloproof.runner.protocol import Declared, Failed, Garbled, LoadEvaluators, LoadSystem, Ready, Word

LOAD_TIMEOUT_S = 120.0
"""How long the user's module may take to be imported."""

FRUITLESS_WORKERS = 3
"""How many workers in a row may end before they begin anything, until there will be no other."""

SHARED = b"[several cases ran at once: what their threads and child processes printed is no single case's]\n"
"""What stands before the prints in the worker's log that would be a case's if it ran alone."""


class Seat:
    """The seat of one worker at a time, which works on ``slots`` jobs at once. ``config`` is named in problems with
    what the user wrote there."""

    def __init__(self, load: LoadSystem | LoadEvaluators, *, config: str, slots: int) -> None:
        self.slots = slots
        self.timeout_s = load.timeout_s
        self.spare = load.spare_chars
        runs_cases = isinstance(load, LoadSystem)
        self.runs_one_case = runs_cases and slots == 1
        """All that is printed while a case runs is its own."""
        self._is_shared = runs_cases and slots > 1
        self._load = load
        self._config = config
        self._tears_down = False
        self._fruitless = 0
        self.log = RunLog(self.spare)
        self.waker = Waker()
        self.warnings: tuple[str, ...] = ()
        self.worker: WorkerProcess | None = None
        self.last_end = ""
        """How the last worker ended that did not end normally."""

    @property
    def printed(self) -> str:
        """What was printed so far that belongs to no job."""
        return self.log.text(b"" if self.worker is None else self.worker.printed())

    def start(self) -> Declared:
        """Start a worker and have it load the user's code. What the decorator says of it.

        Errors: UsageError when the name is wrong, BrokenError when what it names fails to load.
        """
        self._fruitless += 1
        try:
            worker = WorkerProcess(self._load.directory, slots=self.slots, log=self.log, waker=self.waker)
        except OSError as exc:
            raise BrokenError(f"no worker process could be started: {exc}", code="OLO408") from exc
        self.worker = worker
        worker.send([self._load])
        ready = self._loaded(worker)
        self.log.write(to_bytes(ready.printed))
        self._tears_down = ready.tears_down
        if self._is_shared:
            worker.heading = SHARED
        return ready.declared

    def _loaded(self, worker: WorkerProcess) -> Ready:
        until = monotonic() + LOAD_TIMEOUT_S
        what = _name_of(self._load)
        while (left := until - monotonic()) > 0:
            try:
                words = worker.receive(left)
            except WorkerEnded as exc:
                raise self._broken_while_loading(f"the worker process {exc} while it loaded {what}", "OLO405") from None
            for word in words:
                if isinstance(word, Ready):
                    return word
                if isinstance(word, Failed):
                    raise word.error(self._config)
                message = f"the worker process was ended while it loaded {what}: {out_of_turn(word)}"
                raise self._broken_while_loading(message, "OLO405")
        raise self._broken_while_loading(f"loading {what} took more than {LOAD_TIMEOUT_S:g} s", "OLO406")

    def fill(self) -> bool:
        """Have a worker here: whoever sits here, or else another. False: there will be none any more."""
        while self.worker is None and self._fruitless < FRUITLESS_WORKERS:
            try:
                self.start()
            except OloproofError as exc:
                self.drop_worker()
                self.last_end = exc.problems[0].message.partition("\n")[0]
        return self.worker is not None

    def close(self) -> None:
        """Let the worker end normally."""
        if self.worker is not None:
            problem = self.worker.say_goodbye(tears_down=self._tears_down)
            self.warnings += (problem,) if problem else ()
        self._forget()

    def dismiss(self) -> None:
        """Tell the worker to end, for :meth:`close` to wait for."""
        if self.worker is not None:
            self.worker.dismiss()

    def fail(self) -> None:
        """End after something went wrong: normally where the user's code has something to do at its end, else at
        once."""
        if self._tears_down:
            self.close()
        else:
            self.kill()

    def kill(self) -> None:
        """End the worker at once."""
        self.drop_worker()
        self._forget()

    def drop_worker(self) -> None:
        """End the worker at once; what it held is lost, and the next job gets another."""
        if self.worker is not None:
            self.worker.kill()
            self.worker = None

    def shut(self) -> None:
        """End the worker while another thread waits for it, and have no other: what it held is lost."""
        self._fruitless = FRUITLESS_WORKERS
        if self.worker is not None:
            self.worker.end()

    def bury(self, worker: WorkerProcess, how: str) -> Remains:
        """Give up the worker that sits here, which ended so; what it leaves."""
        self.worker = None
        self.last_end = how
        return worker.bury()

    def bore_fruit(self) -> None:
        """The worker has begun something: if it dies, that is not why."""
        self._fruitless = 0

    def _forget(self) -> None:
        self.worker = None
        self.waker.close()

    def _broken_while_loading(self, message: str, code: str) -> BrokenError:
        self.drop_worker()
        last = last_of(self.printed.strip(), self.spare)
        return BrokenError(message, code=code, hint=f"the last that it printed:\n{last}" if last else "")


def out_of_turn(word: Word | Garbled) -> str:
    """What is wrong with a word that the worker itself would not have said now."""
    if isinstance(word, Garbled):
        return f"it said what is no answer: {word.why}"
    return f"it said {type(word).__name__.lower()!r} out of turn"


def _name_of(load: LoadSystem | LoadEvaluators) -> str:
    match load:
        case LoadSystem(target):
            return target
        case LoadEvaluators(functions):
            return ", ".join(spec.target for spec in functions)
