"""Cases asked one by one from threads of this process, for systems that live outside of it: a command, a server.

Threads are daemons: a server that never ends its answer holds up neither the run's end nor the interpreter's. A case
that waits to be asked again keeps no thread.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from math import inf
from threading import Condition, Thread
from time import monotonic
from typing import NamedTuple

from oloproof.model.case import Attempt, Case
from oloproof.model.project import AT_ONCE, Launching
from oloproof.runner.launching import HEARD_S, LOOK_AGAIN_S, Pace, Waiting
from oloproof.runner.ports import EACH_ONCE, Launch, Listener
from oloproof.runner.protocol import Declared, Ran, RunCase
from oloproof.runner.turns import Turn, again, attempt_of, not_run, order_of, turns

WINDOW = 256
"""How many cases are read from the oldest that has no answer on."""

UNDECLARED = Declared()

_LONGEST_S = 3600.0
"""No wait of a thread takes longer, since not every clock can count further."""


class _Asked(NamedTuple):
    """A turn, its number in the run, and where its attempt is awaited."""

    n: int
    turn: Turn
    answer: Future[Attempt]


class Pool:
    """A loaded system that asks at most ``concurrency`` cases at a time, as ``launching`` has it.

    ``ask`` returns whatever becomes of a case, and never raises. Nothing is printed beside a case.
    """

    log = ""
    warnings: tuple[str, ...] = ()

    def __init__(
        self,
        ask: Callable[[RunCase], Ran],
        *,
        concurrency: int,
        launching: Launching = AT_ONCE,
        identity: Declared = UNDECLARED,
    ) -> None:
        self.identity = identity
        self._ask = ask
        self._concurrency = concurrency
        self._retry = launching.retry
        self._pace = Pace.of(launching)
        self._stopping = False
        self._changed = Condition()  # its lock may be taken again by a signal handler that stops what it interrupts

    def run(self, cases: Iterable[Case], launch: Launch = EACH_ONCE) -> Iterator[Attempt]:
        """The attempts, in the order of the cases and their trials."""
        window, listener = launch.window or WINDOW, launch.listener
        asked: deque[Future[Attempt]] = deque()
        line = _Line(launch.may_launch)
        threads = 0
        try:
            for n, turn in enumerate(turns(cases, launch)):
                item = _Asked(n, turn, Future())
                with self._changed:
                    line.waiting.add(item)
                    self._changed.notify()
                asked.append(item.answer)
                if threads < self._concurrency:
                    threads += 1
                    Thread(target=self._work, args=(line, listener), name="oloproof-case", daemon=True).start()
                while asked and (len(asked) >= window or asked[0].done()):
                    yield _awaited(asked.popleft(), listener)
            while asked:
                yield _awaited(asked.popleft(), listener)
        finally:
            with self._changed:
                line.is_over = True
                self._changed.notify_all()

    def stop(self) -> None:
        """Ask nothing more."""
        self._stopping = True
        with self._changed:
            self._changed.notify_all()

    def _work(self, line: _Line, listener: Listener) -> None:
        while (item := self._next(line)) is not None:
            n, turn, answer = item
            if not line.may_launch():
                self.stop()
            if self._stopping or line.is_over:
                answer.set_result(not_run(turn))
                continue
            listener.began(turn.case.id, turn.trial)
            attempt = attempt_of(turn, self._ask(order_of(n, turn)))
            once_more = again(self._retry, turn, attempt, listener)
            if once_more is None:
                answer.set_result(attempt)
                continue
            with self._changed:
                line.waiting.add_later(_Asked(n, once_more.turn, answer), monotonic() + once_more.wait_s)
                self._changed.notify()

    def _next(self, line: _Line) -> _Asked | None:
        """The next that is to be asked, once it may be; None when there will be none."""
        with self._changed:
            while True:
                now = monotonic()
                if self._stopping or line.is_over:
                    item = line.waiting.take(inf)
                    if item is not None or line.is_over:
                        return item
                    self._changed.wait()
                    continue
                wait_s = self._pace.wait_s(now)
                if not wait_s and (item := line.waiting.take(now)) is not None:
                    self._pace = self._pace.launched(now)
                    return item
                wait_s = wait_s if wait_s and line.waiting else line.waiting.wait_s(now)
                if line.waiting and not line.may_launch():
                    self.stop()
                    continue
                self._changed.wait(min(wait_s, LOOK_AGAIN_S if line.waiting else _LONGEST_S))


class _Line:
    """What one call of :meth:`Pool.run` has not asked yet, and whether nobody waits for it any more."""

    def __init__(self, may_launch: Callable[[], bool]) -> None:
        self.may_launch = may_launch
        self.waiting: Waiting[_Asked] = Waiting()
        self.is_over = False


def _awaited(answer: Future[Attempt], listener: Listener) -> Attempt:
    while not answer.done():
        again_s = listener.waiting()
        wait([answer], timeout=HEARD_S if again_s is None else min(again_s, HEARD_S))
    return answer.result()
