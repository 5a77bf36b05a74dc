"""The OpenAI Agents SDK itself, with OpenAI's own client, before a server that is a function."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from fakes.documented import judged_program
from fakes.imports import as_lines, imported
from fakes.projects import project, spawned
from fakes.told import calls, shape
from oloproof.errors import RecordError
from oloproof.recorders import record_openai_agents
from oloproof.testing import recorded_case

agents = pytest.importorskip("agents", reason="needs openai-agents")
httpx = pytest.importorskip("httpx2", reason="needs openai 3, which speaks httpx2")
openai = pytest.importorskip("openai", reason="needs openai")

Call = tuple[str, dict[str, Any]]
Plan = Callable[[str, list[str]], str | list[Call]]
"""What a model answers: of its instructions and the results so far, the text or the calls."""

USAGE = {
    "input_tokens": 3,
    "output_tokens": 4,
    "total_tokens": 7,
    "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
    "output_tokens_details": {"reasoning_tokens": 0},
}


def run(agent: Any, given: Any, **more: Any) -> Any:
    """A run in a loop of its own; ``run_sync`` keeps one, whose generators it has shut down."""
    return asyncio.run(agents.Runner.run(agent, given, **more))


class Exported(agents.TracingProcessor):
    """Keeps what is exported, as any processor of the user's may."""

    def __init__(self) -> None:
        self.values: list[Any] = []

    def on_trace_start(self, trace: Any) -> None: ...
    def on_span_start(self, span: Any) -> None: ...
    def shutdown(self) -> None: ...
    def force_flush(self) -> None: ...

    def on_trace_end(self, trace: Any) -> None:
        self.values.append(trace.export())

    def on_span_end(self, span: Any) -> None:
        self.values.append(span.export())


@pytest.fixture(autouse=True)
def exported() -> Iterator[Exported]:
    """A processor in the place of the one that sends traces to OpenAI."""
    processor = Exported()
    agents.set_trace_processors([processor])
    yield processor
    agents.set_trace_processors([])


def client(plan: Plan) -> Any:
    """OpenAI's client, whose server answers by the plan, in both of its APIs."""

    def answer(request: Any) -> Any:
        body = json.loads(request.content)
        if request.url.path.endswith("/responses"):
            given = [] if isinstance(body["input"], str) else body["input"]
            results = [item["output"] for item in given if item.get("type") == "function_call_output"]
            return httpx.Response(200, json=response(plan(body["instructions"], results), len(results)))
        results = [message["content"] for message in body["messages"] if message["role"] == "tool"]
        return httpx.Response(200, json=completion(plan(body["messages"][0]["content"], results), len(results)))

    transport = httpx.AsyncClient(transport=httpx.MockTransport(answer))
    return openai.AsyncOpenAI(api_key="none", base_url="http://127.0.0.1:9/v1", http_client=transport)


def response(answer: str | list[Call], calls_before: int) -> dict[str, Any]:
    if isinstance(answer, str):
        content = [{"type": "output_text", "text": answer, "annotations": []}]
        output = [{"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": content}]
    else:
        output = [
            {"type": "function_call", "call_id": f"c{number}", "name": name, "arguments": json.dumps(arguments)}
            for number, (name, arguments) in enumerate(answer, calls_before + 1)
        ]
    envelope = {"id": "r", "object": "response", "created_at": 0, "model": "m", "status": "completed", "tools": []}
    return {**envelope, "output": output, "usage": USAGE, "parallel_tool_calls": True, "tool_choice": "auto"}


