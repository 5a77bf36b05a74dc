"""Keeps the worker of a seat at work: feeds it, and collects what it answers in the order of the jobs.

Jobs are read from their iterator only as far as the window reaches past the oldest unanswered one, so memory does not
grow with their number. A few more orders than can run are sent ahead, so that no worker waits for its parent; those
that a dead worker had not begun go to the next one. What user code writes to the link in the worker's name can answer
for nothing but a job that runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import inf
from time import monotonic
from typing import Generic, TypeVar

from oloproof.model.project import AT_ONCE, Launching
from oloproof.record.journal import recorded, recorded_state
from oloproof.runner.desk import Desk, Loss
from oloproof.runner.launching import LOOK_AGAIN_S, Pace, Waiting, always
from oloproof.runner.output import kept_text, to_bytes
from oloproof.runner.process import WorkerEnded, WorkerProcess
from oloproof.runner.protocol import Began, Dropped, Garbled, Halt, Judged, Ran, Reached, Word
from oloproof.runner.seat import Seat, out_of_turn

GRACE_S = 2.0
"""How long past a deadline a worker may stay silent. It reports late cases itself, unless it is stuck as a whole."""

AHEAD = 32
"""Orders that wait inside the worker."""

Job = TypeVar("Job")
Result = TypeVar("Result")


class Supervisor(Generic[Job, Result]):
    """Gives jobs to whoever sits in the ``seat``, and knows what it holds."""

    def __init__(
        self, seat: Seat, desk: Desk[Job, Result], *, ahead: int = AHEAD, launching: Launching = AT_ONCE
    ) -> None:
        self.seat = seat
        self._desk = desk
        self._ahead = ahead
        self._window = max(256, 4 * (seat.slots + ahead))
        self._stopping = False
        self._halted = False
        self._silent_since = 0.0
        self._numbered = 0
        self._held: dict[int, Job] = {}
        self._begun: dict[int, Began] = {}
        self._pace = Pace.of(launching)
        self._may_launch = always
        self._again: Waiting[tuple[int, Job]] = Waiting()
        self._done: dict[int, Result] = {}
        self._tell_began: Callable[[Job], object] = lambda _: None

    def stop(self) -> None:
        """Launch nothing more. May be called from a signal handler or another thread."""
        self._stopping = True
        self.seat.waker.wake()

    def abort(self) -> None:
        """End the worker while another thread waits for it, and start no other: what it held is lost."""
        self._stopping = True
        self.seat.shut()

    def run(
        self,
        jobs: Iterable[Job],
        *,
        window: int | None = None,
        may_launch: Callable[[], bool] = always,
        began: Callable[[Job], object] = lambda _: None,
        waiting: Callable[[], float | None] = lambda: None,
    ) -> Iterator[Result]:
        """The results, in the order of the jobs, as far as each is there.

        With a ``window``, no job is handed out that lies so many places or more behind the first whose result has not
        been taken. When a worker that died cannot be replaced, the jobs that are left are lost. Once ``may_launch``
        says no, it is stopped. ``began`` is told of each job that the worker begins, and ``waiting`` is called as
        :meth:`~oloproof.runner.ports.Listener.waiting` is.
        """
        self._may_launch = may_launch
        if window is not None:
            self._ahead, self._window = 0, window
        self._tell_began = began
        source = enumerate(jobs, self._numbered)
        given, more = self._numbered, True
        while True:
            while given in self._done:
                yield self._done.pop(given)
                given += 1
                self._silent_since = monotonic()  # whoever took it may have taken long; nobody was listening
            room = self._room()
            batch: list[tuple[int, Job]] = []
            now = inf if self._stopping else monotonic()
            while room > len(batch) or self._stopping:
                waited = self._again.take(now)
                if waited is None:
                    break
                batch.append(waited)
            while more and (room > len(batch) or self._stopping) and self._numbered - given < self._window:
                item = next(source, None)
                self._silent_since = monotonic()  # whoever gave it may have taken long, too
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
            self._collect(self._waited(waiting))

    def _waited(self, waiting: Callable[[], float | None]) -> float:
        """What ``waiting`` answers. The time that it takes is no silence of the worker's: nobody was listening."""
        began = monotonic()
        answer = waiting()
        self._silent_since += monotonic() - began
        return inf if answer is None else answer

    def _room(self) -> int:
        """How many orders the worker should be sent now; none until enough can be sent at once."""
        waiting = len(self._held) - self.seat.slots
        room = 0 if waiting > self._ahead // 2 else self._ahead - waiting
        if not self._pace.every_s:
            return room
        return 0 if self._pace.wait_s(monotonic()) else min(room, 1)

    def _hand_out(self, batch: list[tuple[int, Job]]) -> None:
        """Send orders to the worker."""
        self._stopping = self._stopping or (bool(batch) and not self._may_launch())
        if self._stopping:
            self._done.update((n, self._desk.not_run(job)) for n, job in batch)
            if self.seat.worker is not None and self._held and not self._halted:
                self.seat.worker.send([Halt()])
                self._halted = True
            return
        if not batch:
            return
        if not self.seat.fill():
            why = f"this case never began, since no worker process could be put to work any more: {self.seat.last_end}"
            self._done.update((n, self._desk.lost(job, Loss("system_error", why))) for n, job in batch)
            return
        if not self._held:
            self._silent_since = monotonic()
        self._held.update(batch)
        now = monotonic()
        for _ in batch:
            self._pace = self._pace.launched(now)
        if self.seat.worker is not None:
            self.seat.worker.send([self._desk.order(n, job) for n, job in batch])

    def _collect(self, at_most_s: float) -> None:
        """Wait for the worker to say something, or for its end, or for its silence to have lasted too long, or until
        something more may begin; or for ``at_most_s`` seconds."""
        worker, now = self.seat.worker, monotonic()
        launch_s = min(self._again.wait_s(now), self._pace.wait_s(now) or inf, at_most_s)
        if worker is None or not self._held:
            if launch_s < inf and not self._stopping:
                self.seat.waker.wait(min(launch_s, LOOK_AGAIN_S))
                self._stopping = self._stopping or not self._may_launch()
            return
        limit = self.seat.timeout_s + GRACE_S
        try:
            has_orders = len(self._held) - self.seat.slots > self._ahead // 4
            words = worker.receive(max(0.0, min(self._silent_since + limit - now, launch_s)), has_orders=has_orders)
        except WorkerEnded as exc:
            self._bury(worker, f"the worker process {exc}", late=False)
            return
        wrong = self._take(words)
        if wrong is not None:
            self._bury(worker, "the worker process was ended", because=f": {wrong}", late=False)
        elif monotonic() >= self._silent_since + limit:
            self._bury(worker, "the worker process was stuck and had to be killed", late=True)

    def _take(self, words: list[Word | Garbled]) -> str | None:
        """Do as the words say. What is wrong with the first that the worker itself would not have said now."""
        wrong = None
        for word in words:
            match word:
                case Began(n) if n in self._held and n not in self._begun and len(self._begun) < self.seat.slots:
                    self._begun[n] = word
                    self.seat.bore_fruit()
                    self._tell_began(self._held[n])
                case Ran(n) | Judged(n) if n in self._begun:
                    self._settle(n, word)
                case Dropped(numbers) if self._halted and self._begun.keys().isdisjoint(numbers):
                    for n in self._held.keys() & set(numbers):
                        self._done[n] = self._desk.not_run(self._held.pop(n))
                case _:
                    wrong = wrong or out_of_turn(word)
        return wrong

    def _settle(self, n: int, word: Ran | Judged) -> None:
        self._silent_since = monotonic()
        if isinstance(word, Ran) and word.printed_before:
            self.seat.log.write(to_bytes(word.printed_before))
        del self._begun[n]
        job = self._held.pop(n)
        self._end(n, job, self._desk.answered(job, word))

    def _end(self, n: int, job: Job, result: Result) -> None:
        """A job came to a result: it is done, or done again."""
        again = self._desk.again(job, result)
        if again is None:
            self._done[n] = result
        elif self._stopping:
            self._done[n] = self._desk.not_run(again[0])
        else:
            self._again.add_later((n, again[0]), monotonic() + again[1])

    def _bury(self, worker: WorkerProcess, how: str, *, because: str = "", late: bool) -> None:
        """Give up a worker: what it had begun is lost, the rest is for the next one."""
        now = monotonic()
        remains = self.seat.bury(worker, f"{how}{because}")
        self._take(remains.words)
        self._ahead = 0  # user code that keeps a worker from telling what it begins has no more than that to begin
        log = ""
        if self._begun and self.seat.runs_one_case:
            log = kept_text(remains.printed, self.seat.spare)
        else:
            self.seat.log.write(remains.printed)
        for n, began in self._begun.items():
            is_late = late and now - began.at >= self.seat.timeout_s
            noted = remains.noted.get(n, ())
            events = [entry for entry in noted if not isinstance(entry, Reached)]
            loss = Loss(
                "timeout" if is_late else "system_error",
                f"{how} while this case ran{because}",
                recorded(events),
                recorded_state(events),
                log,
                {entry.criterion: entry.judgment for entry in noted if isinstance(entry, Reached)},
            )
            job = self._held.pop(n)
            self._end(n, job, self._desk.lost(job, loss))
        self._again.put_back(self._held.items())
        self._held, self._begun = {}, {}
