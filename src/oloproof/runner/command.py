"""A system that is a command: a process for each case, which reads the question and prints the answer.

Whatever the process does, it is that case's: it runs in a session of its own, and is killed at the deadline with all
that it started.
"""

from __future__ import annotations

import os
import re
import selectors
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from math import inf
from threading import Lock
from time import monotonic, perf_counter
from typing import IO, cast

from oloproof.errors import Problem, UsageError
from oloproof.model.case import AttemptError, system_error
from oloproof.model.project import CommandSystem
from oloproof.runner.answers import MAX_ANSWER_BYTES, answer, question
from oloproof.runner.causes import of_exit_status
from oloproof.runner.code import named_code
from oloproof.runner.output import LOG_BYTES, kept_text
from oloproof.runner.pool import Pool
from oloproof.runner.process import end_of, environment, how_it_ended
from oloproof.runner.protocol import Declared, Ran, RunCase

PATIENCE_S = 0.25
"""How long after its end what a process left behind may still write to its output."""

_TICK_S = 0.05
"""How often it is looked after a process whose end nothing tells."""

_CHUNK_BYTES = 256 * 1024
_LAST_LINE = 300
_NODE_VERSION = re.compile(r"Node\.js v[\w.-]+")
_NODE_ERROR = re.compile(r"(Uncaught )?[\w.]*Error\b")

_REMEDY = "print what is no answer to standard error"


@contextmanager
def command_system(kind: CommandSystem, config: str) -> Iterator[Pool]:
    """The command, once it is known to be there. No process of it outlives the block.

    Errors: UsageError when there is no such program.
    """
    _refuse_unknown(kind, config)
    command = _Command(kind)
    identity = Declared(code=named_code(kind.command, kind.directory))
    pool = Pool(command.ask, concurrency=kind.concurrency, launching=kind.launching, identity=identity)
    try:
        yield pool
    finally:
        pool.stop()
        command.end()


def _refuse_unknown(kind: CommandSystem, config: str) -> None:
    program = kind.command[0]
    is_path = os.sep in program
    if shutil.which(os.path.join(kind.directory, program) if is_path else program) is None:
        where = "is no program that may be run here" if is_path else "is no program on the PATH"
        words = program.split()
        hint = ""
        if len(words) > 1:
            hint = f"each argument is an item of its own: [{', '.join(words)}]"
        elif is_path and os.path.isfile(os.path.join(kind.directory, program)):
            hint = f"`chmod +x {shlex.quote(program)}` allows it, or name what runs it before it: [sh, {program}]"
        raise UsageError(Problem("OLO409", f"system.command: {program!r} {where}", hint, file=config))


class _Command:
    """A command that is run once for each case, and its processes that are at work."""

    def __init__(self, kind: CommandSystem) -> None:
        self._kind = kind
        self._lock = Lock()
        self._running: set[_Process] = set()
        self._over = False

    def end(self) -> None:
        """Kill what still runs, and what is started from now on."""
        with self._lock:
            self._over = True
            for process in self._running:
                process.kill()

    def ask(self, order: RunCase) -> Ran:
        """Run it on one case."""
        started = perf_counter()
        try:
            process = _Process(self._kind, question(order))
        except OSError as exc:
            return Ran(order.n, error=system_error(f"the command could not be started: {exc.strerror or exc}"))
        with self._lock:
            self._running.add(process)
            if self._over:
                process.kill()
        try:
            failure = process.finish()
        finally:
            with self._lock:
                self._running.discard(process)
        spare = self._kind.spare_chars
        said = answer(bytes(process.printed), order, failure, spare=spare, remedy_for_text=_REMEDY)
        log = kept_text(bytes(process.told), spare)
        return said.ran(order, duration_ms=(perf_counter() - started) * 1000, log=log)


class _Process:
    """One process: it is given the question, and what it prints is taken until it ends. ``printed`` is its standard
    output, ``told`` the beginning of its standard error."""

    def __init__(self, kind: CommandSystem, asked: bytes) -> None:
        self.printed = bytearray()
        self.told = bytearray()
        self._unsent = memoryview(asked)
        self._timeout_s = kind.timeout_s
        self._spare = kind.spare_chars
        self._until = monotonic() + kind.timeout_s
        self._process = subprocess.Popen(
            kind.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=kind.directory,
            env=environment(),
            start_new_session=True,
        )

    def finish(self) -> AttemptError | None:
        """Wait for the end. How it failed, None when it ended well."""
        try:
            failure = self._converse()
        finally:
            self.kill()
            with self._process:  # closes what is open and takes the exit status
                pass
        if failure is None and self._process.returncode:
            status = self._process.returncode
            message = f"the command {how_it_ended(status)}{_last_line(self.told, self._spare)}"
            failure = system_error(message, infrastructure=of_exit_status(status))
        return failure

    def kill(self) -> None:
        """End it, and what it started. Until its status is taken, nobody else can have its number."""
        if self._process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def _converse(self) -> AttemptError | None:
        """Send and receive until the process has ended and all that it printed is there."""
        with ExitStack() as opened:
            streams = opened.enter_context(selectors.DefaultSelector())
            for stream, event in self._streams():
                os.set_blocking(stream.fileno(), False)
                streams.register(stream, event)
            ending = end_of(self._process, opened)
            if ending is not None:
                streams.register(ending, selectors.EVENT_READ)
            ended_at = inf
            while (now := monotonic()) < self._until:
                if ended_at == inf and self._has_ended():
                    ended_at = now
                    if ending is not None:
                        streams.unregister(ending)
                if ended_at < inf and (not streams.get_map() or now > ended_at + PATIENCE_S):
                    return None
                for key, _ in streams.select(min(_TICK_S, self._until - now)):
                    if key.fd != ending and not self._serve(cast(IO[bytes], key.fileobj)):
                        streams.unregister(key.fileobj)
                if len(self.printed) > MAX_ANSWER_BYTES:
                    return system_error(f"its answer takes more than {MAX_ANSWER_BYTES} bytes")
            return AttemptError(kind="timeout", message=f"no answer within {self._timeout_s:g} s")

    def _streams(self) -> Iterator[tuple[IO[bytes], int]]:
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        yield process.stdin, selectors.EVENT_WRITE
        yield process.stdout, selectors.EVENT_READ
        yield process.stderr, selectors.EVENT_READ

    def _has_ended(self) -> bool:
        """Whether there is a status to be taken, which stays there."""
        return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def _serve(self, stream: IO[bytes]) -> bool:
        """Send to or take from a stream that is ready. Whether there may be more of it."""
        if stream is self._process.stdin:
            try:
                self._unsent = self._unsent[os.write(stream.fileno(), self._unsent) :]
            except BlockingIOError:
                return True
            except OSError:  # it does not want to be asked
                self._unsent = self._unsent[:0]
            if not self._unsent:
                stream.close()
            return bool(self._unsent)
        try:
            data = os.read(stream.fileno(), _CHUNK_BYTES)
        except BlockingIOError:
            return True
        if stream is self._process.stdout:
            self.printed += data
        else:
            self.told += data[: LOG_BYTES + self._spare + 1 - len(self.told)]
        return bool(data)


def _last_line(told: bytearray, spare: int) -> str:
    """What a program said last before it failed, which mostly is why. Node.js says its version behind that, and where
    the error was raised."""
    lines = kept_text(bytes(told), spare).strip().splitlines()
    if lines and _NODE_VERSION.fullmatch(lines[-1].strip()):
        lines = [line for line in lines if _NODE_ERROR.match(line)] or lines
    return f": {lines[-1].strip()[: _LAST_LINE + spare]}" if lines else ""
