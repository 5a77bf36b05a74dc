"""What holds of everything that is read."""

from __future__ import annotations

import json

import pytest

from oloproof.inputs import each_key_once


def test_an_object_keeps_its_members_in_order() -> None:
    read = json.loads('{"b": 1, "a": {"b": 2}}', object_pairs_hook=each_key_once)

    assert read == {"b": 1, "a": {"b": 2}}
    assert list(read) == ["b", "a"]


@pytest.mark.parametrize("text", ['{"a": 1, "a": 1}', '{"deep": [{"a": 1, "b": 2, "\\u0061": 3}]}'])
def test_a_key_that_is_there_twice_is_refused_at_any_depth(text: str) -> None:
    with pytest.raises(ValueError, match="a key is there twice"):
        json.loads(text, object_pairs_hook=each_key_once)
