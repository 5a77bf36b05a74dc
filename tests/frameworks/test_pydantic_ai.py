"""Runs of the real Pydantic AI, with models that are scripts: recorded, and imported from what it writes."""

from __future__ import annotations

import datetime
import warnings
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET

from fakes.imports import claims, imported
from fakes.recorders import facts, judged, recorded
from oloproof.model.trajectory import Trajectory
from oloproof.model.values import TAG
from oloproof.recorders import record_pydantic_ai

pytest.importorskip("pydantic_ai", reason="needs Pydantic AI: pip install pydantic-ai-slim")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of its own dependencies, while they are imported
    from pydantic import BaseModel
    from pydantic_ai import Agent, ModelRetry, ToolOutput, UsageLimits, capture_run_messages
    from pydantic_ai.exceptions import UsageLimitExceeded
    from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import AgentInfo, FunctionModel
    from pydantic_ai.models.test import TestModel

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


class City(BaseModel):
    name: str


def scripted(*responses: list[Any]) -> FunctionModel:
    """A model that answers with these parts, one response after the other."""
    left = iter(responses)

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse(parts=next(left))

    return FunctionModel(answer)


def kinds(trajectory: Trajectory) -> list[tuple[str, str | None]]:
    return [(step.kind, step.tool_name) for step in trajectory.steps]


def helper(model: Any, **how: Any) -> Agent[None, Any]:
    agent: Agent[None, Any] = Agent(model, system_prompt="Be kind.", **how)

    @agent.tool_plain
    def find(order: int) -> dict[str, Any]:
        if order < 0:
            raise ModelRetry("orders count from 1")
        return {"order": order, "on": datetime.date(2025, 12, 31) + datetime.timedelta(order)}

    return agent


def test_a_run_that_answers_in_text() -> None:
    result = helper(TestModel()).run_sync("Where is my order?")
    trajectory = recorded(record_pydantic_ai, result)
    assert kinds(trajectory)[0] == ("message", None)
    assert kinds(trajectory)[-1] == ("final", None)
    assert not trajectory.truncated


def test_parallel_calls_retries_and_what_is_no_json() -> None:
    model = scripted(
        [TextPart("Let me see."), ToolCallPart("find", {"order": 1}, "a"), ToolCallPart("find", '{"order": -1}', "b")],
        [ToolCallPart("find", '{"order": ', "c")],
        [ToolCallPart("nosuch", "{}", "d")],
        [TextPart("It was shipped.")],
    )
    result = helper(model, retries=3).run_sync("Where is my order?")
    trajectory = recorded(record_pydantic_ai, result)
    calls = [step for step in trajectory.steps if step.kind == "tool_call"]
    results = [step for step in trajectory.steps if step.kind == "tool_result"]
    assert [(step.tool_name, step.arguments) for step in calls] == [
        ("find", {"order": 1}),
        ("find", {"order": -1}),
        ("find", {TAG: '{"order": '}),
        ("nosuch", {}),
    ]
    assert calls[0].turn == calls[1].turn is not None
    assert (results[0].result, results[0].error) == ({"order": 1, "on": "2026-01-01"}, None)
    assert [step.call_id for step in results] == ["a", "b", "c", "d"]
    assert "orders count from 1" in str(results[1].error)
    assert "Invalid JSON" in str(results[2].error)
    assert "nosuch" in str(results[3].error)
    assert [step.result for step in results[1:]] == [UNSET] * 3
    assert trajectory.steps[-1].arguments == {"role": "assistant", "content": "It was shipped."}
    assert facts(trajectory) == facts(imported("auto", result.all_messages_json()).only.trajectory)


@pytest.mark.parametrize("output", [City, ToolOutput(City, name="tell"), [City, int]])
def test_the_output_tool_is_the_answer(output: Any) -> None:
    names = {"tell"} if isinstance(output, ToolOutput) else {"final_result", "final_result_City"}

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        name = info.output_tools[0].name
        assert name in names
        good = len(messages) > 1
        return ModelResponse(
            parts=[ToolCallPart(name, {"name": "Rome"} if good else {}), ToolCallPart("find", {"order": 1})]
        )

    result = helper(FunctionModel(answer), output_type=output, end_strategy="early").run_sync("Where?")
    assert result.output == City(name="Rome")
    trajectory = recorded(record_pydantic_ai, result)
    assert [kind for kind, _ in kinds(trajectory)].count("final") == 1
    assert {tool for _, tool in kinds(trajectory)} == {None, "find"}
    final = next(step for step in trajectory.steps if step.kind == "final")
    assert final.arguments == {"role": "assistant", "content": {"name": "Rome"}}
    assert not trajectory.truncated
    errors = [step.error for step in trajectory.steps if step.kind == "tool_result"]
    assert errors[0] is None  # nothing was answered yet, so it was called
    assert "not executed" in str(errors[1])
    listed = recorded(record_pydantic_ai, result.new_messages(), output_tools=["tell"])
    assert facts(listed) == facts(trajectory)


def test_a_run_that_raises_leaves_what_it_did() -> None:
    model = scripted(*([ToolCallPart("find", {"order": 1}, str(each))] for each in range(9)))
    with capture_run_messages() as messages, pytest.raises(UsageLimitExceeded):
        helper(model).run_sync("Where?", usage_limits=UsageLimits(request_limit=2))
    trajectory = recorded(record_pydantic_ai, messages)
    assert trajectory.truncated
    assert kinds(trajectory) == [("message", None), *[("tool_call", "find"), ("tool_result", "find")] * 2]


def test_a_conversation_is_recorded_from_its_last_run() -> None:
    agent = helper(scripted([TextPart("Hello.")], [TextPart("Goodbye.")]))
    first = agent.run_sync("Hi")
    second = agent.run_sync("Bye", message_history=first.all_messages())
    said = [step.arguments["content"] for step in recorded(record_pydantic_ai, second).steps]
    assert said == ["Hi", "Hello.", "Bye", "Goodbye."]
    assert len(recorded(record_pydantic_ai, second.new_messages()).steps) == 2


def test_what_it_writes_is_recognised() -> None:
    written = helper(TestModel()).run_sync("Where?").all_messages_json()
    assert max(claims(written).items(), key=lambda claim: claim[1])[0] == "pydantic-ai"


APP = """
from oloproof import system
from oloproof.recorders import record_pydantic_ai
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

agent = Agent(TestModel(call_tools=["find"]))

@agent.tool_plain
def find(order: int) -> str:
    return "shipped"

@agent.tool_plain
def cancel(order: int) -> str:
    return "cancelled"

@system(name="orders", version="1", records=["agent_trajectory/v1"])
async def run(tools):
    with agent.override(model=TestModel(call_tools=tools)):
        result = await agent.run("Where is my order?")
    record_pydantic_ai(result)
    return {"answer": result.output}
"""


def test_a_run_is_judged(tmp_path: Path) -> None:
    assert judged(tmp_path, APP) == (1, (1, 1, 0, 0))
