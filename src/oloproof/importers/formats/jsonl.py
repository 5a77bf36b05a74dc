"""Our own ``traces.jsonl``, for files that are imported together with others, or sniffed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from oloproof.errors import UsageError
from oloproof.importers import recordings
from oloproof.importers.format import Confidence, Importer, Item, Run
from oloproof.importers.head import Head
from oloproof.importers.pairing import Call, Waiting
from oloproof.importers.source import Source
from oloproof.model.recording import Recording
from oloproof.model.trajectory import Trajectory

_KEYS: Final = frozenset(Recording.__struct_fields__)


def sniff(head: Head) -> Confidence | None:
    keys = head.keys()
    if isinstance(head.value, list) or "case" not in keys or not keys <= _KEYS:
        return None
    return Confidence.CERTAIN if keys & {"trajectory", "output", "error"} else Confidence.POSSIBLE


def read(sources: Sequence[Source]) -> Iterator[Item]:
    """Files of recordings, one a line."""
    for source in sources:
        try:
            for line, recording in recordings.decode(source.lines(), file=source.name):
                yield _run(recording, source.name, line.number)
        except UsageError as error:
            yield from error.problems


def _run(recording: Recording, file: str, line: int) -> Run:
    facts = {name: getattr(recording, name) for name in ("case", "trial", "input", "expected", "metadata", "output")}
    return Run(
        file=file,
        line=line,
        case=recording.case,
        trial=recording.trial,
        output=recording.output,
        error=recording.error,
        trajectory=recording.trajectory,
        state=recording.state,
        input=recording.input,
        expected=recording.expected,
        metadata=recording.metadata,
        unanswered=0 if recording.trajectory is None else _unanswered(recording.trajectory),
        origin=facts,
    )


def _unanswered(trajectory: Trajectory) -> int:
    waiting = Waiting()
    for step in trajectory.steps:
        if step.kind == "tool_call":
            waiting.add(Call(step.index, step.tool_name or "", step.call_id or "", step.turn or step.index))
        elif step.kind == "tool_result":
            waiting.answer(step.call_id or "", step.tool_name)
    return len(waiting.unanswered())


IMPORTER: Final = Importer(name="jsonl", about="recordings as `traces.jsonl` holds them", sniff=sniff, read=read)
