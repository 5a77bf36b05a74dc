from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

from fakes.imports import Found, as_lines, claims, crossed, imported, refusal
from oloproof.importers.format import Confidence
from oloproof.model.values import TAG


def asks(*parts: Any, **more: Any) -> dict[str, Any]:
    held = [{"part_kind": "user-prompt", "content": part} if isinstance(part, str) else part for part in parts]
    return {"kind": "request", "parts": held, "instructions": None, **more}


def answers(*parts: Any, **more: Any) -> dict[str, Any]:
    held = [{"part_kind": "text", "content": part} if isinstance(part, str) else part for part in parts]
    return {"kind": "response", "parts": held, "usage": {}, **more}


def call(name: str, call_id: str = "c1", args: Any = None) -> dict[str, Any]:
    return {"part_kind": "tool-call", "tool_name": name, "args": args, "tool_call_id": call_id}


def gives(name: str, content: Any, call_id: str = "c1", **more: Any) -> dict[str, Any]:
    return {"part_kind": "tool-return", "tool_name": name, "content": content, "tool_call_id": call_id, **more}


def read(*messages: Any, **more: Any) -> Found:
    return imported("pydantic-ai", {"messages": list(messages), **more})


ASKED = asks({"part_kind": "system-prompt", "content": "s"}, "Where is my order?")
DONE = answers("It was shipped.")
ACCEPTED = "Final result processed."


def truncated(found: Found) -> bool:
    assert found.only.trajectory is not None
    return found.only.trajectory.truncated


def test_calls_and_results_are_parts_of_messages() -> None:
    both = answers(call("find", "a", {"n": 1}), call("look", "b", '{"n": 2}'))
    found = read(ASKED, both, asks(gives("look", {"x": 1}, "b"), gives("find", "f", "a", outcome="success")), DONE)
    assert found.paired[:-1] == crossed("a", "b")
    assert [step.arguments for step in found.steps[1:3]] == [{"n": 1}, {"n": 2}]
    assert [(step.result, step.error) for step in found.steps[3:5]] == [({"x": 1}, None), ("f", None)]
    assert (found.steps[-1].kind, truncated(found)) == ("final", False)
    assert found.only.output == {"answer": "It was shipped."}
    assert found.only.input == {
        "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "Where is my order?"}]
    }


def test_an_id_that_is_used_again_is_paired_by_order() -> None:
    once = [answers(call("find")), asks(gives("find", 1))]
    found = read(ASKED, *once, answers(call("look")), asks(gives("look", 2)), DONE)
    assert [(step.tool_name, step.result) for step in found.steps if step.kind == "tool_result"] == [
        ("find", 1),
        ("look", 2),
    ]


@pytest.mark.parametrize("outcome", ["failed", "denied", "interrupted", "retried"])
def test_a_call_that_did_not_work_says_why(outcome: str) -> None:
    found = read(ASKED, answers(call("find")), asks(gives("find", "no such order", outcome=outcome)), DONE)
    assert (found.steps[2].result, found.steps[2].error) == (UNSET, "no such order")


def test_older_histories_ask_to_try_again() -> None:
    wrong = [{"type": "missing", "loc": ["n"], "msg": "Field required"}]
    retry = {"part_kind": "retry-prompt", "tool_name": "find", "tool_call_id": "c1", "content": wrong}
    told = {"part_kind": "retry-prompt", "tool_name": None, "content": "Please include a text."}
    found = read(ASKED, answers(call("find")), asks(retry), answers(), asks(told), DONE)
    assert found.steps[2].kind == "tool_result"
    assert "Field required" in str(found.steps[2].error)
    assert (found.steps[3].kind, found.steps[3].arguments) == (
        "observation",
        {"role": "user", "content": "Please include a text."},
    )


def test_an_output_tool_is_the_answer_and_no_call() -> None:
    tried = answers(call("final_result", "o1", {"city": 1}))
    refused = asks(gives("final_result", "city: not a text", "o1", outcome="retried"))
    both = answers(call("final_result", "o2", '{"city": "Rome"}'), call("find", "c2"))
    ended = asks(
        gives("final_result", ACCEPTED, "o2"),
        gives("find", "Tool not executed - a final result was already processed.", "c2"),
    )
    found = read(ASKED, tried, refused, both, ended)
    assert [(step.kind, step.tool_name) for step in found.steps[1:]] == [
        ("message", None),
        ("observation", None),
        ("final", None),
        ("tool_call", "find"),
        ("tool_result", "find"),
    ]
    assert found.steps[3].arguments == {"role": "assistant", "content": {"city": "Rome"}}
    assert isinstance(found.steps[-1].error, str)
    assert found.only.output == {"answer": {"city": "Rome"}}
    assert not truncated(found)


def test_an_output_tool_of_another_name_is_known_from_a_result() -> None:
    run = [ASKED, answers(call("report", args={"a": 1})), asks(gives("report", ACCEPTED))]
    found = read(*run, output_tool_name="report", output={"a": 1})
    assert [step.kind for step in found.steps] == ["message", "final"]
    assert found.only.output == {"answer": {"a": 1}}
    assert not truncated(found)
    unknown = read(*run)  # a tool might say so itself: its call stays a call
    assert [step.kind for step in unknown.steps] == ["message", "tool_call", "tool_result"]
    assert truncated(unknown)


