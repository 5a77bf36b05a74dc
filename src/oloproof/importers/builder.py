"""A trajectory as an importer builds it, step by step: numbered, calls paired with results, and never a contradiction.

What a record would refuse (agents named on some steps only, a hand-off to oneself, a call without a tool, a negative
cost) is in foreign files now and then. Here it becomes a loss: the step is kept without what is wrong with it, and
counted. What was not recorded is not made up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import inf
from sys import float_info
from typing import Any, Final, TypedDict, Unpack

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from oloproof.importers.foreign import arguments_of
from oloproof.importers.pairing import Call, Waiting
from oloproof.model.trajectory import Step, StepKind, TerminalStatus, Trajectory
from oloproof.model.values import TAG, Json

UNNAMED_TOOL: Final = "(unnamed)"

LOSSES: Final[Mapping[str, str]] = {
    "unparsable_arguments": "calls whose arguments are no JSON object: kept as written, unknown to argument checks",
    "results_without_call": "results that answer no recorded call",
    "unknown_kinds": "entries of kinds that are not known, which may be calls or results: the run is truncated",
    "calls_without_name": f"calls that name no tool: kept as calls of {UNNAMED_TOOL}",
    "handoffs_without_receiver": "hand-offs that do not say to whom, or to oneself: left out",
    "unnamed_agents": "runs in which agents are named on some steps only: the names are left out",
    "contradicting_step_limits": "limits that the run went past without being cut off: left out",
    "impossible_amounts": "times, token counts and costs that are none: left out",
}
"""Every kind of loss that a builder counts, and what it means."""


_NO_FIELDS: Final[dict[str, Any]] = {}


class Facts(TypedDict, total=False):
    """What any step may carry. ``agent`` is who takes it, ``inside`` the call of the agent-as-tool that takes it."""

    agent: str | None
    inside: Call | None
    latency_ms: float | None
    tokens: int | None
    cost_usd: float | None
    metadata: dict[str, Any] | None


class Builder:
    """One trajectory in the making. ``losses`` counts what could not be carried over, ``answer`` is what the agent said
    last (None: nothing); an agent that is used as a tool answers its caller."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.losses: Counter[str] = Counter()
        self.answer: str | None = None
        self._waiting = Waiting()
        self._turn = 0
        self._agents = False
        self._others: set[int] = set()
        self._lacks_call = False

    # --- what happened, in order ----------------------------------------------------------------------------------

    def lack(self) -> None:
        """Something that was, or may have been, a call is not there."""
        self._lacks_call = True

    def turn(self) -> int:
        """The agent (its model) speaks again. What it calls until the next time, it called together."""
        self._turn += 1
        return self._turn

    def say(self, said: Json, *, final: bool = False, **facts: Unpack[Facts]) -> None:
        """The agent says something; ``final`` that this ends the run. ``said`` is ``{"role", "content", …}``."""
        content = said.get("content") if isinstance(said, dict) else said
        if isinstance(content, str) and content and facts.get("inside") is None:
            self.answer = content
        kind: StepKind = "final" if final else "message"
        self.steps.append(Step(index=len(self.steps) + 1, kind=kind, arguments=said, **self._possible(facts)))

    def end(self, step: int = -1) -> None:
        """What was said last, or in the step of that number (from 0), ends the run."""
        self.steps[step] = replace(self.steps[step], kind="final")

    def hear(self, said: Json, *, kind: StepKind = "message", **facts: Unpack[Facts]) -> None:
        """A user or the environment says something. Where no agent is given, it is for whoever takes the next step."""
        self._others.add(len(self.steps))
        self.steps.append(Step(index=len(self.steps) + 1, kind=kind, arguments=said, **self._possible(facts)))

    def call(
        self, name: str, arguments: Json, *, call_id: str = "", parallel: bool = False, **facts: Unpack[Facts]
    ) -> Call:
        """A tool is called. ``arguments`` is as :func:`arguments_of` gives them or None, not recorded; ``parallel``
        that other calls of this turn were issued together with it."""
        if not name:
            self.losses["calls_without_name"] += 1
            name = UNNAMED_TOOL
        index = len(self.steps) + 1
        call = Call(index, name, call_id, self._turn, facts.get("agent"))
        step = Step(
            index=index,
            kind="tool_call",
            tool_name=name,
            call_id=call_id or None,
            arguments=arguments,
            turn=self._turn if parallel else None,
            **self._possible(facts),
        )
        self.steps.append(step)
        self._waiting.add(call)
        return call

    def result(
        self,
        result: Json | UnsetType = UNSET,
        *,
        error: str | UnsetType | None = UNSET,
        call: Call | None = None,
        call_id: str = "",
        name: str | None = None,
        **facts: Unpack[Facts],
    ) -> str:
        """A result comes back; returns the tool it is of, "" where nobody knows.

        Its call is ``call``, or the one that :class:`Waiting` finds. ``error`` None: there was none; UNSET: not
        recorded.
        """
        if call is None:
            call = self._waiting.answer(call_id, name or None)
        else:
            call.answered = True
        if call is None:
            self.losses["results_without_call"] += 1
            self._lacks_call |= not self._waiting.knows(call_id)  # one that is known was answered twice
            self._others.add(len(self.steps))
        else:
            name, call_id = call.name, call_id or call.call_id
            if facts.get("agent") is None and call.agent is not None:
                facts["agent"] = call.agent
        step = Step(
            index=len(self.steps) + 1,
            kind="tool_result" if name else "observation",
            tool_name=name or None,
            call_id=call_id or None,
            result=result,
            error=error,
            **self._possible(facts),
        )
        self.steps.append(step)
        return name or ""

    def hand_off(self, to_agent: str, **facts: Unpack[Facts]) -> None:
        """Control is given to another agent."""
        if not to_agent or to_agent == facts.get("agent"):
            self.losses["handoffs_without_receiver"] += 1
        else:
            index = len(self.steps) + 1
            self.steps.append(Step(index=index, kind="handoff", to_agent=to_agent, **self._possible(facts)))

    def arguments(self, raw: Json) -> Json:
        """Arguments as a call has them: see :func:`arguments_of`. Those that are no object are counted."""
        arguments = arguments_of(raw)
        if type(arguments) is dict and TAG in arguments and arguments is not raw:
            self.losses["unparsable_arguments"] += 1
        return arguments

    # --- and how it ended -----------------------------------------------------------------------------------------

    @property
    def output(self) -> Json:
        """What the agent said last, as the output of its run; UNSET when it said nothing."""
        return UNSET if self.answer is None else {"answer": self.answer}

    @property
    def unanswered(self) -> list[Call]:
        """The calls without a result so far."""
        return self._waiting.unanswered()

    @property
    def open_call(self) -> Call | None:
        """The last call, while it has no result."""
        last = self._waiting.calls[-1] if self._waiting.calls else None
        return None if last is None or last.answered else last

    @property
    def ends_on_open_call(self) -> bool:
        """A call of the agent's last turn has no result, and nothing but results follows it: the run was cut off."""
        steps = self.steps
        if not steps or steps[-1].kind not in ("tool_call", "tool_result", "observation"):
            return False
        return any(not call.answered and call.turn == self._turn for call in self._waiting.calls)

    def trajectory(
        self,
        *,
        truncated: bool = False,
        errors_recorded: bool = True,
        terminal_status: TerminalStatus = "unknown",
        step_limit: int | None = None,
    ) -> Trajectory:
        """The record. ``truncated`` is never guessed: the file says so, or a call that nothing answers proves it, or
        a result of a call that is not there, or what is of no known kind: what was done may not all be recorded."""
        truncated = truncated or self._lacks_call or self.losses["unknown_kinds"] > 0
        if self._agents:
            self._name_agents()
        if step_limit is not None and (step_limit < 0 or (len(self.steps) > step_limit and not truncated)):
            self.losses["contradicting_step_limits"] += 1
            step_limit = None
        return Trajectory(
            steps=tuple(self.steps),
            terminal_status=terminal_status,
            truncated=truncated,
            step_limit=step_limit,
            errors_recorded=errors_recorded,
        )

    def _possible(self, facts: Facts) -> dict[str, Any]:
        """The facts as fields, without those that are none."""
        if not facts:
            return _NO_FIELDS
        fields: dict[str, Any] = {key: fact for key, fact in facts.items() if fact is not None}
        for key in ("latency_ms", "tokens", "cost_usd"):
            if key in fields and not _is_amount(fields[key], whole=key == "tokens"):
                self.losses["impossible_amounts"] += 1
                del fields[key]
        if "inside" in fields:
            fields["inside"] = fields["inside"].index
        if not fields.get("agent", True):
            del fields["agent"]
        self._agents |= "agent" in fields
        return fields

    def _name_agents(self) -> None:
        """What others say belongs to the agent that takes the next step (at the end: that took the last). A step of an
        agent that is not named leaves all names in doubt."""
        steps = self.steps
        if any(step.agent is None and number not in self._others for number, step in enumerate(steps)):
            self.losses["unnamed_agents"] += 1
            self.steps = [replace(step, agent=None) for step in steps]
            return
        readers = {step.inside: step.agent for step in steps if step.agent is not None}
        anyone = next(iter(readers.values()))
        for number in range(len(steps) - 1, -1, -1):
            step = steps[number]
            if step.agent is None:
                steps[number] = replace(step, agent=readers.get(step.inside, anyone))
            else:
                readers[step.inside] = step.agent


def spent(facts: Facts) -> Facts:
    """The facts of the other steps of an answer: what it cost, its first step bears alone."""
    rest: Facts = {**facts}
    if rest.get("latency_ms") is not None:
        rest["latency_ms"] = 0
    if rest.get("tokens") is not None:
        rest["tokens"] = 0
    if rest.get("cost_usd") is not None:
        rest["cost_usd"] = 0
    return rest


def _is_amount(value: Any, *, whole: bool) -> bool:
    if type(value) is not int and (whole or type(value) is not float):
        return False
    return 0 <= value < inf and value <= float_info.max
