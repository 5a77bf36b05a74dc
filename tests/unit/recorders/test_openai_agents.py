"""Spans as the SDK would tell them, without the SDK."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextvars import Context
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from msgspec import UNSET

from oloproof.errors import RecordError
from oloproof.model.trajectory import Step, Trajectory
from oloproof.model.values import TAG
from oloproof.recorders import record_openai_agents
from oloproof.recorders.openai_agents import Spans, trajectory_of
from oloproof.testing import recorded_case


class Span:
    """A span that is alive. ``data`` are the fields of its kind; ``live`` what its export leaves out."""

    def __init__(self, kind: str, name: str, parent: Span | None = None, /, *, trace: str = "t", **data: Any) -> None:
        self.span_id, self.trace_id = f"{trace}/{name}", trace
        self.parent_id = None if parent is None else parent.span_id
        self.error: Any = None
        self.ended_at: str | None = None
        live = data.pop("live", {})
        self.exported = {"type": kind, **data}
        self.span_data = SimpleNamespace(**data, **live)

    def export(self) -> dict[str, Any]:
        data = dict(self.exported)
        if data["type"] == "function":
            output = self.span_data.output
            data["output"] = None if output is None else str(output)
        return {
            "object": "trace.span",
            "id": self.span_id,
            "trace_id": self.trace_id,
            "parent_id": self.parent_id,
            "started_at": "2026-01-01T00:00:00+00:00",
            "ended_at": self.ended_at,
            "span_data": data,
            "error": self.error,
        }


def function(name: str, parent: Span, output: Any) -> Span:
    return Span("function", name, parent, name=name, input='{"n": 1}', output=output)


def answered(name: str, parent: Span, *output: Any, given: Any = "Where?", status: str = "completed") -> Span:
    live = {"input": given, "response": SimpleNamespace(output=list(output), status=status)}
    usage = {"input_tokens": 3, "output_tokens": 4}
    return Span("response", name, parent, trace=parent.trace_id, response_id="r", usage=usage, live=live)


def call(call_id: str, name: str) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": '{"n": 1}'}


def words(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


def told(*spans: Span, unfinished: int = 0) -> Trajectory:
    """What spans tell that began in this order; the last of them are ``unfinished``."""
    kept = Spans()
    for span in spans:
        kept.began(span)
    for span in spans[: len(spans) - unfinished]:
        span.ended_at = "2026-01-01T00:00:01+00:00"
        kept.ended(span)
    trajectory = trajectory_of(kept)
    assert trajectory is not None
    return trajectory


def test_a_live_span_knows_more_than_its_export() -> None:
    agent = Span("agent", "a", name="Support")
    steps = told(
        agent,
        answered("r1", agent, {"type": "reasoning"}, call("c1", "find"), call("c2", "look")),
        function("find", agent, {"amount": 40}),
        function("look", agent, 0),
        answered("r2", agent, words("Done."), given=[{"role": "user", "content": "Where?"}, call("c1", "find")]),
    ).steps
    assert [step.kind for step in steps] == [
        "message",
        "tool_call",
        "tool_call",
        "tool_result",
        "tool_result",
        "final",
    ]
    assert steps[0].arguments == {"role": "user", "content": "Where?"}
    assert [(step.call_id, step.turn, step.tokens) for step in steps[1:3]] == [("c1", 1, 7), ("c2", 1, 0)]
    assert [(step.call_id, step.result) for step in steps[3:5]] == [("c1", {"amount": 40}), ("c2", 0)]
    assert steps[5].arguments == {"role": "assistant", "content": "Done."}


def test_results_that_are_no_json_are_what_the_model_read() -> None:
    class Order:
        def __str__(self) -> str:
            return "order 1"

    agent = Span("agent", "a", name="Support")
    result = told(agent, function("find", agent, Order())).steps[1]
    assert result.result == "order 1"
    off = told(agent, Span("function", "find", agent, name="find", input=None, output=None)).steps
    assert (off[0].arguments, off[1].result) == (None, UNSET)


def test_what_has_not_ended_is_a_call_without_a_result() -> None:
    agent = Span("agent", "a", name="Support")
    trajectory = told(agent, answered("r1", agent, call("c1", "find")), function("find", agent, None), unfinished=1)
    assert [step.kind for step in trajectory.steps] == ["message", "tool_call"]
    assert trajectory.truncated


@pytest.mark.parametrize(("status", "truncated"), [("completed", False), ("incomplete", True)])
def test_an_answer_that_was_cut_off(status: str, truncated: bool) -> None:
    agent = Span("agent", "a", name="Support")
    trajectory = told(agent, answered("r", agent, words("It is"), status=status))
    assert trajectory.truncated is truncated
    assert trajectory.steps[-1].kind == ("message" if truncated else "final")


def test_tools_that_openai_runs_have_their_results_at_once() -> None:
    agent = Span("agent", "a", name="Support")
    search = {"type": "web_search_call", "id": "w", "status": "completed", "action": {"query": "q"}}
    broken = {"type": "mcp_call", "id": "m", "name": "ask", "arguments": "{", "error": "down", "status": "failed"}
    steps = told(agent, answered("r", agent, search, broken, words("Done."))).steps
    assert [(step.kind, step.tool_name, step.error) for step in steps[2:6]] == [
        ("tool_call", "web_search", UNSET),
        ("tool_result", "web_search", None),
        ("tool_call", "ask", UNSET),
        ("tool_result", "ask", "down"),
    ]
    assert steps[2].arguments == {"action": {"query": "q"}}
    assert steps[4].arguments == {TAG: "{"}


def test_what_goes_on_beside_the_last_trace_leaves_a_truncated_record() -> None:
    last = Span("agent", "last", trace="u")
    background = Span("agent", "background")
    assert told(last, answered("r1", last, words("Done.")), background, unfinished=1).truncated
    assert not told(last, answered("r1", last, words("Done."))).truncated


def test_several_traces_are_one_case_whose_last_ended_it() -> None:
    first, second = Span("agent", "a", name="One"), Span("agent", "b", name="Two", trace="u")
    first.error = {"message": "Max turns exceeded"}
    spans = [first, answered("r", first, words("Hm.")), second, answered("s", second, words("Yes."))]
    trajectory = told(*spans)
    assert [(step.kind, step.agent) for step in trajectory.steps] == [
        ("message", "One"),
        ("message", "One"),
        ("message", "Two"),
        ("final", "Two"),
    ]
    assert not trajectory.truncated
    assert told(second, spans[3], first, spans[1]).truncated


class Provider:
    """A provider of traces, with the processors that it was given."""

    def __init__(self) -> None:
        self.processors: list[Any] = []

    def tell(self, *spans: Span) -> None:
        for span in spans:
            for processor in self.processors:
                processor.on_span_start(span)
        for span in spans:
            span.ended_at = "2026-01-01T00:00:01+00:00"
            for processor in self.processors:
                processor.on_span_end(span)
                processor.force_flush()


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Provider:
    """The provider of an SDK that has nothing else."""
    found = Provider()
    package, tracing = ModuleType("agents"), ModuleType("agents.tracing")
    tracing.get_trace_provider = lambda: found  # type: ignore[attr-defined]
    tracing.add_trace_processor = found.processors.append  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "agents", package)
    monkeypatch.setitem(sys.modules, "agents.tracing", tracing)
    return found


def steps_of(record: Callable[[], None]) -> list[Step]:
    with recorded_case("q") as case, record_openai_agents():
        record()
    assert case.trajectory is not None
    return list(case.trajectory.steps)


def test_one_processor_for_all_cases(provider: Provider) -> None:
    for name in ("find", "look"):
        agent = Span("agent", name, name="Support")
        steps = steps_of(lambda agent=agent, name=name: provider.tell(agent, function(name, agent, "ok")))  # type: ignore[misc]
        assert [step.tool_name for step in steps] == [name, name]
    assert len(provider.processors) == 1
    provider.tell(Span("agent", "later", name="Support"))


def test_a_span_that_may_be_any_cases_cuts_the_records_of_all(provider: Provider) -> None:
    with recorded_case("one") as one, record_openai_agents():
        provider.tell(function("find", Span("agent", "a"), "ok"))
        with recorded_case("two") as two, record_openai_agents():
            provider.tell(function("look", Span("agent", "b"), "ok"))
            Context().run(provider.tell, function("delete", Span("agent", "c"), "ok"))
    for case in (one, two):
        assert case.trajectory is not None
        assert case.trajectory.truncated


def test_what_raises_leaves_a_truncated_record(provider: Provider) -> None:
    agent = Span("agent", "a", name="Support")
    with recorded_case("q") as case:
        with pytest.raises(ZeroDivisionError), record_openai_agents():
            provider.tell(agent, function("find", agent, "ok"))
            raise ZeroDivisionError
        assert case.trajectory is not None
        assert case.trajectory.truncated


def test_refusals(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RecordError, match="outside a case"), record_openai_agents():
        pass
    with recorded_case("q") as case:
        with pytest.warns(UserWarning, match="saw no span") as told, record_openai_agents():
            pass
        assert told[0].filename == __file__
        assert case.trajectory is None
        for module in (None, ModuleType("agents")):
            monkeypatch.setitem(sys.modules, "agents", module)
            monkeypatch.delitem(sys.modules, "agents.tracing", raising=False)
            with pytest.raises(RecordError, match=r"pip install 'oloproof\[openai-agents\]'"), record_openai_agents():
                pass
