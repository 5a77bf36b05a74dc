from __future__ import annotations

import json
import re
from itertools import pairwise, permutations
from typing import Any

import pytest
from msgspec import UNSET

from fakes.imports import Found, Memory, as_lines, claims, imported, refusal
from fakes.telemetry import agent, asks, attributes, chat, log, otlp, says, span, told, tool, user
from oloproof.importers.format import Confidence
from oloproof.importers.otel.traces import Trace
from oloproof.importers.registry import importer
from oloproof.model.case import AttemptError
from oloproof.model.reading import Reading
from oloproof.model.trajectory import Step


def read(*spans: Any, logs: Any = ()) -> Found:
    return imported("otel", otlp(*spans, logs=logs))


def short(step: Step) -> str:
    """A step in a word: who (and inside of which step) did what."""
    match step.kind:
        case "message" | "final":
            what = f"{step.arguments['role'][0]}:{step.arguments['content']}"
        case "handoff":
            what = f"->{step.to_agent}"
        case _:
            what = f"{'+' if step.kind == 'tool_call' else '='}{step.tool_name}"
    return what + (f"@{step.inside}" if step.inside else "")


def words(found: Found) -> list[str]:
    return [short(step) for step in found.steps]


PARIS, ROME = {"city": "Paris"}, {"city": "Rome"}
ASKED = [user("Weather?")]
TOLD = [*ASKED, asks(("c1", "weather", PARIS)), told(("c1", {"sky": "clear"}))]
RUN = (
    agent("forecaster", "a"),
    chat("m1", "a", 10, heard=ASKED, said=[asks(("c1", "weather", PARIS), text="Let me see.")]),
    tool("weather", "t", "a", 20, call_id="c1", arguments=PARIS, result={"sky": "clear"}),
    chat("m2", "a", 30, heard=TOLD, said=[says("Clear.")]),
)


# --- one call, three records -----------------------------------------------------------------------------------------


def test_a_run_whose_call_is_recorded_three_times() -> None:
    found = read(*RUN)
    assert words(found) == ["u:Weather?", "a:Let me see.", "+weather", "=weather", "a:Clear."]
    call, result = found.steps[2:4]
    assert (call.call_id, call.arguments, result.result, result.error) == ("c1", PARIS, {"sky": "clear"}, None)
    assert {step.agent for step in found.steps} == {"forecaster"}
    assert (found.steps[-1].kind, found.only.output) == ("final", {"answer": "Clear."})
    assert found.only.input == {"messages": [{"role": "user", "content": "Weather?"}]}
    assert found.only.metadata == {"trace_id": "t1", "service": "shop"}
    assert found.losses == {}


@pytest.mark.parametrize("missing", ["m1", "t", "m2"])
def test_each_record_alone_is_enough_for_the_call(missing: str) -> None:
    spans = [each for each in RUN if each["spanId"] != missing]
    assert [word for word in words(read(*spans)) if word[0] in "+="] == ["+weather", "=weather"]


def test_without_content_the_steps_are_the_same() -> None:
    bare = [
        agent("forecaster", "a"),
        chat("m1", "a", 10, a={"gen_ai.response.finish_reasons": ["tool_calls"]}),
        tool("weather", "t", "a", 20, call_id="c1"),
        tool("weather", "t2", "a", 30, call_id="c2"),
        chat("m2", "a", 40, a={"gen_ai.response.finish_reasons": ["stop"]}),
    ]
    found = read(*bare)
    assert words(found) == ["u:None", "+weather", "+weather", "=weather", "=weather", "a:None"]
    calls = [step for step in found.steps if step.kind == "tool_call"]
    results = [step for step in found.steps if step.kind == "tool_result"]
    assert {(call.arguments, call.turn) for call in calls} == {(None, 1)}
    assert {(result.result, result.error) for result in results} == {(UNSET, None)}
    assert found.only.output is UNSET
    assert found.only.trajectory is not None
    assert found.only.trajectory.errors_recorded


def test_tools_of_which_nothing_was_recorded_are_a_loss() -> None:
    found = read(chat("m1", "", 10, a={"gen_ai.response.finish_reasons": ["tool_calls"]}), chat("m2", "", 20))
    assert words(found) == ["u:None", "a:None"]
    assert found.losses == {"unrecorded_calls": 1}


def test_calls_and_results_that_only_messages_record() -> None:
    found = read(*(each for each in RUN if each["spanId"] != "t"))
    assert words(found) == words(read(*RUN))
    assert (found.steps[3].result, found.steps[3].error) == ({"sky": "clear"}, UNSET)
    assert found.only.trajectory is not None
    assert not found.only.trajectory.errors_recorded


def test_a_history_alone_holds_the_turn_so_far_and_not_the_turns_before_it() -> None:
    history = [user("Hi"), asks(("c0", "greet", {})), told(("c0", 1)), says("Hello!"), *TOLD]
    found = read(chat("m2", heard=history, said=[says("Clear.")]))
    assert words(found) == ["u:Weather?", "+weather", "=weather", "a:Clear."]
    assert found.losses == {"earlier_turns": 1}
    assert [message["content"] for message in found.only.input["messages"]] == ["Hi", "", "", "Hello!", "Weather?"]


def test_parallel_calls_share_a_turn_and_results_come_in_their_order() -> None:
    both = asks(("c1", "weather", PARIS), ("c2", "weather", ROME))
    found = read(
        chat("m1", "", 10, heard=ASKED, said=[both]),
        tool("weather", "t2", "", 20, 25, call_id="c2", result="rain"),
        tool("weather", "t1", "", 21, 40, call_id="c1", result="sun"),
        chat("m2", "", 50, heard=[*ASKED, both, told(("c1", "sun"), ("c2", "rain"))], said=[says("So.")]),
    )
    assert words(found) == ["u:Weather?", "+weather", "+weather", "=weather", "=weather", "a:So."]
    assert [(step.call_id, step.turn) for step in found.steps[1:3]] == [("c1", 1), ("c2", 1)]
    assert [(step.call_id, step.result) for step in found.steps[3:5]] == [("c2", "rain"), ("c1", "sun")]


def test_tools_without_a_model_run_together_where_they_overlap() -> None:
    found = read(
        agent("a", "a"),
        tool("one", "t1", "a", 10, 30),
        tool("two", "t2", "a", 20, 40),
        tool("three", "t3", "a", 50, 60),
    )
    calls = [(step.tool_name, step.turn) for step in found.steps if step.kind == "tool_call"]
    assert [name for name, _ in calls] == ["one", "two", "three"]
    assert calls[0][1] == calls[1][1]
    assert calls[2][1] is None


# --- ids -------------------------------------------------------------------------------------------------------------


