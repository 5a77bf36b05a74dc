"""Where jobs run inside a worker: daemon threads for plain functions, one event loop for coroutine functions.

Neither is ever waited for. A thread whose job was given up is asked to end, which ends a loop in Python, and replaced;
an event loop that a job blocks past its deadline likewise.
"""

from __future__ import annotations

from collections.abc import Coroutine
from contextlib import suppress
from contextvars import Context
from queue import SimpleQueue
from threading import Lock, Thread, get_ident
from time import monotonic
from typing import TYPE_CHECKING, Any

from oloproof.runner.crew import AsyncJob, Crew, Job

if TYPE_CHECKING:
    import asyncio

PATIENCE_S = 0.25
"""How long an event loop may take to cancel a late task before it counts as blocked."""


class GivenUp(BaseException):
    """Raised in a thread that nobody waits for any more."""


class ThreadLane:
    """Threads that each take one job at a time, as many as the crew's limit.

    There is one call for each order, and never a thread without a free slot: one that replaces an abandoned thread is
    hired only when that one's slot is free again.
    """

    def __init__(self, crew: Crew[Job]) -> None:
        self._crew = crew
        self._calls: SimpleQueue[None] = SimpleQueue()
        self._lock = Lock()
        self._alive = 0
        self._at_work: dict[int, int] = {}

    def wake(self, orders: int) -> None:
        for _ in range(orders):
            self._calls.put(None)
        for _ in range(orders):
            self._hire()

    def abandon(self, job: Job) -> None:
        thread = self._at_work.pop(job.n, None)
        with self._lock:
            self._alive -= 1
        if thread is not None:
            _ask_to_end(thread)

    def recover(self, now: float) -> float | None:
        return None

    def _hire(self) -> None:
        with self._lock:
            if self._alive >= self._crew.limit:
                return
            self._alive += 1
        Thread(target=self._work, name="oloproof-case", daemon=True).start()

    def _work(self) -> None:
        with suppress(GivenUp):
            while True:
                self._calls.get()
                job = self._crew.take()
                if job is None:  # dropped
                    continue
                self._at_work[job.n] = get_ident()
                if not self._crew.settle(job, Context().run(job.run)):
                    return
                self._at_work.pop(job.n, None)


class LoopLane:
    """An event loop on a thread of its own, with a task for each job. :meth:`complete` runs anything else there."""

    def __init__(self, crew: Crew[AsyncJob]) -> None:
        import asyncio  # tens of milliseconds that plain functions need not pay

        self._asyncio = asyncio
        self._crew = crew
        self._line = _Line(asyncio.new_event_loop(), crew)

    def wake(self, orders: int) -> None:
        self._line.poke()

    def complete(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Run it to its end in the loop of the jobs; called from another thread."""
        return self._asyncio.run_coroutine_threadsafe(coroutine, self._line.loop).result()

    def abandon(self, job: Job) -> None:
        self._line.cancel(job)

    def recover(self, now: float) -> float | None:
        silent_since = self._line.silent_since
        if silent_since is None:
            return None
        if now < silent_since + PATIENCE_S:
            return silent_since + PATIENCE_S
        self._line.retire()
        self._line = _Line(self._asyncio.new_event_loop(), self._crew)
        self._line.poke()
        return None


class _Line:
    """One event loop until it is blocked. ``silent_since`` is when it was last asked something and had not answered."""

    def __init__(self, loop: asyncio.AbstractEventLoop, crew: Crew[AsyncJob]) -> None:
        self.silent_since: float | None = None
        self.loop = loop
        self._crew = crew
        self._retired = False
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._thread = Thread(target=self._turn, name="oloproof-cases", daemon=True)
        self._thread.start()

    def poke(self) -> None:
        self.loop.call_soon_threadsafe(self._pump)

    def cancel(self, job: Job) -> None:
        self.silent_since = self.silent_since or monotonic()
        self.loop.call_soon_threadsafe(self._cancel, job.n)

    def retire(self) -> None:
        """Take nothing more, and ask what blocks the loop to end."""
        self._retired = True
        if self._thread.ident is not None:
            _ask_to_end(self._thread.ident)

    def _turn(self) -> None:
        while True:
            try:
                self.loop.run_forever()
            except BaseException:  # sys.exit in a task that user code started ends the turn, not the loop
                continue

    def _cancel(self, n: int) -> None:
        self.silent_since = None
        task = self._tasks.get(n)
        if task is not None:
            task.cancel()
        self._pump()

    def _pump(self) -> None:
        while not self._retired and (job := self._crew.take()) is not None:
            self._tasks[job.n] = self.loop.create_task(self._do(job), context=Context())

    async def _do(self, job: AsyncJob) -> None:
        try:
            self._crew.settle(job, await job.run_async())
        finally:
            self._tasks.pop(job.n, None)
            self._pump()


def _ask_to_end(thread: int) -> None:
    """Raise GivenUp in a thread at its next step in Python; one that is blocked outside stays so, which is harmless."""
    import ctypes  # only when something was late

    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(GivenUp))
