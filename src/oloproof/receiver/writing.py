"""The traces of a run as a line of ``traces.jsonl``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Protocol

from msgspec import Raw
from msgspec.json import Decoder, encode

from oloproof.importers.otel.telling import run_of
from oloproof.importers.otel.traces import Trace
from oloproof.importers.written import line_of
from oloproof.model.recording import Recording
from oloproof.receiver.earlier import ROOM, Earlier, Place, remember

_parts = Decoder(dict[str, Raw]).decode
"""The values of an object, to the letter."""


class File(Protocol):
    """An unbuffered binary file, open for reading and writing at its end."""

    def read(self, size: int, /) -> bytes | None: ...
    def write(self, data: bytes, /) -> int | None: ...
    def seek(self, offset: int, whence: int = 0, /) -> int: ...


class Writer:
    """Writes runs as they complete. ``counts`` are the trajectories, steps and unrelated traces so far; ``losses`` what
    could not be carried over, by kind; ``reopened`` the trajectories that went on after they were written."""

    def __init__(self, file: File, earlier: Earlier | None = None) -> None:
        """``earlier``: what the file holds already."""
        self.trajectories = self.steps = self.unrelated = self.reopened = 0
        self.losses: Counter[str] = Counter()
        self._file = file
        known = Earlier() if earlier is None else earlier
        self._trials = known.trials
        self._whole = known.whole

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
        offset = self._file.seek(0, 2)
        if trajectory is not None and not trajectory.truncated:
            line = line[:-1] + ROOM + b"\n"
            for trace in told:
                remember(self._whole, trace.trace_id, Place(offset, len(line)))
        self._write(line)
        self.trajectories += 1
        self.steps += len(trajectory.steps) if trajectory is not None else 0
        self.losses.update(run.losses)

    def reopen(self, trace_ids: Iterable[str]) -> None:
        """Say of what was written of these traces that it is not all: they are truncated."""
        for place in {self._whole.pop(trace_id) for trace_id in trace_ids if trace_id in self._whole}:
            recording = _parts(self._read(place))
            trajectory = _parts(recording["trajectory"])
            if "truncated" in trajectory:
                continue  # another trace of the conversation said so already
            trajectory["truncated"] = Raw(b"true")
            recording["trajectory"] = Raw(encode(trajectory))
            self._file.seek(place.offset)
            self._write(encode(recording).ljust(place.length - 1) + b"\n")
            self.reopened += 1

    def _read(self, place: Place) -> bytes:
        self._file.seek(place.offset)
        found = b""
        while len(found) < place.length and (more := self._file.read(place.length - len(found))):
            found += more
        return found

    def _write(self, line: bytes) -> None:
        while line:
            line = line[self._file.write(line) or 0 :]
