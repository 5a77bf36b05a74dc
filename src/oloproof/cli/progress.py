"""How far a run has come, on stderr: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from oloproof.cli.common import write_file
from oloproof.model.run import Run
from oloproof.pipeline import Watch

if TYPE_CHECKING:
    from rich.progress import Progress

LINE_EVERY_S = 10.0


class ProgressWatch(Watch):
    """Prints the run's id first, then its progress; the first Ctrl-C stops launching, the second ends at once."""

    def __init__(self, *, run_id_file: Path | None = None) -> None:
        self._run_id_file = run_id_file
        self._done = 0
        self._total = 0
        self._noun = "cases"
        self._told_at = time.monotonic()
        self._bar: Progress | None = None

    def started(self, run: Run, stop: Callable[[], None]) -> None:
        print(f"run {run.id}", file=sys.stderr)
        if self._run_id_file is not None:
            write_file(self._run_id_file, [run.id + "\n"])
        self._total = run.cases * run.trials
        self._noun = "cases" if run.trials == 1 else "trials"
        _stop_on_interrupt(stop)
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn

            self._bar = Progress(
                BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), console=Console(stderr=True), transient=True
            )
            self._bar.start()
            self._bar.add_task("", total=self._total or None)

    def resuming(self, done: int, of: int) -> None:
        print(f"resumed: {done} of {of} {self._noun} are there from before", file=sys.stderr)
        self._done = done
        if self._bar is not None:
            self._bar.advance(self._bar.task_ids[0], done)

    def confirming(self, cases: int, times: int) -> None:
        if self._bar is not None:
            self._bar.stop()
        noun, again = ("case", "once") if cases == 1 else ("cases", "once each")
        often = again if times == 1 else f"{times} times" if cases == 1 else f"{times} times each"
        print(f"{cases} newly broken {noun}: run again {often}", file=sys.stderr)

    def judged(self, count: int) -> None:
        self._done += count
        if self._bar is not None:
            self._bar.advance(self._bar.task_ids[0], count)
        elif time.monotonic() - self._told_at >= LINE_EVERY_S:
            self._told_at = time.monotonic()
            print(f"{self._done} of {self._total or '?'} {self._noun}", file=sys.stderr)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()


@contextmanager
def watched(run_id_file: Path | None = None) -> Iterator[ProgressWatch]:
    """A watch whose bar is gone and whose signal handler is undone when the run has ended."""
    watch = ProgressWatch(run_id_file=run_id_file)
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield watch
    finally:
        watch.close()
        signal.signal(signal.SIGINT, handler)


def _stop_on_interrupt(stop: Callable[[], None]) -> None:
    def first(_signal: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # at once: the second may follow on its heels
        stop()
        print("stopping: running cases finish, no more are started; again to end at once", file=sys.stderr)

    signal.signal(signal.SIGINT, first)