def loop(ids: list[str], spans_have_ids: bool = True) -> list[Any]:
    """A model asks for the same tool again and again; the result of each call is its number."""
    history = list(ASKED)
    spans = []
    for number, call_id in enumerate(ids):
        ask = asks((call_id, "look", {"n": number}))
        spans.append(chat(f"m{number}", "", 100 * number, heard=list(history), said=[ask]))
        known = {"call_id": call_id} if spans_have_ids else {"call_id": f"span-{number}"}
        spans.append(tool("look", f"t{number}", "", 100 * number + 50, arguments={"n": number}, result=number, **known))
        history += [ask, told((call_id, number))]
    spans.append(chat("end", "", 100 * len(ids), heard=history, said=[says("done")]))
    return spans


@pytest.mark.parametrize("ids", [["x", "x", "x"], ["", "", ""], ["a", "b", "a"]], ids=["same", "none", "again"])
@pytest.mark.parametrize("spans", ["tools with ids", "tools with other ids", "no tools"])
def test_ids_may_repeat_be_absent_or_differ_between_the_records(ids: list[str], spans: str) -> None:
    told_of = loop(ids, spans_have_ids=spans == "tools with ids")
    if spans == "no tools":
        told_of = [each for each in told_of if "execute_tool" not in each["name"]]
    found = read(*told_of)
    assert words(found) == ["u:Weather?", *["+look", "=look"] * 3, "a:done"]
    assert [step.arguments["n"] for step in found.steps if step.kind == "tool_call"] == [0, 1, 2]
    assert [step.result for step in found.steps if step.kind == "tool_result"] == [0, 1, 2]


def test_the_same_call_repeated_is_as_many_calls() -> None:
    history = list(ASKED)
    spans = []
    for number in range(3):
        ask = asks(("", "look", PARIS))
        spans.append(chat(f"m{number}", "", 10 * number, heard=list(history), said=[ask]))
        history += [ask, told(("", "nothing"))]
    spans.append(chat("end", "", 90, heard=history, said=[says("done")]))
    assert words(read(*spans)).count("+look") == 3


def test_arguments_that_are_no_object_are_kept_as_written() -> None:
    ask = asks(("c1", "weather", '{"city": "Par'))
    found = read(
        chat("m1", "", 10, heard=ASKED, said=[ask]),
        tool("weather", "t", "", 20, call_id="c1", arguments={}, result="?"),
    )
    assert found.steps[1].arguments == {"$unrepresentable": '{"city": "Par'}
    assert found.losses == {"unparsable_arguments": 1}


def test_a_result_that_nobody_asked_for_is_a_loss() -> None:
    found = read(chat("m1", "", 10, heard=[user("Hi"), told(("c9", "what?"))], said=[says("Sorry?")]))
    assert words(found) == ["u:Hi", "a:Sorry?"]
    assert found.losses == {"results_without_call": 1}


# --- order, places, repetitions --------------------------------------------------------------------------------------


def test_the_order_of_spans_and_how_they_are_spread_does_not_matter() -> None:
    wanted = read(*RUN).recordings
    for spans in permutations(RUN):
        assert read(*spans).recordings == wanted
    lines = as_lines(*(otlp(each) for each in reversed(RUN)))
    assert imported("otel", lines, file="file.jsonl").recordings == wanted
    halves = {"b/file.json": as_lines(otlp(*RUN[::2])), "c/x.json": as_lines(otlp(*RUN[1::2]))}
    assert [each.trajectory for each in imported("otel", files_by_name=halves).recordings] == [wanted[0].trajectory]


def test_a_span_that_is_there_twice_counts_once() -> None:
    unfinished = {**RUN[2], "endTimeUnixNano": "0", "attributes": RUN[2]["attributes"][:2]}
    assert read(*RUN, *RUN).recordings == read(*RUN).recordings
    assert read(unfinished, *RUN).recordings == read(*RUN, unfinished).recordings == read(*RUN).recordings


def test_parents_may_lead_in_a_circle_or_nowhere() -> None:
    found = read(
        agent("a", "a", "b"),
        chat("b", "a", 10, heard=ASKED, said=[says("One.")]),
        chat("c", "c", 20, heard=ASKED, said=[says("Two.")]),
        chat("d", "nowhere", 30, heard=ASKED, said=[says("Three.")]),
    )
    assert [word for word in words(found) if word[0] == "a"] == ["a:One.", "a:Two.", "a:Three."]
    assert found.losses["parent_cycles"] == 1


def test_a_trace_is_as_deep_as_it_likes() -> None:
    deep = [span("step", f"s{number}", f"s{number - 1}", number) for number in range(1, 3000)]
    found = read(*deep, chat("m", "s2999", 5000, heard=ASKED, said=[says("Deep.")]))
    assert words(found) == ["u:Weather?", "a:Deep."]
    nested = [tool("again", f"s{number}x", f"s{number - 1}x", number, 9000 - number) for number in range(1, 2000)]
    nested[::2] = [agent("x", each["spanId"], each["parentSpanId"]) for each in nested[::2]]
    assert read(*nested).summary.calls == 999


def test_traces_of_a_conversation_are_one_run() -> None:
    def turn(number: int, heard: list[Any], text: str) -> list[Any]:
        conversation = {"gen_ai.conversation.id": "talk"}
        trace = f"trace{number}"
        return [
            agent("a", "a", "", 1000 * number, a=conversation, trace=trace),
            chat("m", "a", 1000 * number + 1, heard=heard, said=[says(text)], trace=trace),
        ]

    first = [user("yes")]
    second = [*first, says("One."), user("yes")]
    found = read(*turn(2, second, "Two."), *turn(1, first, "One."))
    assert words(found) == ["u:yes", "a:One.", "u:yes", "a:Two."]
    assert found.names == [("talk", 1)]
    assert found.only.metadata is not None
    assert found.only.metadata["trace_ids"] == ["trace1", "trace2"]
    assert found.losses == {}
    elsewhere = read(*turn(1, first, "One."), chat("z", trace="other"))
    assert elsewhere.names == [("talk", 1), ("file_2", 1)]


def test_of_large_files_only_what_is_incomplete_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def talk(trace: str, conversation: str = "") -> list[Any]:
        a = {"gen_ai.conversation.id": conversation} if conversation else {}
        return [agent("a", "a", trace=trace, a=a), chat("m", "a", 10, said=[says(f"I am {trace}.")], trace=trace)]

    talks = [talk("t1", "c"), talk("t2"), talk("t3", "d"), talk("t4", "c"), talk("t5")]
    spans = [pair[0] for pair in talks[:3]] + [pair[1] for pair in talks[:3]] + [*talks[3], *talks[4]]
    data = as_lines(*map(otlp, spans), otlp(logs=[log("gen_ai.choice", {"message": {"content": "?"}}, trace="t6")]))
    wanted = {each.case: each.output for each in imported("otel", data).recordings if each.case in ("c", "d")}
    kept: list[int] = []
    settle = Trace.settle
    monkeypatch.setattr(Trace, "settle", lambda trace, losses: (kept.append(len(told)), settle(trace, losses)))
    monkeypatch.setattr("oloproof.importers.formats.otel.READ_ONCE_BYTES", 0)
    told: list[Any] = []
    told.extend(importer("otel").read([Memory(data)]))
    assert [run.output["answer"] for run in told] == ["I am t2.", "I am t3.", "I am t4.", "I am t5.", "?"]
    assert kept == [0, 1, 2, 2, 3, 4]
    found = {run.case: run.output for run in told if run.case}
    assert found == wanted


