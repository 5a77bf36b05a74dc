"""The line that an imported recording is written as, cut where its values are nested too deeply to be read back."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET
from msgspec.json import encode
from msgspec.structs import asdict, replace

from oloproof.model.case import State
from oloproof.model.recording import Recording
from oloproof.model.values import snapshot

MARGIN = 50
"""Levels of nesting that whoever reads a recording may add to it."""


def line_of(recording: Recording) -> tuple[Recording, bytes]:
    """The recording's line; where it is nested too deeply, that of what is left when it is cut, and that."""
    try:
        return recording, _encoded(recording)
    except RecursionError:
        recording = _shallow(recording)
        return recording, _encoded(recording)


def _encoded(recording: Recording) -> bytes:
    """The recording's line. RecursionError where it could not be read back, a few calls deeper."""
    nested: Any = recording
    for _ in range(MARGIN):
        nested = [nested]
    return encode(nested)[MARGIN:-MARGIN] + b"\n"


def _shallow(recording: Recording) -> Recording:
    """The recording with its values cut where they are nested too deeply."""
    trajectory = recording.trajectory
    if trajectory is not None:
        steps = tuple(
            replace(
                step,
                arguments=snapshot(step.arguments),
                result=step.result if step.result is UNSET else snapshot(step.result),
                metadata=snapshot(step.metadata),
            )
            for step in trajectory.steps
        )
        trajectory = replace(trajectory, steps=steps)
    state = recording.state
    if state is not None:
        state = State(**{name: each if each is UNSET else snapshot(each) for name, each in asdict(state).items()})
    values = {name: getattr(recording, name) for name in ("output", "input", "expected", "metadata")}
    return replace(
        recording,
        trajectory=trajectory,
        state=state,
        **{name: value if value is UNSET else snapshot(value) for name, value in values.items()},
    )
