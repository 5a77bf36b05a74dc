from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET

from oloproof.importers.head import Head, beginning

values = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text(alphabet='a"\\[]{},:é', max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("ab[", max_size=2), inner, max_size=4),
    max_leaves=8,
)


def is_part(part: Any, whole: Any) -> bool:
    """``part`` is ``whole`` without things at its end, at any depth."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return part.keys() <= whole.keys() and all(is_part(part[key], whole[key]) for key in part)
    if isinstance(part, list) and isinstance(whole, list):
        return len(part) <= len(whole) and all(map(is_part, part, whole))
    return bool(part == whole)


@settings(max_examples=80, deadline=None)
@given(st.lists(values, max_size=4), st.floats(0, 1))
def test_the_beginning_of_a_document_holds_a_part_of_its_value(value: Any, share: float) -> None:
    data = json.dumps(value, indent=1).encode()
    cut = data[: int(len(data) * share)]
    found = beginning(cut)
    assert found is UNSET if not cut.strip() else is_part(found, value)


@pytest.mark.parametrize("data", [b"", b"hello", b"]", b"[}", b'{"a": 1]', b"\xff\xfe", b"[" * 100_000])
def test_what_begins_no_document(data: bytes) -> None:
    assert beginning(data) in (UNSET, []) or isinstance(beginning(data), list)


def test_lines_and_their_keys() -> None:
    head = Head(b'\xef\xbb\xbf{"a": 1}\n\n{"b": 2}\n{"c": ', "f.jsonl")
    assert head.values == ({"a": 1}, {"b": 2})
    assert (head.value, head.keys()) == ({"a": 1}, {"a"})


def test_the_first_item_of_an_array() -> None:
    assert Head(b'[{"a": 1, "b": [2,', "f").keys() == {"a", "b"}
    assert Head(b"[]", "f").item is UNSET
    assert Head(b"[", "f").keys() == frozenset()
    assert Head(b"", "f").item is UNSET
