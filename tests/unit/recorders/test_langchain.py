"""Callbacks as LangChain would make them, without LangChain."""

from __future__ import annotations

import sys
from contextvars import ContextVar
from types import ModuleType
from typing import Any
from uuid import UUID, uuid4

import pytest
from msgspec import UNSET

from oloproof.errors import RecordError
from oloproof.importers.agent_spans import MOST_LEVELS
from oloproof.model.trajectory import Trajectory
from oloproof.recorders import langchain
from oloproof.recorders.langchain import Handler, trajectory_of
from oloproof.testing import recorded_case


class Message:
    """A message, which knows how to become a value."""

    def __init__(self, kind: str, content: str, **fields: Any) -> None:
        self.type, self.content = kind, content
        self.fields = fields

    def model_dump(self, **options: Any) -> dict[str, Any]:
        return {"type": self.type, "content": self.content, **self.fields}


class Answer:
    """What a model gives back: one generation."""

    def __init__(self, message: Message | None = None, text: str = "") -> None:
        self.generations = [[self]]
        self.llm_output = {"token_usage": {"total_tokens": 9}}
        self.text = text
        if message is not None:
            self.message = message


class Command:
    """A command of LangGraph."""

    __module__ = "langgraph.types"

    def __init__(self, goto: Any, update: Any = None, graph: str | None = None) -> None:
        self.goto, self.update, self.graph = goto, update, graph


class Told:
    """A handler that is told of runs."""

    def __init__(self) -> None:
        self.handler = Handler()

    def chain(self, name: str, above: UUID | None = None, **metadata: Any) -> UUID:
        run = uuid4()
        self.handler.on_chain_start(None, {}, run_id=run, parent_run_id=above, name=name, metadata=metadata)
        return run

    def model(self, above: UUID | None, answer: Answer | BaseException | None, *heard: Message) -> None:
        run = uuid4()
        self.handler.on_chat_model_start({"id": ["m", "M"]}, [heard], run_id=run, parent_run_id=above)
        if isinstance(answer, BaseException):
            self.handler.on_llm_error(answer, run_id=run)
        elif answer is not None:
            self.handler.on_llm_end(answer, run_id=run)

    def tool(self, above: UUID | None, name: str, given: Any, result: Any, call_id: str | None = None) -> None:
        run, text = uuid4(), str(given)
        more = {"parent_run_id": above, "inputs": given if isinstance(given, dict) else None, "tool_call_id": call_id}
        self.handler.on_tool_start({"name": name}, text, run_id=run, **more)
        if isinstance(result, BaseException):
            self.handler.on_tool_error(result, run_id=run)
        elif result is not None:
            self.handler.on_tool_end(result, run_id=run)

    @property
    def trajectory(self) -> Trajectory:
        found = trajectory_of(self.handler)
        assert found is not None
        return found


def calling(*calls: tuple[str, str]) -> Answer:
    asked = [{"name": name, "args": {"n": 1}, "id": each} for each, name in calls]
    return Answer(Message("ai", "", tool_calls=asked, usage_metadata={"input_tokens": 3, "output_tokens": 4}))


def words(text: str) -> Answer:
    return Answer(Message("ai", text))


def result(text: str, call_id: str) -> Message:
    return Message("tool", text, tool_call_id=call_id, status="success")


ASKED = Message("human", "Where?")


def test_models_tools_and_the_answer() -> None:
    told = Told()
    root = told.chain("graph")
    told.model(root, calling(("a", "find"), ("b", "find")), Message("system", "Help."), ASKED)
    told.tool(root, "find", {"n": 1}, ValueError("bad"), "b")
    told.tool(root, "find", {"n": 1}, result("ok", "a"), "a")
    told.model(root, words("Done."), ASKED, Message("ai", ""), result("ok", "a"))
    told.handler.on_chain_end({"messages": []}, run_id=root)
    steps = told.trajectory.steps
    assert [(step.kind, step.call_id, step.turn, step.tokens) for step in steps] == [
        ("message", None, None, None),
        ("tool_call", "a", 1, 7),
        ("tool_call", "b", 1, 0),
        ("tool_result", "b", None, None),
        ("tool_result", "a", None, None),
        ("final", None, None, 9),
    ]
    assert steps[0].arguments == {"role": "user", "content": "Where?"}
    assert (steps[3].error, steps[4].result) == ("ValueError('bad')", "ok")
    assert not told.trajectory.truncated


