"""The workers of a run on a Ray cluster: who is free, who was lost, and who comes in the place of the lost."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from math import inf
from threading import Condition, Thread
from time import monotonic
from typing import Any

from msgspec import Struct

from oloproof.errors import BrokenError, OloproofError, Problem, UsageError
from oloproof.runner.launching import HEARD_S
from oloproof.runner.protocol import Declared, Failed, Ran, RunCase, encode
from oloproof.runner.ray.node import Node, decode_answer, decode_end, decode_start
from oloproof.runner.seat import LOAD_TIMEOUT_S
from oloproof.runner.supervisor import GRACE_S

PLACED_S = 60.0
"""How long the cluster may take to find room for a worker."""

FRUITLESS = 3
"""How many in a row may fail to come in the place of a lost worker, until none is asked for any more."""

ALONE_S = PLACED_S + LOAD_TIMEOUT_S
"""How long cases wait for a worker while there is none at all: a cluster without its head answers nothing."""

ENDED_S = 40.0
"""How long workers may take to end normally, teardown included."""

KILLED_S = 2.0
"""How long they may take to end all that they started."""

_SLACK_S = 60.0
_NAMED = 3


class Lost(Exception):
    """A worker is there no more. The text says why."""


class Hand:
    """A worker on the cluster, which runs as many cases at a time as it has ``slots``."""

    def __init__(self, ray: Any, assignment: bytes, *, slots: int, timeout_s: float) -> None:
        self._ray = ray
        self.slots = slots
        self.machine = "a machine that is not known yet"
        self.log = ""
        self._longest_s = timeout_s + GRACE_S + 3 * LOAD_TIMEOUT_S + _SLACK_S
        options = {"num_cpus": 1, "max_restarts": 0, "max_concurrency": slots + 1, "scheduling_strategy": "SPREAD"}
        self._actor = ray.remote(Node).options(**options).remote(assignment)
        self.placed = self._actor.machine.remote()
        self.starting = self._actor.start.remote()

    def started(self, config: str) -> Declared:
        """What the system declares, once :attr:`starting` is there.

        Errors: UsageError or BrokenError as the worker says it; Lost when it ended.
        """
        match decode_start(self._got(self.starting, LOAD_TIMEOUT_S + GRACE_S)):
            case Failed() as failed:
                raise failed.error(config)
            case started:
                self.machine = started.machine
                return started.declared

    def comes(self, is_over: Callable[[], bool]) -> bool:
        """Wait until the cluster has found room for it, and it has started: whether that was in time. It is not waited
        for any longer once that ``is_over``."""
        for there, within_s in ((self.placed, PLACED_S), (self.starting, LOAD_TIMEOUT_S + GRACE_S)):
            until = monotonic() + within_s
            while not self._ray.wait([there], timeout=HEARD_S)[0]:
                if is_over() or monotonic() >= until:
                    return False
        return not is_over()

    def run(self, order: RunCase) -> Ran:
        """Errors: Lost."""
        answered = decode_answer(self._got(self._actor.run.remote(encode(order)), self._longest_s))
        if answered.log is not None:
            self.log = answered.log
        return answered.ran

    def ending(self, *, normally: bool) -> Any:
        """Where its end is awaited by :meth:`ended`."""
        return self._actor.close.remote() if normally else self._actor.fail.remote()

    def ended(self, ending: Any, within_s: float) -> tuple[str, ...]:
        """What went wrong beside the cases."""
        try:
            end = decode_end(self._got(ending, within_s))
        except Lost as exc:
            return (f"a Ray worker on {self.machine} did not end as it should: {exc}",)
        self.log = end.log
        return end.warnings

    def killing(self) -> Any:
        return self._actor.kill.remote()

    def kill(self) -> None:
        """End the actor's process, and take no notice if it is gone."""
        with suppress(Exception):
            self._ray.kill(self._actor)

    def _got(self, reference: Any, within_s: float) -> bytes:
        try:
            data = self._ray.get(reference, timeout=within_s)
        except self._ray.exceptions.GetTimeoutError:
            raise Lost(f"nothing was heard of it for {within_s:g} s") from None
        except self._ray.exceptions.RayError as exc:
            raise Lost(_told(exc)) from None
        if not isinstance(data, bytes):
            raise Lost("it said what is no answer")
        return data


def _told(exc: BaseException) -> str:
    """Why Ray gave an actor up, in a line: of its text the last that says something."""
    lines = [line.strip() for line in str(exc).splitlines() if line.strip()]
    reasons = [line for line in lines if "Error:" in line or line.startswith("The actor")]
    return (reasons or lines or [type(exc).__name__])[-1][:300]


class Losses(Struct):
    """What was lost in a run: how many workers, where and why the last, and the cases that were run again."""

    workers: int = 0
    where: str = ""
    why: str = ""
    cases: int = 0
    named: tuple[str, ...] = ()

    def told(self) -> tuple[str, ...]:
        if not self.workers:
            return ()
        many = f"{self.workers} Ray workers were lost, the last" if self.workers > 1 else "a Ray worker was lost"
        named = ", ".join(self.named) + (", …" if self.cases > len(self.named) else "")
        again = f"; cases run again: {self.cases} ({named})" if self.cases else ""
        return (f"{many} on {self.where}: {self.why}{again}",)