def completion(answer: str | list[Call], calls_before: int) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answer if isinstance(answer, str) else None}
    if not isinstance(answer, str):
        message["tool_calls"] = [
            {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for number, (name, arguments) in enumerate(answer, calls_before + 1)
        ]
    usage = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {"id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice], "usage": usage}


def responses_model(plan: Plan) -> Any:
    return agents.OpenAIResponsesModel("m", openai_client=client(plan))


def chat_model(plan: Plan) -> Any:
    return agents.OpenAIChatCompletionsModel("m", openai_client=client(plan))


@agents.function_tool
def find(order: str) -> dict[str, Any]:
    """Look an order up."""
    if order == "bad":
        raise ValueError("no such order")
    return {"order": order, "amount": 40}


@agents.function_tool
def note(text: str) -> str:
    """Write something down."""
    return f"noted {text}"


def two_and_done(instructions: str, results: list[str]) -> str | list[Call]:
    return "Done." if results else [("find", {"order": "a"}), ("find", {"order": "bad"})]


@pytest.mark.parametrize("model", [responses_model, chat_model])
def test_calls_made_together_results_errors_tokens_and_the_answer(model: Callable[[Plan], Any]) -> None:
    agent = agents.Agent(name="Support", instructions="Help.", tools=[find], model=model(two_and_done))
    with recorded_case("q") as case, record_openai_agents():
        assert run(agent, "Where is it?").final_output == "Done."
    assert shape(case.trajectory) == [
        ("message", None, "Support", None),
        ("tool_call", "find", "Support", None),
        ("tool_call", "find", "Support", None),
        ("tool_result", "find", "Support", None),
        ("tool_result", "find", "Support", None),
        ("final", None, "Support", None),
    ]
    assert case.trajectory is not None
    steps = case.trajectory.steps
    assert steps[0].arguments == {"role": "user", "content": "Where is it?"}
    assert [(step.call_id, step.arguments, step.turn) for step in steps[1:3]] == [
        ("c1", {"order": "a"}, 1),
        ("c2", {"order": "bad"}, 1),
    ]
    assert (steps[3].call_id, steps[3].result, steps[3].error) == ("c1", {"order": "a", "amount": 40}, None)
    assert (steps[4].call_id, str(steps[4].error).startswith("Error running tool")) == ("c2", True)
    assert steps[5].arguments == {"role": "assistant", "content": "Done."}
    assert [step.tokens for step in steps] == [None, 7, 0, None, None, 7]
    assert not case.trajectory.truncated


@pytest.mark.parametrize("model", [responses_model, chat_model])
def test_the_importer_reads_the_same_from_the_export(model: Callable[[Plan], Any], exported: Exported) -> None:
    billing = agents.Agent(name="Billing", instructions="Bill.", tools=[find, note], model=model(finding))
    triage = agents.Agent(name="Triage", instructions="Sort.", handoffs=[billing], model=model(handing))
    with recorded_case("q") as case, record_openai_agents():
        run(triage, "Where is it?")
    live, read = case.trajectory, imported("openai-agents", as_lines(*exported.values)).only.trajectory
    assert live is not None
    assert read is not None
    if model is chat_model:  # whose export knows all but what functions returned, which is text there
        assert shape(live) == shape(read)
        assert [step.arguments for step in live.steps] == [step.arguments for step in read.steps]
        assert [step.call_id for step in live.steps] == [step.call_id for step in read.steps]
    else:  # whose export knows no words, and so no call that only they have: the transfer
        known = [("tool_call", "transfer_to_billing", "Triage", None), ("message", None, "Triage", None)]
        assert [step for step in shape(live) if step != known[0] and step[0] == "tool_call"] == [
            step for step in shape(read) if step[0] == "tool_call"
        ]
    for kind in ("tool_result", "handoff"):
        of_live, of_read = ([step for step in each.steps if step.kind == kind] for each in (live, read))
        assert [(step.tool_name, step.to_agent, step.agent, step.error) for step in of_live] == [
            (step.tool_name, step.to_agent, step.agent, step.error) for step in of_read
        ]
        assert [step.result if isinstance(step.result, str) else str(step.result) for step in of_live] == [
            str(step.result) for step in of_read
        ]
    assert sum(step.tokens or 0 for step in live.steps) == sum(step.tokens or 0 for step in read.steps)
    assert live.truncated == read.truncated


def finding(instructions: str, results: list[str]) -> str | list[Call]:
    own = [result for result in results if "assistant" not in result]
    return "Found." if own else [("find", {"order": "a"}), ("note", {"text": "x"})]


def handing(instructions: str, results: list[str]) -> str | list[Call]:
    return [("transfer_to_billing", {})]


def test_a_hand_off() -> None:
    billing = agents.Agent(name="Billing", instructions="Bill.", tools=[find, note], model=responses_model(finding))
    triage = agents.Agent(name="Triage", instructions="Sort.", handoffs=[billing], model=responses_model(handing))
    with recorded_case("q") as case, record_openai_agents():
        run(triage, "Where is it?")
    assert shape(case.trajectory) == [
        ("message", None, "Triage", None),
        ("tool_call", "transfer_to_billing", "Triage", None),
        ("handoff", "Billing", "Triage", None),
        ("tool_call", "find", "Billing", None),
        ("tool_call", "note", "Billing", None),
        ("tool_result", "find", "Billing", None),
        ("tool_result", "note", "Billing", None),
        ("final", None, "Billing", None),
    ]


def test_an_agent_that_is_used_as_a_tool_is_inside_its_call() -> None:
    def asking(instructions: str, results: list[str]) -> str | list[Call]:
        return "Done." if results else [("ask", {"input": "What?"})]

    expert = agents.Agent(name="Expert", instructions="Know.", tools=[find, note], model=responses_model(finding))
    tool = expert.as_tool("ask", "Ask the expert.")
    agent = agents.Agent(name="Support", instructions="Help.", tools=[tool], model=responses_model(asking))
    with recorded_case("q") as case, record_openai_agents():
        run(agent, "Where is it?")
    assert shape(case.trajectory) == [
        ("message", None, "Support", None),
        ("tool_call", "ask", "Support", None),
        ("tool_call", "find", "Expert", 2),
        ("tool_call", "note", "Expert", 2),
        ("tool_result", "find", "Expert", 2),
        ("tool_result", "note", "Expert", 2),
        ("message", None, "Expert", 2),
        ("tool_result", "ask", "Support", None),
        ("final", None, "Support", None),
    ]


def forever(instructions: str, results: list[str]) -> str | list[Call]:
    return [("note", {"text": str(len(results))})]


def test_a_run_that_is_out_of_turns_is_truncated_whoever_catches_it() -> None:
    agent = agents.Agent(name="Support", instructions="Help.", tools=[note], model=responses_model(forever))
    with recorded_case("q") as caught, record_openai_agents(), pytest.raises(agents.MaxTurnsExceeded):
        run(agent, "Go.", max_turns=2)
    with recorded_case("q") as raised, pytest.raises(agents.MaxTurnsExceeded), record_openai_agents():
        run(agent, "Go.", max_turns=2)
    for case in (caught, raised):
        assert case.trajectory is not None
        assert case.trajectory.truncated
        assert [step.arguments for step in calls(case.trajectory)] == [{"text": "0"}, {"text": "1"}]


def test_what_still_runs_when_the_block_raises_is_a_call_without_a_result() -> None:
    @agents.function_tool
    async def wait() -> str:
        """Wait for ever."""
        begun.set()
        await asyncio.Event().wait()
        return "never"

    async def raising() -> None:
        with record_openai_agents():
            running = asyncio.ensure_future(agents.Runner.run(agent, "Go."))
            await begun.wait()
            running.add_done_callback(lambda _: None)
            left.append(running)
            raise ZeroDivisionError

    async def main() -> None:
        with pytest.raises(ZeroDivisionError):
            await raising()
        left[0].cancel()
        with pytest.raises(asyncio.CancelledError):
            await left[0]

    left: list[Any] = []
    begun = asyncio.Event()
    plan = responses_model(lambda _, results: "Done." if results else [("wait", {})])
    agent = agents.Agent(name="Support", instructions="Help.", tools=[wait], model=plan)
    with recorded_case("q") as case:
        asyncio.run(main())
    assert shape(case.trajectory)[1:] == [("tool_call", "wait", "Support", None)]
    assert case.trajectory is not None
    assert case.trajectory.truncated


def test_words_of_later_runs_of_a_case_and_its_guardrails() -> None:
    @agents.output_guardrail
    def fine(context: Any, agent: Any, output: Any) -> Any:
        return agents.GuardrailFunctionOutput(output_info=None, tripwire_triggered=False)

    agent = agents.Agent(
        name="Support", instructions="Help.", model=responses_model(lambda *_: "Yes."), output_guardrails=[fine]
    )
    with recorded_case("q") as case, record_openai_agents():
        first = run(agent, "One?")
        run(agent, [*first.to_input_list(), {"role": "user", "content": "Two?"}])
    assert case.trajectory is not None
    said = [(step.kind, step.arguments.get("content")) for step in case.trajectory.steps]
    checked = ("observation", None)
    assert said == [
        ("message", "One?"),
        ("message", "Yes."),
        checked,
        ("message", "Two?"),
        ("final", "Yes."),
        checked,
    ]


def test_streamed_runs_say_the_same() -> None:
    async def stream(plan: Plan) -> None:
        agent = agents.Agent(name="Support", instructions="Help.", tools=[find], model=Streaming(plan))
        async for _ in agents.Runner.run_streamed(agent, "Where is it?").stream_events():
            pass

    with recorded_case("q") as case, record_openai_agents():
        asyncio.run(stream(two_and_done))
    assert [step.call_id for step in calls(case.trajectory)] == ["c1", "c2"]
    assert shape(case.trajectory)[-1] == ("final", None, "Support", None)


def test_a_stream_that_was_read_to_its_end_is_whole_and_one_that_was_left_is_not() -> None:
    async def stream(*, whole: bool) -> None:
        agent = agents.Agent(name="Support", instructions="Help.", tools=[find], model=Streaming(two_and_done))
        with record_openai_agents():
            events = agents.Runner.run_streamed(agent, "Where is it?").stream_events()
            async for event in events:
                if not whole and getattr(event, "name", "") == "tool_called":
                    break

    for whole in (True, False):
        with recorded_case("q") as case:
            asyncio.run(stream(whole=whole))
        assert case.trajectory is not None
        assert case.trajectory.truncated is not whole


class Streaming(agents.Model):
    """A model of somebody's own, which streams: its span is of the kind that the SDK's own models have."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    async def get_response(self, *arguments: Any, **more: Any) -> Any:
        raise NotImplementedError

    async def stream_response(self, instructions: Any, given: Any, *arguments: Any, **more: Any) -> Any:
        from openai.types.responses import Response, ResponseCompletedEvent

        given = [] if isinstance(given, str) else given
        results = [str(item["output"]) for item in given if item.get("type") == "function_call_output"]
        with agents.response_span() as span:
            whole = Response.model_validate(response(self.plan(instructions, results), len(results)))
            span.span_data.response, span.span_data.input = whole, given
            yield ResponseCompletedEvent(response=whole, sequence_number=0, type="response.completed")


def test_content_that_is_off_is_not_recorded() -> None:
    agent = agents.Agent(name="Support", instructions="Help.", tools=[note], model=responses_model(forever))
    quiet = agents.RunConfig(trace_include_sensitive_data=False)
    with recorded_case("q") as case, record_openai_agents(), pytest.raises(agents.MaxTurnsExceeded):
        run(agent, "Go.", run_config=quiet, max_turns=1)
    (call,) = calls(case.trajectory)
    assert (call.tool_name, call.arguments) == ("note", None)


def test_threads_and_tasks_of_several_cases_are_kept_apart() -> None:
    def own(instructions: str, results: list[str]) -> str | list[Call]:
        return "Done." if results else [("note", {"text": instructions})]

    async def twice(name: str) -> None:
        agent = agents.Agent(name="Support", instructions=name, tools=[note], model=responses_model(own))
        await asyncio.gather(agents.Runner.run(agent, "Go."), agents.Runner.run(agent, "Go."))

    async def several() -> list[list[str]]:
        async def one(name: str) -> list[str]:
            with recorded_case(name) as case, record_openai_agents():
                await twice(name)
            return [step.arguments["text"] for step in calls(case.trajectory)]

        return await asyncio.gather(*map(one, "ab"))

    def thread(name: str) -> list[str]:
        with recorded_case(name) as case, record_openai_agents():
            together.wait(60)
            asyncio.run(twice(name))
        return [step.arguments["text"] for step in calls(case.trajectory)]

    together = Barrier(3)
    assert asyncio.run(several()) == [["a", "a"], ["b", "b"]]
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(thread, "abc")) == [["a", "a"], ["b", "b"], ["c", "c"]]


def test_processors_of_the_user_go_on_and_may_be_replaced(exported: Exported) -> None:
    agent = agents.Agent(name="Support", instructions="Help.", model=responses_model(lambda *_: "Yes."))
    for number in (1, 2):
        other = Exported()
        agents.set_trace_processors([exported, other])
        with recorded_case("q") as case, record_openai_agents():
            run(agent, "Go.")
        assert shape(case.trajectory)[-1][0] == "final"
        assert len([value for value in exported.values if value["object"] == "trace"]) == number
        assert [value["object"] for value in other.values].count("trace") == 1


def test_tracing_that_is_off_leaves_no_record_and_says_so() -> None:
    agent = agents.Agent(name="Support", instructions="Help.", model=responses_model(lambda *_: "Yes."))
    off = agents.RunConfig(tracing_disabled=True)
    with recorded_case("q") as case:
        with pytest.warns(UserWarning, match="no span of the OpenAI Agents SDK"), record_openai_agents():
            run(agent, "Go.", run_config=off)
        assert case.trajectory is None
        with record_openai_agents():
            run(agent, "Go.")
        with pytest.raises(RecordError, match="recorded already"), record_openai_agents():
            run(agent, "Go.")
    with pytest.raises(RecordError, match="outside a case"), record_openai_agents():
        pass


APP = """
import agents
from agents.models.interface import Model
from openai.types.responses import Response
from oloproof import system
from oloproof.recorders import record_openai_agents

agents.set_trace_processors([])  # nothing is sent to OpenAI


class Scripted(Model):
    async def get_response(self, system_instructions, input, **more):
        items = [{"role": "user", "content": input}] if isinstance(input, str) else input
        with agents.generation_span(input=items) as span:
            if any(item.get("type") == "function_call_output" for item in items):
                said = {"role": "assistant", "content": "refunded"}
                part = {"type": "output_text", "text": "refunded", "annotations": []}
                item = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [part]}
            else:
                call = {"name": "refund", "arguments": '{"amount": 40}'}
                said = {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": call}]}
                item = {"type": "function_call", "call_id": "c1", **call}
            span.span_data.output = [said]
        output = Response.model_validate({
            "id": "r", "object": "response", "created_at": 0, "model": "m", "tools": [], "output": [item],
            "parallel_tool_calls": True, "tool_choice": "auto",
        }).output
        return agents.ModelResponse(output=output, usage=agents.Usage(), response_id=None)

    def stream_response(self, *arguments, **more):
        raise NotImplementedError


@agents.function_tool
def refund(amount: int) -> str:
    if amount > 50:
        raise ValueError("too much")
    return "ok"


agent = agents.Agent(name="Refunds", instructions="Refund.", tools=[refund], model=Scripted())


@system(name="refunds", version="1", records=["agent_trajectory/v1"])
async def run(case):
    with record_openai_agents():
        result = await agents.Runner.run(agent, case)
    return {"answer": result.final_output}
"""


def test_the_command_judges_what_the_sdk_tells(tmp_path: Path) -> None:
    rows = [
        {"id": f"c{number}", "input": "go", "expected": {"tools": [{"tool": tool, "arguments": {"amount": 40}}]}}
        for number, tool in enumerate(("refund", "refund", "other"), 1)
    ]
    directory = project(
        tmp_path,
        app=APP,
        cases=rows,
        evaluators=[{"type": "agent_tool_sequence"}],
        rules=[{"id": "right", "metric": "agent_tool_sequence", "kind": "observed_count", "max_failures": 0}],
        system={"callable": "app:run", "concurrency": 3},
    )
    done = spawned(directory, "run", "--json")
    assert done.code == 1, done.err
    assert done.verdict("agent_tool_sequence") == (2, 1, 0, 0)


def test_the_command_judges_what_the_script_of_the_documentation_does(tmp_path: Path) -> None:
    script = "<!-- file: script.py -->\n"
    done = judged_program(tmp_path, "record-openai-agents.md", before=script, orders=("ord-1", "ord-2"))
    assert done.code == 1, done.out + done.err
    assert done.verdict("agent_tool_sequence") == (1, 1, 0, 0)
