"""The language of ``only:``."""

from __future__ import annotations

import operator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oloproof.model.case import Case
from oloproof.model.condition import MAX_DEPTH, parse

CASE = Case(
    id="case_7",
    input={"order": {"id": "o-1"}, "lines": [3, 4]},
    expected={"answer": None, "total": 1.0},
    metadata={"surface": "chat", "n": 3, "vip": True, "day": "2026-11-30", "quote": 'say "hi"', "x.y": 1},
)


@pytest.mark.parametrize(
    "text",
    [
        "metadata.surface == chat",
        "metadata.surface == 'chat'",
        'metadata.surface == "chat"',
        "metadata.surface=='chat'",
        "metadata.surface != email",
        "metadata.surface in [email, chat]",
        "metadata.surface not in [email, phone]",
        "metadata.surface >= chat",
        "metadata.n < 4",
        "metadata.n >= 3.0",
        "metadata.n == 3.0",
        "metadata.n > -1e3",
        "metadata.vip == true",
        "metadata.vip != 1",
        "metadata.day > 2026-11-29",
        r'metadata.quote == "say \"hi\""',
        "id == case_7",
        "input.order.id == o-1",
        "input.lines.1 == 4",
        "input != text",
        "expected.answer == null",
        "expected.total == 1",
        "not metadata.n == 4",
        "not not metadata.n == 3",
        "not (metadata.n == 4 or metadata.n == 5)",
        "metadata.n == 4 or metadata.n == 5 or metadata.n == 3",
        "metadata.n == 3 or metadata.n == 4 and metadata.n == 5",
        "(metadata.n == 3 and metadata.vip == true)",
    ],
)
def test_holds(text: str):
    assert parse(text).holds(CASE)


@pytest.mark.parametrize(
    "text",
    [
        "metadata.surface == email",
        "metadata.surface == Chat",
        "metadata.n == '3'",
        "metadata.n < chat",
        "metadata.vip > 0",
        "metadata.vip == 1",
        "metadata.n in [1, 2]",
        "metadata.n not in [3]",
        "(metadata.n == 3 or metadata.n == 4) and metadata.n == 5",
        "not metadata.n == 3 or metadata.n == 4",
        "metadata.x.y == 1",
    ],
)
def test_does_not_hold(text: str):
    assert not parse(text).holds(CASE)


@pytest.mark.parametrize("text", ["== 1", "== null", "< 1", "<= 1", "> 1", ">= 1", "in [1, null]"])
def test_an_absent_path_compares_with_nothing(text: str):
    assert not parse(f"metadata.absent {text}").holds(CASE)


@pytest.mark.parametrize("text", ["!= 1", "!= null", "not in [1]"])
def test_what_denies_a_comparison_is_true_of_an_absent_path(text: str):
    assert parse(f"metadata.absent {text}").holds(CASE)


def test_paths_are_those_that_are_read():
    condition = parse("metadata.a == 1 and not (expected.tools.0 in [x] or id != c)")
    assert condition.paths == (("metadata", "a"), ("expected", "tools", "0"), ("id",))


PATHS = "a path must come here: id, input, input.<key>, expected.<key> or metadata.<key>"
VALUES = "a value must come here: a number, true, false, null, a word or a quoted text"


@pytest.mark.parametrize(
    ("text", "message", "column"),
    [
        ("", PATHS, 0),
        ("chat == metadata.surface", PATHS, 0),
        ("metadata == 1", PATHS, 0),
        ("metadata..a == 1", PATHS, 0),
        ("'id' == 1", PATHS, 0),
        ("id.x == 1", PATHS, 0),
        ("id == 1 and", PATHS, 11),
        ("metadata.surface chat", "a comparison (==, !=, <, <=, >, >=, in, not in) must come here", 17),
        ("metadata.n = 3", "'=' means nothing here", 11),
        ("metadata.n == ", VALUES, 14),
        ("metadata.n == and", VALUES, 14),
        ("metadata.n in []", VALUES, 15),
        ("metadata.n in 3", "'[' is missing", 14),
        ("metadata.n in [1 2]", "']' is missing", 17),
        ("metadata.n not 3", "'in' is missing", 15),
        ("(id == 1", "')' is missing", 8),
        ("id == 1 id == 2", "'and', 'or' or the end must come here", 8),
        ("id == 'c", "this quote is never closed", 6),
        (r'id == "\q"', "the escapes in this text are not JSON's", 6),
        ("id == 1e999", "this number is too large", 6),
        ("id == " + "9" * 5000, "this number is too large", 6),
        ("(" * 60, f"nested deeper than {MAX_DEPTH} levels", MAX_DEPTH),
        ("not " * 60, f"nested deeper than {MAX_DEPTH} levels", MAX_DEPTH * 4),
        ("id\n==\tx y", "'and', 'or' or the end must come here", 8),
    ],
)
def test_an_error_points_at_its_place(text: str, message: str, column: int):
    with pytest.raises(ValueError) as raised:
        parse(text)
    first, line, caret = str(raised.value).split("\n")
    assert first == message
    assert line == "  " + text.replace("\n", " ").replace("\t", " ")
    assert caret.index("^") == column + 2


values = st.sampled_from([None, True, False, 0, 1, 2.5, "a", "b", [1], {}])
literals = st.sampled_from([("null", None), ("true", True), ("0", 0), ("1.0", 1.0), ("a", "a"), ("'b'", "b")])
orderings = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


@given(values, literals, st.sampled_from(sorted(orderings)))
@settings(max_examples=100, deadline=None)
def test_orderings_are_of_numbers_and_of_texts(value: Any, literal: tuple[str, Any], sign: str):
    case = Case(id="c", metadata={"v": value})
    kinds = {(int, int), (int, float), (float, int), (float, float), (str, str)}
    comparable = (type(value), type(literal[1])) in kinds
    expected = comparable and orderings[sign](value, literal[1])
    assert parse(f"metadata.v {sign} {literal[0]}").holds(case) == expected


@given(st.text("()[],=!<>'\"\\ \nidnotandmetadata.x1", max_size=30))
@settings(max_examples=200, deadline=None)
def test_any_text_is_a_condition_or_a_value_error(text: str):
    try:
        condition = parse(text)
    except ValueError:
        return
    condition.holds(CASE)
