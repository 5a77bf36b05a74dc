"""Spans of agents, models and tools, told as steps.

A call that a model asked for and that a tool's span executed is one call. What is below a tool's span happened inside
that call; what is below any other span happened where that span is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from math import inf

from msgspec import UNSET, Struct

from oloproof.importers.agent_spans import MOST_LEVELS, Asked, Span, flat, receiver_of
from oloproof.importers.builder import UNNAMED_TOOL, Builder, Facts, spent
from oloproof.importers.pairing import Call, Waiting
from oloproof.model.values import Json


class Told(Struct, frozen=True, kw_only=True):
    """What was told of a run, besides its steps.

    ``opening`` is what the first model was given. ``truncated``: it was cut off, broke, or waits. ``error`` is what it
    broke of, ``stopped`` what ended it by rule (a guardrail); "" where nothing did.
    """

    opening: Sequence[Json] = ()
    truncated: bool = False
    error: str = ""
    stopped: str = ""


class Teller:
    """Tells spans step by step. ``opening``: what the first model was given · ``failed``: the last model's error, ""
    where it answered · ``cut_off``: its answer was, or spans were left out."""

    def __init__(self, builder: Builder, roots: Sequence[Span]) -> None:
        self.builder = builder
        self.opening: Sequence[Json] = ()
        self.failed = ""
        self.cut_off = False
        self._heard = 0
        self._last_words = self._since = 0
        self._pending = Waiting()
        for call in builder.unanswered:
            self._pending.add(call)
        self._transfers: deque[Call] = deque()
        self._unfinished: list[Call] = []
        self._is_too_deep = False
        self._scope(roots, "", None, level=0, is_aside=False)
        for call in self._unfinished:
            call.answered = False
        self.cut_off |= self._is_too_deep

    def finish(self) -> None:
        """The agent's last words end the run, where nothing but what checks it came after them."""
        if self._last_words and self._since == len(self.builder.steps):
            self.builder.end(self._last_words - 1)

    def _scope(self, spans: Sequence[Span], agent: str, inside: Call | None, *, level: int, is_aside: bool) -> None:
        """What happened in one place, in order."""
        if level > MOST_LEVELS:
            self.builder.losses["spans_too_deep"] += len(spans)
            self._is_too_deep = self._is_too_deep or bool(spans)
            return
        ordered = flat(spans)
        for number, span in enumerate(ordered):
            who: Facts = {"agent": span.agent or agent or None, "inside": inside}
            match span.kind:
                case "model":
                    following = () if span.answer is not None else _following(ordered, number)
                    self._model(span, following, who, is_outer=inside is None and not is_aside)
                case "tool":
                    self._tool(span, partial(_overlapping, ordered, number), who, level=level, is_aside=is_aside)
                case "handoff":
                    self._hand_off(span, who)
                case "aside":
                    self._aside(span, who, level=level)
                case _:
                    self._scope(span.below, span.name or agent, inside, level=level + 1, is_aside=is_aside)

    def _aside(self, span: Span, who: Facts, *, level: int) -> None:
        """What a guardrail does and says, which is no answer."""
        builder = self.builder
        answer, ends = builder.answer, self._since == len(builder.steps)
        self._scope(span.below, who["agent"] or "", who["inside"], level=level + 1, is_aside=True)
        builder.answer = answer
        if span.told is not None:
            builder.hear(span.told, kind="observation", **who)
        if ends:
            self._since = len(builder.steps)

    def _model(self, span: Span, tools: Sequence[Span], who: Facts, *, is_outer: bool) -> None:
        """A model's answer: what it was told, what it says, and what it calls. ``tools`` are the spans of what it
        called, where the answer itself was not recorded."""
        if is_outer:
            self._hear(span.heard)
            self.failed = span.error
            self.cut_off = span.answer is not None and span.answer.cut_off
        if span.error and span.answer is None and not tools:
            return
        builder = self.builder
        builder.turn()
        builder.losses["unknown_kinds"] += 0 if span.answer is None else span.answer.unknown
        facts: Facts = {**who, "tokens": span.tokens, "latency_ms": span.latency_ms}
        content = None if span.answer is None else span.answer.content
        asked = () if span.answer is None else span.answer.asked
        if content or not (asked or tools):
            builder.say({"role": "assistant", "content": content}, **facts)
            facts = spent(facts)
            if content and is_outer:
                self._last_words = self._since = len(builder.steps)
        together = sum(each.ran is None for each in asked) > 1
        for each in asked:
            self._ask(each, facts, parallel=together)
            facts = spent(facts)
        for tool in tools:
            self._call(tool, facts, parallel=len(tools) > 1)
            facts = spent(facts)

    def _ask(self, asked: Asked, facts: Facts, *, parallel: bool) -> None:
        """A call that the model asked for, with its result where it was run at once."""
        builder, ran = self.builder, asked.ran
        arguments = asked.read(builder)
        call = builder.call(asked.name, arguments, call_id=asked.call_id, parallel=parallel and ran is None, **facts)
        if ran is None:
            self._wait(call)
        else:
            builder.result(UNSET if ran.error else ran.result, error=ran.error or None, call=call, **spent(facts))

    def _hear(self, messages: Sequence[Json]) -> None:
        """What the users said since the model was asked last."""
        if not self.opening:
            self.opening = messages
            self.builder.losses["system_messages"] += sum(
                _role(message) in ("system", "developer") for message in messages
            )
        users = [message for message in messages if _role(message) == "user"]
        new = len(users) - self._heard
        if self._heard == 0:
            new = 0  # earlier turns are history: those since the last word of the agent are of this run
            for message in reversed(messages):
                if _role(message) != "user":
                    break
                new += 1
        self._heard = max(self._heard, len(users))
        for message in users[len(users) - max(new, 0) :]:
            self.builder.hear(message)

    def _call(self, span: Span, facts: Facts, *, parallel: bool) -> None:
        arguments = self.builder.arguments(span.arguments)
        self._wait(self.builder.call(span.name, arguments, call_id=span.call_id, parallel=parallel, **facts))

    def _wait(self, call: Call) -> None:
        self._pending.add(call)
        if receiver_of(call.name):
            self._transfers.append(call)

    def _tool(
        self, span: Span, overlapping: Callable[[], Sequence[Span]], who: Facts, *, level: int, is_aside: bool
    ) -> None:
        """A call that was executed, what happened in it, and its result. Where nobody is known to have asked for it,
        it was called together with those that it is ``overlapping``."""
        builder = self.builder
        call = self._pending.answer(span.call_id, span.name or UNNAMED_TOOL)
        if call is None:
            builder.turn()
            together = overlapping()
            for each in together:
                self._call(each, who, parallel=len(together) > 1)
            call = self._pending.answer(span.call_id, span.name or UNNAMED_TOOL)
            assert call is not None
        self._scope(span.below, call.agent or who["agent"] or "", call, level=level + 1, is_aside=is_aside)
        who = {**who, "agent": who["agent"] or call.agent}
        if span.result is UNSET and not span.error and span.end is None:
            self._unfinished.append(call)
            return
        latency = 0 if any(each.kind != "group" for each in flat(span.below)) else span.latency_ms
        facts: Facts = {**who, "latency_ms": latency}
        result = UNSET if span.error else span.result
        builder.result(result, error=span.error or None, call=call, call_id=span.call_id, **facts)
        receiver = span.hands_to or receiver_of(span.name)
        if receiver and not span.error:
            builder.hand_off(receiver, **who)

    def _hand_off(self, span: Span, who: Facts) -> None:
        """Control goes to another agent; the call that asked for it, where the model's answer has it, is answered."""
        while self._transfers:
            call = self._transfers.popleft()
            if not call.answered:
                call.answered = True
                break
        self.builder.hand_off(span.name, **who)


def _following(spans: Sequence[Span], number: int) -> list[Span]:
    """The tools that were called after a model and before the next, which it must have asked for."""
    tools = []
    for span in map(spans.__getitem__, range(number + 1, len(spans))):
        if span.kind in ("model", "agent"):
            break
        if span.kind == "tool":
            tools.append(span)
    return tools


def _overlapping(spans: Sequence[Span], number: int) -> list[Span]:
    """The tool and those after it that began before the ones before them had ended."""
    tools = [spans[number]]
    end = tools[0].end or -inf
    for span in map(spans.__getitem__, range(number + 1, len(spans))):  # a slice would copy the rest for each tool
        if span.kind != "tool" or span.start is None or span.start >= end:
            break
        tools.append(span)
        end = max(end, span.end or -inf)
    return tools


def _role(message: Json) -> Json:
    return message.get("role") if isinstance(message, dict) else None