def test_tools_and_completions_without_messages() -> None:
    told = Told()
    run = uuid4()
    told.handler.on_llm_start(None, ["Where?"], run_id=run)
    told.handler.on_llm_end(Answer(text="Here."), run_id=run)
    told.tool(None, "find", {"input": "x"}, {"amount": 40})
    told.tool(None, "look", '{"n": 1}', 3)
    told.tool(None, "look", "free text", Readable())
    steps = told.trajectory.steps
    assert [step.arguments["content"] for step in steps if step.kind == "message"] == ["Where?", "Here."]
    assert [step.arguments for step in steps if step.kind == "tool_call"][:2] == [{"input": "x"}, {"n": 1}]
    assert [step.result for step in steps if step.kind == "tool_result"] == [{"amount": 40}, 3, "readable"]


def finished(told: Told, name: str) -> None:
    """A whole trace: a chain in which a tool is called."""
    root = told.chain(name)
    told.tool(root, "find", {}, "ok")
    told.model(root, words("Done."), ASKED)
    told.handler.on_chain_end({}, run_id=root)


def test_what_goes_on_beside_the_last_trace_leaves_a_truncated_record() -> None:
    told = Told()
    told.tool(told.chain("in the background"), "find", {}, "ok")
    finished(told, "last")
    assert told.trajectory.truncated


def test_calls_below_too_many_others_leave_a_truncated_record() -> None:
    told = Told()
    root = told.chain("graph")
    runs = [root]
    for _ in range(MOST_LEVELS + 2):
        run = uuid4()
        told.handler.on_tool_start({"name": "nest"}, "", run_id=run, parent_run_id=runs[-1], inputs={})
        runs.append(run)
    for run in reversed(runs[1:]):
        told.handler.on_tool_end("ok", run_id=run)
    told.model(root, words("Done."), ASKED)
    told.handler.on_chain_end({}, run_id=root)
    assert told.trajectory.truncated


def test_a_call_that_cannot_be_read_leaves_a_truncated_record() -> None:
    told = Told()
    with pytest.raises(TypeError):
        told.handler.on_tool_start({"id": 5}, "{}", run_id=uuid4())  # LangChain only logs it
    finished(told, "graph")
    assert told.trajectory.truncated


def test_a_result_that_cannot_be_read_is_one() -> None:
    class Unreadable:
        def __str__(self) -> str:
            raise ValueError("no")

    told = Told()
    told.tool(None, "look", {}, Unreadable())
    assert [step.kind for step in told.trajectory.steps] == ["tool_call", "tool_result"]


def test_an_id_that_a_program_gives_twice_hides_no_call() -> None:
    told, again = Told(), uuid4()
    for name in ("delete", "find"):
        told.handler.on_tool_start({"name": name}, "", run_id=again, inputs={})
        told.handler.on_tool_end("ok", run_id=again)
    names = [step.tool_name for step in told.trajectory.steps if step.kind == "tool_call"]
    assert names == ["delete", "find"]
    assert not told.trajectory.truncated


class Readable:
    def __str__(self) -> str:
        return "readable"


def test_commands_hand_over_and_hold_the_result() -> None:
    told = Told()
    root = told.chain("LangGraph")
    sort = told.chain("sort", root, langgraph_node="sort", langgraph_checkpoint_ns="sort:1")
    told.model(sort, calling(("a", "move")), ASKED)
    update = {"messages": [ASKED, result("moved", "a")], "other": object()}
    told.tool(sort, "move", {}, Command("pay", update, "__parent__"), "a")
    told.handler.on_chain_end([Command(()), Command("pay")], run_id=sort)
    pay = told.chain("pay", root, langgraph_node="pay", langgraph_checkpoint_ns="pay:1")
    told.model(pay, words("Done."), ASKED)
    for run in (pay, root):
        told.handler.on_chain_end(None, run_id=run)
    assert [(step.kind, step.agent, step.to_agent) for step in told.trajectory.steps] == [
        ("message", "sort", None),
        ("tool_call", "sort", None),
        ("tool_result", "sort", None),
        ("handoff", "sort", "pay"),
        ("handoff", "sort", "pay"),
        ("final", "pay", None),
    ]
    assert told.trajectory.steps[2].result == "moved"


