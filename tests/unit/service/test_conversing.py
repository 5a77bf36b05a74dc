"""The boundary of every surface: what may leave, for how long, and what is told of it elsewhere."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from msgspec.json import encode

from fakes.service import Egress, Held, Told, call, conversed, kinds, retrieving, scripted
from oloproof.runtime import AgentEvent, AgentLoopError, AgentToolResult, CallTool, MemoryStore, RunState
from oloproof.service import Allow, Deny, Service, Surface, Transform, converse
from oloproof.service.telemetry import OpenSpan

SECRET = "the key is 4711"
TWO = ["run_started", "phase_changed", "phase_changed", "tool_started", "tool_completed", "phase_changed"]
TWO += ["checkpoint_saved", "phase_changed", "phase_changed", "answer_delta", "run_completed"]


def told(service: Service, **fields: Any) -> list[AgentEvent]:
    return asyncio.run(conversed(service, call(**fields)))


def thinking(policy: Any) -> Service:
    """An agent that reads, thinks aloud, and answers with a secret."""
    tool = Held()
    tool.go.set()
    thought = CallTool("tool", {"text": "x"}, f"hm, {SECRET}")
    return Service(loop=scripted(thought, tools=[tool], answer=f"{SECRET} [c0]"), egress=policy)


def test_without_a_policy_the_loops_events_leave_as_they_are() -> None:
    events = told(Service(loop=retrieving()), goal="spans", top_k=2)
    assert kinds(events) == TWO
    assert events[-2].text == "Based on 2 retrieved passage(s): spans: 0 [c0]"
    assert events[-1].result is not None
    assert (events[-1].result.citations, events[-1].result.egress) == (("c0",), None)


def test_the_policy_is_asked_once_before_the_answer_is_told() -> None:
    policy = Egress(Allow())
    told_before: list[int] = []

    async def counted() -> list[str]:
        seen = []
        async for event in converse(Service(loop=retrieving(), egress=policy), call(goal="spans", top_k=1)):
            seen.append(event.kind.value)
            told_before.append(len(policy.asked))
        return seen

    seen = asyncio.run(counted())
    assert told_before == [int(kind in ("answer_delta", "run_completed")) for kind in seen]
    assert policy.asked == [("acme", "Based on 1 retrieved passage(s): spans: 0 [c0]")]


@pytest.mark.parametrize("decides", [Deny(), OSError("the policy is away"), "allow", None])
def test_what_is_denied_never_leaves(decides: Any) -> None:
    policy = Egress(decides)
    events = told(thinking(policy))
    assert SECRET.encode() not in b"".join(map(encode, events))
    result = events[-1].result
    assert result is not None
    assert (events[-2].text, result.final_answer) == ("The answer was withheld by policy.",) * 2
    assert (result.citations, result.chunk_refs, str(result.egress)) == ((), (), "denied")
    assert len(policy.asked) == 1


def test_the_notice_of_a_denial_is_the_policys() -> None:
    events = told(thinking(Egress(Deny("ask the desk"))))
    assert (events[-2].text, events[-1].result and events[-1].result.final_answer) == ("ask the desk",) * 2


def test_a_transformed_answer_stands_in_both_frames_and_cites_what_it_names() -> None:
    loop = retrieving()
    events = told(Service(loop=loop, egress=Egress(Transform("redacted [c0]"))), goal="x", top_k=3)
    result = events[-1].result
    assert result is not None
    assert (events[-2].text, result.final_answer) == ("redacted [c0]",) * 2
    assert (result.citations, [ref.chunk_id for ref in result.chunk_refs]) == (("c0",), ["c0"])
    gone = told(Service(loop=loop, egress=Egress(Transform("redacted"))), goal="x", top_k=3)[-1].result
    assert gone is not None
    assert (gone.citations, gone.chunk_refs, str(gone.egress)) == ((), (), "transformed")


def test_an_answer_that_is_no_text_is_asked_about_too() -> None:
    events = told(Service(loop=scripted(answer={"key": SECRET}), egress=Egress(Deny("no"))))
    assert events[-1].result is not None
    assert events[-1].result.final_answer == "no"


def test_a_run_without_an_answer_asks_nothing() -> None:
    policy = Egress(Deny())
    events = told(Service(loop=retrieving(), egress=policy), budget_iter=1)
    assert events[-1].result is not None
    assert (events[-1].result.status.value, policy.asked) == ("budget_iter", [])


def test_what_cannot_be_resumed_is_told_in_the_stream() -> None:
    (event,) = told(Service(loop=retrieving()), resume_run_id="nothing")
    assert (event.kind.value, event.run_id, event.error_code) == ("run_failed", "nothing", "not_resumable")
    assert event.message == "there is no run 'nothing'"


class Lengthy(Held):
    """A tool with whose call an hour of the event loop's time has passed."""

    async def invoke(self, ctx: Any, arguments: dict[str, Any]) -> AgentToolResult:
        loop = asyncio.get_running_loop()
        time = loop.time
        loop.time = lambda: time() + 3600  # type: ignore[method-assign]
        return await super().invoke(ctx, arguments)


