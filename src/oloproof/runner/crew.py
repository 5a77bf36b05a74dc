"""Who does what until when, inside a worker: orders wait, jobs run in slots, and the late ones are given up.

The crew decides; lanes (threads, or an event loop) do the work and come back to it for more. Whether a job's result or
its deadline comes first is settled under one lock, so that each order is answered exactly once.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable
from threading import Lock
from time import monotonic
from typing import Any, Generic, Protocol, TypeVar

from msgspec import Struct

from oloproof.runner.protocol import Began, JudgeCase, RunCase, Slot, encode


class Job(Protocol):
    """An order being carried out. Nothing in it raises."""

    n: int

    def run(self) -> Any: ...

    def give_up(self) -> Any: ...

    def line(self, result: Any) -> bytes: ...


class AsyncJob(Job, Protocol):
    """A job whose work is a coroutine."""

    async def run_async(self) -> Any: ...


J = TypeVar("J", bound=Job)


class Lane(Protocol):
    """Where jobs run."""

    def wake(self, orders: int) -> None:
        """``orders`` more orders, or as many more slots for those that wait, are there."""

    def abandon(self, job: Job) -> None:
        """Nobody waits for ``job`` any more. Called under the crew's lock: the job has not come back."""

    def recover(self, now: float) -> float | None:
        """Replace what a job given up still blocks; when to look again, None when all is well."""


class _Running(Struct, frozen=True):
    job: Job
    deadline: float
    slot: Slot


class Crew(Generic[J]):
    """The jobs of one worker. ``begin`` makes a job of an order; ``report`` sends a line to the parent.

    ``clock`` is the monotonic one, which slots tell the parent the time by.
    """

    def __init__(
        self,
        begin: Callable[[Any, Slot], J],
        report: Callable[[bytes], None],
        *,
        slots: Iterable[Slot],
        timeout_s: float,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._begin = begin
        self._report = report
        self._timeout_s = timeout_s
        self._clock = clock
        self._free = list(slots)
        self._pending: deque[RunCase | JudgeCase] = deque()
        self._running: dict[int, _Running] = {}
        self._unsent = b""
        """The answer that is sent together with what begins next, since each time the parent is woken costs both."""
        self._lock = Lock()
        self._pid = os.getpid()
        self.limit = len(self._free)

    def submit(self, orders: list[RunCase | JudgeCase], lane: Lane) -> None:
        """Take orders on; a lane comes for them."""
        with self._lock:
            self._pending.extend(orders)
        lane.wake(len(orders))

    def drop(self) -> tuple[int, ...]:
        """Forget the orders that no lane has come for; their numbers."""
        with self._lock:
            numbers = tuple(order.n for order in self._pending)
            self._pending.clear()
            unsent, self._unsent = self._unsent, b""
        if unsent:
            self._report(unsent)
        return numbers

    def take(self) -> J | None:
        """The next job, None when none is waiting or as many run as may."""
        with self._lock:
            if not self._pending or not self._free:
                return None
            order, slot = self._pending.popleft(), self._free.pop()
            unsent, self._unsent = self._unsent, b""
        began = Began(order.n, self._clock())
        self._report(unsent + encode(began))  # before user code could do anything about it; it may wait for the parent
        slot.begin(began)
        job = self._begin(order, slot)
        with self._lock:
            self._running[job.n] = _Running(job, self._clock() + self._timeout_s, slot)
        return job

    def settle(self, job: Job, result: Any) -> bool:
        """Report a job's result; False when it came too late and counts no more."""
        if os.getpid() != self._pid:  # user code forked, and its child came back out of the user's function
            os._exit(0)
        with self._lock:
            running = self._running.get(job.n)
            if running is None or running.job is not job:  # the same order may have come anew meanwhile
                return False
            del self._running[job.n]
        line = job.line(result)
        with self._lock:
            is_followed = self.limit == 1 and bool(self._pending)  # at once, and by no user code meanwhile
            if is_followed:
                self._unsent = line + b"\n"
                self._free.append(running.slot)
        if not is_followed:
            self._close(running, line)
        return True

    def expire(self, lane: Lane) -> float | None:
        """Give up what is late. The seconds until that may be necessary again, None when nothing is going on."""
        now = self._clock()
        with self._lock:
            late = [running for running in self._running.values() if running.deadline <= now]
            for running in late:
                del self._running[running.job.n]
                lane.abandon(running.job)
        for running in late:
            self._close(running, running.job.line(running.job.give_up()))
        lane.wake(len(late))
        look_again = lane.recover(now)
        with self._lock:
            moments = [running.deadline for running in self._running.values()]
            if self._pending:
                moments.append(now + self._timeout_s)
        if look_again is not None:
            moments.append(look_again)
        return max(0.0, min(moments) - now) if moments else None

    def _close(self, running: _Running, line: bytes) -> None:
        # The slot is freed only after the report: until then it is what the parent would find if this process ended.
        self._report(line)
        with self._lock:
            self._free.append(running.slot)
