from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import UNSET

from fakes.imports import Found, as_lines, claims, imported, refusal
from oloproof.importers.format import Confidence
from oloproof.importers.reading import Summary

TRACE = {"object": "trace", "id": "trace_1", "workflow_name": "Support", "group_id": "g", "metadata": {"team": "a"}}


def span(
    name: str, parent: str | None, at: int, kind: str, /, *, until: int | None = None, **data: Any
) -> dict[str, Any]:
    """A span that began at second ``at``. ``error`` and ``trace_id`` are the span's own."""
    error, trace = data.pop("error", None), data.pop("trace_id", "trace_1")
    return {
        "object": "trace.span",
        "id": name,
        "trace_id": trace,
        "parent_id": parent,
        "started_at": f"2026-01-01T00:00:{at:02}.000000+00:00",
        "ended_at": f"2026-01-01T00:00:{at + 1 if until is None else until:02}.000000+00:00",
        "span_data": {"type": kind, **data},
        "error": error,
    }


def agent(name: str, at: int, *, parent: str | None = None, called: str = "", **more: Any) -> dict[str, Any]:
    return span(name, parent, at, "agent", until=at + 9, name=called or name, **more)


def function(name: str, parent: str, at: int, tool: str, **more: Any) -> dict[str, Any]:
    return span(name, parent, at, "function", name=tool, **{"input": '{"n": 1}', "output": "ok", **more})


def generation(name: str, parent: str, at: int, asked: Any, content: Any, *calls: tuple[str, str]) -> Any:
    entries = [
        {"id": each, "type": "function", "function": {"name": tool, "arguments": '{"n": 1}'}} for each, tool in calls
    ]
    said = {"role": "assistant", "content": content, "tool_calls": entries}
    return span(
        name, parent, at, "generation", input=asked, output=[said], usage={"input_tokens": 3, "output_tokens": 4}
    )


def read(*values: Any) -> Found:
    return imported("openai-agents", as_lines(TRACE, *values))


def shape(found: Found) -> list[tuple[Any, ...]]:
    return [(step.kind, step.tool_name or step.to_agent, step.agent, step.inside) for step in found.steps]


SYSTEM = {"role": "system", "content": "s"}
ASKED = {"role": "user", "content": "Where is it?"}


def test_agents_models_and_tools() -> None:
    found = read(
        function("f1", "a", 2, "find", until=4),
        agent("a", 0, called="Support"),
        generation("g1", "a", 1, [SYSTEM, ASKED], None, ("c1", "find"), ("c2", "look")),
        function("f2", "a", 2, "look", output="B"),
        generation("g2", "a", 5, [SYSTEM, ASKED, {"role": "assistant"}, {"role": "tool"}], "It was shipped."),
    )
    assert shape(found) == [
        ("message", None, "Support", None),
        ("tool_call", "find", "Support", None),
        ("tool_call", "look", "Support", None),
        ("tool_result", "find", "Support", None),
        ("tool_result", "look", "Support", None),
        ("final", None, "Support", None),
    ]
    assert [step.call_id for step in found.steps[1:5]] == ["c1", "c2", "c1", "c2"]
    assert [step.turn for step in found.steps[1:3]] == [1, 1]
    assert [step.tokens for step in found.steps] == [None, 7, 0, None, None, 7]
    assert found.steps[3].latency_ms == 2000
    assert (found.steps[3].result, found.steps[3].error) == ("ok", None)
    assert found.only.output == {"answer": "It was shipped."}
    assert found.only.input == {"messages": [SYSTEM, ASKED]}
    assert found.only.metadata == {"workflow_name": "Support", "group_id": "g", "trace_id": "trace_1", "team": "a"}
    assert found.summary == Summary(trajectories=1, steps=6, calls=2, results=2, agents=1)
    assert found.losses == {"system_messages": 1}


