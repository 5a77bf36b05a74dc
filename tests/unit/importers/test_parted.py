"""A line read in two parts says what it says as a whole, or nothing."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakes import stored
from oloproof.importers import parted
from oloproof.importers.duplicates import repeated_key
from oloproof.importers.parted import read_sound
from oloproof.importers.recordings import encode
from oloproof.model.recording import READ, SKIM, Reader, Recording

READERS = pytest.mark.parametrize("reader", [READ, SKIM])
STEP = '{"index":1,"kind":"tool_call","tool_name":"a]","arguments":{"steps":[1],"terminal_status":"]"}}'
USUAL = {"index": 1, "kind": "tool_result", "tool_name": "search", "result": {"items": [{"id": 1}, "]"]}}
SEPARATORS = ((",", ":"), (", ", ": "), (" ,\t", " :\n"))
OUTPUT = f'{{"steps": [{STEP}], "truncated": []}}'
ANYTHING = (
    "1",
    "null",
    "[]",
    "[ \t]",
    '"[ \t]"',
    "{}",
    r'"\""',
    '{"steps":[]}',
    OUTPUT,
    '{"steps":[{"index":1,"kind":"final"}]}',
)
OWN = {
    "case": ('"a"', '"steps"', '"]"'),
    "trial": ("1", "2"),
    "output": ANYTHING,
    "error": ("null", '"[]"'),
    "input": ANYTHING,
    "expected": ("null", '{"steps":[]}', OUTPUT),
}
INSIDE = {
    "steps": ("[]", "[ \t]", f"[{STEP}]", f"[ {STEP} ]"),
    r"st\u0065ps": ("[]", "[ \t]"),
    "terminal_status": ('"success"', '"failure"'),
    "truncated": ("true", "false"),
    "step_limit": ("null", "3"),
    "constraints": ("[]", '[{"name":"]","passed":true}]'),
}


def object_of(members: list[tuple[str, str]], comma: str, colon: str) -> str:
    return "{" + comma.join(f'"{key}"{colon}{value}' for key, value in members) + "}"


@st.composite
def objects(draw: st.DrawFn, values: dict[str, tuple[str, ...]]) -> list[tuple[str, str]]:
    """Members of an object, a few of them twice."""
    keys = draw(st.lists(st.sampled_from(list(values)), max_size=6))
    return [(key, draw(st.sampled_from(values[key]))) for key in keys]


@st.composite
def lines(draw: st.DrawFn) -> bytes:
    comma, colon = draw(st.sampled_from(SEPARATORS))
    own = [("case", '"a"'), *draw(objects(OWN))]
    for _ in range(draw(st.sampled_from([1, 1, 1, 2]))):
        own.insert(draw(st.integers(0, len(own))), ("trajectory", object_of(draw(objects(INSIDE)), comma, colon)))
    return object_of(own, comma, colon).encode()


def read_whole(line: bytes, reader: Reader) -> Recording | None:
    """What the slow way makes of it, None where it is refused."""
    try:
        recording = reader.line(line)
    except msgspec.MsgspecError:
        return None
    return recording if repeated_key(line) is None else None


@READERS
@given(line=lines())
@settings(max_examples=400, deadline=None)
def test_it_is_sure_of_what_the_slow_way_says_or_it_is_in_doubt(reader: Reader, line: bytes) -> None:
    found = read_sound(line, reader)
    assert found is None or found == read_whole(line, reader)


@READERS
@given(line=lines(), cut=st.integers(1, 200), end=st.integers(1, 200))
@settings(max_examples=200, deadline=None)
def test_wherever_the_parts_are_cut(reader: Reader, line: bytes, cut: int, end: int) -> None:
    with pytest.MonkeyPatch.context() as patched:
        parts = (line[:cut] + parted._TAKEN_OUT + line[cut + end :], line[cut : cut + end])
        patched.setattr(parted, "_parts", lambda _line: parts)
        found = read_sound(line, reader)
    assert found is None or found == read_whole(line, reader)


@READERS
@pytest.mark.parametrize(
    "trajectory",
    [
        {"steps": [], "terminal_status": "success"},
        {"steps": [USUAL] * 3, "terminal_status": "failure", "truncated": True, "step_limit": 3},
        {"steps": [USUAL], "constraints": [{"name": "a", "passed": True}]},
        {"steps": [USUAL]},
        {"terminal_status": "success", "steps": [USUAL]},
    ],
)
def test_it_is_sure_of_lines_as_they_are_usually_written(reader: Reader, trajectory: dict[str, Any]) -> None:
    line = {"case": "a", "output": {"answer": 'caf\u00e9 ["x"]'}, "trajectory": trajectory}
    own_dataset = {"input": ["x"], "expected": {"tools": ["search", {"tool": "book"}]}, "metadata": {"tags": [1]}}
    for each in (line, line | own_dataset):
        for written in (json.dumps(each), json.dumps(each, separators=(",", ":"), ensure_ascii=False)):
            assert read_sound(written.encode(), reader) == reader.line(written.encode())


@READERS
def test_it_is_sure_of_what_we_write(reader: Reader) -> None:
    line = encode(Recording(case="a", output=1, trajectory=stored.trajectory()))
    assert read_sound(line, reader) == reader.line(line)


@READERS
@pytest.mark.parametrize(
    "line",
    [
        b'{"case":"a"}',
        b'{"case":"a","trajectory":null}',
        b'{"case":"a","output":{"steps":[]},"trajectory":{"st\\u0065ps":[ \t]}}',
        b'{"case":"a","output":{"steps":[{"index":1,"kind":"final"}]},"trajectory":{"terminal_status":"success"}}',
        b'{"trajectory":{"st\\u0065ps":[ \t]},"case":"a","output":{"steps":[{"index":1,"kind":"final"}]}}',
        b'{"case":"a","trajectory":{"steps":[],"terminal_status":"success"},"case":"b"}',
        b'{"case":"a","trajectory":{"steps":[],"constraints":[],"steps":[],"terminal_status":"success"}}',
    ],
)
def test_it_is_in_doubt(reader: Reader, line: bytes) -> None:
    assert read_sound(line, reader) is None
