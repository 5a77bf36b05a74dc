"""Importing traces beside msgspec's own decoding of the same bytes: OpenAI-style messages, and OpenTelemetry spans."""

from __future__ import annotations

import gc
import io
import json
import statistics
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

import msgspec
from measure import row

from oloproof.importers.reading import Import

RUNS, TURNS = 2_000, 10
GOAL = 4
RESULT = {"status": "ok", "items": [{"sku": f"sku-{line}", "name": "desk lamp", "price": 19.5} for line in range(6)]}


class Memory:
    """A file that is only in memory."""

    def __init__(self, data: bytes, name: str) -> None:
        self.data = data
        self.name = name

    def head(self) -> bytes:
        return self.data[: 64 * 1024]

    def lines(self) -> Iterator[bytes]:
        return iter(io.BytesIO(self.data))

    def read(self) -> bytes:
        return self.data

    def open(self) -> BinaryIO:
        return io.BytesIO(self.data)


def openai(number: int) -> Any:
    """A run of messages: ten calls, each with its result."""
    messages: list[Any] = [{"role": "user", "content": "Where is my order?"}]
    for turn in range(TURNS):
        function = {"name": "lookup_order", "arguments": json.dumps({"order_id": f"ord-{number}", "page": turn})}
        call = {"id": f"call_{turn}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"call_{turn}", "content": json.dumps(RESULT)})
    return {"id": f"case_{number}", "messages": [*messages, {"role": "assistant", "content": "On its way."}]}


def short(number: int, turns: int = 2 * TURNS) -> Any:
    """A run of messages that say next to nothing: all of it is structure."""
    messages: list[Any] = []
    for turn in range(turns):
        call = {"id": f"call_{turn}", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        messages.append({"role": "user", "content": "go on"})
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"call_{turn}", "content": "ok"})
        messages.append({"role": "assistant", "content": "done"})
    return {"id": f"case_{number}", "messages": messages}


def tiny(number: int) -> Any:
    """The shortest run with a call."""
    return short(number, turns=1)


def otel(number: int) -> Any:
    """The same run as spans: every model span repeats the history so far."""
    spans = [_span(number, "invoke_agent helper", "a", "", 0, {"gen_ai.operation.name": "invoke_agent"})]
    history: list[Any] = [{"role": "user", "parts": [{"type": "text", "content": "Where is my order?"}]}]
    for turn in range(TURNS + 1):
        call = {"type": "tool_call", "id": f"call_{turn}", "name": "lookup_order", "arguments": {"page": turn}}
        part = call if turn < TURNS else {"type": "text", "content": "On its way."}
        said = {"role": "assistant", "parts": [part]}
        messages = {"gen_ai.input.messages": json.dumps(history), "gen_ai.output.messages": json.dumps([said])}
        facts = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", **messages}
        spans.append(_span(number, "chat m", f"m{turn}", "a", 2 * turn + 1, facts))
        if turn < TURNS:
            told = {"type": "tool_call_response", "id": f"call_{turn}", "response": RESULT}
            facts = {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "lookup_order",
                "gen_ai.tool.call.id": f"call_{turn}",
                "gen_ai.tool.call.result": json.dumps(RESULT),
            }
            spans.append(_span(number, "execute_tool lookup_order", f"t{turn}", "a", 2 * turn + 2, facts))
            history = [*history, said, {"role": "tool", "parts": [told]}]
    return {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}


def _span(number: int, name: str, span_id: str, parent: str, at: int, facts: dict[str, str]) -> Any:
    return {
        "traceId": f"{number:032x}",
        "spanId": span_id,
        "parentSpanId": parent,
        "name": name,
        "startTimeUnixNano": str(1_760_000_000_000_000_000 + at),
        "endTimeUnixNano": str(1_760_000_000_000_000_000 + at + 1),
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in facts.items()],
    }


def seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """The median of the CPU seconds that it takes."""
    taken = []
    for _ in range(repeats):
        gc.collect()
        began = time.process_time()
        work()
        taken.append(time.process_time() - began)
    return statistics.median(taken)


def compared(what: str, name: str, data: bytes) -> bool:
    """Print how long importing as a format takes, as a multiple of decoding; True when the goal is met.

    The goal is against decoding a file into values, which are then there, as what was imported is. A loop that decodes
    each line and drops it is quicker, and told beside.
    """
    decode = msgspec.json.Decoder().decode
    lines = data.split(b"\n")
    keeping = seconds(lambda: [decode(line) for line in lines])
    dropping = seconds(lambda: deque(map(decode, lines), maxlen=0))
    importing = seconds(lambda: [each.line for each in Import([Memory(data, "runs.jsonl")], name).recordings()])
    beside = f"({importing / dropping:.1f} × where what is decoded is dropped)"
    return row(f"{what}: {len(data) / 1e6:.1f} MB {beside}", importing / keeping, "×", GOAL)


def main() -> None:
    print("importing, as a multiple of msgspec's untyped decoding of the same bytes")
    shapes = (
        ("openai", "openai", openai, RUNS),
        ("openai, short messages", "openai", short, RUNS),
        ("openai, short runs", "openai", tiny, 10 * RUNS),
        ("otel", "otel", otel, RUNS),
    )
    for what, name, make, runs in shapes:
        compared(what, name, b"\n".join(json.dumps(make(number)).encode() for number in range(runs)))


if __name__ == "__main__":
    main()