def test_a_user_who_breaks_in_is_heard() -> None:
    found = read(*RUN[:3], chat("m2", "a", 30, heard=[*TOLD, user("Rome, too!")], said=[says("Clear.")]))
    assert words(found)[3:] == ["=weather", "u:Rome, too!", "a:Clear."]


# --- agents ----------------------------------------------------------------------------------------------------------


def test_an_agent_that_is_used_as_a_tool() -> None:
    found = read(
        agent("boss", "a"),
        chat("m1", "a", 10, heard=ASKED, said=[asks(("c1", "helper", {"request": "Paris?"}))]),
        tool("helper", "t", "a", 20, 90, call_id="c1", result="Clear."),
        agent("helper", "h", "t", 30, 80, a={"gen_ai.conversation.id": "inner"}),
        chat("m2", "h", 40, heard=[user("Paris?")], said=[asks(("c1", "weather", PARIS))]),
        tool("weather", "w", "h", 50, call_id="c1", result="clear"),
        chat("m3", "h", 60, said=[says("Clear.")]),
        chat("m4", "a", 95, said=[says("It is clear.")]),
    )
    steps = ["u:Weather?", "+helper", "+weather@2", "=weather@2", "a:Clear.@2", "=helper", "a:It is clear."]
    assert words(found) == steps
    assert [step.agent for step in found.steps] == ["boss"] * 2 + ["helper"] * 3 + ["boss"] * 2
    assert found.only.trajectory is not None
    assert Reading(found.only.trajectory).route == ("boss",)
    assert found.only.output == {"answer": "It is clear."}
    assert found.names == [("file", 1)]


def test_a_transfer_without_a_span_hands_over_to_the_agent_it_is_called_after() -> None:
    found = read(
        span("workflow", "w", "", 0, 900, a={"gen_ai.operation.name": "invoke_workflow"}),
        agent("triage", "a", "w", 10, 30),
        chat("m1", "a", 11, heard=ASKED, said=[asks(("c1", "transfer_to_billing_agent", {}))]),
        agent("Billing Agent", "b", "w", 40, 60),
        chat("m2", "b", 41, heard=ASKED, said=[says("Done.")]),
    )
    assert words(found) == ["u:Weather?", "+transfer_to_billing_agent", "->Billing Agent", "a:Done."]
    assert found.only.trajectory is not None
    assert not found.only.trajectory.truncated
    assert Reading(found.only.trajectory).route == ("triage", "Billing Agent")


def test_what_only_the_next_agent_is_told_was_done_by_the_one_before_it() -> None:
    moved = asks(("c1", "transfer_to_billing", {}))
    found = read(
        agent("triage", "a", "", 10, 30),
        chat("m1", "a", 11, heard=ASKED),
        agent("billing", "b", "", 40, 60),
        chat("m2", "b", 41, heard=[*ASKED, moved, told(("c1", "ok"))], said=[says("Done.")]),
    )
    assert [(short(step), step.agent) for step in found.steps[2:]] == [
        ("+transfer_to_billing", "triage"),
        ("=transfer_to_billing", "triage"),
        ("a:Done.", "billing"),
    ]


def test_a_hand_off_that_traceloop_tells() -> None:
    facts = {"traceloop.span.kind": "handoff", "gen_ai.handoff.to_agent": "billing"}
    found = read(
        agent("triage", "a", "", 10, 30),
        chat("m1", "a", 11, said=[asks(("c1", "transfer_to_billing", {}))]),
        span("triage to billing", "h", "a", 20, a=facts),
        span("lost", "l", "a", 21, a={"traceloop.span.kind": "handoff"}),
    )
    assert words(found) == ["u:None", "+transfer_to_billing", "->billing"]
    assert found.summary.truncated == 0


def test_a_transfer_that_failed_hands_nothing_over() -> None:
    call = {"agent_name": "billing"}
    found = read(
        agent("triage", "a"),
        chat("m1", "a", 10, heard=ASKED, said=[asks(("c1", "transfer_to_agent", call))]),
        tool("transfer_to_agent", "t", "a", 20, call_id="c1", arguments=call, failed="no such agent"),
        chat("m2", "a", 30, said=[says("Sorry.")]),
    )
    assert words(found) == ["u:Weather?", "+transfer_to_agent", "=transfer_to_agent", "a:Sorry."]


def test_an_agent_of_which_only_its_own_span_is_there() -> None:
    messages = {"gen_ai.input.messages": [user("Hi")], "gen_ai.output.messages": [says("Hello.")]}
    assert words(read(agent("far", "a", a=messages))) == ["u:Hi", "a:Hello."]
    assert words(read(agent("far", "a"))) == ["u:None", "a:None"]
    around = read(agent("near", "a", a=messages), chat("m", "a", 10))
    assert words(around) == ["u:Hi", "a:Hello."]
    with_tools = read(agent("near", "a", a=messages), tool("look", "t", "a", 10, result="x"))
    assert words(with_tools)[-3:] == ["+look", "=look", "a:Hello."]


def test_an_inner_span_of_the_same_call_of_a_model_counts_once() -> None:
    usage = {"gen_ai.usage.input_tokens": 3, "gen_ai.usage.output_tokens": 4}
    outer = chat("m1", "", 10, 50, heard=ASKED, said=[says("Once.")], a=usage)
    found = read(outer, chat("m2", "m1", 11, 49, a=usage))
    assert words(found) == ["u:Weather?", "a:Once."]
    assert sum(step.tokens or 0 for step in found.steps) == 7


def test_the_client_and_the_server_of_a_tool_are_one_call() -> None:
    mcp = {"mcp.method.name": "tools/call", "gen_ai.tool.name": "look"}
    failed = {"content": [{"type": "text", "text": "no such city"}], "isError": True}
    found = read(
        chat("m1", "", 10, heard=ASKED, said=[asks(("c1", "look", PARIS))]),
        tool("look", "t1", "", 20, 60, call_id="c1"),
        span("tools/call look", "t2", "t1", 30, 50, a={**mcp, "gen_ai.tool.call.result": failed}),
        span("tools/call look", "t3", "t2", 35, 45, a=mcp),
    )
    assert words(found) == ["u:Weather?", "+look", "=look"]
    assert (found.steps[2].result, found.steps[2].error) == ("no such city", "no such city")


