from __future__ import annotations

import pytest
from msgspec import UNSET

from oloproof.model.slice_values import value_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("chat", "chat"),
        ("", ""),
        ("[bold]\x1b[31m", "[bold]\x1b[31m"),
        (True, "true"),
        (False, "false"),
        (None, "null"),
        (1, "1"),
        (1.0, "1"),
        (-0.0, "0"),
        (0.5, "0.5"),
        (10**400, "1" + "0" * 400),
        (["b", 1], '["b",1]'),
        ({"b": "é", "a": None}, '{"a":null,"b":"é"}'),
        (UNSET, "(none)"),
        ("(none)", '"(none)"'),
        ("(unplaced)", '"(unplaced)"'),
        ("(others)", '"(others)"'),
        ("1", '"1"'),
        ("-0.5e3", '"-0.5e3"'),
        ("true", '"true"'),
        ("null", '"null"'),
        ('"a"', r'"\"a\""'),
        ('["b",1]', r'"[\"b\",1]"'),
        ("[" * 100_000, '"' + "[" * 100_000 + '"'),
        ("007", "007"),
        ("1 2", "1 2"),
        ("True", "True"),
        ("[b", "[b"),
    ],
)
def test_value_text(value: object, text: str) -> None:
    assert value_text(value) == text
