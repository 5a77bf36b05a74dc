from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET

from fakes.imports import Found, claims, imported, refusal
from oloproof.importers.format import Confidence
from oloproof.importers.reading import Summary

SAMPLES = Path(__file__).parents[4].parent / "shared/data/swe-agent"

SYSTEM = {"role": "system", "content": "You fix bugs.", "agent": "main"}
DEMO = {"role": "user", "content": "a demonstration", "agent": "main", "is_demo": True}
ISSUE = {"role": "user", "content": "A colon is missing.", "agent": "main"}
STEP = {"thought": "look", "action": 'find_file "a.py"\n', "observation": "/a.py", "state": "{}", "execution_time": 0.5}
SUBMIT = {"thought": "", "action": "submit\n", "observation": "diff", "response": "submit"}
INFO = {"exit_status": "submitted", "submission": "diff", "model_stats": {"api_calls": 2}}


def text_run(*steps: Any, **info: Any) -> dict[str, Any]:
    return {
        "environment": "repo",
        "trajectory": list(steps),
        "history": [SYSTEM, DEMO, ISSUE],
        "info": INFO | info,
    }


def calling(*ids: str, name: str = "open", arguments: str = '{"path": "a.py"}') -> dict[str, Any]:
    calls = [{"function": {"name": name, "arguments": arguments}, "id": each, "type": "function"} for each in ids]
    return {"role": "assistant", "thought": "look", "action": "open a.py", "agent": "main", "tool_calls": calls}


def answering(*ids: str) -> dict[str, Any]:
    return {"role": "tool", "content": "1: x", "agent": "main", "tool_call_ids": list(ids)}


def read(value: Any) -> Found:
    return imported("swe-agent", value, file="runs/django-1.traj")


def test_text_actions_are_calls_named_by_their_first_word() -> None:
    found = read(text_run(STEP, SUBMIT))
    recording = found.only
    assert (recording.case, recording.output) == ("django-1", {"answer": "diff"})
    assert [(step.kind, step.tool_name) for step in found.steps] == [
        ("message", None),
        ("message", None),
        ("tool_call", "find_file"),
        ("tool_result", "find_file"),
        ("tool_call", "submit"),
        ("tool_result", "submit"),
    ]
    assert found.steps[2].arguments == {"command": 'find_file "a.py"\n'}
    assert found.steps[2].latency_ms == 500
    assert found.steps[3].result == "/a.py"
    assert {step.agent for step in found.steps} == {"main"}
    assert recording.trajectory is not None
    assert (recording.trajectory.truncated, recording.trajectory.errors_recorded) == (False, False)
    assert recording.metadata is not None
    assert recording.metadata["exit_status"] == "submitted"
    assert found.losses == {"demonstrations": 1, "system_messages": 1, "states": 1}
    assert found.summary == Summary(trajectories=1, steps=6, calls=2, results=2, agents=1)


def test_an_answer_without_an_action_is_no_call() -> None:
    wrong = {"thought": "", "action": "", "observation": "No action was found.", "response": "I think."}
    found = read(text_run(wrong, SUBMIT))
    assert [step.kind for step in found.steps] == ["message", "message", "message", "tool_call", "tool_result"]


def test_with_function_calling_the_history_has_the_arguments() -> None:
    found = read({"history": [SYSTEM, ISSUE, calling("1"), answering("1")]})
    assert [step.tool_name for step in found.steps] == [None, None, "open", "open"]
    assert found.steps[2].arguments == {"path": "a.py"}
    assert found.only.input == {"messages": [{"role": "user", "content": "A colon is missing."}]}


def test_where_both_are_there_function_calls_win_and_the_last_observation_is_found() -> None:
    run = text_run(STEP, SUBMIT) | {
        "history": [ISSUE, calling("1"), answering("1"), calling("2", name="submit", arguments="{}")]
    }
    found = read(run)
    assert [step.arguments for step in found.steps if step.kind == "tool_call"] == [{"path": "a.py"}, {}]
    assert found.steps[-1].result == "diff"
    assert found.summary.unanswered == 0


def test_an_id_used_by_several_calls_is_paired_by_order() -> None:
    found = read({"history": [ISSUE, calling("1"), answering("1"), calling("1"), answering("1")]})
    assert [step.call_id for step in found.steps if step.kind == "tool_result"] == ["1", "1"]
    assert found.summary == Summary(trajectories=1, steps=7, calls=2, results=2, agents=1)


def test_one_message_answers_several_calls() -> None:
    found = read({"history": [ISSUE, calling("1", "2"), answering("1", "2")]})
    assert [step.turn for step in found.steps if step.kind == "tool_call"] == [1, 1]
    assert found.losses == {"shared_results": 1}
    assert found.summary.unanswered == 0


def test_an_old_history_has_its_actions_in_fences() -> None:
    said = {"role": "assistant", "content": "Let me look.\n```\nls -l\n```"}
    found = read({"history": [ISSUE, said | {"agent": "main"}, {"role": "user", "content": "a.py", "agent": "main"}]})
    assert [(step.kind, step.tool_name) for step in found.steps][1:] == [
        ("message", None),
        ("tool_call", "ls"),
        ("tool_result", "ls"),
    ]


def test_other_agents_are_left_out() -> None:
    found = read({"history": [ISSUE, {"role": "assistant", "content": "a summary", "agent": "summarizer"}]})
    assert found.losses == {"other_agents": 1}
    assert len(found.steps) == 1


@pytest.mark.parametrize(
    ("status", "truncated", "error"),
    [
        ("submitted", False, None),
        ("exit_forfeit", False, None),
        ("exit_format", False, None),
        (None, False, None),
        ("exit_cost", True, None),
        ("submitted (exit_cost)", True, None),
        ("exit_context", True, None),
        ("exit_api", True, "exit_api"),
    ],
)
def test_what_the_run_was_ended_by(status: str | None, truncated: bool, error: str | None) -> None:
    recording = read(text_run(STEP, exit_status=status)).only
    assert recording.trajectory is not None
    assert recording.trajectory.truncated is truncated
    assert (recording.error is None) == (error is None)
    assert (recording.output is UNSET) == (error is not None)


def test_unparsable_arguments_are_kept_as_written() -> None:
    found = read({"history": [ISSUE, calling("1", arguments='{"path": ')]})
    assert found.losses["unparsable_arguments"] == 1
    assert found.only.trajectory is not None
    assert found.only.trajectory.truncated  # nothing answers the last call


@pytest.mark.parametrize("data", [b"{}", b"[]", b'{"trajectory": [1]}', b'{"history": ["x"]}'])
def test_what_is_no_run(data: bytes) -> None:
    assert refusal("swe-agent", data)[0][2] == "OLO322"


def test_it_is_recognised_alone() -> None:
    for value in (text_run(STEP), {"history": [SYSTEM, ISSUE]}):
        assert claims(value, "a.traj") == {"swe-agent": Confidence.CERTAIN}


@pytest.mark.skipif(not SAMPLES.exists(), reason="the sample files are not here")
def test_real_files() -> None:
    read = {path.stem: imported("swe-agent", path.read_bytes()) for path in SAMPLES.glob("*.traj")}
    assert {name: (found.summary.calls, found.summary.results) for name, found in read.items()} == {
        "ctf-rock": (12, 12),
        "function_calling_simple": (5, 5),
        "swe-agent__test-repo-i1": (5, 5),
    }
    tools = [step.tool_name for step in read["swe-agent__test-repo-i1"].steps if step.kind == "tool_call"]
    assert tools == ["find_file", "open", "edit", "python", "submit"]
