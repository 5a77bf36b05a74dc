"""The process that imports user code: ``python -m oloproof.runner.worker LINK SLOT…`` (numbers of open files).

The main thread imports the user's module and then waits, so that at the end the interpreter shuts down in the usual
way, exit hooks included. A second thread listens to the parent and watches deadlines; it ends the process when the
parent is gone. Lanes call the user's functions and answer for themselves.
"""

from __future__ import annotations

import faulthandler
import fcntl
import os
import select
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from math import ceil
from queue import SimpleQueue
from threading import Event, Lock, Thread
from typing import Any

from oloproof.record.marks import system_mark
from oloproof.runner.attempts import CaseJob
from oloproof.runner.crew import Crew, Job, Lane
from oloproof.runner.judging import JudgingJob, UserFunction
from oloproof.runner.lanes import LoopLane, ThreadLane
from oloproof.runner.loading import LoadError, load_function, require_one_argument
from oloproof.runner.output import route_prints
from oloproof.runner.protocol import (
    Declared,
    Dropped,
    Failed,
    Halt,
    JudgeCase,
    Lines,
    LoadEvaluators,
    LoadSystem,
    Ready,
    RunCase,
    Slot,
    Stop,
    decode_order,
    encode,
)

_OUT_OF_THE_WAY = 256
_RECEIVE_BYTES = 256 * 1024


class Worker:
    """One side of the link, and the crew that does what comes over it."""

    def __init__(self, link: socket.socket, slots: list[Slot]) -> None:
        self._link = link
        self._slots = slots
        self._sending = Lock()
        self._first: SimpleQueue[LoadSystem | LoadEvaluators] = SimpleQueue()
        self._stopped = Event()
        self._crew: Crew | None = None
        self._lane: Lane | None = None

    def work(self) -> None:
        """Load what the first order names, and return when the parent says stop."""
        Thread(target=self._listen, name="oloproof-link", daemon=True).start()
        try:
            self._load(self._first.get())
        except LoadError as exc:
            self._send(encode(Failed(exc.usage, exc.code, exc.message, exc.hint)))
        while not self._stopped.is_set():
            try:
                self._stopped.wait()
            except BaseException:  # a signal handler of user code raised
                continue

    def _load(self, order: LoadSystem | LoadEvaluators) -> None:
        sys.path.insert(0, order.directory)
        begin: Callable[[Any, Slot], Job]
        declared, is_async = Declared(), False
        match order:
            case LoadSystem(target):
                sys.argv = [target]
                system = load_function(target, order.directory)
                require_one_argument(system, target)
                mark = system_mark(system.function)
                if mark is not None:
                    declared = Declared(name=mark.name, version=mark.version, records=mark.records)
                is_async = system.is_async

                def begin(order: RunCase, slot: Slot) -> Job:
                    return CaseJob(order, system, timeout_s=timeout_s, sink=slot.write)

            case LoadEvaluators(functions):
                sys.argv = ["evaluators"]
                judges = tuple(UserFunction(spec, order.directory) for spec in functions)

                def begin(order: JudgeCase, slot: Slot) -> Job:
                    return JudgingJob(order, judges, timeout_s=timeout_s)

        timeout_s = order.timeout_s
        self._crew = Crew(begin, self._send, slots=self._slots, timeout_s=timeout_s)
        self._lane = LoopLane(self._crew) if is_async else ThreadLane(self._crew)
        self._send(encode(Ready(declared)))

    def _listen(self) -> None:
        try:
            lines = Lines()
            poll = select.poll()
            poll.register(self._link, select.POLLIN)
            wait_s: float | None = None
            while not self._stopped.is_set():
                if poll.poll(None if wait_s is None else ceil(wait_s * 1000)):
                    data = self._link.recv(_RECEIVE_BYTES)
                    if not data:
                        os._exit(0)  # the parent is gone
                    self._obey(lines.feed(data))
                if self._crew is not None and self._lane is not None:
                    wait_s = self._crew.expire(self._lane)
        except BaseException:
            traceback.print_exc(file=sys.__stderr__)
            os._exit(70)

    def _obey(self, lines: list[bytes]) -> None:
        orders: list[RunCase | JudgeCase] = []
        for line in lines:
            order = decode_order(line)
            match order:
                case RunCase() | JudgeCase():
                    orders.append(order)
                case LoadSystem() | LoadEvaluators():
                    self._first.put(order)
                case Halt():
                    dropped = tuple(order.n for order in orders) + (self._crew.drop() if self._crew else ())
                    orders = []
                    self._send(encode(Dropped(dropped)))
                case Stop():
                    self._stopped.set()
        if orders and self._crew is not None and self._lane is not None:
            self._crew.submit(orders, self._lane)

    def _send(self, line: bytes) -> None:
        try:
            with self._sending:
                self._link.sendall(line + b"\n")
        except OSError:  # the parent is gone, or user code closed the link: nothing can be answered any more
            os._exit(74)


def _moved(fd: int) -> int:
    """The same open file under a high number, inherited by nobody.

    User code that closes every file and opens its own would otherwise get our number, and what we write.
    """
    try:
        moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _OUT_OF_THE_WAY)
    except OSError:  # few files may be open here
        os.set_inheritable(fd, False)
        return fd
    os.close(fd)
    return moved


def main(arguments: list[str]) -> None:
    """Become the worker whose link and slots have these numbers."""
    link, *slots = [_moved(int(number)) for number in arguments]
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent to act on
    faulthandler.enable()
    route_prints()
    Worker(socket.socket(fileno=link), [Slot(fd) for fd in slots]).work()


if __name__ == "__main__":
    main(sys.argv[1:])
