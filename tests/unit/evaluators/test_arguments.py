"""Literals, matchers and dotted paths beside the arguments of a call."""

from __future__ import annotations

from typing import Any

import pytest

from oloproof.evaluators.arguments import Arguments, read_arguments
from oloproof.model.evidence import CaseProblem
from oloproof.model.values import TAG

LOST = {TAG: "float nan"}
AS_OBJECT = "for an object write {equals: {…}}"
PARTLY_LOST = {"x": 1, TAG: [["int 7", 2]]}


def pattern(written: Any, mode: Any = "subset") -> Arguments:
    problems: list[CaseProblem] = []
    read = read_arguments(written, mode, problems)
    assert problems == []
    assert read is not None
    return read


def problems_of(written: Any) -> list[tuple[str, tuple[str | int, ...], str]]:
    problems: list[CaseProblem] = []
    read_arguments(written, "exact", problems)
    return [(problem.message, problem.path, problem.hint) for problem in problems]


@pytest.mark.parametrize(
    ("wanted", "found", "matches"),
    [
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        (None, None, True),
        (None, LOST, None),
        (10**300, 10**300, True),
        (10**300 + 1, 10**300, False),
        ("é", "e\u0301", False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ([1, 2], [2, 1], False),
        ([1, 2], [1, LOST], None),
        ([1, 2], [3, LOST], False),
        ({"equals": {"regex": "x"}}, {"regex": "x"}, True),
        ({"equals": "any"}, "any", True),
        ({"any": True}, None, True),
        ({"any": True}, LOST, True),
        ({"absent": True}, None, False),
        ({"absent": True}, LOST, False),
        ({"regex": "^ord-[0-9]+$"}, "ord-12", True),
        ({"regex": "rd"}, "ord-12", True),
        ({"regex": "^rd"}, "ord-12", False),
        ({"regex": "1"}, 1, False),
        ({"regex": "1"}, [LOST], False),
        ({"regex": "1"}, LOST, None),
        ({"approx": 3.5, "tolerance": 0.1}, 3.6, True),
        ({"approx": 3.5, "tolerance": 0.1}, 3.61, False),
        ({"approx": 1, "tolerance": 0.1}, 1.1, True),
        ({"approx": 1, "tolerance": 0}, True, False),
        ({"approx": 1, "tolerance": 0}, "1", False),
        ({"approx": 1, "tolerance": 0}, PARTLY_LOST, None),
        ({"one_of": [1, "a", None]}, None, True),
        ({"one_of": [1, {"regex": "^a"}]}, "abc", True),
        ({"one_of": [1, 2]}, 3, False),
        ({"one_of": [1, 2]}, LOST, None),
        ({"one_of": [[1], [2, 3]]}, [LOST], None),
        ({"one_of": [[1], [2, 3]]}, [LOST, 4], False),
        ({"schema": {"type": "integer", "minimum": 1}}, 2.0, True),
        ({"schema": {"type": "integer", "minimum": 1}}, True, False),
        ({"schema": {"type": "string", "pattern": "^a"}}, "b", False),
        ({"schema": {"type": "array"}}, [LOST], None),
    ],
)
def test_a_value_that_is_there(wanted: Any, found: Any, matches: bool | None):
    assert pattern({"q": wanted}).match({"q": found}) is matches
    assert pattern({"q": wanted}, "exact").match({"q": found}) is matches


@pytest.mark.parametrize(
    ("wanted", "matches"),
    [
        (None, False),
        ({"any": True}, False),
        ({"absent": True}, True),
        ({"schema": {}}, False),
        ({"one_of": [{"absent": True}, 1]}, True),
        ({"one_of": [{"absent": True}, {"any": True}]}, True),
    ],
)
def test_a_value_that_is_not_there(wanted: Any, matches: bool):
    assert pattern({"q": wanted}).match({"r": 1}) is matches
    assert pattern({"q": wanted}, "exact").match({}) is matches


@pytest.mark.parametrize(
    ("given", "subset", "exact"),
    [
        ({"q": 1}, True, True),
        ({"q": 1, "r": 1}, True, False),
        ({}, False, False),
        ([1], False, False),
        ("q", False, False),
        (None, None, None),
        (LOST, None, None),
        ({"q": 1, TAG: [["int 7", 2]]}, None, None),
        ({"q": LOST, "r": 1}, None, False),
    ],
)
def test_other_arguments_and_none_at_all(given: Any, subset: bool | None, exact: bool | None):
    assert pattern({"q": 1}).match(given) is subset
    assert pattern({"q": 1}, "exact").match(given) is exact


def test_no_arguments_are_an_empty_object():
    empty = pattern({}, "exact")
    assert [empty.match(given) for given in ({}, {"q": 1}, None, [])] == [True, False, None, False]
    assert read_arguments({}, "subset", []) is None
    assert read_arguments({"q": 1}, "ignore", []) is None


@pytest.mark.parametrize(
    ("given", "matches"),
    [
        ({"customer": {"id": "c1", "name": "x"}, "items": [{"n": 1}, {"n": 2}]}, True),
        ({"customer": {"id": "c2"}, "items": [{}, {"n": 2}]}, False),
        ({"customer": "c1", "items": []}, False),
        ({"customer": LOST, "items": [{}, {"n": 2}]}, None),
        ({"customer": {"id": "c1"}, "items": [{}, LOST]}, None),
        ({"customer": LOST, "items": [{}, {"n": 3}]}, False),
        ({"customer": {"id": "c1"}, "items": {"1": {"n": 2}}}, True),
    ],
)
def test_dotted_paths(given: Any, matches: bool | None):
    wanted = pattern({"customer.id": "c1", "items.1.n": 2}, "exact")
    assert wanted.match(given) is matches
    assert wanted.match({**given, "more": 1}) is False


def test_of_a_lost_value_it_is_not_known_whether_it_has_the_part():
    assert [pattern({"q.r": {word: True}}).match({"q": LOST}) for word in ("any", "absent")] == [None, None]


@pytest.mark.parametrize(
    ("value", "message", "hint"),
    [
        ("any", "'any' may be meant as a text or as a matcher", "write {any: true}, or {equals: any} for the text"),
        ({"any": False}, "any must be true", AS_OBJECT),
        ({"absent": 1}, "absent must be true", AS_OBJECT),
        (
            {"regex": "x", "flags": "i"},
            "has the key 'regex' of a matcher, and others",
            AS_OBJECT,
        ),
        ({"regex": 1}, "regex must be a text", ""),
        ({"regex": "("}, "RE2 cannot compile '(': missing ): (", ""),
        ({"approx": "1", "tolerance": 1}, "approx must be a number", ""),
        ({"approx": 1}, "approx needs a tolerance from 0 up", "{approx: 3.5, tolerance: 0.1}"),
        ({"approx": 1, "tolerance": -0.1}, "approx needs a tolerance from 0 up", "{approx: 3.5, tolerance: 0.1}"),
        ({"one_of": 1}, "one_of must be a list", ""),
        ({"one_of": []}, "one_of is empty: no value is one of none", ""),
        ({"schema": True}, "schema must be a JSON Schema, which is an object", ""),
        ({"schema": {"$ref": "#"}}, "$ref is not supported here: its cost is not linear in the value", ""),
        (LOST, "holds $unrepresentable, which nothing equals", ""),
        ({"equals": [LOST]}, "holds $unrepresentable, which nothing equals", ""),
        (
            {"id": [{"absent": True}]},
            'holds the matcher {"absent":true}',
            f"name its place by a dotted path (customer.id); {AS_OBJECT}",
        ),
    ],
)
def test_values_that_are_refused(value: Any, message: str, hint: str):
    assert problems_of({"q": value}) == [(message, ("q",), hint)]


def test_lookaround_is_refused():
    [(message, _, _)] = problems_of({"q": {"regex": "(?=x)"}})
    assert message.startswith("RE2 cannot compile '(?=x)'")
    assert message.endswith("; RE2 has neither lookaround nor back-references")


def test_an_argument_that_no_call_can_have_is_refused():
    [(message, path, _)] = problems_of({"q.$unrepresentable": 1})
    assert (message, path) == ("holds $unrepresentable, which no argument can have", ("q.$unrepresentable",))


def test_two_words_on_one_place_are_refused():
    written = {"a": 1, "a.b": 1, "a.b.c": 1, "ab": 1}
    assert problems_of(written) == [
        ("is a part of 'a', which is there too", ("a.b",), "keep one of them"),
        ("is a part of 'a.b', which is there too", ("a.b.c",), "keep one of them"),
    ]


@pytest.mark.parametrize("name", ["", ".", "a.", ".a", "a..b"])
def test_paths_with_an_empty_key_are_refused(name: str):
    assert problems_of({name: 1}) == [("is no dotted path: a key in it is empty", (name,), "")]


@pytest.mark.parametrize("written", [None, [], "q", 1])
def test_what_is_no_object_of_arguments_is_refused(written: Any):
    assert problems_of(written) == [("must be an object of arguments by name", (), "")]


def test_differences_are_told_one_by_one():
    wanted = pattern({"amount": {"approx": 10, "tolerance": 1}, "note": {"absent": True}, "id": "x", "z": 1}, "exact")
    assert list(wanted.differences({"amount": 12, "note": None, "id": LOST, "more": "y" * 100})) == [
        'amount: expected {"approx":10,"tolerance":1}, found 12',
        'note: expected {"absent":true}, found null',
        "z: expected 1, found nothing",
        f'more: expected no such argument, found "{"y" * 78}…',
    ]
    assert list(wanted.differences(None)) == []
    assert list(wanted.differences([1])) == ["expected an object of arguments, found [1]"]


def test_a_call_with_arguments_by_the_thousand_is_told_in_a_few_lines():
    told = list(pattern({"q": 1}, "exact").differences({"q": 1} | {f"x{number}": 0 for number in range(1234)}))
    assert len(told) == 11
    assert told[-1] == "expected none of 1,224 further arguments"