def test_a_tool_that_is_named_like_an_output_tool_stays_a_call() -> None:
    run = [ASKED, answers(call("final_result_drop")), asks(gives("final_result_drop", "done")), DONE]
    assert ("tool_call", "final_result_drop") in [step[:2] for step in read(*run).paired]
    plain = [ASKED, answers(call("final_result")), asks(gives("final_result", "done")), DONE]
    assert ("tool_call", "final_result") in [step[:2] for step in read(*plain, output_tool_name=None).paired]
    several = [ASKED, answers(call("final_result_City")), asks(gives("final_result_City", "no", outcome="retried"))]
    several += [answers(call("final_result_Town", "t")), asks(gives("final_result_Town", ACCEPTED, "t"))]
    for found in (read(*several), read(*several, output_tool_name="final_result_Town")):
        assert [step.kind for step in found.steps] == ["message", "message", "observation", "final"]


@pytest.mark.parametrize(
    "messages",
    [
        [ASKED],
        [ASKED, answers(call("find"))],
        [ASKED, answers(call("find")), asks(gives("find", 1))],
        [ASKED, answers("So", finish_reason="length")],
        [ASKED, answers("So", state="interrupted")],
        [ASKED, answers({"part_kind": "thinking", "content": "hm"})],
        [ASKED, answers(call("final_result", "o", {"a": 1}))],
        [ASKED, answers("So"), asks("And?")],
        [ASKED, answers(call("final_result", "o")), asks(gives("final_result", "no", "o", outcome="retried"))],
    ],
)
def test_what_ends_on_no_answer_was_cut_off(messages: list[Any]) -> None:
    found = read(*messages)
    assert truncated(found)
    assert "final" not in [step.kind for step in found.steps]


def test_arguments_as_pydantic_ai_takes_them() -> None:
    found = read(ASKED, answers(call("a", "1", None), call("b", "2", ""), call("c", "3", '{"n": ')))
    assert [step.arguments for step in found.steps[1:]] == [{}, {}, {TAG: '{"n": '}]
    assert found.losses == {"unparsable_arguments": 1}


def test_tools_of_the_provider_are_answered_in_the_same_response() -> None:
    search = {"part_kind": "builtin-tool-call", "tool_name": "web_search", "args": {"q": 1}, "tool_call_id": "s"}
    told = {"part_kind": "builtin-tool-return", "tool_name": "web_search", "content": ["r"], "tool_call_id": "s"}
    found = read(ASKED, answers(search, told, "Found."))
    assert [(step.kind, step.tool_name) for step in found.steps[1:]] == [
        ("tool_call", "web_search"),
        ("tool_result", "web_search"),
        ("final", None),
    ]


def test_parts_that_have_no_place_are_counted() -> None:
    pictures = {
        "part_kind": "user-prompt",
        "content": ["a", {"kind": "image-url", "url": "u"}, {"kind": "text-content", "content": "b"}],
    }
    found = read(
        asks(pictures),
        answers({"part_kind": "thinking", "content": "hm"}, {"part_kind": "compaction"}, "So"),
        asks({"part_kind": "system-prompt", "content": "later"}, "And?"),
        answers({"part_kind": "file", "content": {}}),
    )
    assert found.steps[0].arguments == {"role": "user", "content": "ab"}
    assert found.losses == {"reasoning": 1, "other_content": 3, "system_messages": 1}
    assert found.steps[-1].kind == "final"


def test_tokens_stand_on_the_first_step_of_a_response() -> None:
    usage = {"input_tokens": 10, "output_tokens": 5, "cache_read_tokens": 8}
    found = read(ASKED, answers("So", call("a"), usage=usage))
    assert [step.tokens for step in found.steps] == [None, 15, 0]


def test_all_the_ways_to_hold_messages() -> None:
    run = [ASKED, answers(call("a")), asks(gives("a", 1)), DONE]
    alone = imported("pydantic-ai", run).only
    assert imported("pydantic-ai", as_lines(*run)).only.trajectory == alone.trajectory
    first, second = imported("pydantic-ai", [{"id": "x", "messages": run}, {"trial": 2, "messages": run}]).recordings
    assert (first.case, second.trial, second.trajectory) == ("x", 2, alone.trajectory)
    for data in (run, as_lines(*run), [run, run], {"messages": run}, as_lines({"messages": run})):
        found = claims(data)
        assert found["pydantic-ai"] is Confidence.CERTAIN
        assert [name for name in found if found[name] is Confidence.CERTAIN] == ["pydantic-ai"]


def test_what_is_no_history_is_refused() -> None:
    assert refusal("pydantic-ai", b'[{"kind": "request", "parts": []}, {"kind": "other", "parts": []}]') == [
        (0, 0, "OLO322", "message 2: the message is of no kind that Pydantic AI knows")
    ]
    assert refusal("pydantic-ai", b'{"messages": ["hello"]}') == [
        (0, 0, "OLO322", "message 1: a message is an object, not text")
    ]
    assert refusal("pydantic-ai", b'{"a": 1}') == [
        (0, 0, "OLO322", "neither a list of messages nor an object with `messages`")
    ]
