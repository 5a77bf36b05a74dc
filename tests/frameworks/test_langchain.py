"""LangChain and LangGraph themselves, with models that answer by a script."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from fakes.documented import judged_program
from fakes.imports import as_lines, imported
from fakes.told import calls, shape
from oloproof.errors import RecordError
from oloproof.model.trajectory import Step, Trajectory
from oloproof.recorders import record_langchain
from oloproof.testing import recorded_case

pytest.importorskip("langchain", reason="needs langchain")
pytest.importorskip("langgraph", reason="needs langgraph")
pytest.importorskip("langgraph_supervisor", reason="needs langgraph-supervisor")

from langchain.agents import create_agent
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models.fake_chat_models import (
    FakeMessagesListChatModel,
    GenericFakeChatModel,
)
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langchain_core.tracers import LangChainTracer
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command, interrupt
from langgraph_supervisor import create_supervisor
from langsmith import Client

pytestmark = pytest.mark.filterwarnings("ignore::langgraph.warnings.LangGraphDeprecatedSinceV10")

HI = {"messages": [HumanMessage("Where is it?")]}
USAGE = {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}


class Model(FakeMessagesListChatModel):
    """Answers by its list, whatever tools it is given."""

    def bind_tools(self, tools: Any, **more: Any) -> Any:
        return self


class Asker(GenericFakeChatModel):
    """Calls ``note`` with what it was asked, and then answers: of any number of conversations at once."""

    def bind_tools(self, tools: Any, **more: Any) -> Any:
        return self

    def _generate(self, messages: Any, *arguments: Any, **more: Any) -> Any:
        asked = AIMessage("Done.") if messages[-1].type == "tool" else calling(("note", {"text": messages[-1].content}))
        return GenericFakeChatModel(messages=iter([asked]))._generate(messages)


def calling(*calls: tuple[str, dict[str, Any]], first: int = 1) -> AIMessage:
    asked = [{"name": name, "args": given, "id": f"c{number}"} for number, (name, given) in enumerate(calls, first)]
    return AIMessage("", tool_calls=asked, usage_metadata=USAGE)


def model(*answers: AIMessage | str) -> Model:
    return Model(responses=[AIMessage(each) if isinstance(each, str) else each for each in answers])


@tool
def find(order: str) -> dict[str, Any]:
    """Look an order up."""
    if order == "bad":
        raise ValueError("no such order")
    return {"order": order, "amount": 40}


@tool
def note(text: str) -> str:
    """Write something down."""
    return f"noted {text}"


@tool
def ask(question: str) -> str:
    """Ask a person."""
    return str(interrupt(question))


def recorded(run: Callable[[], Any]) -> Trajectory:
    with recorded_case("q") as case, record_langchain():
        run()
    assert case.trajectory is not None
    return case.trajectory


def graph(answers: Model, *tools: Any) -> Any:
    """A graph of a model and its tools, as one writes it by hand; errors of tools go to the model."""
    builder = StateGraph(MessagesState)
    builder.add_node("model", lambda state: {"messages": [answers.invoke(state["messages"])]})
    builder.add_node("tools", ToolNode(list(tools), handle_tool_errors=True))
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", tools_condition)
    builder.add_edge("tools", "model")
    return builder


def two_then(answer: str) -> Model:
    return model(calling(("find", {"order": "a"}), ("find", {"order": "bad"})), answer)


def support() -> Any:
    return create_agent(
        model(calling(("find", {"order": "a"}), ("note", {"text": "x"})), "Done."), [find, note], name="S"
    )


def test_calls_made_together_results_errors_tokens_and_the_answer() -> None:
    trajectory = recorded(lambda: graph(two_then("Done."), find).compile().invoke(HI))
    assert shape(trajectory) == [
        ("message", None, None, None),
        ("tool_call", "find", None, None),
        ("tool_call", "find", None, None),
        ("tool_result", "find", None, None),
        ("tool_result", "find", None, None),
        ("final", None, None, None),
    ]
    steps = trajectory.steps
    assert steps[0].arguments == {"role": "user", "content": "Where is it?"}
    assert [(step.call_id, step.arguments, step.turn, step.tokens) for step in steps[1:3]] == [
        ("c1", {"order": "a"}, 1, 7),
        ("c2", {"order": "bad"}, 1, 0),
    ]
    results = {step.call_id: (step.result, step.error) for step in steps[3:5]}
    assert results["c1"] == ('{"order": "a", "amount": 40}', None)
    assert results["c2"][1] == "ValueError('no such order')"
    assert steps[5].arguments == {"role": "assistant", "content": "Done."}
    assert not trajectory.truncated


@pytest.mark.parametrize("way", ["invoke", "stream", "ainvoke", "astream"])
def test_an_agent_is_called_as_its_graph_however_it_is_run(way: str) -> None:
    async def later() -> None:
        if way == "ainvoke":
            await support().ainvoke(HI)
        else:
            async for _ in support().astream(HI, stream_mode="messages"):
                pass

    def run() -> None:
        if way == "invoke":
            support().invoke(HI)
        elif way == "stream":
            list(support().stream(HI))
        else:
            asyncio.run(later())

    steps = recorded(run).steps
    assert [step.agent for step in steps] == ["S"] * 6
    assert [(step.call_id, step.turn) for step in steps if step.kind == "tool_call"] == [("c1", 1), ("c2", 1)]
    assert steps[-1].kind == "final"


def test_a_model_that_streams() -> None:
    chain = GenericFakeChatModel(messages=iter([AIMessage("It was shipped.")]))
    assert "".join(str(chunk.content) for chunk in chain.stream([HumanMessage("unseen")])) == "It was shipped."
    chain = GenericFakeChatModel(messages=iter([AIMessage("It was shipped.")]))
    steps = recorded(lambda: list(chain.stream(HI["messages"]))).steps
    assert [step.arguments["content"] for step in steps] == ["Where is it?", "It was shipped."]


def supervised() -> Any:
    billing = create_agent(model(calling(("find", {"order": "a"}), first=2), "Found."), [find], name="billing")
    boss = model(calling(("transfer_to_billing", {})), "All done.")
    return create_supervisor([billing], model=boss).compile()


def test_a_supervisor_hands_over() -> None:
    assert shape(recorded(lambda: supervised().invoke(HI))) == [
        ("message", None, "supervisor", None),
        ("tool_call", "transfer_to_billing", "supervisor", None),
        ("tool_result", "transfer_to_billing", "supervisor", None),
        ("handoff", "billing", "supervisor", None),
        ("tool_call", "find", "billing", None),
        ("tool_result", "find", "billing", None),
        ("message", None, "billing", None),
        ("final", None, "supervisor", None),
    ]


def routed() -> Any:
    """Two nodes that call models, of which the first goes to the second by a command."""
    first, second = model("To billing."), model("Refunded.")

    def triage(state: Any) -> Command[str]:
        return Command(goto="billing", update={"messages": [first.invoke(state["messages"])]})

    builder = StateGraph(MessagesState)
    builder.add_node("triage", triage)
    builder.add_node("billing", lambda state: {"messages": [second.invoke(state["messages"])]})
    builder.add_edge(START, "triage")
    return builder.compile()


def test_nodes_that_call_models_are_agents_and_commands_hand_over() -> None:
    assert shape(recorded(lambda: routed().invoke(HI))) == [
        ("message", None, "triage", None),
        ("message", None, "triage", None),
        ("handoff", "billing", "triage", None),
        ("final", None, "billing", None),
    ]


def test_a_graph_without_a_name_is_called_as_its_node() -> None:
    builder = StateGraph(MessagesState)
    builder.add_node("worker", graph(two_then("Sorry."), find).compile())
    builder.add_edge(START, "worker")
    steps = recorded(lambda: builder.compile().invoke(HI)).steps
    assert {step.agent for step in steps} == {"worker"}


def test_an_agent_that_is_used_as_a_tool_is_inside_its_call() -> None:
    @tool
    def ask_expert(question: str) -> str:
        """Ask the expert."""
        return str(expert.invoke({"messages": [HumanMessage(question)]})["messages"][-1].content)

    expert = create_agent(model(calling(("find", {"order": "a"})), "Found."), [find], name="expert")
    main = create_agent(model(calling(("ask_expert", {"question": "?"})), "Done."), [ask_expert], name="main")
    assert shape(recorded(lambda: main.invoke(HI))) == [
        ("message", None, "main", None),
        ("tool_call", "ask_expert", "main", None),
        ("tool_call", "find", "expert", 2),
        ("tool_result", "find", "expert", 2),
        ("message", None, "expert", 2),
        ("tool_result", "ask_expert", "main", None),
        ("final", None, "main", None),
    ]


def test_a_graph_that_waits_is_truncated_until_it_goes_on() -> None:
    def agent() -> Any:
        return create_agent(model(calling(("ask", {"question": "?"})), "Ok."), [ask], checkpointer=InMemorySaver())

    thread: Any = {"configurable": {"thread_id": "1"}}
    waiting = recorded(lambda: agent().invoke(HI, thread))
    assert ([step.kind for step in waiting.steps], waiting.truncated) == (["message", "tool_call"], True)

    def both() -> None:
        one = agent()
        one.invoke(HI, thread)
        one.invoke(Command(resume="yes"), thread)

    done = recorded(both)
    assert [(step.kind, step.call_id) for step in done.steps] == [
        ("message", None),
        ("tool_call", "c1"),
        ("tool_result", "c1"),
        ("final", None),
    ]
    assert (done.steps[2].result, done.truncated) == ("yes", False)


def test_a_run_that_is_out_of_steps_is_truncated_whoever_catches_it() -> None:
    def run() -> None:
        forever = model(*(calling(("note", {"text": str(each)}), first=each) for each in range(9)))
        graph(forever, note).compile().invoke(HI, {"recursion_limit": 4})

    with recorded_case("q") as caught, record_langchain(), pytest.raises(GraphRecursionError):
        run()
    with recorded_case("q") as raised, pytest.raises(GraphRecursionError), record_langchain():
        run()
    for case in (caught, raised):
        assert case.trajectory is not None
        assert case.trajectory.truncated
        assert [step.arguments for step in calls(case.trajectory)][:2] == [{"text": "0"}, {"text": "1"}]


class Session:
    """What LangSmith's client sends its runs by."""

    def __init__(self) -> None:
        self.headers: dict[str, str] = {}
        self.runs: dict[str, dict[str, Any]] = {}

    def mount(self, *arguments: Any) -> None: ...
    def close(self) -> None: ...
    def raise_for_status(self) -> None: ...

    def request(self, method: str, url: str, **more: Any) -> Session:
        run = json.loads(more["data"])
        self.runs.setdefault(run["id"], {}).update(run)
        return self

    status_code, text = 200, "{}"