def test_responses_say_nothing_and_group_the_calls_that_follow() -> None:
    turn = span("t", "a", 1, "custom", name="turn", data={"sdk_span_type": "turn"}, until=8)
    found = read(
        agent("a", 0),
        turn,
        span("r1", "t", 1, "response", response_id="x", usage={"input_tokens": 1, "output_tokens": 1}),
        function("f1", "t", 2, "find"),
        function("f2", "t", 2, "look"),
        span("r2", "a", 9, "response", response_id="y"),
    )
    assert [(step.kind, step.turn, step.tokens) for step in found.steps] == [
        ("tool_call", 1, 2),
        ("tool_call", 1, 0),
        ("tool_result", None, None),
        ("tool_result", None, None),
        ("message", None, None),
    ]
    assert found.steps[4].arguments == {"role": "assistant", "content": None}
    assert (found.only.output, found.only.input) == (UNSET, UNSET)


def test_streams_are_written_down_as_responses_and_may_have_been_cut_off() -> None:
    def output(status: str) -> list[Any]:
        words = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "It is"}]}
        call = {"type": "function_call", "call_id": "c1", "name": "find", "arguments": '{"n": 1}'}
        return [{"object": "response", "status": status, "output": [words] if status != "done" else [call, words]}]

    done = read(agent("a", 0), span("g", "a", 1, "generation", input=[ASKED], output=output("done")))
    assert [(step.kind, step.call_id) for step in done.steps[1:]] == [("message", None), ("tool_call", "c1")]
    cut = read(agent("a", 0), span("g", "a", 1, "generation", input=[ASKED], output=output("incomplete"))).only
    assert cut.trajectory is not None
    assert cut.trajectory.truncated


def test_a_hand_off_goes_to_a_sibling() -> None:
    found = read(
        agent("triage", 0),
        generation("g1", "triage", 1, [ASKED], None, ("c", "transfer_to_billing")),
        span("h", "triage", 2, "handoff", from_agent="triage", to_agent="billing"),
        agent("billing", 10),
        generation("g2", "billing", 11, [ASKED], "Refunded."),
    )
    assert shape(found)[1:] == [
        ("tool_call", "transfer_to_billing", "triage", None),
        ("handoff", "billing", "triage", None),
        ("final", None, "billing", None),
    ]
    assert found.summary.unanswered == 0


def test_an_agent_that_is_used_as_a_tool_is_inside_its_call() -> None:
    found = read(
        agent("a", 0),
        span("r1", "a", 1, "response"),
        function("f", "a", 2, "ask_expert", until=8),
        agent("b", 3, parent="f", called="expert"),
        span("r2", "b", 3, "response"),
        function("g", "b", 4, "search"),
        generation("g3", "b", 5, [ASKED], "inner words"),
    )
    assert shape(found) == [
        ("tool_call", "ask_expert", "a", None),
        ("tool_call", "search", "expert", 1),
        ("tool_result", "search", "expert", 1),
        ("message", None, "expert", 1),
        ("tool_result", "ask_expert", "a", None),
    ]
    assert found.steps[4].latency_ms == 0
    assert found.only.output is UNSET


def test_what_guardrails_say_is_no_answer() -> None:
    found = read(
        agent("a", 0),
        span("gr", "a", 1, "guardrail", name="homework", triggered=False),
        agent("checker", 1, parent="gr"),
        generation("g0", "checker", 1, [ASKED], "fine"),
        generation("g1", "a", 0, [ASKED], "Answer."),
    )
    assert found.only.output == {"answer": "Answer."}
    assert found.steps[-1].arguments == {"guardrail": "homework", "triggered": False}
    assert [step.arguments["content"] for step in found.steps if step.kind == "final"] == ["Answer."]


FAILED = {"message": "Error running tool (non-fatal)", "data": {"tool_name": "find", "error": "no such order"}}


def test_errors_of_tools_and_content_that_is_off() -> None:
    found = read(
        agent("a", 0),
        span("r", "a", 1, "response"),
        function("f", "a", 2, "find", error=FAILED),
        function("g", "a", 3, "look", input=None, output=None),
    )
    assert found.steps[2].error == "Error running tool (non-fatal): no such order"
    assert (found.steps[1].arguments, found.steps[3].result, found.steps[3].error) == (None, UNSET, None)


