"""Keys that a line gives twice."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oloproof.importers import duplicates
from oloproof.importers.duplicates import repeated_key
from oloproof.model.recording import Recording
from oloproof.model.trajectory import Trajectory

KEYS = Recording.__struct_fields__
INSIDE = Trajectory.__struct_fields__
VALUES = (
    "1",
    "null",
    '"trajectory"',
    "[]",
    "{}",
    '{"output":1}',
    r'"\""',
    '[{"steps":[{}]}]',
    '{"steps": [1], "a": "b"}',
)
SEPARATORS = ((",", ":"), (", ", ": "), (" ,\t", " :\n"))


def test_the_keys_are_those_of_a_recording():
    assert set(duplicates.Outline.__struct_fields__) == set(KEYS)
    assert set(duplicates.TrajectoryOutline.__struct_fields__) == set(INSIDE)


def object_of(members: list[tuple[str, str]], comma: str, colon: str) -> str:
    return "{" + comma.join(f'"{key}"{colon}{value}' for key, value in members) + "}"


@given(data=st.data())
@settings(max_examples=300, deadline=None)
def test_a_key_is_told_exactly_where_it_is_there_twice(data: st.DataObject):
    comma, colon = data.draw(st.sampled_from(SEPARATORS))
    values = st.sampled_from(VALUES)
    own = data.draw(st.lists(st.tuples(st.sampled_from([key for key in KEYS if key != "trajectory"]), values)))
    inside = data.draw(st.none() | st.lists(st.tuples(st.sampled_from(INSIDE), values)))
    if inside is not None:
        place = data.draw(st.integers(0, len(own)))
        own.insert(place, ("trajectory", object_of(inside, comma, colon)))
    line = object_of(own, comma, colon).encode()

    keys, deeper = [key for key, _ in own], [key for key, _ in inside or ()]
    twice = next((key for at, key in enumerate(keys) if key in keys[:at]), None)
    inner = next((f"trajectory.{key}" for at, key in enumerate(deeper) if key in deeper[:at]), None)
    assert repeated_key(line) == (twice or inner)


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ('{"case":"a","trial":1,"trial":2,"output":{"trajectory":1}}', "trial"),
        ('{"case":"a","trajectory":null,"trajectory":{}}', "trajectory"),
        ('{"case":"a","trajectory":{},"trajectory":null}', "trajectory"),
        ('{"case":"a","outp\\u0075t":1,"output":2}', "output"),
        ('{"case":"a","output":NaN,"output":2}', "output"),
        ('{"case":"a","output":NaN}', None),
        ('{"case":"a","output":{"x":1,"x":2}}', None),
        ('{"case":"a","trajectory":{"steps":[{"index":1,"index":2}]}}', None),
    ],
)
def test_lines(line: str, key: str | None):
    assert repeated_key(line.encode()) == key


@pytest.mark.parametrize("values", [{"output": [{"a": 1}], "trajectory": {"steps": [{"a": 1}]}}, {"output": "\n"}])
def test_what_stands_before_the_steps_is_not_taken_for_them(values: dict[str, Any]):
    assert repeated_key(json.dumps({"case": "a"} | values).encode()) is None
