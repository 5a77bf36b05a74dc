"""Cases asked one by one from threads of this process, for systems that live outside of it: a command, a server.

Threads are daemons: a server that never ends its answer holds up neither the run's end nor the interpreter's.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Event, Thread

from oloproof.model.case import Attempt, Case
from oloproof.runner.protocol import Declared, Ran, RunCase
from oloproof.runner.system import Turn, attempt_of, not_run, order_of, turns

WINDOW = 256
"""How many cases are read from the oldest that has no answer on."""

Orders = SimpleQueue[tuple[RunCase, Future[Ran | None]] | None]


class Pool:
    """A loaded system that asks at most ``concurrency`` cases at a time.

    ``ask`` returns whatever becomes of a case, and never raises. Nothing is declared by a decorator, nothing printed
    beside a case.
    """

    identity = Declared()
    log = ""

    def __init__(self, ask: Callable[[RunCase], Ran], *, concurrency: int) -> None:
        self._ask = ask
        self._concurrency = concurrency
        self._stopping = False

    def run(
        self,
        cases: Iterable[Case],
        *,
        trials: Sequence[int] = (1,),
        window: int | None = None,
        done: Container[tuple[str, int]] = frozenset(),
    ) -> Iterator[Attempt]:
        """The attempts, in the order of the cases and their trials."""
        window = window or WINDOW
        asked: deque[tuple[Turn, Future[Ran | None]]] = deque()
        orders, over = Orders(), Event()
        threads = 0
        try:
            for n, turn in enumerate(turns(cases, trials, done)):
                answer: Future[Ran | None] = Future()
                orders.put((order_of(n, turn), answer))
                asked.append((turn, answer))
                if threads < self._concurrency:
                    threads += 1
                    Thread(target=self._work, args=(orders, over), name="oloproof-case", daemon=True).start()
                while asked and (len(asked) >= window or asked[0][1].done()):
                    yield _attempt(*asked.popleft())
            while asked:
                yield _attempt(*asked.popleft())
        finally:
            over.set()
            for _ in range(threads):
                orders.put(None)

    def stop(self) -> None:
        """Ask nothing more."""
        self._stopping = True

    def _work(self, orders: Orders, over: Event) -> None:
        while (item := orders.get()) is not None:
            order, answer = item
            answer.set_result(None if self._stopping or over.is_set() else self._ask(order))


def _attempt(turn: Turn, answer: Future[Ran | None]) -> Attempt:
    ran = answer.result()
    return not_run(turn) if ran is None else attempt_of(turn, ran)
