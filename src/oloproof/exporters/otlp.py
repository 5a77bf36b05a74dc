"""OTLP/JSON in the GenAI conventions of OpenTelemetry: a trace for each attempt, a request a line.

An answer of the agent is a span of its model, with the words of users that came before it; what came back is a span of
the tool. Times that were not recorded are left out, and the order is kept.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec import UNSET, Struct
from msgspec.json import encode
from msgspec.structs import replace

from oloproof.exporters.format import (
    TRACE_LOSSES,
    Exporter,
    count_around,
    count_changes,
    raw_arguments,
    tell_steps,
    words_of,
)
from oloproof.importers.foreign import before_traceback
from oloproof.importers.pairing import Call, Waiting
from oloproof.model.recording import Recording
from oloproof.model.trajectory import Step, Trajectory
from oloproof.model.values import Json

LOSSES: Final[Mapping[str, str]] = {
    **TRACE_LOSSES,
    "added_input": "runs that begin without a user's word: the input is written as one",
    "cost_usd": "costs of steps",
    "empty_words": "users' words that are empty: left out",
    "error": "results that do not say whether they are errors, and errors with more than a message",
    "errors_recorded": "trajectories that say otherwise than their results whether errors are recorded",
    "kind": "last words that are not said to be the last, and others that are",
    "latency_ms": "times of users' words, and of all but the first of several calls",
    "no_trajectory": "runs without a trajectory, or in which the agent does nothing: left out",
    "result": "results that changed",
    "tokens": "tokens of users' words, results, and all but the first of several calls",
    "truncated": "trajectories that end on an open call and are said to be whole",
    "unanswering": "results that answer no call: left out",
    "unheard": "words of users that the agent did not answer: left out",
}

EPOCH_NS: Final = 1_700_000_000 * 10**9
"""When every trace begins: traces say how long something took, recordings do not say when."""
TICK_NS: Final = 10**6

Fields = dict[str, Any]


class Told(Struct):
    """A trajectory as ``spans``, and the trajectory that is read back from them."""

    spans: list[Fields]
    read_back: Trajectory


def write(recordings: Iterable[Recording], losses: Counter[str]) -> Iterator[bytes]:
    """A request a line, each with the spans of one attempt."""
    for recording in recordings:
        told = None if recording.trajectory is None else tell(recording, losses)
        if told is None:
            losses["no_trajectory"] += 1
            continue
        _count(recording, told.read_back, losses)
        scope = {"scope": {"name": "oloproof"}, "spans": told.spans}
        service = _attributes({"service.name": "agent"})
        yield encode({"resourceSpans": [{"resource": {"attributes": service}, "scopeSpans": [scope]}]}) + b"\n"


def tell(recording: Recording, losses: Counter[str]) -> Told | None:
    """The spans, and what is read back from them; None where the agent does nothing. Whatever differs is counted."""
    assert recording.trajectory is not None
    teller = _Teller(recording, losses)
    tell_steps(recording.trajectory.steps, teller, losses)
    return teller.finish() if teller.spans else None


def _count(recording: Recording, read_back: Trajectory, losses: Counter[str]) -> None:
    """What is lost around the steps."""
    said = [step.arguments for step in read_back.steps if step.kind in ("message", "final")]
    answers = [each["content"] for each in said if each["role"] == "assistant" and each["content"]]
    count_around(recording, losses)
    losses["output"] += recording.output != ({"answer": answers[-1]} if answers else UNSET)


class _Answer(Struct):
    """An answer of the model that calls tools: its span, its steps' places, and its calls."""

    span: Fields
    turn: int | None
    number: int
    places: list[int] = []
    parts: list[Fields] = []