def test_guardrails_are_no_steps() -> None:
    found = read(
        span("guard", "g", "", 1, 5, a={"openinference.span.kind": "GUARDRAIL"}),
        chat("m0", "g", 2, said=[says("harmless")]),
        chat("m1", "", 10, heard=ASKED, said=[says("Clear.")]),
    )
    assert words(found) == ["u:Weather?", "a:Clear."]
    assert found.losses == {"asides": 1}


# --- errors and ends -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("facts", "error"),
    [
        ({}, None),
        ({"failed": "not found"}, "not found"),
        ({"failed": ""}, "error"),
        ({"a": {"error.type": "timeout"}}, "timeout"),
        ({"failed": "gone", "a": {"error.type": "ValueError"}}, "ValueError: gone"),
        ({"failed": "ValueError: gone", "a": {"error.type": "ValueError"}}, "ValueError: gone"),
        ({"failed": "gone", "a": {"error.type": "_OTHER"}}, "gone"),
        (
            {"failed": "", "events": [("exception", {"exception.type": "KeyError", "exception.message": "x"})]},
            "KeyError: x",
        ),
    ],
)
def test_how_a_tool_failed(facts: dict[str, Any], error: str | None) -> None:
    found = read(*RUN[:2], tool("weather", "t", "a", 20, call_id="c1", **facts), RUN[3])
    assert found.steps[3].error == error
    assert found.summary.errors == (error is not None)


def test_a_failed_call_of_a_model_says_nothing() -> None:
    found = read(
        chat("m1", "", 10, heard=ASKED, failed="rate limited", a={"error.type": "429"}),
        chat("m2", "", 20, heard=ASKED, said=[says("Clear.")]),
    )
    assert words(found) == ["u:Weather?", "a:Clear."]
    assert found.only.error is None


def test_a_run_that_failed_is_a_system_error_and_truncated() -> None:
    found = read(agent("a", "a", failed="boom"), *RUN[1:3])
    assert found.only.error == AttemptError(kind="system_error", message="boom")
    assert found.summary.truncated == 1


@pytest.mark.parametrize(
    ("spans", "truncated"),
    [
        (RUN, False),
        (RUN[:3], False),
        (RUN[:2], True),
        ((RUN[0], chat("m", "a", 10, said=[{**says("Cle"), "finish_reason": "length"}])), False),
        ((RUN[0], chat("m", "a", 10, a={"gen_ai.response.finish_reasons": ["length"]})), True),
    ],
)
def test_truncation(spans: Any, truncated: bool) -> None:
    assert read(*spans).summary.truncated == truncated


def test_scores_of_evaluators_are_metadata() -> None:
    score = {"gen_ai.evaluation.name": "Relevance", "gen_ai.evaluation.score.label": "relevant"}
    events = span("", "", events=[("gen_ai.evaluation.result", score)])["events"]
    record = {**log("gen_ai.evaluation.result"), "attributes": attributes(score)}
    for found in (read(*RUN[:3], {**RUN[3], "events": events}), read(*RUN, logs=[record])):
        assert found.only.metadata is not None
        assert found.only.metadata["evaluations"] == {"Relevance": {"label": "relevant"}}
        assert found.losses == {}


def test_messages_in_the_body_of_their_event() -> None:
    body = {"gen_ai.input.messages": ASKED, "gen_ai.output.messages": [says("Clear.")]}
    found = read(chat("m"), logs=[log("gen_ai.client.inference.operation.details", body, 1, "m")])
    assert words(found) == ["u:Weather?", "a:Clear."]


def test_paths_lead_into_the_resource_and_the_outermost_span() -> None:
    data = json.dumps(otlp(agent("a", "a", a={"user.id": "u7"}), chat("m", "a", 10))).encode()
    found = imported("otel", data, metadata=["user=attributes.user.id", "from=resource.service.name"])
    assert found.only.metadata is not None
    assert (found.only.metadata["user"], found.only.metadata["from"]) == ("u7", "shop")


# --- the older conventions -------------------------------------------------------------------------------------------

CALL = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Paris"}'}}


def old_events(content: bool = True) -> list[tuple[str, str, Any]]:
    def with_content(text: str) -> dict[str, Any]:
        return {"content": text} if content else {}

    call = CALL if content else {**CALL, "function": {"name": "weather"}}
    ask = {"tool_calls": [call]}
    return [
        ("m1", "gen_ai.system.message", with_content("Be brief.")),
        ("m1", "gen_ai.user.message", with_content("Weather?")),
        ("m1", "gen_ai.choice", {"index": 0, "finish_reason": "tool_calls", "message": ask}),
        ("m2", "gen_ai.user.message", with_content("Weather?")),
        ("m2", "gen_ai.assistant.message", ask),
        ("m2", "gen_ai.tool.message", {"id": "c1", **with_content("clear")}),
        ("m2", "gen_ai.choice", {"index": 0, "finish_reason": "stop", "message": with_content("Clear.")}),
    ]


MODELS = (chat("m1", "", 10, 20), chat("m2", "", 30, 40))


@pytest.mark.parametrize("named", [True, False], ids=["with spans", "by time"])
def test_messages_as_log_records(named: bool) -> None:
    times = {"m1": 12, "m2": 32}
    logs = [
        log(name, body, times[model] + place % 3, model if named else "")
        for place, (model, name, body) in enumerate(old_events())
    ]
    found = read(*MODELS, logs=logs)
    assert words(found) == ["u:Weather?", "+weather", "=weather", "a:Clear."]
    assert (found.steps[1].arguments, found.steps[2].result) == (PARIS, "clear")
    assert found.losses == {}


def test_messages_as_log_records_whose_spans_were_not_exported() -> None:
    logs = [log(name, body, place, model) for place, (model, name, body) in enumerate(old_events())]
    found = imported("otel", otlp(logs=logs))
    assert words(found) == ["u:Weather?", "+weather", "=weather", "a:Clear."]


def test_messages_without_content_still_name_their_tools() -> None:
    logs = [log(name, body, place, model) for place, (model, name, body) in enumerate(old_events(content=False))]
    found = read(*MODELS, logs=logs)
    assert words(found) == ["u:None", "+weather", "=weather", "a:None"]
    assert (found.steps[1].arguments, found.steps[2].result) == (None, UNSET)


def test_messages_as_events_of_spans() -> None:
    models = []
    for model, at in (("m1", 10), ("m2", 30)):
        events = [
            (name, {"gen_ai.event.content": json.dumps(body)}) for each, name, body in old_events() if each == model
        ]
        models.append(chat(model, "", at, events=events))
    assert words(read(*models)) == ["u:Weather?", "+weather", "=weather", "a:Clear."]
    plain = [("gen_ai.user.message", {"content": [{"text": "Weather?"}]}), ("gen_ai.choice", {"message": "Clear."})]
    assert words(read(chat("m", events=plain))) == ["u:Weather?", "a:Clear."]
    called = [("gen_ai.tool.message", {"content": PARIS, "id": "c1"}), ("gen_ai.choice", {"message": "clear"})]
    _, call, result = read(chat("m"), tool("weather", "t", "", 10, events=called)).steps
    assert (call.call_id, call.arguments, result.result) == ("c1", PARIS, "clear")


