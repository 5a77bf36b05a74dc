"""``--json-events``: what happens in a run, on stdout, a line each, as it happens."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from queue import Full, Queue
from threading import Lock, Thread

import click

from oloproof.cli.common import Shown
from oloproof.errors import ExitCode, OloproofError
from oloproof.model.events import Event, RunFinished, RunStarted
from oloproof.model.run import Report, RunStatus
from oloproof.reports.document import report_document
from oloproof.reports.events import event_line

WAITING_LINES = 4096
"""A run waits for a reader that is so far behind."""

PATIENCE_S = 2.0
"""How long a run that was ended at once waits for a reader."""

json_events_option = click.option(
    "--json-events", is_flag=True, help="Print what happens as lines of JSON on stdout, and the tables on stderr."
)


class EventStream:
    """Writes lines to a file descriptor, in a thread of its own: a Ctrl-C cannot tear one, and only a reader that is
    far behind holds up the run. A reader that goes away is no failure of the run, and its events are dropped."""

    def __init__(self, fd: int, *, patience_s: float = PATIENCE_S) -> None:
        self._fd = fd
        self._patience_s = patience_s
        self._lines: Queue[bytes | None] = Queue(WAITING_LINES)
        self._lock = Lock()
        self._run = ""
        self._is_over = False
        self.report: Report | None = None
        self.failure: OSError | None = None
        """Why not all lines could be written, None also where nobody reads them any more."""
        self._writer = Thread(target=self._write, name="oloproof-events", daemon=True)
        self._writer.start()

    def told(self, events: Sequence[Event]) -> None:
        """These have happened. Whatever still happens on other threads once the run has finished is not told."""
        for event in events:
            with self._lock:
                if self._is_over:
                    return
                if isinstance(event, RunStarted):
                    self._run = event.run
                self._lines.put(event_line(event))

    def close(self, *, exit_code: int, ended_by: BaseException | None) -> None:
        """Say how the run ended, where it began, and wait until it is written; not for long where the run was ended at
        once."""
        patience_s = self._patience_s if isinstance(ended_by, KeyboardInterrupt) else None
        if not self._lock.acquire(timeout=-1 if patience_s is None else patience_s):
            return
        try:
            self._is_over = True
            if self._run:
                self._lines.put(event_line(self._finished(exit_code, ended_by)), timeout=patience_s)
            self._lines.put(None, timeout=patience_s)
        except Full:
            return
        finally:
            self._lock.release()
        self._writer.join(patience_s)

    def _finished(self, exit_code: int, ended_by: BaseException | None) -> RunFinished:
        report = self.report
        status: RunStatus = "interrupted" if isinstance(ended_by, KeyboardInterrupt) else "broken"
        return RunFinished(
            run=self._run,
            status=status if report is None else report.run.status,
            outcome=None if report is None else report.gate.outcome,
            exit_code=exit_code,
            report=None if report is None else report_document(report),
        )

    def _write(self) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # it is to wake the thread that handles it
        is_open = True
        while (line := self._lines.get()) is not None:
            while line and is_open:
                try:
                    line = line[os.write(self._fd, line) :]
                except OSError as error:
                    is_open = False
                    self.failure = None if isinstance(error, BrokenPipeError) else error


@contextmanager
def streamed(json_events: bool, shown: Shown) -> Iterator[EventStream | None]:
    """A stream of events where one is asked for, which is told how the block ends; what is printed in it goes to stderr
    then."""
    if not json_events:
        yield None
        return
    if shown.as_json:
        raise click.UsageError("--json and --json-events both print on stdout; the last event carries the document")
    sys.stdout.flush()
    stream = EventStream(sys.stdout.fileno())
    ended_by: BaseException | None = None
    try:
        with redirect_stdout(sys.stderr):
            yield stream
    except BaseException as error:
        ended_by = error
        raise
    finally:
        stream.close(exit_code=_exit_code(ended_by), ended_by=ended_by)
        if stream.failure is not None and isinstance(ended_by, SystemExit):
            raise stream.failure  # a verdict that its reader has not got


def _exit_code(ended_by: BaseException | None) -> int:
    """With what the command will end."""
    match ended_by:
        case None:
            return ExitCode.ALLOW
        case SystemExit(code=int() as code):
            return code
        case OloproofError(exit_code=code):
            return code
        case KeyboardInterrupt() | click.Abort():
            return ExitCode.INTERRUPTED
        case click.ClickException():
            return ExitCode.USAGE
        case OSError():
            return ExitCode.BROKEN
        case _:
            return ExitCode.INTERNAL
