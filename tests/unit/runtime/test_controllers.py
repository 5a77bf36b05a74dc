"""The controllers: what a model's text asks for, and what happens where it asks for nothing."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from oloproof.runtime import (
    AgentLoop,
    AgentRequest,
    Completion,
    Decision,
    LLMController,
    RunContext,
    ToolRegistry,
    Usage,
)
from oloproof.runtime.controllers import action_in
from oloproof.runtime.openai import OpenAICompatibleClient

CALL = '{"action": "call", "tool": "t", "arguments": {"x": 1}, "thought": "why"}'
FINISH = '{"action": "finish", "answer": "42"}'


@pytest.mark.parametrize("around", ["{}", "```json\n{}\n```", "Sure:\n```\n{}\n```\nok", "  {}\n"])
def test_an_action_is_found_with_and_without_a_fence(around: str) -> None:
    assert action_in(around.replace("{}", CALL)) == Decision.act("t", {"x": 1}, thought="why")
    assert action_in(around.replace("{}", FINISH)) == Decision.finish("42")


@pytest.mark.parametrize(
    "text",
    ["", "The answer is 42.", "[1]", '{"action": "call"}', '{"action": "call", "tool": 1}', "{" * 5000, "[" * 100000],
)
def test_what_is_no_action_finishes_with_the_raw_text(text: str) -> None:
    assert action_in(text) == Decision.finish(text)


def test_the_model_is_told_goal_tools_and_steps_and_its_usage_is_charged() -> None:
    asked: list[Any] = []

    class Model:
        async def complete(self, messages: list[dict[str, str]]) -> Completion:
            asked.append(messages)
            return Completion(CALL if len(asked) == 1 else f"```json\n{FINISH}\n```", Usage(tokens=7))

    loop = AgentLoop(controller=LLMController(Model()), tools=ToolRegistry())
    request = AgentRequest(tenant_id="t", principal_id="p", goal="the goal")
    result = asyncio.run(loop.run(RunContext(tenant_id="t", principal_id="p"), request))
    assert (result.final_answer, result.budget_consumed.tokens) == ("42", 14)
    assert "the goal" in asked[0][1]["content"]
    assert "unknown_tool" in asked[1][1]["content"]


def completed(answer: Any, status: int = 200) -> Any:
    """What the client makes of a server's answer, and the request that it sent."""
    sent: list[httpx.Request] = []

    def serve(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(status, json=answer)

    async def asked() -> Completion:
        transport = httpx.MockTransport(serve)
        client = OpenAICompatibleClient("http://model/v1/", "m", api_key="k", transport=transport)
        try:
            return await client.complete([{"role": "user", "content": "hi"}])
        finally:
            await client.aclose()

    return asyncio.run(asked()), sent[0]


def test_a_chat_client_asks_for_a_completion_and_reads_the_usage() -> None:
    said = {"choices": [{"message": {"content": FINISH}}], "usage": {"total_tokens": 12}}
    completion, request = completed(said)
    assert (completion.text, completion.usage) == (FINISH, Usage(tokens=12))
    assert (str(request.url), request.headers["authorization"]) == ("http://model/v1/chat/completions", "Bearer k")
    assert completed({"choices": [{"message": {"content": "x"}}]})[0].usage is None


@pytest.mark.parametrize("answer", [{}, [], {"choices": []}, {"choices": [{"message": {"content": None}}]}])
def test_an_answer_that_is_none_is_refused(answer: Any) -> None:
    with pytest.raises(ValueError, match="answer holds no"):
        completed(answer)
    with pytest.raises(httpx.HTTPStatusError):
        completed(answer, status=500)