def test_a_log_record_that_may_be_of_several_spans_is_a_loss() -> None:
    found = read(
        chat("m1", "", 10, 30), chat("m2", "", 10, 30), logs=[log("gen_ai.user.message", {"content": "?"}, 20)]
    )
    assert found.losses == {"unplaced_logs": 1}


def test_names_that_were_in_use_before() -> None:
    old = {
        "gen_ai.system": "openai",
        "gen_ai.request.model": "m",
        "gen_ai.usage.prompt_tokens": 5,
        "gen_ai.usage.completion_tokens": 6,
        "gen_ai.prompt": [{"role": "user", "content": "Weather?"}],
        "gen_ai.completion": [{"role": "assistant", "content": "Clear."}],
        "gen_ai.response.finish_reason": "length",
    }
    found = read(span("openai.chat", "m", a=old))
    assert words(found) == ["u:Weather?", "a:Clear."]
    assert found.steps[1].tokens == 11
    assert found.summary.truncated == 1


# --- other dialects --------------------------------------------------------------------------------------------------


def oi(kind: str, name: str, span_id: str, parent: str = "", at: int = 0, to: int | None = None, **a: Any) -> Any:
    spelled = {key.replace("__", "."): value for key, value in a.items()}
    return span(name, span_id, parent, at, to, a={"openinference.span.kind": kind, **spelled})


def flattened(side: str, *messages: dict[str, Any]) -> dict[str, Any]:
    found = {}
    for number, message in enumerate(messages):
        for key, value in message.items():
            found[f"llm.{side}_messages.{number}.message.{key}"] = value
    return found


def test_openinference() -> None:
    asked = {"role": "user", "content": "Weather?"}
    call = "tool_calls.0.tool_call"
    ask = {
        "role": "assistant",
        f"{call}.id": "c1",
        f"{call}.function.name": "weather",
        f"{call}.function.arguments": '{"city": "Paris"}',
    }
    result = {"role": "tool", "tool_call_id": "c1", "content": "clear"}
    found = read(
        oi("CHAIN", "run", "r", "", 0, 900, session__id="talk"),
        oi("AGENT", "forecaster", "a", "r", 1, 890),
        oi(
            "LLM",
            "llm",
            "m1",
            "a",
            10,
            **flattened("input", asked),
            **flattened("output", ask),
            llm__token_count__total=9,
        ),
        oi(
            "TOOL",
            "weather",
            "t",
            "a",
            20,
            tool__name="weather",
            tool__parameters={"type": "object"},
            input__value=PARIS,
            output__value="clear",
        ),
        oi(
            "LLM",
            "llm",
            "m2",
            "a",
            30,
            **flattened("input", asked, ask, result),
            **flattened("output", {"role": "assistant", "content": "Clear."}),
        ),
    )
    assert words(found) == ["u:Weather?", "+weather", "=weather", "a:Clear."]
    assert (found.steps[1].arguments, found.steps[2].result) == (PARIS, "clear")
    assert found.names == [("talk", 1)]
    assert {step.agent for step in found.steps} == {"forecaster"}


def test_flattened_lists_are_in_the_order_of_their_numbers() -> None:
    messages = [{"role": "user" if n % 2 == 0 else "assistant", "content": f"word {n}"} for n in range(13)]
    found = read(oi("LLM", "llm", "m", **flattened("input", *messages), **flattened("output", {"content": "end"})))
    assert words(found) == ["u:word 12", "a:end"]
    said = [message["content"] for message in found.only.input["messages"]]
    assert said == [f"word {n}" for n in range(13)]


def test_calls_that_are_listed_among_contents_too_count_once() -> None:
    message = {
        "role": "assistant",
        "contents.0.message_content.type": "text",
        "contents.0.message_content.text": "Let me see.",
        "contents.1.message_content.type": "tool_use",
        "contents.1.message_content.id": "c1",
        "contents.1.message_content.name": "weather",
        "tool_calls.0.tool_call.id": "c1",
        "tool_calls.0.tool_call.function.name": "weather",
        "tool_calls.0.tool_call.function.arguments": "{}",
    }
    found = read(oi("LLM", "llm", "m", **flattened("output", message)))
    assert words(found) == ["u:None", "a:Let me see.", "+weather"]


def test_openinference_hand_off_spans() -> None:
    ask = {"role": "assistant", "tool_calls.0.tool_call.function.name": "transfer_to_billing"}
    found = read(
        oi("AGENT", "triage", "a", "", 0, 50),
        oi("LLM", "llm", "m1", "a", 10, **flattened("output", ask)),
        oi("TOOL", "handoff to billing", "h", "a", 20),
        oi("AGENT", "billing", "b", "", 60, 90),
        oi("LLM", "llm", "m2", "b", 70, **flattened("output", {"role": "assistant", "content": "Done."})),
    )
    assert words(found) == ["u:None", "+transfer_to_billing", "->billing", "a:Done."]


def test_rows_of_a_table_nest_their_attributes() -> None:
    row = {
        "name": "llm",
        "span_kind": "LLM",
        "parent_id": None,
        "start_time": "2026-01-01T00:00:00+00:00",
        "end_time": "2026-01-01T00:00:01+00:00",
        "status_code": "OK",
        "context": {"trace_id": "t", "span_id": "s"},
        "attributes": {
            "llm": {
                "input_messages": [{"message.role": "user", "message.content": "Weather?"}],
                "output_messages": [{"message": {"role": "assistant", "content": "Clear."}}],
            }
        },
    }
    columns = {
        "name": "llm",
        "context.trace_id": "t",
        "context.span_id": "s",
        "attributes.openinference.span.kind": "LLM",
        "attributes.llm.input_messages": row["attributes"]["llm"]["input_messages"],
        "attributes.llm.output_messages": row["attributes"]["llm"]["output_messages"],
    }
    for value in (row, [row], columns, [columns]):
        assert claims(value) == {"otel": Confidence.CERTAIN}
        assert words(imported("otel", value)) == ["u:Weather?", "a:Clear."]


def vercel(operation: str, span_id: str, parent: str = "", at: int = 0, to: int | None = None, **a: Any) -> Any:
    spelled: dict[str, Any] = {"ai.operationId": f"ai.{operation}"}
    for key, value in a.items():
        if key in ("response", "toolCall"):
            spelled |= {f"ai.{key}.{name}": part for name, part in value.items()}
        else:
            spelled[f"ai.{key}"] = value
    return span(f"ai.{operation}", span_id, parent, at, to, a=spelled)


