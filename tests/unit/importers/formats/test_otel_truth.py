"""Real traces, each with a page that says what it holds: turns, agents, calls, arguments, results and errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET

from fakes.imports import claims, imported
from oloproof.importers.format import Confidence
from oloproof.model.reading import Reading
from oloproof.model.recording import Recording
from oloproof.model.trajectory import Step, Trajectory

SAMPLES = Path(__file__).parents[4].parent / "shared/data/otlp"
TRUTHS = sorted(SAMPLES.rglob("*.truth.json"))

pytestmark = pytest.mark.skipif(not SAMPLES.exists(), reason="the shared samples are not here")


def turns(recording: Recording) -> list[dict[str, Any]]:
    """The run as the pages of truth put it: what lies between two messages of the user."""
    assert recording.trajectory is not None
    found: list[dict[str, Any]] = []
    for step in recording.trajectory.steps:
        if step.kind == "message" and step.inside is None and step.arguments["role"] == "user":
            found.append({"user_text": step.arguments["content"], "agents": set(), "steps": []})
        found[-1]["agents"].add(step.agent)
        found[-1]["steps"].append(step)
    return [turn(each) for each in found]


def turn(found: dict[str, Any]) -> dict[str, Any]:
    steps: list[Step] = found["steps"]
    said = [
        step.arguments["content"]
        for step in steps
        if step.kind in ("message", "final") and step.inside is None and step.arguments["role"] == "assistant"
    ]
    ends = steps[-1].kind in ("message", "final") and bool(said)
    calls = [step for step in steps if step.kind == "tool_call"]
    results = Reading(Trajectory(steps=tuple(steps))).answers
    return {
        "user_text": found["user_text"],
        "final_text": said[-1] if ends else None,
        "intermediate_texts": said[:-1] if ends else said,
        "agents": sorted(name for name in found["agents"] if name is not None),
        "tool_calls": [
            {
                "name": call.tool_name,
                "args": call.arguments,
                "result": None if result is None or result.result is UNSET else result.result,
                "is_error": result is not None and isinstance(result.error, str),
            }
            for call, result in zip(calls, results, strict=True)
        ],
        "tokens": sum(step.tokens or 0 for step in steps),
    }


def expected(turn: dict[str, Any]) -> dict[str, Any]:
    calls = [{key: call[key] for key in ("name", "args", "result", "is_error")} for call in turn["tool_calls"]]
    tokens = sum(turn["tokens"].values())
    keys = ("user_text", "final_text", "intermediate_texts", "agents")
    return {**{key: turn[key] for key in keys}, "tool_calls": calls, "tokens": tokens}


@pytest.mark.parametrize("page", TRUTHS, ids=[str(page.relative_to(SAMPLES)) for page in TRUTHS])
def test_all_that_a_trace_holds_is_read(page: Path) -> None:
    truth = json.loads(page.read_text())
    data = page.with_name(page.name.replace(".truth", "")).read_bytes()
    assert claims(data) == {"otel": Confidence.CERTAIN}
    recordings = imported("otel", data).recordings
    found = [turn for recording in recordings for turn in turns(recording)]
    wanted = [expected(turn) for turn in truth["turns"]]
    if truth.get("extra_turns_allowed"):
        found = [turn for turn in found if turn["final_text"]]
    assert found == wanted
    for call, error in (
        (call["name"], call["error_type"])
        for turn in truth["turns"]
        for call in turn["tool_calls"]
        if call["error_type"] not in (None, "_OTHER")
    ):
        errors = [
            step.error
            for recording in recordings
            if recording.trajectory is not None
            for step in recording.trajectory.steps
            if step.tool_name == call and isinstance(step.error, str)
        ]
        assert any(error in text for text in errors)
    for turn in truth["turns"]:
        for score in turn.get("external_evaluations", ()):
            (recording,) = recordings
            assert recording.metadata is not None
            assert recording.metadata["evaluations"][score["name"]] == {
                "score": score["score_value"],
                "label": score["score_label"],
            }
