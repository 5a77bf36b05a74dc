"""A callable whose cases run on a Ray cluster: the pool decides which case is asked when, workers out there run it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from msgspec.structs import replace

from oloproof._version import __version__
from oloproof.errors import Problem, UsageError
from oloproof.model.case import Attempt, AttemptError, Case, system_error
from oloproof.model.project import CallableSystem, RayExecutor
from oloproof.runner.pool import WINDOW, Pool
from oloproof.runner.ports import EACH_ONCE, Launch
from oloproof.runner.protocol import Declared, LoadSystem, Ran, RunCase, encode
from oloproof.runner.ray.cluster import connected, is_upload
from oloproof.runner.ray.hands import ENDED_S, KILLED_S, Hand, Hands, Lost, hired
from oloproof.runner.ray.node import Assignment

MOST_LOSSES = 3
"""With how many workers a case may be lost, until it is an error of its own: it may be what ends them."""


class RaySystem:
    """A system on a Ray cluster."""

    def __init__(self, kind: CallableSystem, executor: RayExecutor, config: str) -> None:
        self._kind = kind
        self._executor = executor
        self._config = config
        self._assignment = encode(_assignment(kind, executor, config))
        self._ray: Any = None
        self._stopping = False
        self._hands = Hands(self._hire, config)
        self._pool: Pool | None = None
        self._warnings: tuple[str, ...] = ()
        self.identity = Declared()

    @property
    def log(self) -> str:
        return self._hands.log

    @property
    def warnings(self) -> tuple[str, ...]:
        return (*self._warnings, *self._hands.losses.told())

    def run(self, cases: Iterable[Case], launch: Launch = EACH_ONCE) -> Iterator[Attempt]:
        if self._pool is None:
            raise ValueError("the system is not loaded")
        window = launch.window or max(WINDOW, 4 * self._kind.concurrency)
        return self._pool.run(cases, replace(launch, window=window))

    def stop(self) -> None:
        self._stopping = True
        if self._pool is not None:
            self._pool.stop()

    @contextmanager
    def started(self) -> Iterator[RaySystem]:
        """The system once workers have loaded it, until the block ends. No worker outlives it."""
        with connected(self._executor, self._kind.directory, config=self._config) as ray:
            self._ray = ray
            self._start()
            try:
                yield self
            except BaseException as exc:
                self.stop()
                if isinstance(exc, Exception):
                    self._end(normally=False)
                else:
                    self._kill()
                raise
            self._end(normally=True)

    def _start(self) -> None:
        cpus = max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        most = min(self._kind.concurrency, cpus)
        each, more = divmod(self._kind.concurrency, most)
        hands = [self._hire(each + (n < more)) for n in range(most)]
        started, self.identity, self._warnings = hired(self._ray, hands, self._config)
        self._hands.declared = self.identity
        for hand in started:
            self._hands.add(hand)
        self._pool = Pool(self._ask, concurrency=self._hands.slots, launching=self._kind.launching)

    def _hire(self, slots: int) -> Hand:
        return Hand(self._ray, self._assignment, slots=slots, timeout_s=self._kind.timeout_s)

    def _ask(self, order: RunCase) -> Ran:
        last = "no Ray worker could be put to work any more"
        for lost in range(MOST_LOSSES):
            hand = None if lost and self._stopping else self._hands.take()
            if hand is None:
                break
            try:
                ran = hand.run(order)
            except Lost as exc:
                last = str(exc)
                self._hands.lose(hand, last, order.case_id)
                continue
            self._hands.give_back(hand)
            return ran
        else:
            why = f"{MOST_LOSSES} Ray workers in a row were lost while this case ran, the last of them: {last}"
            return Ran(order.n, error=system_error(why))
        if self._stopping:
            why = "the run was stopped before this case began on a worker that lasted"
            return Ran(order.n, error=AttemptError(kind="not_run", message=why))
        return Ran(order.n, error=system_error(f"this case was not run: {last}"))

    def _end(self, *, normally: bool) -> None:
        self._hands.end()
        hands = self._hands.working
        endings = [(hand, hand.ending(normally=normally)) for hand in hands]
        if hands:
            self._ray.wait([ending for _, ending in endings], num_returns=len(endings), timeout=ENDED_S)
        said = (each for hand, ending in endings for each in hand.ended(ending, KILLED_S))
        self._warnings = tuple(dict.fromkeys((*self._warnings, *said)))
        for hand in hands:
            hand.kill()

    def _kill(self) -> None:
        self._hands.end()
        hands = self._hands.working
        killing = [hand.killing() for hand in hands]
        if killing:
            self._ray.wait(killing, num_returns=len(killing), timeout=KILLED_S)
        for hand in hands:
            hand.kill()


def _assignment(kind: CallableSystem, executor: RayExecutor, config: str) -> Assignment:
    absent = [name for name in executor.env if name not in os.environ]
    if absent:
        what = f"ray.env names {', '.join(absent)}, which is not set here"
        raise UsageError(Problem("OLO434", what, "set it where oloproof runs, or leave it out", file=config))
    return Assignment(
        version=__version__,
        load=LoadSystem(kind.target, os.fsencode(kind.directory), kind.timeout_s, kind.memory_mb, kind.spare_chars),
        config=config,
        uploaded=is_upload(executor),
        env={name: os.environ[name] for name in executor.env},
    )
