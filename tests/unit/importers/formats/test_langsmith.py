from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

from fakes.imports import Found, as_lines, claims, crossed, imported, refusal
from oloproof.importers.format import Confidence
from oloproof.importers.reading import Summary

HUMAN = {"type": "human", "content": "Where is my order?"}


def run(name: str, parent: str | None, at: int, kind: str = "chain", /, **more: Any) -> dict[str, Any]:
    fields = {
        "id": name,
        "parent_run_id": parent,
        "trace_id": "root",
        "run_type": kind,
        "name": name,
        "dotted_order": f"{at:03}",
        "start_time": f"2026-01-01T00:00:{at:02}",
        "end_time": f"2026-01-01T00:00:{at + 1:02}",
    }
    return {**fields, **more}


def ai(content: str, *calls: tuple[str, str], **more: Any) -> dict[str, Any]:
    asked = [{"name": name, "args": {"n": 1}, "id": each} for each, name in calls]
    message = {"type": "ai", "content": content, "tool_calls": asked}
    return {"outputs": {"generations": [[{"text": content, "message": message}]]}, **more}


def tool(name: str, parent: str, at: int, call_id: str, /, **more: Any) -> dict[str, Any]:
    message = {"type": "tool", "content": "ok", "tool_call_id": call_id, "status": "success", **more.pop("message", {})}
    return run(name, parent, at, "tool", inputs={"input": '{"n": 1}'}, outputs={"output": message}, **more)


ROOT = run("root", None, 0, inputs={"question": "q"}, name="graph")
MODEL = run("m1", "agent", 2, "llm", inputs={"messages": [[HUMAN]]}, prompt_tokens=3, completion_tokens=4)
RUNS = [
    ROOT,
    run("agent", "root", 1),
    {**MODEL, **ai("", ("a", "find"), ("b", "look"))},
    run("tools", "root", 3),
    tool("look", "tools", 4, "b"),
    tool("find", "tools", 5, "a"),
    run("m2", "root", 6, "llm", **ai("It was shipped.")),
]


def read(*runs: Any) -> Found:
    return imported("langsmith", list(runs))


def test_a_trace_is_a_run() -> None:
    found = read(*reversed(RUNS))
    assert found.paired[:-1] == crossed("a", "b")
    assert found.steps[-1].kind == "message"
    assert (found.steps[1].arguments, found.steps[3].result, found.steps[3].error) == ({"n": 1}, "ok", None)
    assert (found.steps[1].tokens, found.steps[3].latency_ms) == (7, 1000)
    assert (found.only.input, found.only.output) == ({"question": "q"}, {"answer": "It was shipped."})
    assert found.only.metadata == {"name": "graph", "trace_id": "root"}
    assert found.summary == Summary(trajectories=1, steps=6, calls=2, results=2)
    assert not found.losses


def test_all_the_ways_to_hold_runs() -> None:
    nested = {**ROOT, "child_runs": [{**RUNS[1], "child_runs": [RUNS[2]]}, *RUNS[3:]]}
    for held in (RUNS, as_lines(*RUNS), {"runs": RUNS}, nested, as_lines(nested)):
        assert imported("langsmith", held).only.trajectory == read(*RUNS).only.trajectory
        assert claims(held) == {"langsmith": Confidence.CERTAIN}


def test_runs_of_one_example_are_trials_and_feedback_is_kept() -> None:
    told = {"reference_example_id": "ex", "feedback_stats": {"correct": {"n": 1, "avg": 0.5}}}
    extra = {"extra": {"metadata": {"thread_id": "t"}}}
    found = read({**ROOT, **told, **extra}, {**ROOT, **told, "id": "r2", "trace_id": "r2"}, 7)
    assert found.names == [("ex", 1), ("ex", 2)]
    assert found.recordings[0].metadata == {
        "name": "graph",
        "trace_id": "root",
        "feedback": {"correct": 0.5},
        "thread_id": "t",
    }
    assert found.losses == {"no_runs": 1}


@pytest.mark.parametrize(
    ("more", "truncated", "broken"),
    [
        ({}, False, None),
        ({"error": "GraphRecursionError('Recursion limit of 25')\n\nTraceback (most recent call last): …"}, True, None),
        ({"error": "ValueError('bad')Traceback (most recent call last):\n x"}, True, "ValueError('bad')"),
        ({"status": "error"}, True, "failed"),
        ({"status": "pending", "end_time": None}, True, None),
    ],
)
def test_how_it_ended(more: Any, truncated: bool, broken: str | None) -> None:
    recording = read({**ROOT, **more}, *RUNS[1:]).only
    assert recording.trajectory is not None
    assert recording.trajectory.truncated is truncated
    assert getattr(recording.error, "message", None) == broken


