from __future__ import annotations

from typing import Any

import pytest

from fakes.imports import Found, claims, imported, refusal
from oloproof.importers.format import Confidence
from oloproof.importers.reading import Summary


def step(source: str, message: Any = "", **more: Any) -> dict[str, Any]:
    return {"step_id": 1, "source": source, "message": message, **more}


def call(call_id: str, name: str = "bash", **arguments: Any) -> dict[str, Any]:
    return {"tool_call_id": call_id, "function_name": name, "arguments": arguments}


def seen(*results: Any) -> dict[str, Any]:
    return {"observation": {"results": list(results)}}


def result(content: Any = "ok", call_id: str | None = None, **more: Any) -> dict[str, Any]:
    return {"content": content} | ({} if call_id is None else {"source_call_id": call_id}) | more


def whole(*steps: Any, **more: Any) -> dict[str, Any]:
    agent = {"name": "terminus-2", "version": "2", "model_name": "m"}
    return {"schema_version": "ATIF-v1.6", "session_id": "s1", "agent": agent, "steps": list(steps), **more}


def read(*steps: Any, **more: Any) -> Found:
    return imported("atif", whole(*steps, **more))


RUN = [
    step("system", "You are."),
    step("user", "Fix it."),
    step(
        "agent",
        "Let me look.",
        tool_calls=[call("1", cmd="ls"), call("2", cmd="pwd")],
        metrics={"prompt_tokens": 10, "completion_tokens": 5, "cost_usd": 0.5},
        reasoning_content="hm",
        **seen(result("b", "2"), result("a", "1")),
    ),
    step("agent", "Done."),
]


def test_results_stand_in_the_step_that_called() -> None:
    found = read(*RUN)
    assert [(step.kind, step.tool_name, step.call_id) for step in found.steps] == [
        ("message", None, None),
        ("message", None, None),
        ("tool_call", "bash", "1"),
        ("tool_call", "bash", "2"),
        ("tool_result", "bash", "2"),
        ("tool_result", "bash", "1"),
        ("message", None, None),
    ]
    assert [(step.tokens, step.cost_usd) for step in found.steps[1:4]] == [(15, 0.5), (0, 0.0), (0, 0.0)]
    assert (found.only.case, found.only.input, found.only.output) == ("s1", "Fix it.", {"answer": "Done."})
    assert found.losses == {"system_messages": 1, "reasoning": 1}
    assert found.only.trajectory is not None
    assert (found.only.trajectory.truncated, found.only.trajectory.errors_recorded) == (False, False)


def test_a_result_that_names_no_call_answers_in_order() -> None:
    asked = step("agent", "", tool_calls=[call("1"), call("2")], **seen(result("a"), result("b")))
    assert [step.call_id for step in read(asked).steps if step.kind == "tool_result"] == ["1", "2"]


def test_one_result_of_several_calls_leaves_the_others_open() -> None:
    found = read(step("agent", "", tool_calls=[call("1"), call("2")], **seen(result("both"))))
    assert found.summary == Summary(trajectories=1, steps=3, calls=2, results=1, unanswered=1)


def test_the_word_on_an_answer_that_called_nothing_is_an_observation() -> None:
    found = read(step("agent", "{bad", **seen(result("cannot be parsed"))))
    assert [step.kind for step in found.steps] == ["message", "observation"]


def test_a_final_call_without_a_result_is_no_truncation() -> None:
    found = read(step("agent", "", tool_calls=[call("1", "finish")]))
    assert found.only.trajectory is not None
    assert not found.only.trajectory.truncated


def test_copied_steps_are_told_where_they_were_first() -> None:
    found = read(step("user", "Fix it.", is_copied_context=True), *RUN[2:])
    assert found.losses["copied_steps"] == 1
    assert found.steps[0].kind == "message"


def test_what_goes_on_in_another_file_is_truncated_here() -> None:
    found = read(*RUN, continued_trajectory_ref="next.json")
    assert found.only.trajectory is not None
    assert found.only.trajectory.truncated
    assert found.losses["continued_elsewhere"] == 1


def test_a_sub_agent_is_inside_the_call_that_started_it() -> None:
    inner = whole(step("agent", "", tool_calls=[call("9", "search")], **seen(result())))
    inner |= {"trajectory_id": "t", "agent": {"name": "searcher", "version": "1"}}
    refers = result("found", "1", subagent_trajectory_ref=[{"trajectory_id": "t"}])
    found = read(step("agent", "", tool_calls=[call("1", "task")], **seen(refers)), subagent_trajectories=[inner])
    assert [(step.kind, step.tool_name, step.agent, step.inside) for step in found.steps] == [
        ("tool_call", "task", "terminus-2", None),
        ("tool_call", "search", "searcher", 1),
        ("tool_result", "search", "searcher", 1),
        ("tool_result", "task", "terminus-2", None),
    ]


def test_a_sub_agent_that_is_nowhere_is_counted() -> None:
    refers = result("found", "1", subagent_trajectory_ref=[{"trajectory_path": "other.json"}])
    found = read(step("agent", "", tool_calls=[call("1", "task")], **seen(refers)))
    assert found.losses == {"unlinked_subagents": 1}


def test_parts_that_are_no_text_are_counted() -> None:
    said = [{"type": "text", "text": "a"}, {"type": "image", "source": {}}]
    found = read(step("user", said))
    assert found.steps[0].arguments == {"role": "user", "content": "a"}
    assert found.losses == {"unread_parts": 1}


@pytest.mark.parametrize("data", [b"{}", b"[]", b'{"steps": 1}'])
def test_what_is_no_trajectory(data: bytes) -> None:
    assert refusal("atif", data)[0][2] == "OLO322"


def test_it_is_recognised_alone() -> None:
    assert claims(whole(*RUN)) == {"atif": Confidence.CERTAIN}