@pytest.mark.parametrize("build", [support, supervised, routed, lambda: graph(two_then("Done."), find).compile()])
def test_the_importer_reads_the_same_from_langsmith(build: Callable[[], Any]) -> None:
    session = Session()
    client = Client(
        api_url="http://127.0.0.1:9",
        api_key="none",
        session=session,
        auto_batch_tracing=False,
        info={},
    )
    tracer = LangChainTracer(client=client)
    one_by_one: Any = {"callbacks": [tracer], "max_concurrency": 1}  # or the two may see tools begin in two orders
    live = recorded(lambda: build().invoke(HI, one_by_one))
    tracer.wait_for_futures()
    read = imported("langsmith", as_lines(*session.runs.values())).only.trajectory
    assert read is not None
    assert [known(step) for step in live.steps] == [known(step) for step in read.steps]
    assert live.truncated == read.truncated


def known(step: Step) -> tuple[Any, ...]:
    """All of a step but how long it took, which each clock knows for itself."""
    told = (step.index, step.kind, step.tool_name, step.call_id, step.arguments, step.result, step.error)
    return (*told, step.agent, step.to_agent, step.turn, step.inside, step.tokens)


def test_threads_and_tasks_of_several_cases_are_kept_apart() -> None:
    agent = create_agent(Asker(messages=iter(())), [note])

    def asked(name: str) -> Any:
        return {"messages": [HumanMessage(name)]}

    async def several() -> list[list[str]]:
        async def one(name: str) -> list[str]:
            with recorded_case(name) as case, record_langchain():
                await asyncio.gather(agent.ainvoke(asked(name)), agent.ainvoke(asked(name)))
            return [step.arguments["text"] for step in calls(case.trajectory)]

        return await asyncio.gather(*map(one, "ab"))

    def thread(name: str) -> list[str]:
        with recorded_case(name) as case, record_langchain():
            together.wait(60)
            agent.batch([asked(name), asked(name)])
        return [step.arguments["text"] for step in calls(case.trajectory)]

    together = Barrier(3)
    assert asyncio.run(several()) == [["a", "a"], ["b", "b"]]
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(thread, "abc")) == [["a", "a"], ["b", "b"], ["c", "c"]]


