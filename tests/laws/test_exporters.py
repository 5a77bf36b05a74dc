"""What is written is read back as it was, but for the losses that are counted."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET
from msgspec.structs import replace

from fakes.imports import imported
from oloproof.exporters import otlp
from oloproof.exporters.atif import tell
from oloproof.exporters.registry import FORMATS, exporter
from oloproof.importers.foreign import arguments_of
from oloproof.model.case import AttemptError, State
from oloproof.model.recording import Recording
from oloproof.model.trajectory import Checkpoint, ConstraintCheck, Step, Trajectory, contradiction

TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=4)
VALUES = st.none() | st.booleans() | st.integers(-3, 3) | TEXTS | st.lists(TEXTS, max_size=2)
OBJECTS = st.dictionaries(TEXTS, VALUES, max_size=2)
ARGUMENTS = st.none() | OBJECTS | TEXTS.map(arguments_of)
ROLES = st.sampled_from(("user", "assistant", "system", "model"))
WORDS = st.fixed_dictionaries({"role": ROLES, "content": TEXTS}) | st.fixed_dictionaries({"role": ROLES}) | VALUES
NAMES = st.sampled_from(("find", "look"))
IDS = st.sampled_from((None, "1", "2"))


@st.composite
def steps(draw: st.DrawFn) -> tuple[Step, ...]:
    kinds = st.sampled_from(("message", "tool_call", "tool_result", "final", "observation", "decision", "handoff"))
    named = draw(st.booleans()) and draw(st.booleans())
    made: list[Step] = []
    for index, kind in enumerate(draw(st.lists(kinds, max_size=8)), 1):
        calls = [step.index for step in made if step.kind == "tool_call"]
        fields: dict[str, Any] = {
            "inside": draw(st.sampled_from((None, None, *calls))),
            "tokens": draw(st.none() | st.integers(0, 3)),
            "cost_usd": draw(st.none() | st.sampled_from((0.0, 0.5, 2.0))),
            "latency_ms": draw(st.none() | st.none() | st.just(1.5)),
            "metadata": draw(st.none() | st.none() | OBJECTS),
            "agent": "a" if named else None,
        }
        if kind in ("tool_call", "tool_result"):
            fields |= {"tool_name": draw(NAMES), "call_id": draw(IDS)}
        if kind == "tool_call":
            fields |= {"arguments": draw(ARGUMENTS), "turn": draw(st.none() | st.integers(1, 3))}
        elif kind == "tool_result":
            fields |= {
                "result": draw(st.just(UNSET) | VALUES | OBJECTS),
                "error": draw(st.just(UNSET) | st.none() | TEXTS),
            }
        elif kind == "handoff":
            fields["to_agent"] = "b"
        else:
            fields["arguments"] = draw(WORDS)
        made.append(Step(index=index, kind=kind, **fields))
    return tuple(made)


TRAJECTORIES = st.builds(
    Trajectory,
    steps=steps(),
    terminal_status=st.sampled_from(("unknown", "success")),
    truncated=st.booleans(),
    errors_recorded=st.booleans(),
    step_limit=st.none() | st.just(9),
    constraints=st.sampled_from(((), (ConstraintCheck(name="c", passed=True),))),
    checkpoints=st.sampled_from(((), (Checkpoint(checkpoint_id="c", kind="checkpoint"),))),
)


def written(name: str, recording: Recording) -> tuple[bytes, Counter[str]]:
    losses = Counter[str]()
    data = b"".join(exporter(name).write([recording], losses))
    for kind in +losses:
        assert exporter(name).meaning(kind)
    return data, +losses


@given(TRAJECTORIES)
@settings(max_examples=100, deadline=None)
def test_atif_comes_back_as_the_losses_say(trajectory: Trajectory) -> None:
    assert contradiction(trajectory) is None
    losses = Counter[str]()
    told = tell(trajectory, losses)
    data, counted = written("atif", Recording(case="c", trajectory=trajectory))
    assert set(+losses) <= set(counted)
    assert imported("atif", data).only.trajectory == told.read_back
    if not +losses:
        assert unnumbered(told.read_back) == unnumbered(trajectory)
        once, twice = Counter[str](), tell(told.read_back, Counter())
        assert tell(told.read_back, once).read_back == twice.read_back == told.read_back
        assert not +once


@given(TRAJECTORIES, st.just(UNSET) | TEXTS | OBJECTS)
@settings(max_examples=100, deadline=None)
def test_otlp_comes_back_as_the_losses_say(trajectory: Trajectory, asked: Any) -> None:
    recording = Recording(case="c", trajectory=trajectory, input=asked)
    losses = Counter[str]()
    told = otlp.tell(recording, losses)
    data, counted = written("otlp", recording)
    if told is None:
        assert (data, counted["no_trajectory"]) == (b"", 1)
        return
    assert set(+losses) <= set(counted)
    assert imported("otel", data).only.trajectory == told.read_back
    if not +losses:
        assert unnumbered(told.read_back) == unnumbered(trajectory)
    once = Counter[str]()
    again = otlp.tell(replace(recording, trajectory=told.read_back), once)
    assert again is not None
    assert again.read_back == told.read_back


def unnumbered(trajectory: Trajectory) -> Trajectory:
    return replace(trajectory, steps=tuple(replace(step, turn=None) for step in trajectory.steps))


@given(TRAJECTORIES)
@settings(max_examples=60, deadline=None)
def test_what_was_read_back_once_is_written_without_a_loss(trajectory: Trajectory) -> None:
    read_back = tell(trajectory, Counter()).read_back
    losses = Counter[str]()
    assert tell(read_back, losses).read_back == read_back
    assert not +losses


@given(TRAJECTORIES, VALUES, st.none() | OBJECTS)
@settings(max_examples=60, deadline=None)
def test_recordings_come_back_whole(trajectory: Trajectory, value: Any, metadata: Any) -> None:
    recording = Recording(
        case="c",
        trial=2,
        output=value,
        trajectory=trajectory,
        state=State(after={"x": 1}),
        input=value,
        metadata=metadata,
        error=AttemptError(kind="system_error", message="m"),
    )
    data, losses = written("jsonl", recording)
    assert not losses
    assert imported("jsonl", data).only == recording


@pytest.mark.parametrize("name", FORMATS)
def test_hostile_text_stays_text(name: str) -> None:
    hostile = "\x1b[31m</script>\n=1+1\u202e" + "x" * 100_000
    words = [{"role": role, "content": hostile} for role in ("user", "assistant")]
    steps = tuple(Step(index=number, kind="message", arguments=each) for number, each in enumerate(words, 1))
    data, _ = written(name, Recording(case=hostile, trajectory=Trajectory(steps=steps)))
    assert data.count(b"\n") == 1
    assert b"\x1b" not in data
    found = imported("otel" if name == "otlp" else name, data)
    assert found.only.case == hostile
    assert [step.arguments for step in found.steps] == words
