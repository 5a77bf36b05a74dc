from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET

from fakes.imports import Found, claims, imported, refusal
from oloproof.importers.format import Confidence
from oloproof.importers.reading import Summary

SAMPLE = Path(__file__).parents[4].parent / "shared/data/mini-swe-agent/local.traj.json"

SYSTEM = {"role": "system", "content": "One ```mswea_bash_command block."}
ISSUE = {"role": "user", "content": "Fix it."}


def acting(command: str, fence: str = "mswea_bash_command") -> dict[str, Any]:
    return {"role": "assistant", "content": f"Now this.\n\n```{fence}\n{command}\n```"}


def back(output: str) -> dict[str, Any]:
    return {"role": "user", "content": f"<returncode>0</returncode>\n<output>\n{output}</output>"}


OLD = [SYSTEM, ISSUE, acting("ls"), back("a.py"), acting("echo COMPLETE"), back("")]


def new(*messages: Any, **info: Any) -> dict[str, Any]:
    return {
        "info": {"exit_status": "Submitted", "submission": "diff", "model_stats": {"api_calls": 2}} | info,
        "messages": list(messages),
        "trajectory_format": "mini-swe-agent-1.1",
        "instance_id": "django-1",
    }


def read(value: Any) -> Found:
    return imported("mini-swe-agent", value, file="runs/local.traj.json")


def test_a_bare_list_has_its_commands_in_fences() -> None:
    found = read(OLD)
    assert [(step.kind, step.tool_name) for step in found.steps] == [
        ("message", None),
        ("message", None),
        ("tool_call", "bash"),
        ("tool_result", "bash"),
        ("message", None),
        ("tool_call", "bash"),
        ("tool_result", "bash"),
    ]
    assert found.steps[2].arguments == {"command": "ls"}
    assert found.only.case == "local.traj"
    assert found.only.input == {"messages": [ISSUE]}
    assert found.losses == {"system_messages": 1}
    assert found.summary == Summary(trajectories=1, steps=7, calls=2, results=2)
    assert found.only.trajectory is not None
    assert (found.only.trajectory.truncated, found.only.trajectory.errors_recorded) == (False, False)


def test_an_object_says_how_the_run_ended() -> None:
    recording = read(new(ISSUE, acting("ls", "bash"), back("a.py"))).only
    assert (recording.case, recording.output) == ("django-1", {"answer": "diff"})
    assert recording.metadata is not None
    assert recording.metadata["exit_status"] == "Submitted"


def test_an_answer_without_one_block_runs_nothing() -> None:
    for said in ("I am done.", "```bash\nls\n```\n```bash\npwd\n```"):
        found = read(new(ISSUE, {"role": "assistant", "content": said}, back("wrong format")))
        assert [step.kind for step in found.steps] == ["message", "message", "message"]


def test_actions_may_stand_beside_the_text() -> None:
    said = {"role": "assistant", "content": "two", "extra": {"actions": [{"command": "ls"}, {"command": "pwd"}]}}
    found = read(new(ISSUE, said, back("a"), back("b")))
    assert [step.arguments for step in found.steps if step.kind == "tool_call"] == [
        {"command": "ls"},
        {"command": "pwd"},
    ]
    assert found.summary.results == 2


def test_tools_may_be_called() -> None:
    call = {"id": "1", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    said = {"role": "assistant", "content": None, "tool_calls": [call]}
    answer = {"role": "tool", "tool_call_id": "1", "content": "a.py"}
    last = {"role": "exit", "content": "", "extra": {"exit_status": "Submitted", "submission": "done"}}
    found = read(new(ISSUE, said, answer, last) | {"info": {}})
    assert [step.kind for step in found.steps] == ["message", "tool_call", "tool_result"]
    assert found.steps[1].arguments == {"command": "ls"}
    assert found.only.output == {"answer": "done"}


@pytest.mark.parametrize(
    ("status", "truncated", "broken"),
    [
        ("Submitted", False, False),
        ("RepeatedFormatError", False, False),
        ("LimitsExceeded", True, False),
        ("TimeExceeded", True, False),
        ("AuthenticationError", True, True),
        (None, False, False),
    ],
)
def test_what_the_run_was_ended_by(status: str | None, truncated: bool, broken: bool) -> None:
    recording = read(new(ISSUE, acting("ls"), back(""), exit_status=status)).only
    assert recording.trajectory is not None
    assert recording.trajectory.truncated is truncated
    assert (recording.error is not None) is broken
    assert (recording.output is UNSET) is broken


def test_a_command_that_nothing_answers_was_cut_off() -> None:
    recording = read(OLD[:3]).only
    assert recording.trajectory is not None
    assert recording.trajectory.truncated


@pytest.mark.parametrize("data", [b"{}", b"[1]", b'[{"content": "x"}]', b"7"])
def test_what_is_no_run(data: bytes) -> None:
    assert refusal("mini-swe-agent", data)[0][2] == "OLO322"


def test_it_is_recognised_before_any_list_of_messages() -> None:
    assert claims(OLD) == {"mini-swe-agent": Confidence.CERTAIN, "openai": Confidence.LIKELY}
    assert claims(new(ISSUE))["mini-swe-agent"] == Confidence.CERTAIN


@pytest.mark.skipif(not SAMPLE.exists(), reason="the sample file is not here")
def test_a_real_file() -> None:
    assert imported("mini-swe-agent", SAMPLE.read_bytes()).summary == Summary(
        trajectories=1, steps=7, calls=2, results=2
    )
