"""The process that imports user code: ``python -m oloproof.runner.worker LINK SPOOL SLOT…`` (numbers of open files).

The main thread imports the user's module and then waits, so that at the end the interpreter shuts down in the usual
way, exit hooks included. A second thread listens to the parent and watches deadlines; it ends the process when the
parent is gone. Lanes call the user's functions and answer for themselves.
"""

from __future__ import annotations

import faulthandler
import fcntl
import os
import resource
import select
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Coroutine
from functools import partial
from math import ceil
from queue import SimpleQueue
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from oloproof.model.case import Attempt, Case
from oloproof.model.trajectory import Trajectory
from oloproof.runner.attempts import CaseJob
from oloproof.runner.code import imported_code
from oloproof.runner.crew import Crew, Lane
from oloproof.runner.judging import JudgingJob, UserFunction
from oloproof.runner.lanes import LoopLane, ThreadLane
from oloproof.runner.loading import Loaded, LoadError, declared_by, load_system, set_up, tear_down
from oloproof.runner.output import CaseLog, kept_text, route_prints
from oloproof.runner.protocol import (
    Declared,
    Dropped,
    Halt,
    JudgeCase,
    Lines,
    LoadEvaluators,
    LoadSystem,
    Ready,
    RunCase,
    Slot,
    Stop,
    TornDown,
    decode_order,
    encode,
)
from oloproof.runner.spool import Spool, SpooledLog

if TYPE_CHECKING:
    import asyncio

_OUT_OF_THE_WAY = 256
_RECEIVE_BYTES = 256 * 1024
_TICK_S = 0.1
"""How often the spool is cut: a child that prints without end fills some tens of megabytes meanwhile."""


OWN_FUNCTIONS = "oloproof.runner."
"""Where the functions are that are not the user's."""


class Worker:
    """One side of the link, and the crew that does what comes over it."""

    def __init__(self, link: socket.socket, spool: Spool, slots: list[Slot]) -> None:
        self._link = link
        self._linked = os.fstat(link.fileno())
        self._spool = spool
        self._slots = slots
        self._sending = Lock()
        self._first: SimpleQueue[LoadSystem | LoadEvaluators] = SimpleQueue()
        self._stopped = Event()
        self._crew: Crew[Any] | None = None
        self._lane: Lane | None = None
        self._target = ""
        self._system: Loaded | None = None
        """What is to be torn down at the end, None where nothing is."""
        self._loop: asyncio.AbstractEventLoop | None = None

    def work(self) -> None:
        """Load what the first order names, and return when the parent says stop."""
        Thread(target=self._listen, name="oloproof-link", daemon=True).start()
        try:
            self._load(self._first.get())
        except LoadError as exc:
            self._send(encode(exc.failed(self._spool.spare)))
        while not self._stopped.is_set():
            try:
                self._stopped.wait()
            except BaseException:  # a signal handler of user code raised
                continue
        if self._system is not None:
            self._send(encode(TornDown(tear_down(self._system, self._target, self._complete, self._spool.spare))))

    def _complete(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine to its end: where those of the cases run, or in a loop of its own."""
        if isinstance(self._lane, LoopLane):
            return self._lane.complete(coroutine)
        import asyncio

        self._loop = self._loop or asyncio.new_event_loop()
        return self._loop.run_until_complete(coroutine)

    def _load(self, order: LoadSystem | LoadEvaluators) -> None:
        directory, spare = os.fsdecode(order.directory), order.spare_chars
        self._spool.spare = spare  # before anything of the user's prints
        # Our own functions have all that they import before the project's files come on the path: an agent writes some.
        ours = _warmed(order, directory)
        sys.path.insert(0, directory)
        begin: Callable[[Any, Slot], Any]
        declared, is_async = Declared(), False
        match order:
            case LoadSystem(target):
                if order.memory_mb is not None:
                    resource.setrlimit(resource.RLIMIT_AS, (order.memory_mb << 20, order.memory_mb << 20))
                sys.argv = [target]
                system = load_system(target, directory)
                declared = replace(declared_by(system), code=imported_code())
                is_async = system.is_async
                several = len(self._slots) > 1

                def begin(order: RunCase, slot: Slot) -> CaseJob:
                    log = CaseLog(spare) if several else SpooledLog(self._spool)
                    return CaseJob(order, system, timeout_s=timeout_s, sink=slot.keep, log=log, spare=spare)

            case LoadEvaluators(functions):
                sys.argv = ["evaluators"]
                loaded = partial(UserFunction, directory=directory, spare=spare)
                judges = tuple(ours.get(spec.criterion) or loaded(spec) for spec in functions)
                declared = Declared(code=imported_code())

                def begin(order: JudgeCase, slot: Slot) -> JudgingJob:
                    return JudgingJob(order, judges, timeout_s=timeout_s, sink=slot.write)

        timeout_s = order.timeout_s
        crew: Crew[Any] = Crew(begin, self._send, slots=self._slots, timeout_s=timeout_s)
        self._crew = crew
        self._lane = LoopLane(crew) if is_async else ThreadLane(crew)
        if isinstance(order, LoadSystem):
            set_up(system, order.target, self._complete)
            self._target, self._system = order.target, system if system.teardown is not None else None
        self._send(encode(Ready(declared, kept_text(self._spool.take(), self._spool.spare), self._system is not None)))

    def _listen(self) -> None:
        try:
            lines = Lines()
            poll = select.poll()
            poll.register(self._link, select.POLLIN)
            wait_s = _TICK_S
            while True:
                self._spool.cut()
                if poll.poll(ceil(wait_s * 1000)):
                    data = self._link.recv(_RECEIVE_BYTES)
                    if not data:
                        os._exit(0)  # the parent is gone
                    self._obey(lines.feed(data))
                if self._crew is not None and self._lane is not None:
                    due_s = self._crew.expire(self._lane)
                    wait_s = _TICK_S if due_s is None else min(_TICK_S, due_s)
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
                if not os.path.samestat(os.fstat(self._link.fileno()), self._linked):
                    raise OSError("another file has the link's number")
                self._link.sendall(b"\n%b\n" % line)  # whatever user code left on a line ends before ours
        except OSError:  # the parent is gone, or user code closed the link: nothing can be answered or begun any more
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
    link, spooled, *slots = [_moved(int(number)) for number in arguments]
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent to act on
    faulthandler.enable()
    spool = Spool(spooled)
    route_prints(spool.write)
    Worker(socket.socket(fileno=link), spool, [Slot(fd) for fd in slots]).work()


def _warmed(order: LoadSystem | LoadEvaluators, directory: str) -> dict[str, UserFunction]:
    """The evaluators that are oloproof's own, by criterion, each called once on nothing."""
    specs = order.functions if isinstance(order, LoadEvaluators) else ()
    own = [spec for spec in specs if spec.target.startswith(OWN_FUNCTIONS)]
    ours = {spec.criterion: UserFunction(spec, directory, spare=order.spare_chars) for spec in own}
    for function in ours.values():
        function.judge(Case(id=""), Attempt(case_id="", output=None, trajectory=Trajectory()))
    return ours


if __name__ == "__main__":
    main(sys.argv[1:])
