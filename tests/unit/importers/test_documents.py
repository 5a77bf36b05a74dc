from __future__ import annotations

import pytest

from oloproof.importers.documents import NotJson, read_json


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b'{"a": [1, null]}', {"a": [1, None]}),
        ('"ä"'.encode("utf-16"), "ä"),
        (b"%d" % 2**100, 2**100),
        (b"[NaN, 1]", [{"$unrepresentable": "float nan"}, 1]),
        (b'"\\ud83d\\ude00"', "😀"),
    ],
)
def test_json_is_read_leniently_and_nothing_is_made_up(data: bytes, value: object) -> None:
    assert read_json(data) == value


def test_lone_surrogates_are_tagged() -> None:
    (value,) = read_json(b'["\\ud800"]')
    assert list(value) == ["$unrepresentable"]


@pytest.mark.parametrize(
    ("data", "what", "line", "column"),
    [
        (b"", "it ends too early", 0, 0),
        (b'{"a": ', "it ends too early", 0, 0),
        ('{"ä": 1,\n "ö" 2}'.encode(), "expected ':'", 2, 6),
        (b"[" * 100_000, "nested too deeply to be read", 0, 0),
        (b'"\xff"', "Invalid UTF-8 encoded string", 0, 0),
    ],
)
def test_what_is_not_json_is_located(data: bytes, what: str, line: int, column: int) -> None:
    with pytest.raises(NotJson) as caught:
        read_json(data)
    assert (str(caught.value), caught.value.line, caught.value.column) == (what, line, column)
