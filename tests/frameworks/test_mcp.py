"""Sessions of the real Model Context Protocol: a server in this process, and one over stdio."""

from __future__ import annotations

import asyncio
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET

from fakes.recorders import judged
from oloproof.model.trajectory import Trajectory
from oloproof.recorders import record_mcp
from oloproof.testing import recorded_case

pytest.importorskip("mcp", reason="needs the package mcp: pip install mcp")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of its own dependencies, while they are imported
    from mcp import Client, ClientSession, StdioServerParameters, stdio_client
    from mcp.server import MCPServer

SERVER = """
import asyncio
from mcp.server import MCPServer

server = MCPServer("orders")
together = asyncio.Barrier(2)

@server.tool()
def find(order: int) -> dict[str, int]:
    return {"order": order}

@server.tool(structured_output=False)
def say(text: str) -> str:
    return f"said {text}"

@server.tool()
def cancel(order: int) -> str:
    raise ValueError("it was shipped")

@server.tool()
async def meet(name: str) -> str:
    await together.wait()
    return name
"""


def server() -> MCPServer:
    names: dict[str, Any] = {}
    exec(SERVER, names)
    made = names["server"]
    assert isinstance(made, MCPServer)
    return made


async def calls(session: Any) -> None:
    assert (await session.call_tool("find", {"order": 1})).structured_content is not None
    await session.call_tool("say", {"text": "hello"})
    assert (await session.call_tool("cancel", {"order": 1})).is_error
    assert (await session.call_tool("find", {"order": "x"})).is_error
    assert (await session.call_tool("nosuch")).is_error
    found = await asyncio.gather(*(session.call_tool("meet", {"name": name}) for name in "ab"))
    assert len(found) == 2
    assert (await session.list_tools()).tools  # all else is the session's own


def check(trajectory: Trajectory | None) -> None:
    assert trajectory is not None
    asked = [step for step in trajectory.steps if step.kind == "tool_call"]
    told = [step for step in trajectory.steps if step.kind == "tool_result"]
    assert [(step.tool_name, step.arguments) for step in asked] == [
        ("find", {"order": 1}),
        ("say", {"text": "hello"}),
        ("cancel", {"order": 1}),
        ("find", {"order": "x"}),
        ("nosuch", {}),
        ("meet", {"name": "a"}),
        ("meet", {"name": "b"}),
    ]
    assert (told[0].result, told[0].error) in [({"result": {"order": 1}}, None), ({"order": 1}, None)]
    assert (told[1].result, told[1].error) == ("said hello", None)
    assert [step.result for step in told[2:5]] == [UNSET] * 3
    for step, name in zip(told[2:5], ("cancel", "order", "nosuch"), strict=True):
        assert name in str(step.error)
    assert asked[5].turn == asked[6].turn not in {step.turn for step in asked[:5]}
    assert [step.kind for step in trajectory.steps[-4:]] == ["tool_call", "tool_call", "tool_result", "tool_result"]
    assert {step.call_id for step in told} == {step.call_id for step in asked}
    assert not trajectory.truncated


def test_a_client_of_a_server_in_this_process() -> None:
    async def agent() -> None:
        async with Client(server()) as client:
            with record_mcp(client) as session:
                await calls(session)

    with recorded_case("question") as opened:
        asyncio.run(agent())
    check(opened.trajectory)


def test_a_session_over_stdio(tmp_path: Path) -> None:
    (tmp_path / "orders.py").write_text(f"{SERVER}\nserver.run()\n")
    program = StdioServerParameters(command=sys.executable, args=[str(tmp_path / "orders.py")])

    async def agent() -> None:
        async with stdio_client(program) as streams, ClientSession(*streams) as opened_session:
            await opened_session.initialize()
            with record_mcp(opened_session) as session:
                await calls(session)

    with recorded_case("question") as opened:
        asyncio.run(agent())
    check(opened.trajectory)


APP = f"""
from mcp import Client
from oloproof import system
from oloproof.recorders import record_mcp
{SERVER}

@system(name="orders", version="1", records=["agent_trajectory/v1"])
async def run(tools):
    async with Client(server) as client:
        with record_mcp(client) as session:
            for tool in tools:
                await session.call_tool(tool, {{"order": 1}})
    return {{"answer": "yes"}}
"""


def test_a_run_is_judged(tmp_path: Path) -> None:
    assert judged(tmp_path, APP) == (1, (1, 1, 0, 0))