def test_the_handler_may_be_handed_on_and_counts_once() -> None:
    with recorded_case("q") as case, record_langchain() as handler:
        assert isinstance(handler, BaseCallbackHandler)
        support().invoke(HI, {"callbacks": [handler]})
        Context().run(support().invoke, HI, {"callbacks": [handler]})
    assert len(calls(case.trajectory)) == 4
    with recorded_case("q") as lost:
        with pytest.warns(UserWarning, match="no run of a model or a tool"), record_langchain():
            Context().run(support().invoke, HI)
        assert lost.trajectory is None


def test_handlers_of_the_user_go_on() -> None:
    class Own(BaseCallbackHandler):
        def __init__(self) -> None:
            self.tools: list[str] = []

        def on_tool_start(self, serialized: Any, input_str: str, **more: Any) -> None:
            self.tools.append(serialized["name"])

    own = Own()
    trajectory = recorded(lambda: support().invoke(HI, {"callbacks": [own]}))
    assert sorted(own.tools) == [step.tool_name for step in calls(trajectory)] == ["find", "note"]
    support().invoke(HI)  # outside of any case, nothing listens


def test_what_raises_leaves_a_truncated_record() -> None:
    failing = graph(model(calling(("find", {"order": "bad"}))), find)
    failing.nodes.pop("tools")
    failing.add_node("tools", ToolNode([find], handle_tool_errors=False))
    with recorded_case("q") as case:
        with pytest.raises(ValueError, match="no such order"), record_langchain():
            failing.compile().invoke(HI)
        with pytest.raises(RecordError, match="recorded already"), record_langchain():
            support().invoke(HI)
    assert case.trajectory is not None
    assert case.trajectory.truncated
    assert case.trajectory.steps[-1].error == "ValueError('no such order')"
    with pytest.raises(RecordError, match="outside a case"), record_langchain():
        pass


def test_the_command_judges_what_the_program_of_the_documentation_does(tmp_path: Path) -> None:
    done = judged_program(tmp_path, "record-langgraph.md", orders=("ord-1", "ord-1", "ord-2"))
    assert done.code == 1, done.out + done.err
    assert done.verdict("agent_tool_sequence") == (2, 1, 0, 0)
