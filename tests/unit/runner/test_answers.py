"""What a system outside of Python may answer, and what is made of every other answer."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET

from oloproof.model.case import AttemptError, State
from oloproof.runner import answers
from oloproof.runner.answers import answer, question
from oloproof.runner.protocol import RunCase

ASKED = RunCase(0, "c1", {"text": "where is my order?"}, 7, 2, {"surface": "chat"})
DIED = AttemptError(kind="system_error", message="the command ended with exit status 1")


def call(index: int, tool: str = "search", **more: Any) -> dict[str, Any]:
    return {"step": {"index": index, "kind": "tool_call", "tool_name": tool, **more}}


def lines(*values: Any) -> bytes:
    return "".join(json.dumps(value) + "\n" for value in values).encode()


def refusal(*values: Any) -> str:
    said = answer(b"".join(value if isinstance(value, bytes) else lines(value) for value in values), ASKED)
    assert said.output is UNSET
    assert said.error is not None
    assert said.error.kind == "system_error"
    return said.error.message


def test_what_to_do_about_plain_text_is_told_of_plain_text_alone() -> None:
    def told(data: bytes) -> str:
        error = answer(data, ASKED, remedy_for_text="print it elsewhere").error
        assert error is not None
        return error.message

    assert told(b"starting up\n").endswith("in 'starting up'; print it elsewhere")
    assert told(b'{"output": 1}\ndone\n').endswith("in 'done'; print it elsewhere")
    assert "elsewhere" not in told(b"{}\n")


def test_the_question_is_one_line_without_what_is_expected() -> None:
    assert question(ASKED).endswith(b"}\n")
    assert json.loads(question(ASKED)) == {
        "case": "c1",
        "input": {"text": "where is my order?"},
        "metadata": {"surface": "chat"},
        "trial": 2,
        "seed": 7,
    }


def test_a_document_brings_an_output_and_a_whole_trajectory() -> None:
    trajectory = {"steps": [call(1)["step"]], "terminal_status": "success"}
    said = answer(lines({"case": "c1", "trial": 2, "output": {"answer": "yes"}, "trajectory": trajectory}), ASKED)
    assert (said.output, said.error) == ({"answer": "yes"}, None)
    assert said.trajectory is not None
    assert (said.trajectory.terminal_status, said.trajectory.truncated) == ("success", False)


def test_a_document_may_be_printed_over_several_lines() -> None:
    said = answer(json.dumps({"output": [1, {"a": None}]}, indent=2).encode(), ASKED)
    assert (said.output, said.error, said.trajectory) == ([1, {"a": None}], None, None)


def test_an_output_of_null_is_an_output() -> None:
    assert answer(lines({"output": None}), ASKED).output is None


def test_a_stream_ends_with_its_document() -> None:
    check = {"check": {"name": "no_deletion", "passed": True}}
    point = {"checkpoint": {"checkpoint_id": "p", "kind": "checkpoint", "step_index": 1}}
    data = lines({"trace": {"step_limit": 9, "errors_recorded": False}}, call(1), check, point, call(2), {"output": 1})
    said = answer(data, ASKED)
    assert said.trajectory is not None
    assert [step.index for step in said.trajectory.steps] == [1, 2]
    assert (said.trajectory.terminal_status, said.trajectory.truncated) == ("unknown", False)
    assert (said.trajectory.step_limit, said.trajectory.errors_recorded) == (9, False)
    assert [found.step_index for found in said.trajectory.constraints] == [None]
    assert len(said.trajectory.checkpoints) == 1


def test_a_stream_may_say_how_it_ended() -> None:
    said = answer(lines(call(1), {"output": 1, "terminal_status": "failure", "truncated": True}), ASKED)
    assert said.trajectory is not None
    assert (said.trajectory.terminal_status, said.trajectory.truncated) == ("failure", True)


def test_an_empty_trajectory_is_one_and_none_is_none() -> None:
    assert answer(lines({"trace": {}}, {"output": 1}), ASKED).trajectory is not None
    assert answer(lines({"output": 1}), ASKED).trajectory is None


@pytest.mark.parametrize(
    ("ending", "truncated"),
    [({}, True), ({"terminal_status": "failure"}, False), ({"truncated": False}, False), ({"truncated": True}, True)],
)
def test_an_error_leaves_no_output_and_a_prefix_unless_it_says_how_the_stream_ended(
    ending: dict[str, Any], truncated: bool
) -> None:
    check = {"check": {"name": "no_deletion", "passed": True}}
    said = answer(lines(call(1), check, {"output": "half", "error": "no such order"} | ending), ASKED)
    assert said.output is UNSET
    assert said.error == AttemptError(kind="system_error", message="no such order")
    assert said.trajectory is not None
    assert said.trajectory.truncated == truncated
    assert said.trajectory.terminal_status == ending.get("terminal_status", "unknown")


def test_an_error_beside_a_whole_trajectory_leaves_it_finished() -> None:
    said = answer(lines({"error": "no such order", "trajectory": {"steps": [call(1)["step"]]}}), ASKED)
    assert said.trajectory is not None
    assert not said.trajectory.truncated


def test_an_error_may_say_its_kind() -> None:
    late = {"error": {"kind": "timeout", "message": "the model was slow"}}
    assert answer(lines(late), ASKED).error == AttemptError(kind="timeout", message="the model was slow")


def test_what_was_streamed_before_a_death_is_a_prefix_and_a_line_that_was_cut_nobodys_fault() -> None:
    said = answer(lines(call(1), call(2)) + lines(call(3))[:20], ASKED, DIED)
    assert (said.output, said.error) == (UNSET, DIED)
    assert said.trajectory is not None
    assert [step.index for step in said.trajectory.steps] == [1, 2]
    assert said.trajectory.truncated


def test_a_whole_trajectory_stays_finished_whatever_happens_next() -> None:
    document = {"output": 1, "trajectory": {"steps": [call(1)["step"]]}}
    said = answer(lines(document), ASKED, DIED)
    assert (said.output, said.error) == (UNSET, DIED)
    assert said.trajectory is not None
    assert not said.trajectory.truncated


def test_a_stream_whose_document_came_before_the_death_is_a_prefix() -> None:
    said = answer(lines(call(1), {"output": 1}), ASKED, DIED)
    assert said.trajectory is not None
    assert said.trajectory.truncated


@pytest.mark.parametrize(
    ("said", "wrong"),
    [
        ((), "it answered nothing"),
        ((b" \n\n",), "it answered nothing"),
        ((call(1),), "no document ended its answer"),
        ((b"hello\n",), "line 1 of its answer is no JSON"),
        ((b"starting up\n", {"output": 1}), "invalid character (byte 0), in 'starting up'"),
        (({"output": 1}, b"done\n"), "line 2 of its answer is no JSON"),
        (({"output": 1}, {"output": 2}), "line 2 of its answer comes after the document that ends it"),
        (({"output": 1}, call(1)), "line 2 of its answer comes after the document that ends it"),
        ((call(1), b'{"step": {"ind'), "line 2 of its answer is no JSON"),
        (({"case": "c2", "output": 1},), "is for case 'c2', and 'c1' was asked"),
        (({"trial": 1, "output": 1},), "is for trial 1, and 2 was asked"),
        (([1],), "line 1 of its answer is no answer: Expected `object`, got `array`"),
        (({"outptu": 1},), "unknown field `outptu`; did you mean 'output'?"),
        (({"answer": 1},), 'unknown field `answer`; what the agent answered stands under output: {"output": …}'),
        ((call(1, kind="tool_cal"), {"output": 1}), "at `$.step.kind`; one of: message, tool_call, tool_result"),
        (({"output": 1, "trajectory": {"steps": [{"index": 1, "kind": "x"}]}},), "`; one of: message, tool_call"),
        ((call(1, tool_nam="x"), {"output": 1}), "at `$.step`; did you mean 'tool_name'?"),
        (({"output": 1, "terminal_status": "ok"},), "; one of: success, failure, unknown"),
        (({},), "has neither an output nor an error"),
        (({"error": None},), "has neither an output nor an error"),
        (({"error": {"kind": "not_run", "message": ""}},), "says that it was not run"),
        ((b'{"output": 1, "output": 2}',), "has the key 'output' twice"),
        (({**call(1), "output": 1},), "holds more than one thing"),
        (({**call(1), "check": {"name": "a", "passed": True}},), "holds more than one thing"),
        ((call(1), {"trace": {}}, {"output": 1}), "after it has begun"),
        ((call(1), {"output": 1, "trajectory": {"steps": []}}), "brings a trajectory, and one was streamed"),
        (({"output": 1, "truncated": False},), "ends a trajectory of which nothing was streamed"),
        ((call(2), {"output": 1}), "its trajectory contradicts itself: step 1: its index is 2"),
        (({"output": 1, "trajectory": {"steps": [call(2)["step"]]}},), "its trajectory contradicts itself"),
        ((b"[" * 3000 + b"]" * 3000,), "line 1 of its answer is no"),
    ],
)
def test_what_is_no_answer_is_said_with_its_line(said: tuple[Any, ...], wrong: str) -> None:
    assert wrong in refusal(*said)


def test_a_contradiction_leaves_what_came_before_it() -> None:
    said = answer(lines(*(call(n) for n in (1, 2, 3, 5, 6)), {"output": 1}), ASKED)
    assert said.trajectory is not None
    assert [step.index for step in said.trajectory.steps] == [1, 2, 3]
    assert said.trajectory.truncated


def test_what_json_cannot_carry_loses_no_answer() -> None:
    said = answer(b'{"output": {"score": NaN, "text": "\\ud800"}}', ASKED)
    assert said.error is None
    assert said.output["score"] == {"$unrepresentable": "float nan"}


def test_an_answer_that_is_too_long_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "MAX_ANSWER_BYTES", 20)
    assert refusal({"output": "x" * 20}) == "its answer takes more than 20 bytes"


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode), st.sampled_from([None, DIED]))
def test_any_bytes_are_an_answer_or_an_error(data: bytes, failure: AttemptError | None) -> None:
    said = answer(data, ASKED, failure)
    assert (said.output is UNSET) == (said.error is not None)


@given(st.integers(0, 6), st.data())
@settings(max_examples=60)
def test_wherever_a_stream_breaks_off_the_whole_lines_are_the_prefix(count: int, data: st.DataObject) -> None:
    whole = lines(*(call(n, arguments={"q": "ü"}) for n in range(1, count + 1)), {"output": 1})
    cut = data.draw(st.integers(0, len(whole)))
    said = answer(whole[:cut], ASKED, DIED)
    steps = () if said.trajectory is None else said.trajectory.steps
    # A last line may be whole but for its line feed.
    assert whole[:cut].count(b"\n") <= len(steps) + 1 <= whole[:cut].count(b"\n") + 2
    assert [step.index for step in steps] == list(range(1, len(steps) + 1))
    assert said.trajectory is None or said.trajectory.truncated


def test_a_document_may_bring_the_state() -> None:
    said = answer(lines(call(1), {"output": 1, "state": {"before": [1], "after": None}}), ASKED)
    assert said.state == State(before=[1], after=None)
    assert answer(lines({"output": 1}), ASKED).state is None
    assert "line 1 of its answer is no answer" in refusal({"output": 1, "state": {"afer": 1}})
