"""What a session of the Model Context Protocol calls becomes steps, also when it calls several tools at once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec import UNSET

from oloproof import current_case
from oloproof.errors import RecordError
from oloproof.model.trajectory import Trajectory
from oloproof.recorders import record_mcp
from oloproof.testing import recorded_case


class Result:
    """A CallToolResult."""

    def __init__(self, *texts: str, structured: Any = None, failed: bool = False) -> None:
        self.content = [{"type": "text", "text": text} for text in texts]
        self.structured = structured
        self.failed = failed

    def model_dump(self, *, by_alias: bool = False, **how: Any) -> dict[str, Any]:
        assert by_alias
        return {"content": self.content, "structuredContent": self.structured, "isError": self.failed}


class Session:
    """A session whose server answers a call of a tool with what ``tools`` has for it, once it may."""

    def __init__(self, **tools: Any) -> None:
        self.tools = tools
        self.gates: dict[str, asyncio.Event] = {}
        self.asked: list[Any] = []
        self.name = "server"

    async def call_tool(self, name: str, arguments: Any = None, *others: Any, **named: Any) -> Any:
        self.asked.append((name, arguments, others, named))
        if name in self.gates:
            await self.gates[name].wait()
        answer = self.tools[name]
        if isinstance(answer, BaseException):
            raise answer
        return answer


class Client(Session):
    """A client that lets callers go to its session."""

    @property
    def session(self) -> Session:
        return Session(**self.tools)


def called(session: Session, *calls: Any) -> Trajectory:
    """The trajectory of a case that makes the calls one after the other."""

    async def agent() -> None:
        with record_mcp(session) as wrapped:
            for name, arguments in calls:
                assert await wrapped.call_tool(name, arguments) is session.tools[name]

    with recorded_case("question") as case:
        asyncio.run(agent())
    assert case.trajectory is not None
    return case.trajectory


def test_calls_and_what_came_back_are_steps() -> None:
    server = Session(
        find=Result('{"n": 1}', structured={"n": 1}),
        say=Result("hello"),
        both=Result("a", "b"),
        fail=Result("no ", "such order", failed=True),
        mute=Result(failed=True),
        old={"content": [{"type": "text", "text": "t"}], "is_error": True, "structured_content": None},
        bare="text",
    )
    trajectory = called(
        server, ("find", {"q": "x"}), ("say", None), ("both", {}), ("fail", {}), ("mute", {}), ("old", {}), ("bare", {})
    )
    steps = trajectory.steps
    assert [step.kind for step in steps] == ["tool_call", "tool_result"] * 7
    assert [step.arguments for step in steps[::2]] == [{"q": "x"}, {}, {}, {}, {}, {}, {}]
    assert [(step.tool_name, step.result, step.error) for step in steps[1::2]] == [
        ("find", {"n": 1}, None),
        ("say", "hello", None),
        ("both", [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], None),
        ("fail", UNSET, "no such order"),
        ("mute", UNSET, "error"),
        ("old", UNSET, "t"),
        ("bare", "text", None),
    ]
    assert all(call.call_id == result.call_id for call, result in zip(steps[::2], steps[1::2], strict=True))
    assert len({step.turn for step in steps[::2]}) == 7
    assert not trajectory.truncated


def test_what_the_session_is_asked_is_what_the_agent_asked() -> None:
    server = Session(find=Result("f"))

    async def agent() -> None:
        with record_mcp(server) as session:
            await session.call_tool("find")
            await session.call_tool("find", {"a": 1}, 30.0, meta={"m": 1})
            await session.call_tool(name="find", arguments=None)
            assert session.name == "server"
            with pytest.raises(AttributeError, match="nothing"):
                session.nothing  # type: ignore[attr-defined] # noqa: B018

    with recorded_case("question"):
        asyncio.run(agent())
    assert server.asked == [
        ("find", None, (), {}),
        ("find", {"a": 1}, (30.0,), {"meta": {"m": 1}}),
        ("find", None, (), {}),
    ]


def test_calls_at_once_share_a_turn_until_one_came_back() -> None:
    server = Session(a=Result("a"), b=Result("b"), c=Result("c"))

    async def agent() -> None:
        server.gates = {"a": asyncio.Event(), "b": asyncio.Event()}
        with record_mcp(server) as session:
            first = asyncio.create_task(session.call_tool("a", {}))
            second = asyncio.create_task(session.call_tool("b", {}))
            await asyncio.sleep(0)
            server.gates["b"].set()
            await second
            await session.call_tool("c", {})  # it may have been asked because of what b gave
            server.gates["a"].set()
            await first

    with recorded_case("question") as case:
        asyncio.run(agent())
    assert case.trajectory is not None
    steps = case.trajectory.steps
    assert [(step.kind, step.tool_name) for step in steps] == [
        ("tool_call", "a"),
        ("tool_call", "b"),
        ("tool_result", "b"),
        ("tool_call", "c"),
        ("tool_result", "c"),
        ("tool_result", "a"),
    ]
    assert steps[0].turn == steps[1].turn != steps[3].turn
    assert [step.call_id for step in (steps[2], steps[4], steps[5])] == [steps[at].call_id for at in (1, 3, 0)]


def test_what_is_raised_is_the_error_of_the_call() -> None:
    server = Session(lost=ConnectionError("the server is gone"), find=Result("f"))

    async def agent() -> None:
        with record_mcp(server) as session:
            with pytest.raises(ConnectionError):
                await session.call_tool("lost", {})
            await session.call_tool("find", {})

    with recorded_case("question") as case:
        asyncio.run(agent())
    assert case.trajectory is not None
    assert "the server is gone" in str(case.trajectory.steps[1].error)
    assert case.trajectory.steps[3].error is None
    assert not case.trajectory.truncated


def test_a_call_that_is_cancelled_has_an_error_and_the_record_is_cut_off() -> None:
    server = Session(slow=Result("s"))

    async def agent() -> None:
        server.gates = {"slow": asyncio.Event()}
        with record_mcp(server) as session:
            async with asyncio.timeout(0):
                await session.call_tool("slow", {})

    with recorded_case("question") as case:
        with pytest.raises(TimeoutError):
            asyncio.run(agent())
        assert case.trajectory is not None
        assert [step.kind for step in case.trajectory.steps] == ["tool_call", "tool_result"]
        assert "CancelledError" in str(case.trajectory.steps[1].error)
        assert case.trajectory.truncated


def test_a_result_that_cannot_be_written_down_is_an_error_where_it_says_so() -> None:
    class Unwritable:
        def __init__(self, **fields: Any) -> None:
            self.__dict__ |= fields

    results = {"a": Unwritable(isError=True), "b": Unwritable(is_error=True), "c": Unwritable(isError=False)}
    trajectory = called(Session(**results), *((name, {}) for name in results))
    assert [step.error for step in trajectory.steps if step.kind == "tool_result"] == ["error", "error", None]


def test_a_call_that_is_under_way_when_the_block_ends_cuts_the_record_off() -> None:
    async def agent() -> None:
        session = Session(delete="gone")
        session.gates["delete"] = asyncio.Event()
        with record_mcp(session) as wrapped:
            left = asyncio.create_task(wrapped.call_tool("delete"))
            await asyncio.sleep(0)
        left.cancel()
        with pytest.raises(asyncio.CancelledError):
            await left

    with recorded_case("question") as case:
        asyncio.run(agent())
    assert case.trajectory is not None
    assert [step.tool_name for step in case.trajectory.steps] == ["delete"]
    assert case.trajectory.truncated


def test_several_sessions_and_steps_of_ones_own_are_one_trace() -> None:
    one, other = Session(find=Result("f")), Session(look=Result("l"))

    async def agent() -> None:
        with (
            current_case().trace() as trace,
            record_mcp(one, trace=trace.within(agent="helper")) as first,
            record_mcp(other, trace=trace.within(agent="helper")) as second,
        ):
            await first.call_tool("find", {})
            await second.call_tool("look", {})
            trace.final("done", agent="helper")

    with recorded_case("question") as case:
        asyncio.run(agent())
    assert case.trajectory is not None
    steps = case.trajectory.steps
    assert [step.tool_name for step in steps] == ["find", "find", "look", "look", None]
    assert {step.agent for step in steps} == {"helper"}
    assert steps[0].turn != steps[2].turn


def test_cases_that_share_a_session_are_kept_apart() -> None:
    server = Session(find=Result("f"))

    async def agent(name: str) -> Trajectory | None:
        with recorded_case(name, case_id=name) as case:
            with record_mcp(server) as session:
                await session.call_tool("find", {"for": name})
            return case.trajectory

    async def main() -> list[Trajectory | None]:
        server.gates = {"find": asyncio.Event()}
        tasks = [asyncio.create_task(agent(name)) for name in "abc"]
        await asyncio.sleep(0)
        server.gates["find"].set()
        return await asyncio.gather(*tasks)

    for name, trajectory in zip("abc", asyncio.run(main()), strict=True):
        assert trajectory is not None
        assert [step.arguments for step in trajectory.steps] == [{"for": name}, None]


def test_calls_that_go_to_the_session_of_a_client_are_seen() -> None:
    async def agent() -> None:
        with record_mcp(Client(find=Result("f"))) as client:
            await client.session.call_tool("find", {})

    with recorded_case("question") as case:
        asyncio.run(agent())
    assert case.trajectory is not None
    assert [step.tool_name for step in case.trajectory.steps] == ["find", "find"]


def test_refusals() -> None:
    server = Session(find=Result("f"))
    with pytest.raises(RecordError, match="outside a case"), record_mcp(server):
        pass
    with recorded_case("question"):
        with record_mcp(server) as session:
            pass
        with pytest.raises(RecordError, match="block has ended"):
            asyncio.run(session.call_tool("find", {}))
        assert server.asked == []  # what cannot be recorded is not done
        with pytest.raises(RecordError, match="recorded already"), record_mcp(server):
            pass
