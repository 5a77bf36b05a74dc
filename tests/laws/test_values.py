"""Laws of values: a snapshot is JSON and stays so, equality is an equivalence, unification is what fills can do."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from oloproof.model.values import (
    CONFLICT,
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

anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(codec=None))
    | st.binary()
    | st.datetimes()
    | st.complex_numbers(),
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text() | st.integers(), inner)
        | st.frozensets(st.integers())
    ),
    max_leaves=8,
)
small_json = st.recursive(
    st.sampled_from([None, True, False, 0, 1, 1.0, "", "a"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=4,
)
tag = st.just({TAG: "float nan"})
patterns = st.recursive(
    st.sampled_from([0, 1]) | tag,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=3,
)
laws = settings(max_examples=100, deadline=None)


@given(anything)
@laws
def test_a_snapshot_reads_back_from_json_as_itself(value: Any):
    copy = snapshot(value)
    assert repr(msgspec.json.decode(msgspec.json.encode(copy))) == repr(copy)


@given(st.lists(anything) | st.dictionaries(st.text(st.characters(codec=None)), anything) | small_json)
@laws
def test_what_the_encoder_copies_is_what_is_copied_by_hand(value: Any):
    assert repr(snapshot(value)) == repr(_Copier().copy(value))


@given(anything)
@laws
def test_a_snapshot_is_a_fixed_point(value: Any):
    copy = snapshot(value)
    assert repr(snapshot(copy)) == repr(copy)


@given(small_json)
@laws
def test_a_json_value_is_its_own_snapshot(value: Any):
    assert equal(snapshot(value), value)
    assert not has_unrepresentable(value)


@given(anything)
@laws
def test_a_value_equals_itself_unless_it_holds_what_json_cannot_carry(value: Any):
    copy = snapshot(value)
    assert equal(copy, copy) != has_unrepresentable(copy)


@given(small_json, small_json, small_json)
@settings(max_examples=200, deadline=None)
def test_equality_is_an_equivalence(a: Any, b: Any, c: Any):
    assert equal(a, b) == equal(b, a)
    if equal(a, b) and equal(b, c):
        assert equal(a, c)


@given(small_json, small_json)
@settings(max_examples=200, deadline=None)
def test_equal_values_have_one_canonical_text(a: Any, b: Any):
    assert equal(a, b) == (canonical(a) == canonical(b))


@given(patterns, patterns)
@settings(max_examples=200, deadline=None)
def test_two_patterns_unify_where_a_fill_makes_them_equal(a: Any, b: Any):
    # A tag of one meets a part of the other, in which a tag may as well be 7.
    pool = {repr(value): value for value in (solid(part) for part in [*parts(a), *parts(b)])}
    meets = any(equal(x, y) for x in fills(a, tuple(pool.values())) for y in fills(b, tuple(pool.values())))
    assert meets == (unify(a, b) is not CONFLICT)


@given(st.lists(patterns | st.just(UNKNOWN), min_size=3, max_size=3))
@settings(max_examples=200, deadline=None)
def test_folding_does_not_depend_on_the_order_and_pairs_decide(values: list[Any]):
    outcomes = {fold(order) is CONFLICT for order in itertools.permutations(values)}
    pairs_conflict = any(unify(a, b) is CONFLICT for a, b in itertools.combinations(values, 2))
    assert outcomes == {pairs_conflict}


@given(anything, st.lists(st.text() | st.sampled_from(["0", "1", "-1"])))
@laws
def test_a_lookup_never_fails(value: Any, path: list[str]):
    lookup(snapshot(value), path)


def canonical(value: Any) -> str:
    match value:
        case bool() | None | str():
            return repr(value)
        case int() | float():
            return repr(float(value))
        case list():
            return f"[{','.join(canonical(part) for part in value)}]"
        case _:
            return f"{{{','.join(f'{key!r}:{canonical(value[key])}' for key in sorted(value))}}}"


def fold(values: Any) -> Any:
    merged: Any = UNKNOWN
    for value in values:
        merged = unify(merged, value)
        if merged is CONFLICT:
            return CONFLICT
    return merged


def parts(value: Any) -> list[Any]:
    inner = value.values() if type(value) is dict else value if type(value) is list else ()
    return [value, *(part for child in inner for part in parts(child))]


def fills(value: Any, fillings: Sequence[Any]) -> Iterator[Any]:
    """The values that a pattern may be, with each tag one of ``fillings``."""
    if is_unrepresentable(value):
        yield from fillings
    elif type(value) is dict:
        for filled in itertools.product(*(list(fills(part, fillings)) for part in value.values())):
            yield dict(zip(value, filled, strict=True))
    elif type(value) is list:
        for filled in itertools.product(*(list(fills(part, fillings)) for part in value)):
            yield list(filled)
    else:
        yield value


def solid(value: Any) -> Any:
    return next(fills(value, [7]))


def test_nothing_is_equal_to_what_is_not_a_number():
    assert not equal(math.nan, math.nan)