class _Teller:
    """Tells steps one by one, and keeps what is read back from each beside it (None: the step was added)."""

    def __init__(self, recording: Recording, losses: Counter[str]) -> None:
        assert recording.trajectory is not None
        self.spans: list[Fields] = []
        self._recording = recording
        self._trajectory = recording.trajectory
        self._losses = losses
        self._pairs: list[tuple[Step | None, Step]] = []
        self._unheard: list[tuple[Step | None, Step]] = []
        self._history: list[Fields] = []
        self._waiting = Waiting()
        self._answer: _Answer | None = None
        self._turns = 0
        self._clock = EPOCH_NS
        name = f"{recording.case}\0{recording.trial}"
        self._trace = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:32]

    def finish(self) -> Told:
        """The spans and what is read back."""
        self._losses["unheard"] += len(self._unheard)
        open_calls = [call for call in self._waiting.unanswered() if call.turn == self._turns]
        cut_off = bool(open_calls) and self._pairs[-1][1].kind in ("tool_call", "tool_result")
        if self._trajectory.truncated:
            models = [span for span in self.spans if span["name"] == "chat"]
            models[-1]["attributes"] += _attributes({"gen_ai.response.finish_reasons": ["length"]})
            cut_off = True
        last_before, last = self._pairs[-1]
        if not cut_off and last.kind == "message" and last.arguments["role"] == "assistant":
            self._pairs[-1] = (last_before, replace(last, kind="final"))
        steps = [replace(read, index=number) for number, (_, read) in enumerate(self._heard_for_nothing(), 1)]
        for (before, _), after in zip(self._pairs, steps, strict=True):
            if before is not None:
                count_changes(before, after, self._losses, apart_from=("index", "turn"))
        kinds = {step.kind for step in steps}
        recorded = "tool_result" in kinds or "tool_call" not in kinds
        read_back = Trajectory(steps=tuple(steps), truncated=cut_off, errors_recorded=recorded)
        count_changes(self._trajectory, read_back, self._losses, apart_from=("steps",))
        return Told(self.spans, read_back)

    def _heard_for_nothing(self) -> list[tuple[Step | None, Step]]:
        """The pairs; where anything cost tokens or time, users' words cost none."""
        own = [read for _, read in self._pairs if read.kind != "tool_result"]
        tokens = 0 if any(read.tokens is not None for read in own) else None
        latency = 0 if any(read.latency_ms is not None for read in own) else None
        return [
            (before, replace(read, tokens=tokens, latency_ms=latency) if _is_heard(read) else read)
            for before, read in self._pairs
        ]

    def say(self, step: Step) -> None:
        role, text = words_of(step)
        if role == "user":
            if text:
                self._hear(step, text)
            else:
                self._losses["empty_words"] += 1
        else:
            parts = [{"type": "text", "content": text}]
            self._model(step, parts)
            self._history.append({"role": "assistant", "parts": parts})
            read = Step(index=1, kind="message", arguments={"role": "assistant", "content": text})
            self._pairs.append((step, replace(read, tokens=step.tokens, latency_ms=step.latency_ms)))

    def _hear(self, step: Step | None, text: str) -> None:
        read = Step(index=1, kind="message", arguments={"role": "user", "content": text or None})
        self._unheard.append((step, read))

    def _model(self, step: Step, parts: list[Fields]) -> Fields:
        """A span of the model, with what users said before it."""
        if not self.spans and not self._unheard:
            self._losses["added_input"] += 1
            asked = self._recording.input
            self._hear(None, asked if isinstance(asked, str) else "" if asked is UNSET else encode(asked).decode())
        for _, heard in self._unheard:
            if text := heard.arguments["content"]:
                self._history.append({"role": "user", "parts": [{"type": "text", "content": text}]})
        self._pairs += self._unheard
        self._unheard = []
        self._turns += 1
        self._answer = None
        attributes: Fields = {
            "gen_ai.operation.name": "chat",
            "gen_ai.conversation.id": self._recording.case,
            "gen_ai.input.messages": encode(self._history).decode(),
            "gen_ai.output.messages": encode([{"role": "assistant", "parts": parts}]).decode(),
        }
        if step.tokens is not None:
            attributes["gen_ai.usage.output_tokens"] = step.tokens
        start = self._tick()
        return self._span("chat", attributes, start, self._after(start, step.latency_ms))

    def call(self, step: Step) -> None:
        answer = self._answer
        raw = raw_arguments(step.arguments)
        part: Fields = {"type": "tool_call", "name": step.tool_name}
        part |= {"id": step.call_id} if step.call_id else {}
        part |= {} if raw is None else {"arguments": raw}
        together = answer is not None and step.turn is not None and answer.turn == step.turn
        spent: Fields = {}
        if answer is None or not together:
            span = self._model(step, [part])
            answer = self._answer = _Answer(span, step.turn, self._turns)
            spent = {"tokens": step.tokens, "latency_ms": step.latency_ms}
        else:
            first = self._pairs[answer.places[0]][1]
            spent = {key: None if getattr(first, key) is None else 0 for key in ("tokens", "latency_ms")}
        answer.parts.append(part)
        answer.places.append(len(self._pairs))
        said = encode([{"role": "assistant", "parts": answer.parts}]).decode()
        replaced = [each for each in answer.span["attributes"] if each["key"] != "gen_ai.output.messages"]
        answer.span["attributes"] = replaced + _attributes({"gen_ai.output.messages": said})
        self._waiting.add(Call(len(self._pairs), step.tool_name or "", step.call_id or "", self._turns))
        arguments = None if raw is None else step.arguments
        read = Step(index=1, kind="tool_call", tool_name=step.tool_name, call_id=step.call_id or None)
        self._pairs.append((step, replace(read, arguments=arguments, **spent)))
        if len(answer.places) > 1:
            for place in answer.places:
                before, each = self._pairs[place]
                self._pairs[place] = (before, replace(each, turn=answer.number))

    def result(self, step: Step) -> None:
        call = self._waiting.answer(step.call_id or "", step.tool_name)
        if call is None:
            self._losses["unanswering"] += 1
            return
        self._answer = None
        attributes: Fields = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": call.name}
        attributes |= {"gen_ai.tool.call.id": call.call_id} if call.call_id else {}
        raw = raw_arguments(self._pairs[call.index][1].arguments)
        if raw is not None:
            attributes["gen_ai.tool.call.arguments"] = raw if isinstance(raw, str) else encode(raw).decode()
        if step.result is not UNSET:
            attributes["gen_ai.tool.call.result"] = encode(step.result).decode()
        start = self._tick()
        span = self._span("execute_tool", attributes, start, self._after(start, step.latency_ms))
        error = None
        if isinstance(step.error, str):
            error = before_traceback(step.error) or step.error or "error"
            span["status"] = {"code": 2, "message": error}
        read = Step(index=1, kind="tool_result", tool_name=call.name, call_id=call.call_id or None)
        self._pairs.append((step, replace(read, result=step.result, error=error, latency_ms=step.latency_ms)))

    def _tick(self) -> int:
        self._clock += TICK_NS
        return self._clock

    def _after(self, start: int, latency_ms: float | None) -> int:
        """When a span ended that took so long; 0: not recorded."""
        if latency_ms is None:
            return 0
        end = start + round(latency_ms * 10**6)
        self._clock = max(self._clock, end)
        return end

    def _span(self, name: str, attributes: Fields, start: int, end: int) -> Fields:
        span: Fields = {
            "traceId": self._trace,
            "spanId": f"{len(self.spans) + 1:016x}",
            "name": name,
            "kind": 1,
            "startTimeUnixNano": str(start),
            **({"endTimeUnixNano": str(end)} if end else {}),
            "attributes": _attributes(attributes),
        }
        self.spans.append(span)
        return span


def _is_heard(step: Step) -> bool:
    return step.kind == "message" and step.arguments["role"] == "user"


def _attributes(values: Mapping[str, Json]) -> list[Fields]:
    return [{"key": key, "value": _value(value)} for key, value in values.items()]


def _value(value: Json) -> Fields:
    if isinstance(value, list):
        return {"arrayValue": {"values": [_value(each) for each in value]}}
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}


EXPORTER: Final = Exporter(
    name="otlp",
    about="OTLP/JSON in the GenAI conventions of OpenTelemetry, a request a line",
    write=write,
    losses=LOSSES,
)