def test_a_run_that_takes_too_long_is_stopped_and_can_be_resumed() -> None:
    async def late() -> None:
        store, tool = Told(), Lengthy(idempotent=True)
        loop = scripted(CallTool("tool", {"text": "a"}), tools=[tool], checkpoint_store=store)
        events = await conversed(Service(loop=loop), call(longest_s=1800.0))
        assert kinds(events)[-2:] == ["tool_started", "run_failed"]
        assert (events[-1].error_code, store.stopped.is_set()) == ("deadline_exceeded", True)
        tool.go.set()
        again = await conversed(Service(loop=loop), call(resume_run_id=events[0].run_id))
        assert again[-1].result is not None
        assert again[-1].result.status.value == "final_answer"

    asyncio.run(late())


def test_a_time_that_is_over_ends_a_run_that_never_waits() -> None:
    events = told(Service(loop=retrieving()), longest_s=0.0)
    assert [event.error_code for event in events] == ["deadline_exceeded"]


def test_a_caller_who_goes_away_stops_the_run() -> None:
    async def gone() -> None:
        store, tool = Told(), Held()
        loop = scripted(CallTool("tool", {"text": "a"}), tools=[tool], checkpoint_store=store)
        reading = asyncio.create_task(conversed(Service(loop=loop), call()))
        await tool.called.wait()
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        assert store.stopped.is_set()

    asyncio.run(gone())


class Full(MemoryStore):
    def save(self, state: RunState) -> None:
        raise OSError("no space left on /srv/secret")


def test_what_is_wrong_with_the_machine_is_logged_and_not_told(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "oloproof.service"):
        events = told(Service(loop=retrieving(checkpoint_store=Full())))
    assert (kinds(events), events[-1].error_code) == (["run_started", "run_failed"], "internal_error")
    assert b"secret" not in b"".join(map(encode, events))
    assert [record.message for record in caplog.records] == ["agent.internal_error", "agent.run_failed"]
    assert caplog.records[0].exc_info is not None


def logged(caplog: pytest.LogCaptureFixture, service: Service, surface: Surface) -> list[tuple[str, Any]]:
    caplog.clear()
    with caplog.at_level(logging.INFO, "oloproof.service"):
        asyncio.run(conversed(service, call(surface, goal="spans", top_k=1)))
    return [(record.message, record.__dict__["event"]) for record in caplog.records]


