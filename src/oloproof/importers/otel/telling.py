"""A run's story told to a Builder, and what is known of the run besides."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from msgspec import UNSET

from oloproof.importers.builder import Builder, Facts, spent
from oloproof.importers.foreign import without_nulls
from oloproof.importers.format import Run
from oloproof.importers.otel.plan import CALLING, Plan
from oloproof.importers.otel.seen import NO_ROLES
from oloproof.importers.otel.story import HandOff, Heard, Planned, Result, Turn
from oloproof.importers.otel.traces import Trace
from oloproof.model.case import system_error
from oloproof.model.values import Json

CUT_OFF: Final = frozenset(
    (
        "length",
        "max_tokens",
        "MAX_TOKENS",
        "max_output_tokens",
        "model_length",
        "model_context_window_exceeded",
        "context_window_exceeded",
    )
)
"""Finish reasons of an answer that was cut off."""


LIMITS: Final = re.compile(
    r"max[ _]?(turns|steps|iterations)|recursion[ _]?limit|GraphRecursion|LimitExceeded|limit exceeded", re.IGNORECASE
)
"""Errors of frameworks that end a run which took too long: they cut it off, and are none of the system's."""


def run_of(traces: Sequence[Trace]) -> Run:
    """The run that the traces, in the order in which they began, are of."""
    losses: Counter[str] = Counter()
    plan = Plan(traces, losses)
    teller = _Teller(plan)
    builder = teller.builder
    builder.losses.update(losses)
    error = _error(traces[-1])
    limited = error is not None and LIMITS.search(error) is not None
    calls = any(step.kind == "tool_call" for step in builder.steps)
    if teller.asked and not calls:
        builder.losses["unrecorded_calls"] = teller.asked
    is_open = plan.is_open or builder.losses["unrecorded_calls"] > 0
    truncated = is_open or error is not None or builder.ends_on_open_call or _was_cut_off(traces[-1], plan)
    if not truncated:
        teller.finish()
    first = traces[0]
    return Run(
        file=first.file,
        line=first.line,
        case=first.conversation or None,
        output=builder.output,
        error=None if error is None or limited else system_error(error),
        trajectory=builder.trajectory(truncated=truncated, errors_recorded=plan.spans_tools or not calls),
        input=_input(plan),
        metadata=_metadata(traces),
        of_case=(),
        losses=builder.losses,
        unanswered=len(builder.unanswered),
        origin=_origin(traces),
    )


