from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

from fakes.imports import Found, as_lines, claims, imported, refusal
from oloproof.importers.format import Confidence
from oloproof.importers.reading import Summary


def call(call_id: str | None, function: str = "send", **args: Any) -> dict[str, Any]:
    return {"function": function, "args": args, "id": call_id, "placeholder_args": None}


def calling(*calls: Any, content: Any = "") -> dict[str, Any]:
    return {"role": "assistant", "content": content, "tool_calls": list(calls) or None}


def back(made: Any, content: Any = "ok", error: str | None = None) -> dict[str, Any]:
    return {"role": "tool", "content": content, "tool_call_id": made["id"], "tool_call": made, "error": error}


ASKED = {"role": "user", "content": [{"type": "text", "content": "x", "text": "Pay the bill."}]}
DONE = calling(content=[{"type": "text", "text": "Paid."}])


def run(*messages: Any, **more: Any) -> dict[str, Any]:
    return {
        "suite_name": "banking",
        "pipeline_name": "gpt-4o",
        "user_task_id": "user_task_0",
        "injection_task_id": None,
        "attack_type": None,
        "messages": list(messages),
        "error": None,
        "utility": True,
        "security": True,
        **more,
    }


def read(*messages: Any, **more: Any) -> Found:
    return imported("agentdojo", run(*messages, **more))


def test_a_run_says_what_it_was_of_and_how_it_went() -> None:
    made = call("1", to="me")
    found = read({"role": "system", "content": "x"}, ASKED, calling(made), back(made), DONE)
    recording = found.only
    assert (recording.case, recording.input) == ("banking/user_task_0", "Pay the bill.")
    assert recording.output == {"answer": "Paid."}
    assert recording.metadata == {
        "suite_name": "banking",
        "pipeline_name": "gpt-4o",
        "user_task_id": "user_task_0",
        "utility": True,
        "security": True,
    }
    assert found.summary == Summary(trajectories=1, steps=4, calls=1, results=1)


def test_under_an_attack_security_means_that_the_injection_succeeded() -> None:
    attacked = read(ASKED, injection_task_id="injection_task_1", attack_type="important", security=True).only
    assert attacked.case == "banking/user_task_0/injection_task_1/important"
    assert attacked.metadata is not None
    assert attacked.metadata["injection_succeeded"] is True
    alone = read(ASKED).only
    assert alone.metadata is not None
    assert "injection_succeeded" not in alone.metadata


@pytest.mark.parametrize("empty", ["", None])
def test_calls_without_ids_are_paired_by_the_copy_that_the_result_holds(empty: Any) -> None:
    one, two = call(empty, to="a"), call(empty, to="b")
    found = read(ASKED, calling(one, two), back(two, "second"), back(one, "first"), DONE)
    assert [step.result for step in found.steps if step.kind == "tool_result"] == ["second", "first"]
    assert found.summary.unanswered == 0


def test_an_id_that_is_used_again_is_paired_by_order() -> None:
    one, two = call("1", to="a"), call("1", to="b")
    found = read(ASKED, calling(one), back(one), calling(two), back(two, error="refused"), DONE)
    assert found.summary == Summary(trajectories=1, steps=6, calls=2, results=2, errors=1)
    assert found.steps[4].error == "refused"


def test_a_loop_that_reached_its_end_leaves_calls_without_results() -> None:
    found = read(ASKED, calling(call("1")))
    assert found.only.trajectory is not None
    assert found.only.trajectory.truncated


def test_a_run_without_messages_is_a_run() -> None:
    found = read()
    assert found.summary == Summary(trajectories=1)
    assert found.only.input is UNSET


def test_an_error_is_a_system_error() -> None:
    recording = read(ASKED, error="context length").only
    assert recording.error is not None
    assert recording.trajectory is not None
    assert recording.trajectory.truncated


def test_the_explorers_export_has_many_runs_and_calls_in_another_shape() -> None:
    made = {"id": "1", "type": "function", "function": {"name": "send", "arguments": {"to": "me"}}}
    entry = {
        "index": 0,
        "messages": [ASKED, {"role": "assistant", "content": "", "tool_calls": [made]}, back(call("1", to="me"))],
        "metadata": {"suite_name": "banking", "user_task_id": "user_task_0", "success": False, "security": True},
    }
    first = {"metadata": {"benchmark": "agentdojo", "accuracy": 0.5}}
    data = as_lines(first, entry)
    found = imported("agentdojo", data)
    assert found.steps[1].arguments == {"to": "me"}
    assert found.only.metadata is not None
    assert found.only.metadata["utility"] is False
    assert found.losses == {"no_runs": 1}
    assert claims(data) == {"agentdojo": Confidence.CERTAIN}


@pytest.mark.parametrize("data", [b"{}", b"[]", b"7"])
def test_what_is_no_run(data: bytes) -> None:
    assert refusal("agentdojo", data)[0][2] == "OLO322"


def test_it_is_recognised_before_any_list_of_messages() -> None:
    assert max(claims(run(ASKED)).items(), key=lambda claim: claim[1]) == ("agentdojo", Confidence.CERTAIN)