@pytest.mark.parametrize("surface", list(Surface))
def test_what_a_controller_raises_is_for_the_log(caplog: pytest.LogCaptureFixture, surface: Surface) -> None:
    class Refuses:
        async def decide(self, ctx: Any, *, snapshot: Any, tools: Any) -> Any:
            raise RuntimeError("https://user:hunter2@model.internal said no")

    caplog.set_level(logging.INFO)
    events = asyncio.run(conversed(Service(loop=scripted(controller=Refuses())), call(surface)))
    assert events[-1].error_code == "planner_failed"
    assert ("hunter2" in (events[-1].message or "")) is (surface is Surface.CLI)
    assert "hunter2" in caplog.records[-1].event["reason"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("surface", list(Surface))
def test_the_log_events_of_a_run(caplog: pytest.LogCaptureFixture, surface: Surface) -> None:
    (step, first), (complete, last) = logged(caplog, Service(loop=retrieving()), surface)
    assert (step, first["tool"], first["ok"], first["tenant_id"]) == ("agent.step_complete", "retrieve", True, "acme")
    assert (complete, last["status"], last["steps"], last["tokens"]) == (surface.value, "final_answer", 1, 512)
    assert first["run_id"] == last["run_id"] != ""
    names = {Surface.REST: "gateway.agent_complete", Surface.GRPC: "grpc.converse_complete"}
    assert complete == names.get(surface, "cli.agent_complete")


def test_the_log_events_of_a_denial_and_of_a_failure(caplog: pytest.LogCaptureFixture) -> None:
    denied = logged(caplog, thinking(Egress(Deny())), Surface.REST)
    assert [name for name, _ in denied][1:] == ["gateway.agent.policy_denied", "gateway.agent_complete"]
    failed = logged(caplog, Service(loop=scripted(CallTool("tool", {"text": "a"}), tools=[Broken()])), Surface.REST)
    assert [name for name, _ in failed] == ["agent.step_complete", "agent.run_failed"]
    assert failed[-1][1]["error_code"] == "tool_broken"
    assert SECRET not in caplog.text


class Broken(Held):
    async def invoke(self, ctx: Any, arguments: dict[str, Any]) -> AgentToolResult:
        raise AgentLoopError("the index is gone", reason="gone")


def spans_of(work: Any) -> list[Any]:
    """The spans that ended while the work ran, with the SDK of a user."""
    sdk = pytest.importorskip("opentelemetry.sdk.trace")
    export = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")
    simple = pytest.importorskip("opentelemetry.sdk.trace.export").SimpleSpanProcessor
    from opentelemetry import trace

    provider, memory = sdk.TracerProvider(), export.InMemorySpanExporter()
    provider.add_span_processor(simple(memory))
    before = trace._TRACER_PROVIDER
    trace._TRACER_PROVIDER = provider
    try:
        asyncio.run(work())
    finally:
        trace._TRACER_PROVIDER = before
    return list(memory.get_finished_spans())


def test_the_span_of_a_run_and_what_is_in_it() -> None:
    async def traced() -> None:
        parent = OpenSpan("grpc.converse")
        asked = call(budget_tokens=4000, goal="spans", top_k=2)
        async for _ in converse(Service(loop=retrieving()), asked, parent=parent):
            pass
        parent.end()

    run, above = spans_of(traced)
    assert (run.name, above.name, run.parent.span_id) == ("agent.run", "grpc.converse", above.context.span_id)
    attributes = dict(run.attributes)
    assert attributes.pop("oloproof.agent.run_id")
    assert attributes == {
        "oloproof.tenant_id": "acme",
        "oloproof.agent.max_steps": 6,
        "oloproof.agent.steps": 1,
        "oloproof.agent.stop_reason": "final_answer",
        "oloproof.agent.final_chunks_n": 2,
        "oloproof.agent.budget_tokens_used": 512,
    }


def test_the_spans_of_tools_are_children_of_the_runs() -> None:
    class Traced(Held):
        async def invoke(self, ctx: Any, arguments: dict[str, Any]) -> AgentToolResult:
            from opentelemetry import trace

            with trace.get_tracer("mine").start_as_current_span("mine"):
                return AgentToolResult(ok=True, value=1)

    async def traced() -> None:
        await conversed(Service(loop=scripted(CallTool("tool", {"text": "a"}), tools=[Traced()])), call())

    mine, run = spans_of(traced)
    assert (mine.name, mine.parent.span_id) == ("mine", run.context.span_id)


def test_the_span_of_a_run_that_fails_or_is_left() -> None:
    async def fails() -> None:
        await conversed(Service(loop=scripted(CallTool("tool", {"text": "a"}), tools=[Broken()])), call())

    async def left() -> None:
        events = converse(Service(loop=retrieving()), call())
        await anext(events)
        await events.aclose()

    (failed,), (stopped,) = spans_of(fails), spans_of(left)
    assert (failed.status.status_code.name, failed.status.description) == ("ERROR", "tool_broken")
    assert stopped.attributes["oloproof.agent.stop_reason"] == "caller_stop"
