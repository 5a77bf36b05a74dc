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
    assert found.steps[-1].kind == "final"
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
        ({"error": "GraphInterrupt((Interrupt(value='ok?'),))"}, True, None),
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
        ("final", "billing", None),
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


def placed(node: str, place: str, **more: Any) -> dict[str, Any]:
    return {"extra": {"metadata": {"langgraph_node": node, "langgraph_checkpoint_ns": place, **more}}}


def command(goto: Any, *messages: Any, graph: str | None = None) -> dict[str, Any]:
    return {"outputs": {"output": {"goto": goto, "graph": graph, "update": {"messages": list(messages)}}}}


def agents(found: Found) -> list[tuple[Any, ...]]:
    return [(step.kind, step.tool_name or step.to_agent, step.agent) for step in found.steps]


MOVED = {"type": "tool", "content": "moved", "tool_call_id": "a", "status": "success"}
OLD = [{"type": "human", "content": "q"}, {**MOVED, "tool_call_id": "old", "content": "no"}]


@pytest.mark.parametrize(
    ("messages", "extra"), [([*OLD, MOVED], {}), ([MOVED, *OLD], {"extra": {"tool_call_id": "a"}})]
)
def test_graphs_are_agents_and_a_tool_that_gives_a_command_hands_over(messages: Any, extra: Any) -> None:
    found = read(
        {**ROOT, "name": "LangGraph"},
        run("front", "root", 1, **placed("front", "front:1")),
        run("frontier", "front", 2, **placed("front", "front:1")),
        run("model", "frontier", 3, **placed("model", "front:1|model:1")),
        run("m1", "model", 4, "llm", **ai("", ("a", "escalate"))),
        run("tools", "frontier", 5, **placed("tools", "front:1|tools:1")),
        run("escalate", "tools", 6, "tool", **command("back", *messages, graph="__parent__"), **extra),
        run("back", "root", 7, **placed("back", "back:1")),
        run("LangGraph", "back", 8, **placed("back", "back:1")),
        run("model2", "LangGraph", 9, **placed("model2", "back:1|model2:1")),
        run("m2", "model2", 10, "llm", **ai("Done.")),
    )
    assert agents(found) == [
        ("tool_call", "escalate", "frontier"),
        ("tool_result", "escalate", "frontier"),
        ("handoff", "back", "frontier"),
        ("final", None, "back"),
    ]
    assert (found.steps[1].result, found.steps[1].call_id) == ("moved", "a")


@pytest.mark.parametrize("goto", ["pay", ["pay"]])
def test_nodes_are_agents_where_several_call_models(goto: Any) -> None:
    nodes = [
        {**ROOT, "name": "LangGraph"},
        run("sort", "root", 1, **placed("sort", "sort:1"), **command(goto)),
        run("m1", "sort", 2, "llm", dotted_order="001.002", **ai("To pay.")),
        run("other", "root", 3, **placed("other", "other:1"), **command("pay")),
    ]
    assert agents(read(*nodes)) == [("final", None, None)]
    found = read(*nodes, run("pay", "root", 4, **placed("pay", "pay:1")), run("m2", "pay", 5, "llm", **ai("Done.")))
    assert agents(found) == [("message", None, "sort"), ("handoff", "pay", "sort"), ("final", None, "pay")]


def test_the_nodes_of_an_agent_that_has_no_name_are_none() -> None:
    own = {"ls_integration": "langchain_create_agent"}
    found = read(
        {**ROOT, "name": "LangGraph"},
        run("check", "root", 1, **placed("check", "check:1", **own)),
        run("m1", "check", 2, "llm", **ai("Fine.")),
        run("model", "root", 3, **placed("model", "model:1", **own)),
        run("m2", "model", 4, "llm", **ai("Done.")),
    )
    assert agents(found) == [("message", None, None), ("final", None, None)]
    assert not found.losses


def test_a_graph_in_a_tool_is_called_as_the_tool() -> None:
    found = read(
        {**ROOT, "name": "main"},
        run("model", "root", 1, **placed("model", "model:1")),
        run("m1", "model", 2, "llm", **ai("", ("a", "ask"))),
        run("tools", "root", 3, **placed("tools", "tools:1")),
        {**tool("ask", "tools", 4, "a"), "end_time": "2026-01-01T00:00:30"},
        run("LangGraph", "ask", 5, **placed("tools", "tools:1")),
        run("model3", "LangGraph", 6, **placed("model3", "tools:1|model3:1")),
        run("m3", "model3", 7, "llm", **ai("Inner.")),
    )
    assert [(step.kind, step.agent, step.inside) for step in found.steps] == [
        ("tool_call", "main", None),
        ("message", "ask", 1),
        ("tool_result", "main", None),
    ]


def test_a_tool_that_waits_has_no_result_and_its_graph_is_not_done() -> None:
    waits = {"error": "GraphInterrupt((Interrupt(value='?'),))Traceback (most recent call last): …", "outputs": None}
    found = read(*RUNS[:3], run("tools", "root", 3, **waits), run("find", "tools", 4, "tool", inputs={"n": 1}, **waits))
    assert [step.kind for step in found.steps] == ["message", "tool_call", "tool_call"]
    assert found.only.trajectory is not None
    assert (found.only.trajectory.truncated, found.only.error) == (True, None)


def test_an_answer_that_was_cut_off_and_the_id_of_a_call_that_raised() -> None:
    cut = ai("It is")
    cut["outputs"]["generations"][0][0]["message"]["response_metadata"] = {"finish_reason": "length"}
    trajectory = read(ROOT, run("m", "root", 1, "llm", **cut)).only.trajectory
    assert trajectory is not None
    assert trajectory.truncated
    raised = run("find", "root", 4, "tool", error="ValueError('bad')", extra={"tool_call_id": "b"})
    found = read(ROOT, run("m", "root", 1, "llm", **ai("", ("a", "find"), ("b", "find"))), raised)
    assert (found.steps[2].call_id, found.steps[2].error) == ("b", "ValueError('bad')")
