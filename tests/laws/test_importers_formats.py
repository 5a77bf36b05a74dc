"""Whatever a file holds, a format makes trajectories of it or tells where it cannot: never a traceback."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from inspect import getsource
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakes.formats import SOUND, paths, replaced
from fakes.imports import as_lines, imported
from oloproof.errors import UsageError
from oloproof.importers import registry
from oloproof.importers.head import Head


def vocabulary(name: str) -> list[str]:
    """The words that the format's source compares with: keys and kinds."""
    source = getsource(__import__(f"oloproof.importers.formats.{name.replace('-', '_')}", fromlist=["x"]))
    return sorted(set(re.findall(r'"([A-Za-z_.]{2,40})"', source))) or ["x"]


def values(name: str) -> st.SearchStrategy[Any]:
    words = st.sampled_from(vocabulary(name))
    leaves = st.none() | st.booleans() | st.integers(-2, 3) | st.floats() | words | st.text(max_size=3)
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=6),
        max_leaves=25,
    )


@pytest.mark.parametrize("name", registry.FORMATS)
@given(st.data())
@settings(max_examples=25, deadline=None)
def test_any_json_is_told_or_refused(name: str, data: st.DataObject) -> None:
    drawn = data.draw(st.lists(values(name), min_size=1, max_size=3))
    file = json.dumps(drawn[0]).encode() if len(drawn) == 1 else as_lines(*drawn)
    registry.importer(name).sniff(Head(file, "f.json"))
    with suppress(UsageError):
        imported(name, file)


@pytest.mark.parametrize("name", registry.FORMATS)
@given(st.binary(max_size=200))
@settings(max_examples=15, deadline=None)
def test_any_bytes_are_told_or_refused(name: str, data: bytes) -> None:
    registry.importer(name).sniff(Head(data, "f"))
    with suppress(UsageError):
        imported(name, data)


JUNK: list[Any] = [None, True, 0, -1, 1.5, "", "x", [], {}, [None], ["x"], {"a": 1}, [[]], [{}]]


@pytest.mark.parametrize("name", SOUND)
def test_a_part_that_is_junk_is_told_or_refused(name: str) -> None:
    for path in paths(SOUND[name]):
        for junk in JUNK:
            broken = replaced(SOUND[name], path, junk)
            with suppress(UsageError):
                imported(name, as_lines(*broken) if isinstance(broken, list) else broken)
