"""The traces of a run as a line of ``traces.jsonl``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from oloproof.importers.otel.telling import run_of
from oloproof.importers.otel.traces import Trace
from oloproof.importers.written import line_of
from oloproof.model.recording import Recording


class Writer:
    """Writes runs as they complete. ``counts`` are the trajectories, steps and unrelated traces so far; ``losses`` what
    could not be carried over, by kind. ``write`` takes one whole line."""

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self.trajectories = self.steps = self.unrelated = 0
        self.losses: Counter[str] = Counter()
        self._write = write
        self._trials: Counter[str] = Counter()

    def run(self, traces: list[Trace]) -> None:
        """One run. A run of a case that was written already is the next trial of it."""
        for trace in traces:
            trace.settle(self.losses)
        told = sorted((trace for trace in traces if trace.has_agent), key=lambda trace: trace.nodes[0].start)
        self.unrelated += len(traces) - len(told)
        if not told:
            return
        run = run_of(told)
        case = run.case or told[0].trace_id
        self._trials[case] += 1
        recording, line = line_of(
            Recording(
                case=case,
                trial=self._trials[case],
                output=run.output,
                error=run.error,
                trajectory=run.trajectory,
                input=run.input,
                metadata=run.metadata,
            )
        )
        self._write(line)
        self.trajectories += 1
        self.steps += len(recording.trajectory.steps) if recording.trajectory is not None else 0
        self.losses.update(run.losses)
