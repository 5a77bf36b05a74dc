"""Ids as the names of tests."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from fakes.hostile import ALIKE, HOSTILE
from oloproof.pytest_plugin.names import LONGEST, node_name
from oloproof.reports.inert import inert


def test_plain_ids_stand_as_they_are():
    for name in ("no-deletion", "case-17", "refund:17", "größe 2", "a/b", "user@example.org"):
        assert node_name(name) == name


def test_what_would_be_another_node_or_draws_nothing_is_encoded():
    assert node_name("a::b") == "a%3A%3Ab"
    assert node_name("x[1]") == "x%5B1%5D"
    assert node_name("a\x1b[2J\nb") == "a%1B%5B2J%0Ab"
    assert node_name("100%") == "100%25"
    assert node_name("\u202eeit\u200b") == "%E2%80%AEeit%E2%80%8B"
    assert node_name("\ud800") == "%ED%A0%80"


def test_a_long_id_is_cut_and_keeps_apart_from_its_neighbours():
    first, second = node_name("x" * 5000 + "1"), node_name("x" * 5000 + "2")
    assert first != second
    assert len(first) == len(second) == LONGEST


def test_no_hostile_id_looks_like_anything_else():
    names = [node_name(text) for text in (*HOSTILE, *ALIKE)]
    assert len(set(names)) == len({*HOSTILE, *ALIKE})
    assert all("::" not in name and inert(name) == name and not set(name) & set('[]"') for name in names)


@settings(max_examples=40, deadline=None)
@given(st.text(min_size=1, max_size=12), st.text(min_size=1, max_size=12))
def test_two_ids_have_two_names_that_print(a, b):
    assert (node_name(a) == node_name(b)) == (a == b)
    assert "::" not in node_name(a)
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\[\]]", node_name(a))