@pytest.mark.parametrize(("finish", "truncated"), [("stop", 0), ("tool-calls", 1)])
def test_vercel_ai_sdk(finish: str, truncated: int) -> None:
    prompt = [{"role": "user", "content": [{"type": "text", "text": "Weather?"}]}]
    calls = [{"toolCallId": "c1", "toolName": "weather", "input": '{"city": "Paris"}'}]
    again = [
        *prompt,
        {"role": "assistant", "content": [{"type": "tool-call", **calls[0], "input": PARIS}]},
        {
            "role": "tool",
            "content": [
                {
                    "type": "tool-result",
                    "toolCallId": "c1",
                    "toolName": "weather",
                    "output": {"type": "json", "value": {"sky": "clear"}},
                }
            ],
        },
    ]
    last = {"text": "Clear.", "finishReason": finish}
    call = {"name": "weather", "id": "c1", "args": PARIS, "result": {"sky": "clear"}}
    found = read(
        vercel("generateText", "o", "", 0, 900, prompt={"prompt": "Weather?"}, response=last),
        vercel("generateText.doGenerate", "m1", "o", 10, **{"prompt.messages": prompt}, response={"toolCalls": calls}),
        vercel("toolCall", "t", "o", 20, toolCall=call),
        vercel("generateText.doGenerate", "m2", "o", 30, **{"prompt.messages": again}, response={"text": "Clear."}),
    )
    assert words(found) == ["u:Weather?", "+weather", "=weather", "a:Clear."]
    assert (found.steps[1].arguments, found.steps[2].result) == (PARIS, {"sky": "clear"})
    assert found.summary.truncated == truncated


def test_traceloop() -> None:
    call = {"id": "c1", "name": "weather", "arguments": '{"city": "Paris"}'}
    found = read(
        span("run.workflow", "w", "", 0, 900, a={"traceloop.span.kind": "workflow"}),
        span(
            "forecaster.agent",
            "a",
            "w",
            1,
            890,
            a={"traceloop.span.kind": "agent", "traceloop.entity.name": "forecaster"},
        ),
        span(
            "openai.chat",
            "m1",
            "a",
            10,
            a={
                "llm.request.type": "chat",
                "gen_ai.system": "OpenAI",
                "gen_ai.prompt.0.role": "user",
                "gen_ai.prompt.0.content": "Weather?",
                "gen_ai.completion.0.role": "assistant",
                **{f"gen_ai.completion.0.tool_calls.0.{key}": value for key, value in call.items()},
            },
        ),
        span(
            "weather.tool",
            "t",
            "a",
            20,
            a={
                "traceloop.span.kind": "tool",
                "traceloop.entity.name": "weather",
                "traceloop.entity.input": {"args": [], "kwargs": PARIS},
                "traceloop.entity.output": "clear",
            },
        ),
        span("openai.chat", "m2", "a", 30, a={"llm.request.type": "chat", "gen_ai.completion.0.content": "Clear."}),
    )
    assert words(found) == ["u:Weather?", "+weather", "=weather", "a:Clear."]
    assert (found.steps[1].arguments, found.steps[2].result) == (PARIS, "clear")
    assert {step.agent for step in found.steps} == {"forecaster"}


def test_claude_code() -> None:
    found = read(
        span("claude_code.interaction", "i", "", 0, 900, a={"session.id": "s", "user_prompt": "Fix it."}),
        span("claude_code.llm_request", "m1", "i", 10, a={"input_tokens": 3, "output_tokens": 4}),
        span("claude_code.tool", "t", "i", 20, 40, a={"tool_name": "Bash"}),
        span("claude_code.tool.blocked_on_user", "t1", "t", 21, a={"decision": "accept"}),
        span("claude_code.tool.execution", "t2", "t", 30, a={"success": False, "error": "exit 1"}),
        span("claude_code.tool", "u", "i", 42, 44, a={"tool_name": "Write"}),
        span("claude_code.tool.blocked_on_user", "u1", "u", 43, a={"decision": "reject"}),
        span("claude_code.llm_request", "m2", "i", 50),
    )
    assert words(found) == ["u:Fix it.", "+Bash", "+Write", "=Bash", "=Write", "a:None"]
    assert [step.error for step in found.steps[3:5]] == ["exit 1", "refused by the user"]


# --- as frameworks write it ------------------------------------------------------------------------------------------


def test_items_of_a_response_that_are_not_listed() -> None:
    first = {"content": "Weather?", "role": "user"}
    call = {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"city": "Paris"}'}
    again = {**call, "call_id": "c2", "arguments": '{"city": "Rome"}'}
    results = [{"type": "function_call_output", "call_id": each, "output": each} for each in ("c1", "c2")]
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Clear."}]}
    asked = flattened("input", {"role": "user", "content": "Weather?"})
    found = read(
        oi("LLM", "llm", "m1", "", 10, **asked, input__value=[first], output__value=[call, again]),
        oi("LLM", "llm", "m2", "", 20, **asked, input__value=[first, call, again, *results], output__value=[said]),
    )
    assert words(found) == ["u:Weather?", "+weather", "+weather", "=weather", "=weather", "a:Clear."]
    assert [step.turn for step in found.steps[1:3]] == [1, 1]
    assert [step.result for step in found.steps[3:5]] == ["c1", "c2"]


def test_langchain_messages_and_tools() -> None:
    asked = {"lc": 1, "type": "constructor", "id": ["HumanMessage"], "kwargs": {"content": "Weather?", "type": "human"}}
    ask = {"type": "ai", "data": {"content": "", "tool_calls": [{"name": "weather", "args": PARIS, "id": "c1"}]}}
    done = {"type": "tool", "data": {"content": '{"sky": "clear"}', "tool_call_id": "c1", "status": "error"}}
    answer = {"generations": [[{"text": "", "message": ask}]]}
    found = read(
        oi("CHAIN", "graph", "g", "", 0, 900, input__value={"messages": [["user", "Weather?"]]}),
        oi("AGENT", "agent", "a", "g", 1, 20, output__value={"messages": [ask]}),
        oi("CHAIN", "prompt", "p", "a", 2, output__value="[what?]"),
        oi("LLM", "llm", "m", "a", 10, input__value={"messages": [[asked]]}, output__value=answer),
        oi("CHAIN", "tools", "n", "g", 30, 60, output__value={"messages": [done]}),
        oi("TOOL", "weather", "t", "n", 40, tool__name="weather", input__value="Paris", output__value=done),
    )
    assert words(found) == ["u:Weather?", "+weather", "=weather"]
    assert (found.steps[1].call_id, found.steps[1].arguments) == ("c1", PARIS)
    assert (found.steps[2].result, found.steps[2].error) == ({"sky": "clear"}, '{"sky": "clear"}')
    assert {step.agent for step in found.steps} == {"agent"}