class Hands:
    """Who is at work. ``hire`` makes a worker with so many slots; ``config`` is named in what is wrong with one."""

    def __init__(self, hire: Callable[[int], Hand], config: str) -> None:
        self._hire = hire
        self._config = config
        self._changed = Condition()
        self._free: deque[Hand] = deque()
        self._working: list[Hand] = []
        self._coming = 0
        self._until = inf
        self._over = False
        self._logs: list[str] = []
        self._replacing: list[Thread] = []
        self.declared = Declared()
        """What the system declares, on each machine."""
        self.losses = Losses()

    @property
    def log(self) -> str:
        with self._changed:
            return "".join([*self._logs, *(hand.log for hand in self._working)])

    @property
    def slots(self) -> int:
        with self._changed:
            return sum(hand.slots for hand in self._working)

    @property
    def working(self) -> list[Hand]:
        with self._changed:
            return list(self._working)

    def add(self, hand: Hand) -> None:
        """It has started, and is free."""
        with self._changed:
            self._working.append(hand)
            self._free.extend([hand] * hand.slots)
            self._changed.notify_all()

    def take(self) -> Hand | None:
        """A worker with a free slot, once there is one; None when there will be none."""
        with self._changed:
            while not self._over and not self._free and (self._working or self._coming):
                if not self._working and monotonic() >= self._until:
                    break
                self._changed.wait(ALONE_S)
            return self._free.popleft() if self._free and not self._over else None

    def give_back(self, hand: Hand) -> None:
        """It has answered."""
        with self._changed:
            if hand in self._working:
                self._free.append(hand)
                self._changed.notify()

    def lose(self, hand: Hand, why: str, case_id: str) -> None:
        """It was lost with a case."""
        with self._changed:
            if self._over:
                return
            self.losses.cases += 1
            if len(self.losses.named) < _NAMED and case_id not in self.losses.named:
                self.losses.named += (case_id,)
            if hand not in self._working:
                return
            self._working.remove(hand)
            self._until = monotonic() + ALONE_S
            self._logs.append(hand.log)
            self._free = deque(each for each in self._free if each is not hand)
            self.losses.workers += 1
            self.losses.where, self.losses.why = hand.machine, why
            self._coming += 1
            thread = Thread(target=self._replace, args=(hand.slots,), name="oloproof-ray", daemon=True)
            self._replacing.append(thread)
            thread.start()
        hand.kill()

    def end(self) -> None:
        """Nobody is asked any more, and nobody comes any more."""
        with self._changed:
            self._over = True
            self._changed.notify_all()
        for thread in self._replacing:
            thread.join(ENDED_S)

    def _replace(self, slots: int) -> None:
        for _ in range(FRUITLESS):
            if self._is_over():
                break
            try:
                hand = self._hire(slots)
                if hand.comes(self._is_over):
                    if hand.started(self._config) == self.declared:
                        self.add(hand)
                        break
                elif not self.working:
                    hand.kill()
                    break
                hand.kill()
            except (Lost, OloproofError):
                continue
            except Exception:  # Ray itself is gone
                break
        with self._changed:
            self._coming -= 1
            self._changed.notify_all()

    def _is_over(self) -> bool:
        return self._over


def hired(ray: Any, hands: list[Hand], config: str) -> tuple[list[Hand], Declared, tuple[str, ...]]:
    """Those of new workers that have started, what the system declares, and what is to be told.

    Errors: what is wrong with the system or with a machine, as a worker says it; BrokenError where none could start.
    """
    _, late = ray.wait([hand.placed for hand in hands], num_returns=len(hands), timeout=PLACED_S)
    why = f"the cluster had no room for it within {PLACED_S:g} s" if late else ""
    started: list[tuple[Hand, Declared]] = []
    for hand in hands:
        if hand.placed in late:
            hand.kill()
            continue
        try:
            started.append((hand, hand.started(config)))
        except Lost as exc:
            why = str(exc)
    if not started:
        hint = "each worker takes a CPU of the cluster's, and needs oloproof and what the system imports on its machine"
        raise BrokenError(f"no worker could be started on the Ray cluster: {why}", code="OLO432", hint=hint)
    (first, declared), *rest = started
    for hand, other in rest:
        if other != declared:
            what = f"the system has other files or another version on {hand.machine} than on {first.machine}"
            hint = "share one directory between the machines, or write `ray: {code: upload}` to send its files along"
            raise UsageError(Problem("OLO438", what, hint, file=config))
    missing = len(hands) - len(started)
    told = () if not missing else (f"{missing} of {len(hands)} Ray workers could not be started: {why}",)
    return [hand for hand, _ in started], declared, told