class _Teller:
    """Tells the entries of a plan, each call before its result, whatever the clocks of their spans say."""

    def __init__(self, plan: Plan) -> None:
        self.builder = Builder()
        self._plan = plan
        turns = [entry for entry in plan.entries if isinstance(entry, Turn)]
        self._has_tokens = any(turn.tokens is not None for turn in turns)
        self._has_latency = any(turn.latency_ms is not None for turn in turns)
        self.asked = sum(turn.finish in CALLING for turn in turns)
        """How many answers asked for tools."""
        self._carried = 0
        self._last: Turn | None = None
        for entry in plan.entries:
            match entry:
                case Turn():
                    self._turn(entry)
                case Heard():
                    facts: Facts = {"tokens": 0} if self._has_tokens else {}
                    if self._has_latency:
                        facts["latency_ms"] = 0
                    self.builder.hear({"role": "user", "content": entry.content}, **facts)
                    self._last = None
                case Result():
                    self._last = None
                    self._result(entry.planned)
                case HandOff():
                    self._last = None
                    if entry.agent:
                        self.builder.hand_off(entry.receiver, **self._who(entry.agent, entry.inside))

    def finish(self) -> None:
        """The agent's last words end the run, where they are its last step."""
        steps = self.builder.steps
        if self._last is not None and steps and steps[-1].kind == "message":
            self.builder.end()

    def _who(self, agent: str, inside: Planned | None) -> Facts:
        facts: Facts = {"agent": agent or None}
        if inside is not None:
            if inside.call is None:
                self._ensure(inside)
            facts["inside"] = inside.call
        return facts

    def _ensure(self, planned: Planned) -> None:
        """Tell a call, and before it those inside of which it is, if that was not done."""
        chain: list[Turn] = []
        around: Planned | None = planned
        while around is not None and around.call is None and not around.turn.is_emitted:
            chain.append(around.turn)
            around = around.turn.inside
        for turn in reversed(chain):
            self._turn(turn)

    def _turn(self, turn: Turn) -> None:
        if turn.is_emitted:
            return
        turn.is_emitted = True
        facts = self._who(turn.agent, turn.inside)
        self.builder.turn()
        says = turn.says and (turn.recorded or not turn.calls)
        if says and not turn.recorded and turn.finish in CALLING:
            self.builder.losses["unrecorded_calls"] += 1
            says = False
        if turn.tokens is not None:
            self._carried += turn.tokens
        cost: Facts = {}
        if turn.tokens is not None:
            cost["tokens"] = self._carried
        if turn.latency_ms is not None:
            cost["latency_ms"] = turn.latency_ms
        if turn.cost_usd is not None:
            cost["cost_usd"] = turn.cost_usd
        if says or turn.calls:
            self._carried = 0
        if says:
            known: Facts = {**facts, **cost}
            self.builder.say({"role": "assistant", "content": turn.content}, **known)
            cost = spent(cost)
        for planned in turn.calls:
            self._call(planned, facts, cost, parallel=len(turn.calls) > 1)
            cost = spent(cost)
        self._last = turn if says and not turn.calls and turn.inside is None else None
        for planned in turn.calls:
            if planned.is_due:
                self._result(planned)

    def _call(self, planned: Planned, facts: Facts, cost: Facts, *, parallel: bool) -> None:
        builder = self.builder
        arguments = None if planned.arguments is UNSET else builder.arguments(planned.arguments)
        known: Facts = {**facts, **cost}
        known["agent"] = facts.get("agent") or planned.agent or None
        planned.call = builder.call(planned.name, arguments, call_id=planned.call_id, parallel=parallel, **known)

    def _result(self, planned: Planned) -> None:
        if planned.call is None:
            planned.is_due = True
            self._ensure(planned)
            return
        planned.is_due = False
        facts = self._who(planned.call.agent or "", planned.turn.inside)
        if planned.latency_ms is not None:
            facts["latency_ms"] = 0 if planned.is_busy else planned.latency_ms
        result, error = planned.result, planned.error
        self.builder.result(result, error=error, call=planned.call, **facts)


def _error(trace: Trace) -> str | None:
    """How the run failed: what an agent, or a call of a model, of its last trace says that nothing followed."""
    own = [node for node in trace.nodes if node.inside is None and not node.is_aside and node.role not in NO_ROLES]
    last = max((node.start for node in own), default=0)
    failed = [node for node in own if node.error and node.role != "tool" and max(node.end, node.start) >= last]
    return next((node.error for node in failed), None)


def _was_cut_off(trace: Trace, plan: Plan) -> bool:
    """The last answer was cut off, or a loop was stopped while the model still asked for tools."""
    if plan.last is not None and plan.last.finish in CUT_OFF:
        return True
    return any(node.up is None and node.seen is not None and node.seen.stopped for node in trace.nodes)


def _input(plan: Plan) -> Json:
    """The messages with which the run began."""
    if not plan.opening:
        return UNSET
    return {"messages": [{"role": message.role, "content": message.text} for message in plan.opening]}


def _metadata(traces: Sequence[Trace]) -> dict[str, Any]:
    ids = [trace.trace_id for trace in traces if trace.trace_id]
    scores: dict[str, Any] = {}
    for trace in traces:
        scores |= trace.scores
    facts = {
        "trace_id": ids[0] if ids else None,
        "trace_ids": ids if len(ids) > 1 else None,
        "conversation_id": traces[0].conversation or None,
        "service": traces[0].resource.get("service.name"),
        "evaluations": scores or None,
    }
    return without_nulls(facts)


def _origin(traces: Sequence[Trace]) -> dict[str, Any]:
    """Where paths lead: the resource, and the attributes of the outermost span, of the run's first trace."""
    first = traces[0]
    outermost = next((node for node in first.nodes if node.attributes), None)
    return {
        "trace_id": first.trace_id,
        "resource": first.resource,
        "attributes": outermost.attributes if outermost is not None else {},
    }