def test_what_has_not_ended_is_a_call_without_a_result_and_what_comes_late_is_not_taken() -> None:
    told = Told()
    root = told.chain("graph")
    told.model(root, calling(("a", "find")), ASKED)
    told.tool(root, "find", {"n": 1}, None, "a")
    trajectory = told.trajectory
    assert ([step.kind for step in trajectory.steps], trajectory.truncated) == (["message", "tool_call"], True)
    told.tool(root, "find", {"n": 2}, "late")
    told.handler.on_chain_end(None, run_id=root)
    assert told.trajectory == trajectory


def test_several_traces_are_one_case_whose_last_ended_it() -> None:
    told = Told()
    told.model(None, RuntimeError("down"), ASKED)
    told.model(None, words("Done."), ASKED)
    assert not told.trajectory.truncated
    assert told.trajectory.steps[-1].kind == "final"
    broken = Told()
    broken.model(None, words("Hm."), ASKED)
    broken.model(None, RuntimeError("down"), ASKED)
    assert broken.trajectory.truncated


def test_chains_and_searches_alone_are_nothing() -> None:
    told = Told()
    run = uuid4()
    told.handler.on_retriever_start(None, "q", run_id=run, parent_run_id=told.chain("chain"))
    told.handler.on_retriever_end([], run_id=run)
    assert trajectory_of(told.handler) is None
    assert trajectory_of(Handler()) is None


def test_a_tool_that_nobody_asked_for_has_no_id() -> None:
    told = Told()
    told.tool(None, "find", {"n": 1}, "ok")
    assert [(step.call_id, step.error) for step in told.trajectory.steps] == [(None, UNSET), (None, None)]


@pytest.fixture
def hooks(monkeypatch: pytest.MonkeyPatch) -> list[ContextVar[Any]]:
    """The context variables that a LangChain with nothing else looks for handlers in."""
    found: list[ContextVar[Any]] = []
    callbacks, context = ModuleType("langchain_core.callbacks"), ModuleType("langchain_core.tracers.context")
    callbacks.BaseCallbackHandler = type("BaseCallbackHandler", (), {"ignore_llm": False})  # type: ignore[attr-defined]
    context.register_configure_hook = lambda variable, inheritable: found.append(variable)  # type: ignore[attr-defined]
    for name in ("langchain_core", "langchain_core.tracers"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, "langchain_core.callbacks", callbacks)
    monkeypatch.setitem(sys.modules, "langchain_core.tracers.context", context)
    langchain._handler_class.cache_clear()
    yield found  # type: ignore[misc]
    langchain._handler_class.cache_clear()


def test_one_hook_for_all_cases_and_a_handler_for_each(hooks: list[ContextVar[Any]]) -> None:
    for name in ("find", "look"):
        with recorded_case("q") as case, langchain.record_langchain() as handler:
            (variable,) = hooks
            assert variable.get() is handler
            assert handler.ignore_llm is False
            variable.get().on_tool_start({"name": name}, "{}", run_id=uuid4())
        assert variable.get() is None
        assert case.trajectory is not None
        assert [step.tool_name for step in case.trajectory.steps] == [name]


def test_refusals(hooks: list[ContextVar[Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RecordError, match="outside a case"), langchain.record_langchain():
        pass
    with recorded_case("q") as case:
        with pytest.warns(UserWarning, match="no run of a model or a tool") as told, langchain.record_langchain():
            pass
        assert told[0].filename == __file__
        with pytest.raises(ZeroDivisionError), langchain.record_langchain() as handler:
            handler.on_tool_start({"name": "find"}, "{}", run_id=uuid4())
            raise ZeroDivisionError
        assert case.trajectory is not None
        assert case.trajectory.truncated
    langchain._handler_class.cache_clear()
    monkeypatch.setitem(sys.modules, "langchain_core", None)
    monkeypatch.delitem(sys.modules, "langchain_core.callbacks")
    missing = pytest.raises(RecordError, match=r"pip install 'oloproof\[langchain\]'")
    with recorded_case("q"), missing, langchain.record_langchain():
        pass
