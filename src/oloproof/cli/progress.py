"""How far a run has come, on stderr: drawn over itself on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from msgspec.structs import replace

from oloproof.cli.common import write_file
from oloproof.model.events import Event
from oloproof.model.headway import Headway
from oloproof.model.run import Run, TakenOver
from oloproof.pipeline import Watch
from oloproof.reports.headway import headway_line

if TYPE_CHECKING:
    from oloproof.cli.drawing import Drawing
    from oloproof.cli.streaming import EventStream

LINE_EVERY_S = 10.0


class ProgressWatch(Watch):
    """Prints the run's id first, then its headway; the first Ctrl-C stops launching, the second ends at once. Events
    go on to the ``stream``, where there is one."""

    def __init__(
        self,
        *,
        run_id_file: Path | None = None,
        stream: EventStream | None = None,
        drawing: Drawing | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.listens = stream is not None or drawing is not None
        self._run_id_file = run_id_file
        self._stream = stream
        self._drawing = drawing
        self._clock = clock
        self._headway = Headway()
        self._noun = "cases"
        self._began_at = self._told_at = clock()

    def started(self, run: Run, stop: Callable[[], None]) -> None:
        print(f"run {run.id}", file=sys.stderr)
        if self._run_id_file is not None:
            write_file(self._run_id_file, [run.id + "\n"])
        self._headway = Headway(total=run.cases * run.trials or None)
        self._noun = run.unit
        self._began_at = self._told_at = self._clock()
        _stop_on_interrupt(stop)
        if self._drawing is not None:
            self._drawing.start(self._noun)

    def resuming(self, done: int, of: int) -> None:
        print(f"resumed: {done:,} of {of:,} {self._noun} are there from before", file=sys.stderr)
        self._headway = replace(self._headway, before=done)

    def reusing(self, counts: Sequence[TakenOver], of: int) -> None:
        for each in counts:
            print(f"{each.attempts:,} of {of:,} attempts taken over from run {each.run}", file=sys.stderr)

    def confirming(self, cases: int, times: int) -> None:
        if self._drawing is not None:
            self._drawing.stop()
        noun, again = ("case", "once") if cases == 1 else ("cases", "once each")
        often = again if times == 1 else f"{times} times" if cases == 1 else f"{times} times each"
        print(f"{cases:,} newly broken {noun}: run again {often}", file=sys.stderr)

    def told(self, events: Sequence[Event]) -> None:
        if self._stream is not None:
            self._stream.told(events)
        self._headway = self._headway.after(events)
        if self._drawing is not None:
            self._drawing.show(self._headway)

    def judged(self, count: int) -> None:
        if not self.listens:
            self._headway = replace(self._headway, before=self._headway.before + count)
        now = self._clock()
        if self._drawing is None and count and now >= self._told_at + LINE_EVERY_S:
            self._told_at = now
            line = headway_line(self._headway, noun=self._noun, elapsed_s=now - self._began_at)
            print(line, file=sys.stderr)

    def close(self) -> None:
        if self._drawing is not None:
            self._drawing.stop()


@contextmanager
def watched(run_id_file: Path | None = None, *, stream: EventStream | None = None) -> Iterator[ProgressWatch]:
    """A watch whose drawing is gone and whose signal handler is undone when the run has ended."""
    drawing = None
    if sys.stderr.isatty():
        from oloproof.cli.drawing import Drawing  # and with it rich, before user code runs

        drawing = Drawing()
    watch = ProgressWatch(run_id_file=run_id_file, stream=stream, drawing=drawing)
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield watch
    finally:
        watch.close()
        signal.signal(signal.SIGINT, handler)


def _stop_on_interrupt(stop: Callable[[], None]) -> None:
    """Cases run in workers, which do not hear Ctrl-C: at the first one they finish what they are at, and the run is
    concluded with it. The second is Python's own."""

    def first(_signal: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # at once: the second may follow on its heels
        stop()
        print("stopping: running cases finish, no more are started; again to end at once", file=sys.stderr)

    signal.signal(signal.SIGINT, first)
