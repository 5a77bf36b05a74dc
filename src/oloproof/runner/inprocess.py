"""The system in this very process, one case after the other on the main thread: for debuggers.

Prints go where they always go and nothing is timed out, so that one can stop at a breakpoint for as long as one likes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import Context
from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING, Any

from msgspec.json import Decoder

from oloproof.model.case import Attempt, Case
from oloproof.model.project import CallableSystem
from oloproof.runner.attempts import CaseJob
from oloproof.runner.launching import LOOK_AGAIN_S, Pace
from oloproof.runner.loading import Loaded, LoadError, declared_by, load_system, set_up, system_of, tear_down
from oloproof.runner.ports import EACH_ONCE, Launch
from oloproof.runner.process import Waker
from oloproof.runner.protocol import Ran, RunCase, decode_word, encode
from oloproof.runner.turns import Turn, again, attempt_of, not_run, order_of, turns

if TYPE_CHECKING:
    import asyncio

_PATIENCE_S = 5.0

_read_order = Decoder(RunCase).decode


class LocalSystem:
    """A system in this process."""

    def __init__(self, kind: CallableSystem, system: Loaded) -> None:
        self.identity = declared_by(system)
        self.log = ""
        self._timeout_s = kind.timeout_s
        self._spare = kind.spare_chars
        self._system = system
        self._stopping = False
        self.warnings: tuple[str, ...] = ()
        self._target = kind.target
        self._loop: asyncio.Runner | _Aside | None = None
        self._waker = Waker()
        self._retry = kind.launching.retry
        self._pace = Pace.of(kind.launching)

    def run(self, cases: Iterable[Case], launch: Launch = EACH_ONCE) -> Iterator[Attempt]:
        for turn in turns(cases, launch):
            launch.listener.waiting()
            yield self._last_attempt(turn, launch)

    def stop(self) -> None:
        self._stopping = True
        self._waker.wake()

    def close(self) -> None:
        """Do what the system does after its last case."""
        problem = tear_down(self._system, self._target, self.complete, self._spare)
        self.warnings += (problem,) if problem else ()
        self.release()

    def release(self) -> None:
        """Give back what was opened."""
        self._waker.close()
        if self._loop is not None:
            self._loop.close()

    def complete(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine to its end, all of them in one loop."""
        import asyncio

        if self._loop is None:
            try:
                asyncio.get_running_loop()
            except RuntimeError:
                self._loop = asyncio.Runner()
            else:
                self._loop = _Aside()
        return self._loop.run(coroutine, context=Context())

    def _last_attempt(self, turn: Turn, launch: Launch) -> Attempt:
        """The attempt that stands, after those that are made again."""
        while True:
            self._wait(self._pace.wait_s(monotonic()), launch.may_launch)
            if self._stopping or not launch.may_launch():
                self._stopping = True
                return not_run(turn)
            self._pace = self._pace.launched(monotonic())
            launch.listener.began(turn.case.id, turn.trial)
            attempt = self._attempt(turn)
            once_more = again(self._retry, turn, attempt, launch.listener)
            if once_more is None:
                return attempt
            turn = once_more.turn
            self._wait(once_more.wait_s, launch.may_launch)

    def _wait(self, seconds: float, may_launch: Callable[[], bool]) -> None:
        until = monotonic() + seconds
        while (left := until - monotonic()) > 0 and not self._stopping:
            self._waker.wait(min(left, LOOK_AGAIN_S))
            self._stopping = self._stopping or not may_launch()

    def _attempt(self, turn: Turn) -> Attempt:
        # A copy, as a worker gets one: what the system does to its case, nobody judges by, and no other trial is given.
        order = _read_order(encode(order_of(0, turn)))
        job = CaseJob(order, self._system, timeout_s=self._timeout_s, sink=_nowhere, spare=self._spare)
        with _streams_kept():
            ran = self.complete(job.run_async()) if self._system.is_async else Context().run(job.run)
        # The same way over JSON as from a worker, so that what is judged is the same.
        answer = decode_word(job.line(ran))
        return attempt_of(turn, answer if isinstance(answer, Ran) else ran)


@contextmanager
def local_system(kind: CallableSystem, config: str) -> Iterator[LocalSystem]:
    """The system loaded into this process, with its directory first on the path until the block ends.

    Errors: UsageError when the name is wrong, BrokenError when what it names fails to load.
    """
    sys.path.insert(0, kind.directory)
    try:
        with _ready(kind, lambda: load_system(kind.target, kind.directory), config) as local:
            yield local
    finally:
        if kind.directory in sys.path:
            sys.path.remove(kind.directory)


def given_system(kind: CallableSystem, value: Callable[..., Any], config: str) -> AbstractContextManager[LocalSystem]:
    """The same of a function, or a class, that a program has already.

    Errors, on entering the block: UsageError when it cannot be called with one argument, BrokenError when it fails.
    """
    return _ready(kind, lambda: system_of(value, kind.target), config)


@contextmanager
def _ready(kind: CallableSystem, load: Callable[[], Loaded], config: str) -> Iterator[LocalSystem]:
    try:
        with _streams_kept():
            system = load()
            local = LocalSystem(kind, system)
            try:
                set_up(system, kind.target, local.complete)
            except LoadError:
                local.release()
                raise
    except LoadError as exc:
        raise exc.failed(kind.spare_chars).error(config) from None
    try:
        yield local
    finally:
        with _streams_kept():
            local.close()


class _Aside:
    """A loop in a thread of its own, for where one runs already in this thread, as in a notebook."""

    def __init__(self) -> None:
        import asyncio

        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, Any], *, context: Context) -> Any:
        """As ``asyncio.Runner.run`` does; an interruption cancels it."""
        import asyncio

        future = context.run(asyncio.run_coroutine_threadsafe, coroutine, self._loop)
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            raise

    def close(self) -> None:
        """End the loop. A coroutine that blocks it keeps the thread until the process ends."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_PATIENCE_S)
        if not self._thread.is_alive():
            self._loop.close()


@contextmanager
def _streams_kept() -> Iterator[None]:
    """User code may put what it likes in the place of its streams, which are ours too."""
    streams = sys.stdout, sys.stderr
    try:
        yield
    finally:
        sys.stdout, sys.stderr = streams


def _nowhere(event: bytes) -> None:
    """There is nobody who would outlive this process."""
