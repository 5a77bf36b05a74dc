"""When attempts begin: which is made again and after how long, how many a minute, and what waits meanwhile.

Nothing here waits or looks at a clock: it is told the time (monotonic, in seconds), and says what may begin and when to
ask again. Libraries for retries call a function again and sleep between; here an attempt is a value that came back from
another process, its wait must end when the run is stopped, and its jitter must be the same when the run is resumed.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable
from math import inf
from typing import Generic, TypeVar
from zlib import crc32

from msgspec import Struct

from oloproof.model.case import AttemptError
from oloproof.model.project import Launching, Retry

T = TypeVar("T")

LOOK_AGAIN_S = 1.0
"""How often it is asked whether more may be launched while everything waits: a budget may be spent meanwhile."""

HEARD_S = 0.5
"""How long a wait of the main thread may be: a signal that comes just before it does not end it, and is heard after."""


def wait_before_next(retry: Retry | None, error: AttemptError | None, *, made: int, seed: int) -> float | None:
    """The seconds after which an attempt is made again that ended with ``error`` and was the ``made``-th; None where it
    is the last: it did not end with a listed infrastructure error, there were enough, or the service asks to be left
    alone for longer than the backoff may take.

    The wait doubles with each attempt, and is shortened by up to half of it, by dice that ``seed`` throws.
    """
    if retry is None or error is None or error.infrastructure not in retry.on or made >= retry.attempts:
        return None
    longest, asked_s = retry.backoff.max_s, error.retry_after_s or 0.0
    if asked_s > longest:
        return None
    doubled = min(longest, retry.backoff.first_s * 2.0 ** min(made - 1, 64))
    share = crc32(f"{made}:{seed}".encode()) / 2**32
    return max(asked_s, doubled * (1 - share / 2))


def always() -> bool:
    """That more may be launched."""
    return True


class Pace(Struct, frozen=True):
    """A token bucket that holds one: launches are ``every_s`` apart at least, so that no minute sees more of them than
    it may. ``free_at`` is when the next may be."""

    every_s: float = 0.0
    free_at: float = -inf

    @classmethod
    def of(cls, launching: Launching) -> Pace:
        return cls() if launching.max_per_minute is None else cls(60.0 / launching.max_per_minute)

    def wait_s(self, now: float) -> float:
        """The seconds until something may be launched, 0 when it may be now."""
        return max(0.0, self.free_at - now)

    def launched(self, now: float) -> Pace:
        """The same after a launch."""
        return Pace(self.every_s, max(now, self.free_at) + self.every_s) if self.every_s else self


class Waiting(Generic[T]):
    """What has not begun: what may begin at once in its order, and what may later, which goes first when it is due."""

    def __init__(self) -> None:
        self._ready: deque[T] = deque()
        self._later: list[tuple[float, int, T]] = []
        self._count = 0

    def __bool__(self) -> bool:
        return bool(self._ready or self._later)

    def add(self, item: T) -> None:
        """It may begin once all that is ready has."""
        self._ready.append(item)

    def put_back(self, items: Iterable[T]) -> None:
        """They were about to begin, and are the first again, in this order."""
        self._ready.extendleft(reversed(list(items)))

    def add_later(self, item: T, due: float) -> None:
        """It may begin from ``due`` on."""
        self._count += 1
        heapq.heappush(self._later, (due, self._count, item))

    def take(self, now: float) -> T | None:
        """The next that may begin, None where there is none. At ``inf`` everything may."""
        if self._later and self._later[0][0] <= now:
            return heapq.heappop(self._later)[2]
        return self._ready.popleft() if self._ready else None

    def wait_s(self, now: float) -> float:
        """The seconds until the next is due that is not yet; inf where there is none."""
        return min((due - now for due, _, _ in self._later[:1] if due > now), default=inf)
