from __future__ import annotations

import io

import pytest
from msgspec import UNSET

from fakes import stored
from oloproof.errors import Problem, UsageError
from oloproof.importers.recordings import Line, decode, encode
from oloproof.model.case import Attempt, AttemptError, Case
from oloproof.model.recording import Recording, to_attempt, to_case

TRIALS = "trials are numbered 1, 2, 3 … up to 1,000,000"
RECORDINGS = [Recording(case=f"c{number}", output=number, trajectory=stored.trajectory()) for number in range(3)]


def read(text: bytes) -> list[tuple[Line, Recording]]:
    return list(decode(io.BytesIO(text), file="traces.jsonl"))


def problems(*lines: str | bytes) -> tuple[Problem, ...]:
    with pytest.raises(UsageError) as caught:
        read(b"\n".join(line.encode() if isinstance(line, str) else line for line in lines))
    return caught.value.problems


def test_lines_are_read_in_order() -> None:
    assert [recording for _, recording in read(b"".join(map(encode, RECORDINGS)))] == RECORDINGS


@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("last", [b"", b"\n"])
def test_every_line_knows_its_bytes(bom: bytes, end: bytes, last: bytes) -> None:
    lines = [encode(recording).rstrip() for recording in RECORDINGS]
    text = bom + lines[0] + end + end + b"   " + end + lines[1] + end + lines[2] + last
    found = read(text)
    assert [line.number for line, _ in found] == [1, 4, 5]
    for (line, recording), expected in zip(found, RECORDINGS, strict=True):
        ((_, again),) = decode([text[line.offset : line.offset + line.length]])
        assert again == recording == expected


def test_nothing_is_an_empty_list_of_recordings() -> None:
    assert read(b"") == []
    assert read(b"\xef\xbb\xbf") == []
    assert read(b"\n\r\n  \n") == []


def test_a_recording_is_one_line() -> None:
    line = encode(Recording(case="a\nb", output={"text": "1\n2\u2028\u0085"}))
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert encode(Recording(case="a")) == b'{"case":"a"}\n'


def test_integers_of_any_size_survive() -> None:
    ((_, recording),) = read(b'{"case":"a","output":%d}' % 2**200)
    assert recording.output == 2**200


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (
            '{"case":"a","trajectry":{}}',
            Problem("OLO302", "unknown key 'trajectry'", "did you mean 'trajectory'?", file="traces.jsonl", line=1),
        ),
        (
            '{"case":"a","zzz":1}',
            Problem(
                "OLO302",
                "unknown key 'zzz'",
                "known here: case, trial, output, error, trajectory, state, input, expected, metadata",
                file="traces.jsonl",
                line=1,
            ),
        ),
        ('{"output":1}', Problem("OLO303", "the key 'case' is missing", file="traces.jsonl", line=1)),
        ('{"case":1}', Problem("OLO303", "case: Expected str, got int", file="traces.jsonl", line=1)),
        (
            '{"case":"a","trajectory":{"steps":[{"index":1,"kind":"call"}]}}',
            Problem(
                "OLO303",
                "trajectory.steps[0].kind: Invalid enum value 'call'",
                "one of: message, tool_call, tool_result, observation, decision, final, handoff",
                file="traces.jsonl",
                line=1,
            ),
        ),
        (
            '{"case":"a","trajectory":{"steps":[{"index":1}]}}',
            Problem("OLO303", "the key 'kind' is missing in trajectory.steps[0]", file="traces.jsonl", line=1),
        ),
        (
            '{"case":""}',
            Problem(
                "OLO303",
                "case: an empty id",
                "name the case of the dataset that this recorded",
                file="traces.jsonl",
                line=1,
            ),
        ),
        (
            '{"case":"a","trial":0}',
            Problem("OLO303", "trial: 0", TRIALS, file="traces.jsonl", line=1),
        ),
        (
            '{"case":"a","trial":9223372036854775808}',
            Problem("OLO303", "trial: 9223372036854775808", TRIALS, file="traces.jsonl", line=1),
        ),
        (
            '{"case":"a","error":{"kind":"not_run","message":""}}',
            Problem(
                "OLO303",
                "error.kind: what did not run cannot be recorded",
                "leave the line out: a case of the dataset without a recording is missing",
                file="traces.jsonl",
                line=1,
            ),
        ),
        (
            '{"case":"a","error":{"kind":"crash","message":""}}',
            Problem(
                "OLO303",
                "error.kind: Invalid enum value 'crash'",
                "one of: system_error, timeout",
                file="traces.jsonl",
                line=1,
            ),
        ),
        (
            '{"case":"a","output":{"answer":"no"},"output":{"answer":"yes"}}',
            Problem("OLO305", "the key 'output' is there twice", "keep one of them", file="traces.jsonl", line=1),
        ),
        (
            '{"case":"a","trajectory":{"truncated":true,"steps":[],"truncated":false}}',
            Problem(
                "OLO305",
                "the key 'trajectory.truncated' is there twice",
                "keep one of them",
                file="traces.jsonl",
                line=1,
            ),
        ),
        (
            "[1]",
            Problem(
                "OLO303",
                "Expected object, got array",
                "a line is one object: case, trial, output, error, trajectory; of another format: `--format auto`",
                file="traces.jsonl",
                line=1,
            ),
        ),
        (
            '{"case" "ä"}',
            Problem(
                "OLO301",
                "the line is not JSON: expected ':'",
                "one JSON object a line",
                file="traces.jsonl",
                line=1,
                column=9,
            ),
        ),
        (
            '{"case":"ä",}',
            Problem(
                "OLO301",
                "the line is not JSON: trailing comma in object",
                "one JSON object a line",
                file="traces.jsonl",
                line=1,
                column=13,
            ),
        ),
        (
            '{"case":"a"',
            Problem(
                "OLO301",
                "the line is not JSON: it ends too early",
                "one JSON object a line",
                file="traces.jsonl",
                line=1,
            ),
        ),
        (
            '{"case":"a","output":' + "[" * 100_000,
            Problem("OLO301", "the line is nested too deeply to be read", file="traces.jsonl", line=1),
        ),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_bad_line_says_where_what_and_what_next(line: str, problem: Problem) -> None:
    assert problems(line) == (problem,)


