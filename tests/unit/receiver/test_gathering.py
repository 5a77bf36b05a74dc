from __future__ import annotations

import json
from typing import Any

import pytest

from fakes.telemetry import agent, chat, otlp, says, tool
from oloproof.importers.otel import otlp as otlp_json
from oloproof.receiver.gathering import Full, Gathering, Waits
from oloproof.receiver.writing import Writer


def records(*spans: Any) -> list[Any]:
    return list(otlp_json.read(otlp(*spans)))


def gathering(most_bytes: int = 1000) -> Gathering:
    return Gathering(Waits(trace_s=10, conversation_s=100), most_bytes=most_bytes)


def talk(trace: str, conversation: str = "") -> list[Any]:
    named = {"gen_ai.conversation.id": conversation} if conversation else {}
    return [agent("a", "a", trace=trace, a=named), chat("m", "a", 10, said=[says("Hi.")], trace=trace)]


def names(found: Any) -> list[list[str]]:
    return [[trace.trace_id for trace in traces] for traces in found]


def test_a_trace_is_due_when_nothing_of_it_came_for_a_while() -> None:
    kept = gathering()
    first, second = talk("t")
    kept.add(records(first), size=1, now=0)
    kept.add(records(second), size=1, now=8)
    assert names(kept.due(17.9)) == []
    assert names(kept.due(18)) == [["t"]]
    assert names(kept.due(100)) == []


def test_a_conversation_waits_longer_for_its_next_turn() -> None:
    kept = gathering()
    kept.add(records(*talk("t1", "c")), size=1, now=0)
    kept.add(records(*talk("t2", "c"), *talk("t3", "other")), size=1, now=50)
    assert names(kept.due(149)) == []
    assert names(kept.due(150)) == [["t1", "t2"], ["t3"]]


def test_the_conversation_of_an_agent_that_is_used_as_a_tool_is_not_that_of_the_run() -> None:
    kept = gathering()
    inner = agent("b", "b", "x", 5, a={"gen_ai.conversation.id": "inner"}, trace="t")
    kept.add(records(agent("a", "a", trace="t"), tool("b", "x", "a", 2, trace="t"), inner), size=1, now=0)
    assert names(kept.due(10)) == [["t"]]


def test_what_comes_after_its_run_was_written_is_counted() -> None:
    kept = gathering()
    kept.add(records(*talk("t")), size=1, now=0)
    assert names(kept.all()) == [["t"]]
    kept.add(records(*talk("t")), size=1, now=1)
    assert (kept.late, names(kept.all())) == (2, [])


def test_more_than_fits_is_refused_until_something_was_written() -> None:
    kept = gathering(most_bytes=100)
    kept.add(records(*talk("t")), size=100, now=0)
    with pytest.raises(Full):
        kept.add(records(*talk("u")), size=1, now=1)
    assert names(kept.due(10)) == [["t"]]
    kept.add(records(*talk("u")), size=100, now=11)
    assert names(kept.all()) == [["u"]]


def test_runs_are_written_as_recordings_and_the_same_case_again_as_a_trial() -> None:
    lines: list[bytes] = []
    writer = Writer(lines.append)
    kept = gathering()
    for number in range(2):
        kept.add(records(*talk(f"t{number}", "c"), chat("x", trace=f"u{number}")), size=1, now=number)
        for traces in kept.all():
            writer.run(traces)
    kept.add(list(otlp_json.read({"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "w"}]}]}]})), size=1, now=9)
    for traces in kept.all():
        writer.run(traces)
    found = [json.loads(line) for line in lines]
    assert [(each["case"], each.get("trial", 1)) for each in found] == [("c", 1), ("u0", 1), ("c", 2), ("u1", 1)]
    assert found[0]["output"] == {"answer": "Hi."}
    assert (writer.trajectories, writer.unrelated) == (4, 1)
