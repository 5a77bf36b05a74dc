"""The traces of a run as a line of ``traces.jsonl``."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, OrderedDict
from collections.abc import Iterable
from typing import NamedTuple, Protocol

from msgspec.structs import replace

from oloproof.importers.otel.telling import run_of
from oloproof.importers.otel.traces import Trace
from oloproof.importers.written import line_of
from oloproof.model.recording import Recording
from oloproof.receiver.gathering import MOST_REMEMBERED


class File(Protocol):
    """An unbuffered binary file, open for reading and writing at its end."""

    def read(self, size: int, /) -> bytes | None: ...
    def write(self, data: bytes, /) -> int | None: ...
    def seek(self, offset: int, whence: int = 0, /) -> int: ...


class _Place(NamedTuple):
    """Where a line is that says that a run is whole, and how many bytes it has. What is ``inserted`` at its byte ``at``
    says that the run is truncated; behind the line is room for that."""

    offset: int
    length: int
    at: int
    inserted: bytes


class Writer:
    """Writes runs as they complete. ``counts`` are the trajectories, steps and unrelated traces so far; ``losses`` what
    could not be carried over, by kind; ``reopened`` the trajectories that went on after they were written."""

    def __init__(self, file: File) -> None:
        self.trajectories = self.steps = self.unrelated = self.reopened = 0
        self.losses: Counter[str] = Counter()
        self._file = file
        self._trials: Counter[str] = Counter()
        self._whole: OrderedDict[str, _Place] = OrderedDict()

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
        trajectory = recording.trajectory
        if trajectory is not None and not trajectory.truncated:
            _, cut = line_of(replace(recording, trajectory=replace(trajectory, truncated=True)))
            at, more = _parting(line, cut), len(cut) - len(line)
            place = _Place(self._file.seek(0, 2), len(cut), at, cut[at : at + more])
            self._whole |= dict.fromkeys((trace.trace_id for trace in told), place)
            line = line[:-1] + b" " * more + b"\n"
        self._file.seek(0, 2)
        self._write(line)
        while len(self._whole) > MOST_REMEMBERED:
            self._whole.popitem(last=False)
        self.trajectories += 1
        self.steps += len(trajectory.steps) if trajectory is not None else 0
        self.losses.update(run.losses)

    def reopen(self, trace_ids: Iterable[str]) -> None:
        """Say of what was written of these traces that it is not all: they are truncated."""
        for place in {self._whole[trace_id] for trace_id in trace_ids if trace_id in self._whole}:
            self._file.seek(place.offset)
            line = self._file.read(place.length) or b""
            if line[place.at :].startswith(place.inserted):
                continue  # another trace of the conversation said so already
            self._file.seek(place.offset)
            self._write(line[: place.at] + place.inserted + line[place.at : -1 - len(place.inserted)] + b"\n")
            self.reopened += 1

    def _write(self, line: bytes) -> None:
        while line:
            line = line[self._file.write(line) or 0 :]


def _parting(line: bytes, other: bytes) -> int:
    """How many bytes two lines have in common at their beginning."""
    return bisect_left(range(len(line)), True, key=lambda index: not other.startswith(line[: index + 1]))
