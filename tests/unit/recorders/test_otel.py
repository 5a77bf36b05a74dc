"""The SDK's own spans become the trajectory of the case they belong to, in whichever thread or task they begin."""

from __future__ import annotations

import asyncio
import contextvars
import json
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Thread
from typing import Any

import pytest

from oloproof.errors import RecordError
from oloproof.model.trajectory import Trajectory
from oloproof.recorders import record_otel
from oloproof.testing import recorded_case

sdk = pytest.importorskip("opentelemetry.sdk.trace")

PROVIDER = sdk.TracerProvider()
TRACER = PROVIDER.get_tracer("test")


def said(text: str) -> str:
    return json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": text}]}])


def tool(name: str, **facts: Any) -> None:
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, **facts}
    with TRACER.start_as_current_span(f"execute_tool {name}", attributes=attributes):
        pass


def answer(text: str) -> None:
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.output.messages": said(text)}
    with TRACER.start_as_current_span("chat", attributes=attributes):
        pass


def agent(*tools: str) -> None:
    """An agent calls tools and answers."""
    attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "helper"}
    with TRACER.start_as_current_span("invoke_agent helper", attributes=attributes):
        for name in tools:
            tool(name)
        answer("done")


def calls(trajectory: Trajectory | None) -> list[str | None]:
    assert trajectory is not None
    return [step.tool_name for step in trajectory.steps if step.kind == "tool_call"]


def test_the_spans_of_a_case_are_its_trajectory() -> None:
    with recorded_case("question") as case, record_otel(provider=PROVIDER):
        agent("search", "refund")
    trajectory = case.trajectory
    assert calls(trajectory) == ["search", "refund"]
    assert trajectory is not None
    assert not trajectory.truncated
    assert {step.agent for step in trajectory.steps} == {"helper"}
    assert trajectory.steps[-1].arguments == {"role": "assistant", "content": "done"}


def test_the_steps_outside_of_the_block_are_not_recorded() -> None:
    agent("before")
    with recorded_case("question") as case:
        with record_otel(provider=PROVIDER):
            agent("within")
        agent("after")
    assert calls(case.trajectory) == ["within"]


def test_a_tool_that_is_at_work_when_the_block_ends_is_a_call_of_a_truncated_record() -> None:
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "delete"}
    with recorded_case("question") as case, record_otel(provider=PROVIDER):
        left = TRACER.start_span("execute_tool delete", attributes=attributes)
        agent("search")
    left.end()
    trajectory = case.trajectory
    assert calls(trajectory) == ["delete", "search"]
    assert trajectory is not None
    assert trajectory.truncated


def test_a_span_of_something_else_may_go_on() -> None:
    with recorded_case("question") as case, record_otel(provider=PROVIDER):
        left = TRACER.start_span("poll")
        agent("search")
    left.end()
    assert case.trajectory is not None
    assert not case.trajectory.truncated


def test_an_outer_span_that_ends_later_is_no_hindrance() -> None:
    with recorded_case("question") as case, TRACER.start_as_current_span("GET /"):
        with record_otel(provider=PROVIDER):
            agent("search")
        assert calls(case.trajectory) == ["search"]


def test_what_raises_leaves_a_truncated_record() -> None:
    with recorded_case("question") as case:
        with pytest.raises(ZeroDivisionError), record_otel(provider=PROVIDER):
            agent("search")
            raise ZeroDivisionError
        assert case.trajectory is not None
        assert case.trajectory.truncated
        assert calls(case.trajectory) == ["search"]


def test_tasks_and_threads_of_several_cases_are_kept_apart() -> None:
    together = Barrier(3)

    def run(name: str) -> list[str | None]:
        async def main() -> None:
            together.wait(60)
            await asyncio.gather(asyncio.to_thread(agent, f"{name} 1"), asyncio.to_thread(tool, f"{name} 2"))
            with TRACER.start_as_current_span("below") as span:
                below = sdk_context(span)
                thread = Thread(target=below.run, args=(tool, f"{name} 3"))
                thread.start()
                thread.join()

        with recorded_case(name, case_id=name) as case, record_otel(provider=PROVIDER):
            asyncio.run(main())
        return calls(case.trajectory)

    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(run, "abc"))
    assert [sorted(filter(None, each)) for each in found] == [[f"{name} {n}" for n in (1, 2, 3)] for name in "abc"]


def sdk_context(span: Any) -> contextvars.Context:
    """A context in which only the span is known, as a framework's own threads have it."""
    from opentelemetry import context, trace

    bare = contextvars.Context()
    bare.run(context.attach, trace.set_span_in_context(span))
    return bare


def test_a_thread_without_a_context_is_of_the_only_case_there_is() -> None:
    with recorded_case("question") as case, record_otel(provider=PROVIDER):
        thread = Thread(target=contextvars.Context().run, args=(agent, "alone"))
        thread.start()
        thread.join()
    assert calls(case.trajectory) == ["alone"]


@pytest.mark.parametrize(("begun", "truncated"), [(agent, True), (tool, True), (lambda _: None, False)])
def test_what_may_be_any_cases_cuts_the_records_of_all(begun: Any, truncated: bool) -> None:
    def elsewhere() -> None:
        with TRACER.start_as_current_span("poll"):
            begun("whose")

    with recorded_case("one") as one, record_otel(provider=PROVIDER):
        agent("search")
        with recorded_case("two") as two, record_otel(provider=PROVIDER):
            agent("search")
            thread = Thread(target=contextvars.Context().run, args=(elsewhere,))
            thread.start()
            thread.join()
    for case in (one, two):
        assert calls(case.trajectory) == ["search"]
        assert case.trajectory is not None
        assert case.trajectory.truncated is truncated


def test_a_case_in_which_nothing_is_seen_is_not_recorded_and_told() -> None:
    with recorded_case("question") as case:
        with pytest.warns(UserWarning, match="no span of an agent"), record_otel(provider=PROVIDER):
            pass
        assert case.trajectory is None


def test_refusals() -> None:
    with pytest.raises(RecordError, match="outside a case"), record_otel(provider=PROVIDER):
        pass
    with recorded_case("question"):
        with pytest.raises(RecordError, match="takes no processors") as caught, record_otel(provider=object()):  # type: ignore[arg-type]
            pass
        assert caught.value.problems[0].code == "OLO696"
        with record_otel(provider=PROVIDER):
            agent("once")
        with pytest.raises(RecordError, match="recorded already"), record_otel(provider=PROVIDER):
            agent("twice")


def test_errors_of_tools_are_known() -> None:
    with recorded_case("question") as case, record_otel(provider=PROVIDER):
        with TRACER.start_as_current_span("chat", attributes={"gen_ai.operation.name": "chat"}):
            pass
        tool("refund", **{"error.type": "timeout"})
    assert case.trajectory is not None
    assert [step.error for step in case.trajectory.steps if step.kind == "tool_result"] == ["timeout"]


def test_the_global_provider_is_made_where_there_is_none() -> None:
    from opentelemetry import trace

    with recorded_case("question") as case, record_otel():
        tracer = trace.get_tracer("global")
        with tracer.start_as_current_span("execute_tool x", attributes={"gen_ai.tool.name": "x"}):
            pass
    assert calls(case.trajectory) == ["x"]
