from __future__ import annotations

import json
from io import BytesIO
from typing import Any

import pytest

from fakes.telemetry import agent, chat, otlp, says, span, tool
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


def test_what_comes_after_its_run_was_written_is_counted_unless_it_was_sent_twice() -> None:
    kept = gathering()
    first, second = talk("t")
    kept.add(records(first), size=1, now=0)
    assert names(kept.all()) == [["t"]]
    kept.add(records(first, second, second), size=1, now=1)
    assert (kept.late, names(kept.all()), kept.belied(), kept.belied()) == (2, [], ["t"], [])


def local(span: dict[str, Any]) -> dict[str, Any]:
    """The span with the flags that say that its parent is of the same process."""
    return {**span, "flags": 0x100}


def test_a_trace_waits_longer_while_what_is_around_a_step_has_not_ended() -> None:
    kept = gathering()
    around, step = talk("t")
    kept.add(records(local(step)), size=1, now=0)
    assert names(kept.due(99)) == []
    kept.add(records(local(around)), size=1, now=99)
    assert names(kept.due(109)) == [["t"]]


def test_an_agent_may_begin_in_a_trace_of_which_nothing_was_to_be_told_so_far() -> None:
    kept = gathering()
    kept.add(records(span("SELECT", "q", "a", 5, trace="t")), size=1, now=0)
    assert names(kept.due(10)) == [["t"]]
    kept.add(records(*talk("t")), size=1, now=11)
    assert (names(kept.due(21)), kept.late) == ([["t"]], 0)


def test_what_was_written_as_whole_and_goes_on_is_truncated_in_its_place() -> None:
    file = BytesIO()
    writer, kept = Writer(file), gathering()
    for name in ("t", "u"):
        kept.add(records(*talk(name)), size=1, now=0)
    for traces in kept.all():
        writer.run(traces)
    before = file.getvalue().splitlines()
    kept.add(records(tool("delete", "x", "a", 20, trace="t"), span("GET", "y", "", 0, trace="u")), size=1, now=1)
    for _ in range(2):
        writer.reopen([*kept.belied(), "unknown"])
    after = file.getvalue().splitlines()
    assert (writer.reopened, after[1]) == (1, before[1])
    was, now = json.loads(before[0]), json.loads(after[0])
    assert now["trajectory"].pop("truncated") is True
    assert now == was
    assert list(map(len, after)) == list(map(len, before))


def test_more_than_fits_is_refused_until_something_was_written() -> None:
    kept = gathering(most_bytes=100)
    kept.add(records(*talk("t")), size=100, now=0)
    with pytest.raises(Full):
        kept.add(records(*talk("u")), size=1, now=1)
    assert names(kept.due(10)) == [["t"]]
    kept.add(records(*talk("u")), size=100, now=11)
    assert names(kept.all()) == [["u"]]


def test_runs_are_written_as_recordings_and_the_same_case_again_as_a_trial() -> None:
    file = BytesIO()
    writer = Writer(file)
    kept = gathering()
    for number in range(2):
        kept.add(records(*talk(f"t{number}", "c"), chat("x", trace=f"u{number}")), size=1, now=number)
        for traces in kept.all():
            writer.run(traces)
    kept.add(list(otlp_json.read({"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "w"}]}]}]})), size=1, now=9)
    for traces in kept.all():
        writer.run(traces)
    found = [json.loads(line) for line in file.getvalue().splitlines()]
    assert [(each["case"], each.get("trial", 1)) for each in found] == [("c", 1), ("u0", 1), ("c", 2), ("u1", 1)]
    assert found[0]["output"] == {"answer": "Hi."}
    assert (writer.trajectories, writer.unrelated) == (4, 1)
