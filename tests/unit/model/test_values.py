"""Values: what becomes of what JSON cannot carry, equality, patterns, look-ups."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import math
from collections import OrderedDict
from typing import Any, NamedTuple

import msgspec
import pytest
from msgspec import UNSET, Struct

from oloproof.model.values import (
    CONFLICT,
    MAX_DEPTH,
    TAG,
    UNKNOWN,
    _Copier,
    equal,
    has_unrepresentable,
    is_unrepresentable,
    lookup,
    snapshot,
    unify,
)

NAN = {TAG: "float nan"}


class Colour(enum.Enum):
    RED = "red"


class Route(str, enum.Enum):  # noqa: UP042  (the text of a StrEnum is its value)
    """A text as JSON would have it, and another value."""

    def __new__(cls, value: str) -> Route:
        route = str.__new__(cls, f"/{value}")
        route._value_ = value
        return route

    BACK = "back"


class Level(enum.IntEnum):
    HIGH = 3


class Unhashable(type):
    """Of classes that say when they are equal, as a metaclass may, and so can be in no set."""

    def __eq__(cls, other: object) -> bool:
        return cls is other


class Odd(metaclass=Unhashable):
    def __repr__(self) -> str:
        return "odd"


class Text(str):
    __slots__ = ()

    def __str__(self) -> str:
        return "a lie"


class Point(NamedTuple):
    x: int
    y: int


@dataclasses.dataclass
class Order:
    id: str
    tags: tuple[str, ...]


class Refund(Struct):
    order: str
    amount: float
    note: Any = UNSET


class Model:
    def __init__(self, dumped: Any) -> None:
        self.dumped = dumped

    def __repr__(self) -> str:
        return f"Model({self.dumped!r})"

    def model_dump(self) -> Any:
        return self.dumped


class Hostile:
    def __repr__(self) -> str:
        raise RuntimeError("no")


class Evasive(Model):
    def model_dump(self) -> Any:
        raise RuntimeError("no")

    def __repr__(self) -> str:
        return "Evasive"


class Shown(dict):
    """A dict that shows other members than it has."""

    def items(self):
        return [("shown", 1)]


class TestSnapshot:
    @pytest.mark.parametrize(
        ("value", "kept"),
        [
            (None, None),
            (True, True),
            (7, 7),
            (-0.5, -0.5),
            ("é", "é"),
            ((1, [2]), [1, [2]]),
            (Point(1, 2), [1, 2]),
            (OrderedDict(a=1), {"a": 1}),
            (Colour.RED, "red"),
            (Level.HIGH, 3),
            ({Colour.RED: Level.HIGH}, {"red": 3}),
            ({Route.BACK: 1}, {"back": 1}),
            ([{Route.BACK: [1]}], [{"back": [1]}]),
            (Text("true"), "true"),
            (Order("o1", ("a",)), {"id": "o1", "tags": ["a"]}),
            (Refund("o1", 2.5), {"order": "o1", "amount": 2.5}),
            (Model({"x": (1,)}), {"x": [1]}),
            (Model([1, 2]), [1, 2]),
            (NAN, NAN),
        ],
        ids=repr,
    )
    def test_what_json_can_carry_is_kept(self, value: Any, kept: Any):
        copy = snapshot(value)
        assert copy == kept
        assert type(copy) is type(kept)

    @pytest.mark.parametrize(
        ("value", "text"),
        [
            (math.nan, "float nan"),
            (math.inf, "float inf"),
            (-math.inf, "float -inf"),
            (b"abc", "bytes b'abc'"),
            ({1}, "set {1}"),
            (datetime.date(2026, 1, 2), "date datetime.date(2026, 1, 2)"),
            ("a\ud800", r"str 'a\ud800'"),
            (2**5000, "int of 5001 bits"),
            (Hostile(), "Hostile <Hostile instance>"),
            (Evasive(None), "Evasive Evasive"),
            (Model, "type <class"),
            (object(), "object <object object>"),
            (UNSET, "UnsetType UNSET"),
        ],
        ids=lambda value: type(value).__name__,
    )
    def test_what_it_cannot_is_tagged(self, value: Any, text: str):
        copy = snapshot(value)
        assert is_unrepresentable(copy)
        assert copy[TAG].startswith(text)

    def test_a_value_whose_class_has_no_hash_is_tagged(self):
        tag = {TAG: "Odd odd"}
        assert snapshot(Odd()) == tag
        assert snapshot({"a": Odd(), "b": 1}) == {"a": tag, "b": 1}
        assert snapshot([{"a": [Odd()]}, 1]) == [{"a": [tag]}, 1]
        assert snapshot({Odd(): 1, "b": 2}) == {"b": 2, TAG: [["Odd odd", 1]]}

    @pytest.mark.parametrize(
        ("key", "told"),
        [
            (1, "int 1"),
            (None, "NoneType None"),
            (b"x", "bytes b'x'"),
            ("a\ud800", r"str 'a\ud800'"),
            ((1,), "tuple (1,)"),
        ],
    )
    def test_a_key_that_json_cannot_carry_takes_no_other_along(self, key: Any, told: str):
        copy = snapshot({"answer": "yes", key: {1, 2}})
        assert copy == {"answer": "yes", TAG: [[told, {TAG: "set {1, 2}"}]]}
        assert snapshot(copy) == copy
        assert has_unrepresentable([copy])
        assert not is_unrepresentable(copy)
        assert not equal(copy, copy)
        assert unify(copy, {"answer": "no"}) == {"answer": "no"}
        assert is_unrepresentable(snapshot({key: 1}))

    def test_the_tag_takes_the_place_of_the_value_alone(self):
        assert snapshot({"a": [1, math.nan]}) == {"a": [1, NAN]}

    def test_a_tag_is_at_most_200_characters(self):
        assert len(snapshot(b"x" * 10_000)[TAG]) <= 200

    @pytest.mark.parametrize(
        "value",
        [
            {"a": Shown(b=1)},
            [Shown(b=1)],
            {"a": 2**5000},
            {"a": [2**4000, 0.1]},
            [1.0, -0.0],
            {"a": (1,)},
            {Level.HIGH: 1},
        ],
    )
    def test_what_a_class_of_the_users_tells_of_itself_counts(self, value: Any):
        assert repr(snapshot(value)) == repr(_Copier().copy(value))

    def test_a_value_inside_itself_ends(self):
        value: dict[str, Any] = {"n": 1}
        value["self"] = value
        assert snapshot(value) == {"n": 1, "self": {TAG: "dict inside itself"}}

    def test_a_value_that_comes_twice_is_copied_twice(self):
        shared = [1]
        assert snapshot([shared, shared]) == [[1], [1]]

    def test_nesting_ends_at_its_limit(self):
        value: Any = []
        for _ in range(100_000):
            value = [value]
        copy = snapshot(value)
        depth = 0
        while type(copy) is list:
            copy = copy[0]
            depth += 1
        assert depth == MAX_DEPTH
        assert copy == {TAG: "list deeper than 100 levels"}

    def test_a_value_that_unfolds_without_end_ends(self):
        value: Any = ["x"] * 1000
        for _ in range(20):
            value = [value] * 1000
        assert has_unrepresentable(snapshot(value))

    def test_later_changes_do_not_reach_it(self):
        value = {"a": [1]}
        copy = snapshot(value)
        value["a"].append(2)
        assert copy == {"a": [1]}

    def test_it_reads_back_from_json(self):
        copy = snapshot({"big": 2**4000, "small": 5e-324, "odd": {1, 2}, "text": "\x00\u2028\U0001f600"})
        assert msgspec.json.decode(msgspec.json.encode(copy)) == copy


class TestEqual:
    @pytest.mark.parametrize(
        ("a", "b"),
        [
            (1, 1.0),
            (0, -0.0),
            ({"a": 1, "b": 2}, {"b": 2, "a": 1.0}),
            ([1, None], [1, None]),
            ("é", "é"),
            (True, True),
            ({}, {}),
        ],
        ids=repr,
    )
    def test_equal(self, a: Any, b: Any):
        assert equal(a, b)
        assert equal(b, a)

    @pytest.mark.parametrize(
        ("a", "b"),
        [
            (True, 1),
            (False, 0),
            ([True], [1]),
            (None, False),
            (None, UNSET),
            (UNSET, UNSET),
            ("1", 1),
            ("é", "e\u0301"),
            ([1, 2], [2, 1]),
            ([1], [1, 1]),
            ({"a": 1}, {"a": 1, "b": 1}),
            ({"a": 1}, {"b": 1}),
            ({"a": None}, {}),
            ([], {}),
            (2**53 + 1, float(2**53)),
            (NAN, NAN),
            ({"a": [NAN]}, {"a": [NAN]}),
            (UNKNOWN, UNKNOWN),
        ],
        ids=repr,
    )
    def test_unequal(self, a: Any, b: Any):
        assert not equal(a, b)
        assert not equal(b, a)

    def test_depth_does_not_matter(self):
        a: Any = 1
        b: Any = 1.0
        for _ in range(50_000):
            a, b = [a], [b]
        assert equal(a, b)
        assert not has_unrepresentable(a)


class TestUnify:
    @pytest.mark.parametrize(
        ("a", "b", "both"),
        [
            (UNKNOWN, 1, 1),
            (UNKNOWN, UNKNOWN, UNKNOWN),
            (NAN, {"a": 1}, {"a": 1}),
            ({"a": NAN, "b": 1}, {"a": 2, "b": NAN}, {"a": 2, "b": 1}),
            ([NAN, 2], [1, NAN], [1, 2]),
            (1, 1.0, 1),
            (1, 2, CONFLICT),
            (True, 1, CONFLICT),
            ({"a": NAN}, {"b": NAN}, CONFLICT),
            ({"a": NAN, "b": 1}, {"a": NAN, "b": 2}, CONFLICT),
            ([NAN], [NAN, NAN], CONFLICT),
            ([NAN], {}, CONFLICT),
        ],
        ids=repr,
    )
    def test_unify(self, a: Any, b: Any, both: Any):
        assert unify(a, b) == both
        assert (unify(b, a) is CONFLICT) == (both is CONFLICT)

    def test_what_is_deeper_than_a_snapshot_can_be_is_unknown(self):
        a: Any = 1
        b: Any = 2
        for _ in range(5000):
            a, b = [a], [b]
        assert unify(a, b) is not CONFLICT


class TestLookup:
    VALUE = {"a": {"b": [10, {"c": None}]}, "0": "zero"}  # noqa: RUF012

    @pytest.mark.parametrize(
        ("path", "found"),
        [
            ("", VALUE),
            ("a b 0", 10),
            ("a b 1 c", None),
            ("0", "zero"),
            ("a x", UNSET),
            ("a b 2", UNSET),
            ("a b -1", UNSET),
            ("a b ²", UNSET),
            ("a b 99999999999999999999", UNSET),
            ("0 0", UNSET),
            ("a b 1 c d", UNSET),
        ],
    )
    def test_lookup(self, path: str, found: Any):
        assert lookup(self.VALUE, path.split()) == found