def test_a_limit_of_the_framework_cuts_the_run_off() -> None:
    for error in ("Max turns exceeded", "GraphRecursionError: Recursion limit of 5 reached"):
        found = read(agent("a", "a", "", 0, 90, failed=error), *RUN[1:3])
        assert found.only.error is None
        assert found.summary.truncated == 1
    retried = read(agent("a", "a", "", 0, 15, failed="boom"), *RUN[1:3], agent("b", "b", "", 50, 90))
    assert (retried.only.error, retried.summary.truncated) == (None, 0)


def test_what_was_said_may_be_left_out_part_by_part() -> None:
    left_out = {"role": "user", "parts": [{"type": "text"}]}
    said = {"role": "assistant", "parts": [{"type": "text"}, {"type": "tool_call", "id": "c1", "name": "weather"}]}
    found = read(chat("m", heard=[left_out], said=[said]), tool("weather", "t", "", 10, call_id="c1"))
    assert words(found) == ["u:None", "a:None", "+weather", "=weather"]
    assert found.steps[2].arguments is None
    assert found.only.output is UNSET


# --- containers ------------------------------------------------------------------------------------------------------


def plain(attribute: Any) -> Any:
    return next(iter(attribute["value"].values()))


def jaeger(spans: Any) -> Any:
    def tags(attributes: list[Any]) -> list[Any]:
        return [{"key": each["key"], "type": "string", "value": plain(each)} for each in attributes]

    def one(each: Any) -> Any:
        parent = each.get("parentSpanId")
        start, end = int(each["startTimeUnixNano"]), int(each["endTimeUnixNano"])
        failed = [{"key": "error", "type": "bool", "value": True}] if each["status"].get("code") == 2 else []
        return {
            "traceID": each["traceId"],
            "spanID": each["spanId"],
            "operationName": each["name"],
            "references": [{"refType": "CHILD_OF", "traceID": "t1", "spanID": parent}] if parent else [],
            "startTime": start // 1000,
            "duration": (end - start) // 1000,
            "tags": [*tags(each["attributes"]), *failed],
            "logs": [],
            "processID": "p1",
        }

    processes = {"p1": {"serviceName": "shop", "tags": []}}
    return {"data": [{"traceID": "t1", "spans": list(map(one, spans)), "processes": processes}], "total": 0}


