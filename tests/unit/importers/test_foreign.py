from __future__ import annotations

from typing import Any

import pytest

from oloproof.importers.foreign import arguments_of, total_of, without_nulls


@pytest.mark.parametrize(
    ("raw", "arguments"),
    [
        (None, None),
        ({}, {}),
        ('{"a": [1]}', {"a": [1]}),
        ("", {"$unrepresentable": ""}),
        ("null", {"$unrepresentable": "null"}),
        ('{"a":', {"$unrepresentable": '{"a":'}),
        ([1], {"$unrepresentable": "[1]"}),
    ],
)
def test_arguments_are_an_object_or_not_known(raw: Any, arguments: Any) -> None:
    assert arguments_of(raw) == arguments


def test_only_whole_numbers_are_counted() -> None:
    assert total_of([1, None, 2.0, True, "3", 4]) == 5
    assert total_of([0]) == 0
    assert total_of([None, "3"]) is None


def test_facts_that_are_not_there_are_left_out() -> None:
    assert without_nulls({"a": None, "b": 0, "c": ""}) == {"b": 0, "c": ""}
