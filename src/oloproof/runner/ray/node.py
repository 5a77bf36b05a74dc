"""The part of a run that a machine of the cluster has: an actor, and below it the processes that import user code."""

from __future__ import annotations

import os
import signal
import socket
from threading import Lock

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from oloproof._version import __version__
from oloproof.errors import OloproofError, UsageError
from oloproof.runner.protocol import Declared, Failed, LoadSystem, Ran, RunCase, encode
from oloproof.runner.workers import Workers


class Assignment(Struct, frozen=True, kw_only=True):
    """What an actor is made with. ``uploaded``: the project's files lie where Ray has put them, and not in the load's
    own directory. ``env`` are variables that its processes have beside those of their machine."""

    version: str
    load: LoadSystem
    config: str
    uploaded: bool
    env: dict[str, str]


class Started(Struct, frozen=True, tag="started"):
    """The system is loaded on the machine of that name."""

    machine: str
    declared: Declared


class Answered(Struct, frozen=True, omit_defaults=True):
    """What became of a case; and all that was printed outside of any case, None where it is what it was."""

    ran: Ran
    log: str | None = None


class Ended(Struct, frozen=True, omit_defaults=True):
    """All that was printed outside of any case, and what went wrong beside the cases."""

    log: str = ""
    warnings: tuple[str, ...] = ()


decode_start = msgspec.json.Decoder(Started | Failed).decode
decode_answer = msgspec.json.Decoder(Answered).decode
decode_end = msgspec.json.Decoder(Ended).decode
_decode_assignment = msgspec.json.Decoder(Assignment).decode
_decode_order = msgspec.json.Decoder(RunCase).decode


class Node:
    """Orders and answers are bytes, so that nothing is unpickled that a machine of the cluster says."""

    def __init__(self, assignment: bytes) -> None:
        self._assigned = _decode_assignment(assignment)
        self._home = os.fsdecode(self._assigned.load.directory)
        self._directory = os.getcwd() if self._assigned.uploaded else self._home
        self._workers = Workers(
            replace(self._assigned.load, directory=os.fsencode(self._directory)), self._assigned.config
        )
        self._lock = Lock()
        self._told = ""
        os.environ.update(self._assigned.env)

    def machine(self) -> str:
        """Where it is."""
        return socket.gethostname()

    def start(self) -> bytes:
        """Load the system: a ``Started``, or a ``Failed``."""
        machine = self.machine()
        unfit = self._unfit(machine)
        if unfit is not None:
            return encode(unfit)
        _interruptible()
        try:
            return encode(Started(machine, self._workers.start()))
        except OloproofError as exc:
            problem = exc.problems[0]
            return encode(Failed(isinstance(exc, UsageError), problem.code, problem.message, problem.hint))

    def run(self, order: bytes) -> bytes:
        """Run the system on one case: an ``Answered``."""
        _interruptible()
        ran = self._workers.ask(_decode_order(order))
        if self._assigned.uploaded and ran.error is not None and ran.error.traceback is not None:
            traceback = ran.error.traceback.replace(self._directory, self._home)
            ran = replace(ran, error=replace(ran.error, traceback=traceback))
        log = self._workers.log
        with self._lock:
            is_new = log != self._told
            self._told = log
        return encode(Answered(ran, log if is_new else None))

    def close(self) -> bytes:
        """Let the system end normally: an ``Ended``."""
        self._workers.close()
        return encode(Ended(self._workers.log, self._workers.warnings))

    def fail(self) -> bytes:
        """End at once what runs a case, the rest as the system ends where something went wrong: an ``Ended``."""
        self._workers.fail()
        return encode(Ended(self._workers.log, self._workers.warnings))

    def kill(self) -> None:
        """End everything at once."""
        self._workers.kill()

    def _unfit(self, machine: str) -> Failed | None:
        if self._assigned.version != __version__:
            what = f"{machine} has oloproof {__version__}, and this is {self._assigned.version}"
            return Failed(False, "OLO435", what, "install the same version on every machine of the cluster")
        if not os.path.isdir(self._directory):
            what = f"the project's directory {self._home} is not there on {machine}"
            hint = "share it under the same path, or write `ray: {code: upload}` to send its files along"
            return Failed(True, "OLO433", what, hint)
        return None


def _interruptible() -> None:
    """Ray keeps SIGINT from its processes, and a child of them has the same signals kept from it: on no other machine
    would user code find it so."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