def test_a_trajectory_that_contradicts_itself_is_located() -> None:
    (problem,) = problems(
        '{"case":"a"}', '{"case":"b","trajectory":{"steps":[{"index":1,"kind":"message"},{"index":3,"kind":"final"}]}}'
    )
    assert (problem.line, problem.code) == (2, "OLO304")
    assert problem.message.startswith("the trajectory of 'b' contradicts itself: step 2")


def test_bytes_that_are_no_text_are_a_problem_of_their_line() -> None:
    (problem,) = problems('{"case":"a"}', b'{"case":"\xff"}')
    assert (problem.line, problem.code) == (2, "OLO301")


def test_an_enormous_key_is_cut() -> None:
    (problem,) = problems('{"case":"a","%s":1}' % ("k" * 100_000))
    assert len(problem.message) < 120


def test_all_problems_are_told_and_nothing_is_yielded_after_the_first() -> None:
    decoded = decode([b'{"case":"a"}\n', b"{\n", b'{"case":"b"}\n', b"[]\n"])
    assert next(decoded)[1].case == "a"
    with pytest.raises(UsageError) as caught:
        next(decoded)
    assert [problem.line for problem in caught.value.problems] == [2, 4]


def test_the_first_fifty_problems_are_told() -> None:
    assert len(problems(*["{"] * 80)) == 50


def test_what_an_attempt_was() -> None:
    trajectory = stored.trajectory()
    recording = Recording(case="a", trial=2, output=None, error="boom", trajectory=trajectory, input=1)
    error = AttemptError(kind="system_error", message="boom")
    assert to_attempt(recording) == Attempt(case_id="a", trial=2, output=None, error=error, trajectory=trajectory)
    timeout = AttemptError(kind="timeout", message="60 s")
    assert to_attempt(Recording(case="a", error=timeout)).error == timeout
    assert to_attempt(Recording(case="a")).output is UNSET


def test_the_case_that_a_recording_brings() -> None:
    recording = Recording(case="a", input=None, expected={"answer": 1}, metadata={"m": 1})
    assert to_case(recording) == Case(id="a", input=None, expected={"answer": 1}, metadata={"m": 1})
    assert to_case(Recording(case="a")) == Case(id="a")