def test_errors_of_tools() -> None:
    found = read(*RUNS[:4], tool("look", "tools", 4, "b", message={"status": "error", "content": "no"}))
    assert found.steps[3].error == "no"
    raised = read(*RUNS[:4], run("find", "tools", 4, "tool", inputs={"n": 1}, error="ValueError('bad')", outputs=None))
    assert (raised.steps[3].tool_name, raised.steps[3].error) == ("find", "ValueError('bad')")


@pytest.mark.parametrize(
    "outputs",
    [
        {"choices": [{"message": {"role": "assistant", "content": "Hm."}}], "usage": {"total_tokens": 7}},
        {"role": "assistant", "content": [{"type": "text", "text": "Hm."}], "usage": {"input_tokens": 7}},
        {"generations": [{"text": "Hm."}], "llm_output": {"token_usage": {"total_tokens": 7}}},
        {"message": {"lc": 1, "type": "constructor", "id": ["AIMessage"], "kwargs": {"content": "Hm."}}},
        {"messages": [{"role": "assistant", "content": "Hm."}], "usage_metadata": {"output_tokens": 7}},
    ],
)
def test_whatever_client_wrote_the_answer(outputs: Any) -> None:
    found = read(
        ROOT, run("m", "root", 1, "llm", inputs={"messages": [{"role": "user", "content": "q"}]}, outputs=outputs)
    )
    assert [step.arguments["content"] for step in found.steps] == ["q", "Hm."]
    assert found.steps[1].tokens == (None if "message" in outputs else 7)


def test_tools_that_no_model_asked_for_and_searches() -> None:
    loose = run("find", "root", 1, "tool", inputs={"input": "{'n': 1}"}, outputs={"output": 3})
    found = read(ROOT, loose, run("look", "root", 3, "tool", inputs={"n": 1, "m": 2}), run("s", "root", 5, "retriever"))
    assert found.steps[0].arguments != {}
    assert (found.steps[1].result, found.steps[2].arguments) == (3, {"n": 1, "m": 2})
    assert found.losses == {"unparsable_arguments": 1, "searches": 1}
    assert found.steps[3].result is UNSET


def test_agents_are_named_by_their_metadata() -> None:
    def of(agent: str) -> dict[str, Any]:
        return {"extra": {"metadata": {"lc_agent_name": agent}}}

    found = read(
        ROOT,
        run("m1", "root", 1, "llm", **ai("", ("a", "transfer_to_billing")), **of("triage")),
        tool("transfer_to_billing", "root", 2, "a", **of("triage")),
        run("m2", "root", 3, "llm", **ai("Refunded."), **of("billing")),
    )
    assert [(step.kind, step.agent, step.to_agent) for step in found.steps] == [
        ("tool_call", "triage", None),
        ("tool_result", "triage", None),
        ("handoff", "triage", "billing"),
        ("message", "billing", None),
    ]


def test_what_a_model_was_given_may_stand_on_the_chain_around_it() -> None:
    node = run("agent", "root", 1, inputs={"messages": [HUMAN]})
    found = read(ROOT, node, run("m", "agent", 2, "llm", inputs={"prompts": ["Human: …"]}, **ai("Hm.")))
    assert found.steps[0].arguments == {"role": "user", "content": "Where is my order?"}


def test_the_order_says_what_is_above() -> None:
    bare = [
        {"run_type": "chain", "dotted_order": "20260101T000000000000Zroot"},
        {"run_type": "tool", "name": "f", "dotted_order": "20260101T000000000000Zroot.20260101T000001000000Zt"},
        {
            "run_type": "tool",
            "name": "g",
            "dotted_order": "20260101T0Zroot.20260101T1Zt.20260101T2Zu",
            "outputs": {"x": 1},
        },
    ]
    found = read(*bare)
    assert [(step.tool_name, step.inside) for step in found.steps] == [("f", None), ("g", 1), ("g", 1)]


def test_files_without_runs_are_told() -> None:
    assert refusal("langsmith", b'{"a": 1}')[0][2] == "OLO323"
