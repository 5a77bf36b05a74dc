"""Who decides in the loop: a script, a rule, or a language model."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, Final, Protocol

from msgspec import Struct

from oloproof.runtime.decision import Act, Decision, Finish, Usage
from oloproof.runtime.state import RunState, StepOutcome

ToolDescriptions = list[dict[str, Any]]


class RunContext(Struct, frozen=True, kw_only=True):
    """For whom a run is: tenant and principal, and what its request says of retrieval."""

    tenant_id: str
    principal_id: str
    corpus_ids: tuple[str, ...] = ()
    top_k: int = 8


class Controller(Protocol):
    """Decides the next step from a copy of the state."""

    async def decide(self, ctx: RunContext, *, snapshot: RunState, tools: ToolDescriptions) -> Decision:
        """:class:`CallTool` or :class:`Finish`."""


def CallTool(  # a verb of controllers, called like a class so that it reads beside Finish
    tool: str, args: dict[str, Any] | None = None, thought: str = "", usage: Usage | None = None
) -> Act:
    """Call a tool: what a controller returns to go on."""
    return Decision.act(tool, args, thought=thought, usage=usage)


class ScriptedController:
    """Replays a fixed list of actions, one a step, and finishes when they are used up."""

    def __init__(self, actions: Iterable[Decision], *, answer: Any = "") -> None:
        self._actions = tuple(actions)
        self._answer = answer

    async def decide(self, ctx: RunContext, *, snapshot: RunState, tools: ToolDescriptions) -> Decision:
        """The action at the number of steps taken, so that a resumed run goes on where it was."""
        number = len(snapshot.steps)
        return self._actions[number] if number < len(self._actions) else Decision.finish(self._answer)


class HeuristicController:
    """Retrieves once for the goal and answers from what came back. It needs no credentials and is no measure of
    quality."""

    async def decide(self, ctx: RunContext, *, snapshot: RunState, tools: ToolDescriptions) -> Decision:
        """Retrieve, then finish."""
        can_retrieve = any(tool["name"] == "retrieve" for tool in tools)
        if not snapshot.steps and can_retrieve:
            return Decision.act("retrieve", {"query": snapshot.goal}, thought="look the goal up")
        last = snapshot.steps[-1] if snapshot.steps else None
        if last is None or last.outcome is not StepOutcome.EXECUTED:
            return Decision.finish("Nothing could be retrieved.")
        chunks = last.result.get("chunks", []) if isinstance(last.result, dict) else []
        if not chunks:
            return Decision.finish("No passage was found.")
        first = chunks[0]
        said = f"Based on {len(chunks)} retrieved passage(s): {first.get('text', '')} [{first.get('chunk_id', '')}]"
        return Decision.finish(said)


class Completion(Struct, frozen=True):
    """A model's text and what it cost; ``usage`` None means that it did not say."""

    text: str
    usage: Usage | None = None


class ChatClient(Protocol):
    """A language model."""

    async def complete(self, messages: list[dict[str, str]]) -> Completion:
        """The model's answer to ``messages``, each with ``role`` and ``content``."""


_SYSTEM: Final = (
    "You decide the next step of an agent. Answer with one JSON object and nothing else: "
    '{"action": "call", "tool": NAME, "arguments": {…}, "thought": WHY} or {"action": "finish", "answer": TEXT}.'
)
_FENCE: Final = re.compile(r"```[a-zA-Z]*[ \t]*\n(.*?)```", re.S)


class LLMController:
    """Asks a language model for a JSON action. Code fences around it are tolerated; an answer that is no action
    finishes the run with its raw text."""

    def __init__(self, client: ChatClient) -> None:
        self._client = client

    async def decide(self, ctx: RunContext, *, snapshot: RunState, tools: ToolDescriptions) -> Decision:
        """What the model wants next."""
        asked = {"goal": snapshot.goal, "tools": tools, "steps": snapshot.observations()}
        messages = [
            {"role": "system", "content": _SYSTEM},
            {"role": "user", "content": json.dumps(asked, ensure_ascii=False)},
        ]
        said = await self._client.complete(messages)
        return action_in(said.text, said.usage)


def action_in(text: str, usage: Usage | None = None) -> Act | Finish:
    """The action that a model's text holds; where it holds none, to finish with the text."""
    fence = _FENCE.search(text)
    for candidate in (text, fence[1] if fence else ""):
        try:
            said = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        if not isinstance(said, dict):
            continue
        thought = said.get("thought")
        thought = thought if isinstance(thought, str) else ""
        tool, arguments = said.get("tool"), said.get("arguments", {})
        if said.get("action") == "call" and isinstance(tool, str) and isinstance(arguments, dict):
            return Decision.act(tool, arguments, thought=thought, usage=usage)
        if said.get("action") == "finish" and "answer" in said:
            return Decision.finish(said["answer"], thought=thought, usage=usage)
    return Decision.finish(text, usage=usage)