@pytest.mark.parametrize(
    ("error", "truncated", "broken"),
    [
        (None, False, None),
        ({"message": "Max turns exceeded", "data": {"max_turns": 3}}, True, None),
        ({"message": "MaxTurnsExceeded: Max turns (3) exceeded"}, True, None),
        ({"message": "Guardrail tripwire triggered", "data": {"guardrail": "g"}}, False, None),
        ({"message": "Tool x not found", "data": {}}, True, "Tool x not found"),
    ],
)
def test_how_it_ended(error: Any, truncated: bool, broken: str | None) -> None:
    found = read(agent("a", 0, error=error), generation("g", "a", 1, [ASKED], "Hm."))
    assert found.only.trajectory is not None
    assert found.only.trajectory.truncated is truncated
    assert getattr(found.only.error, "message", None) == broken


def test_a_model_that_failed_last_broke_the_run() -> None:
    bad = span("g", "a", 1, "generation", input=[ASKED], output=None, error={"message": "Error getting response"})
    assert getattr(read(agent("a", 0), bad).only.error, "message", None) == "Error getting response"
    again = generation("g2", "a", 3, [ASKED], "Hm.")
    assert read(agent("a", 0), bad, again).only.error is None


def test_tools_without_a_model_are_together_where_they_overlap() -> None:
    apart = (function("h", "a", 5, "late"),)
    found = read(agent("a", 0), function("f", "a", 1, "x", until=3), function("g", "a", 2, "y", until=4), *apart)
    assert [step.turn for step in found.steps if step.kind == "tool_call"] == [1, 1, None]


def test_spans_come_in_any_order_twice_and_in_circles() -> None:
    circle = [agent("a", 0, parent="f"), function("f", "a", 1, "find"), agent("self", 3, parent="self")]
    found = read(*circle, circle[1], agent("b", 5, parent="nowhere"))
    assert [step.kind for step in found.steps] == ["tool_call", "tool_result"]
    assert found.losses == {"repeated_spans": 1}


def test_a_million_levels_are_no_trap() -> None:
    deep = [function(str(level), str(level - 1), 1, "f") for level in range(1, 3000)]
    assert read(*deep).losses["spans_too_deep"] == 1
    groups = [span(str(level), str(level - 1), 1, "custom", data={"sdk_span_type": "turn"}) for level in range(1, 3000)]
    assert len(read(*groups, function("f", "2999", 2, "f")).steps) == 2


def test_later_runs_of_a_trace_bring_new_words_of_the_user() -> None:
    more = {"role": "user", "content": "And now?"}
    found = read(
        agent("a", 0),
        generation("g1", "a", 1, [{"role": "user", "content": "old"}, {"role": "assistant"}, ASKED], "One."),
        agent("b", 10, called="a"),
        generation("g2", "b", 11, [{"role": "user", "content": "old"}, ASKED, {"role": "assistant"}, more], "Two."),
    )
    heard = [step.arguments["content"] for step in found.steps]
    assert heard == ["Where is it?", "One.", "And now?", "Two."]


def test_all_the_ways_to_hold_spans() -> None:
    run = [TRACE, agent("a", 0), generation("g", "a", 1, [ASKED], "One.")]
    other = [agent("b", 0, trace_id="trace_2"), {"object": "trace", "id": "trace_3", "workflow_name": "w"}, 7]
    alone = imported("openai-agents", run).only
    for data in (as_lines(*run), {"data": run}, as_lines({"data": run[:1]}, {"data": run[1:]})):
        assert imported("openai-agents", data).only.trajectory == alone.trajectory
        assert claims(data) == {"openai-agents": Confidence.CERTAIN}
    assert claims(run) == {"openai-agents": Confidence.CERTAIN}
    both = imported("openai-agents", run[:2], [run[2], *other])
    assert both.names == [("file", 1), ("file_2", 1)] or len(both.recordings) == 2
    assert both.losses == {"no_spans": 1, "lonely_traces": 1}


def test_files_without_spans_are_told() -> None:
    assert refusal("openai-agents", json.dumps([TRACE]).encode())[0][2] == "OLO323"


def test_of_two_spans_with_one_id_one_is_lost() -> None:
    for name, truncated in (("look", False), ("erase", True)):
        spans = [
            {"object": "trace.span", "id": "f", "trace_id": "t", "span_data": {"type": "function", "name": each}}
            for each in ("look", name)
        ]
        ended = [{**each, "ended_at": "2026-01-01T00:00:00Z"} for each in spans]
        trajectory = imported("openai-agents", as_lines(*ended)).only.trajectory
        assert trajectory is not None
        assert trajectory.truncated is truncated