def javascript(spans: Any) -> Any:
    return [
        {
            "name": each["name"],
            "spanContext": {"traceId": each["traceId"], "spanId": each["spanId"]},
            **({"parentSpanContext": {"spanId": each["parentSpanId"]}} if "parentSpanId" in each else {}),
            "startTime": [int(each["startTimeUnixNano"]) // 10**9, int(each["startTimeUnixNano"]) % 10**9],
            "endTime": [int(each["endTimeUnixNano"]) // 10**9, int(each["endTimeUnixNano"]) % 10**9],
            "attributes": {pair["key"]: plain(pair) for pair in each["attributes"]},
            "status": each["status"] or {"code": 0},
            "events": [],
            "resource": {"attributes": {"service.name": "shop"}},
        }
        for each in spans
    ]


def python(spans: Any) -> Any:
    return [
        {
            "name": each["name"],
            "context": {"trace_id": f"0x{each['traceId']}", "span_id": f"0x{each['spanId']}", "trace_state": "[]"},
            "parent_id": f"0x{each['parentSpanId']}" if "parentSpanId" in each else None,
            "start_time": f"2026-01-01T00:00:00.{(int(each['startTimeUnixNano']) // 1000) % 10**6:06}Z",
            "end_time": f"2026-01-01T00:00:00.{(int(each['endTimeUnixNano']) // 1000) % 10**6:06}Z",
            "status": {"status_code": "UNSET"},
            "attributes": {pair["key"]: plain(pair) for pair in each["attributes"]},
            "events": [],
            "resource": {"attributes": {"service.name": "shop"}},
        }
        for each in spans
    ]


def snake(value: Any) -> Any:
    """As a writer that keeps the names of the fields has it."""
    if isinstance(value, list):
        return [snake(part) for part in value]
    if not isinstance(value, dict):
        return value
    return {re.sub("[A-Z]", lambda sign: f"_{sign[0].lower()}", key): snake(part) for key, part in value.items()}


CONTAINERS = {
    "otlp": otlp(*RUN),
    "snake_case": snake(otlp(*RUN)),
    "an array": [otlp(*RUN[:2]), otlp(*RUN[2:])],
    "tempo": {"batches": otlp(*RUN)["resourceSpans"]},
    "tempo v2": {"trace": otlp(*RUN)},
    "older scopes": json.loads(json.dumps(otlp(*RUN)).replace("scopeSpans", "instrumentationLibrarySpans")),
    "jaeger": jaeger(RUN),
    "jaeger trace": jaeger(RUN)["data"][0],
    "jaeger v3": {"result": otlp(*RUN)},
    "javascript": javascript(RUN),
    "python": python(RUN),
}


@pytest.mark.parametrize("container", CONTAINERS)
def test_containers(container: str) -> None:
    value = CONTAINERS[container]
    assert claims(value) == {"otel": Confidence.CERTAIN}
    found = imported("otel", value)
    wanted = read(*RUN)
    assert found.only.trajectory == wanted.only.trajectory
    assert found.only.metadata == wanted.only.metadata


def test_failures_in_containers() -> None:
    failing = [*RUN[:2], tool("weather", "t", "a", 20, call_id="c1", failed="gone"), RUN[3]]
    for value in (jaeger(failing), javascript(failing)):
        assert isinstance(imported("otel", value).steps[3].error, str)
    words_for_error = otlp(*failing)
    words_for_error["resourceSpans"][0]["scopeSpans"][0]["spans"][2]["status"]["code"] = "STATUS_CODE_ERROR"
    assert imported("otel", words_for_error).steps[3].error == "gone"


def test_metrics_and_other_traces_are_left_out() -> None:
    other = span("GET /", "s", trace="web")
    found = imported("otel", as_lines(otlp(*RUN), {"resourceMetrics": []}, otlp(other)))
    assert len(found.recordings) == 1
    assert found.losses == {"unrelated_traces": 1}


# --- what cannot be read ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "told_of"),
    [
        (b"", [(0, 0, "OLO321"), (0, 0, "OLO323")]),
        (b"[1, 2", [(0, 0, "OLO321"), (0, 0, "OLO323")]),
        (b"[]", [(0, 0, "OLO322"), (0, 0, "OLO323")]),
        (as_lines(otlp(*RUN), "massive error", 42), [(2, 0, "OLO322"), (3, 0, "OLO322")]),
        (json.dumps(otlp(span("GET /", "s"))).encode(), [(0, 0, "OLO323")]),
    ],
    ids=["empty", "broken", "nothing", "lines", "no agent"],
)
def test_refusals(data: bytes, told_of: list[tuple[int, int, str]]) -> None:
    assert [problem[:3] for problem in refusal("otel", data)] == told_of


def test_values_among_spans_that_are_none_are_a_loss() -> None:
    found = imported("otel", [*javascript(RUN), "what", {"a": 1}])
    assert found.losses == {"unknown_records": 2}


CUT_OFF = {"gen_ai.input.messages": '[{"role":"user","parts":[{"type":"te'}


def test_messages_that_were_cut_off_are_a_loss() -> None:
    found = read(chat("m", "", 10, a=CUT_OFF, said=[says("x")]))
    assert words(found) == ["u:None", "a:x"]
    assert found.losses == {"unreadable_messages": 1}


def test_steps_are_numbered_without_gaps() -> None:
    for before, after in pairwise(read(*RUN).steps):
        assert after.index == before.index + 1


# --- what is not there ------------------------------------------------------------------------------------------------


def cut(*spans: Any, logs: Any = ()) -> bool:
    trajectory = read(*spans, logs=logs).only.trajectory
    assert trajectory is not None
    return trajectory.truncated


def flagged(*spans: Any, flags: Any = 0x100) -> list[Any]:
    return [{**each, "flags": flags} for each in spans]


@pytest.mark.parametrize("lacking", range(len(RUN)))
def test_a_run_is_cut_off_where_the_agent_around_its_steps_never_ended(lacking: int) -> None:
    assert not cut(*flagged(*RUN))
    assert cut(*flagged(*RUN[:lacking], *RUN[lacking + 1 :])) == (lacking == 0)


@pytest.mark.parametrize("flags", [0, 0x300, 0x200, "0x100", None, [0x100], 1])
def test_a_parent_that_may_be_elsewhere_cuts_nothing_off(flags: Any) -> None:
    assert not cut(*flagged(*RUN[1:], flags=flags))
    assert cut(*flagged(*RUN[1:], flags="256"))


def test_an_agent_that_ended_is_whole_whatever_was_around_it() -> None:
    around = agent("forecaster", "a", "request")
    assert not cut(*flagged(around, *RUN[1:]))
    between = span("step", "between", "nowhere", 5)
    inner = chat("m", "between", 10, said=[says("Hi.")])
    assert cut(*flagged(between, inner))


def test_a_run_of_which_a_call_may_not_be_recorded_is_open() -> None:
    asks_for_tools = {"gen_ai.response.finish_reasons": ["tool_calls"]}
    answer = chat("m2", "", 20, said=[says("Done.")])
    assert cut(chat("m1", "", 10, a=asks_for_tools), answer)
    assert cut(chat("m1", "", 10, a=asks_for_tools, said=[says("Let me see.")]), answer)
    assert cut(chat("m1", "", 10, a={"gen_ai.output.messages": '[{"role": "assistant", "parts": [{"ty'}), answer)
    assert not cut(chat("m1", "", 10, said=[says("Well.")]), answer)
    unplaced = log("gen_ai.choice", {"message": {"content": "x"}}, 500)
    assert cut(chat("m1", "", 10), answer, logs=[unplaced])


def test_log_records_that_were_sent_twice_count_once() -> None:
    said = [log("gen_ai.user.message", {"content": "Hello?"}, 9, "m"), log("gen_ai.user.message", {"content": "?"}, 9)]
    once = read(chat("m", "", 10), logs=said)
    assert words(read(chat("m", "", 10), logs=[*said, *said])) == words(once)


def test_of_two_steps_with_one_id_one_is_lost_and_of_one_that_was_sent_twice_none() -> None:
    done = chat("m", "a", 50, said=[says("Done.")])
    look, erase = tool("look", "x", "a", 10), tool("erase", "x", "a", 20)
    assert is_truncated(agent("a", "a"), look, erase, done)
    assert is_truncated(agent("a", "a"), look, tool("look", "x", "a", 20), done)
    assert not is_truncated(agent("a", "a"), look, look, done)
    assert not is_truncated(agent("a", "a"), look, {**look, "endTimeUnixNano": "0"}, done)


def test_ids_are_the_same_in_upper_and_lower_case_and_zeros_are_none() -> None:
    trace, root, step = "AB" * 16, "0A" * 8, "0B" * 8
    spans = [agent("a", root.lower(), trace=trace), chat(step, root, 10, said=[says("Hi.")], trace=trace.lower())]
    spans[0]["parentSpanId"], spans[0]["flags"] = "0" * 16, 0x100
    spans[1]["flags"] = 0x100
    found = imported("otel", otlp(*spans))
    assert (found.only.metadata or {})["trace_id"] == trace.lower()
    assert not is_truncated(*spans)


@pytest.mark.parametrize("key", ["droppedAttributesCount", "droppedEventsCount"])
def test_a_step_of_which_the_sdk_left_something_out_truncates_the_run(key: str) -> None:
    step, query = chat("m", "a", 10, said=[says("Hi.")]), span("SELECT", "q", "a", 5)
    assert is_truncated(agent("a", "a"), {**step, key: 1}, query)
    assert not is_truncated(agent("a", "a"), {**step, key: 0}, {**query, key: 1})


def is_truncated(*spans: Any) -> bool:
    trajectory = imported("otel", otlp(*spans)).only.trajectory
    assert trajectory is not None
    return trajectory.truncated


def test_a_span_without_an_id_that_was_sent_twice_is_one_call() -> None:
    spans = [tool("erase", "", "a", 10), tool("erase", "", "a", 20), tool("erase", "", "a", 10)]
    found = imported("otel", otlp(agent("a", "a"), *spans, chat("m", "a", 50, said=[says("Done.")])))
    assert [step.kind for step in found.steps].count("tool_call") == 2


@pytest.mark.parametrize("behind", [0, 15, 95])
def test_a_call_that_ran_before_it_was_asked_for_by_the_clock_of_another_machine_is_one_call(behind: int) -> None:
    ran = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look", "gen_ai.tool.call.result": "r"}
    asked = [{"type": "tool_call", "id": each, "name": "look", "arguments": {"at": each}} for each in ("1", "2")]
    found = imported(
        "otel",
        otlp(
            agent("a", "a"),
            chat("m", "a", 100, 110, said=[{"role": "assistant", "parts": asked}]),
            span("execute_tool look", "x", "a", 115 - behind, a={**ran, "gen_ai.tool.call.id": "1"}),
            span("execute_tool look", "y", "a", 118, a={**ran, "gen_ai.tool.call.id": "2"}),
            chat("n", "a", 200, said=[says("Done.")]),
        ),
    )
    told = [(step.kind, step.call_id) for step in found.steps if step.kind in ("tool_call", "tool_result")]
    assert told == [("tool_call", "1"), ("tool_call", "2"), ("tool_result", "1"), ("tool_result", "2")]
