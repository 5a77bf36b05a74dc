from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakes.hostile import NASTY
from oloproof.reports.inert import inert, inert_json

HOSTILE = st.text(st.characters(), max_size=60) | st.sampled_from(NASTY)


def drawn_as_is(text: str) -> bool:
    return all(unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp") for character in text)


@given(HOSTILE)
@settings(deadline=None, max_examples=200)
def test_what_is_shown_draws_where_it_stands_and_is_legal_everywhere(text: str) -> None:
    shown = inert(text)
    assert drawn_as_is(shown)
    assert len(shown.splitlines()) <= 1
    assert shown.encode().decode() == shown
    assert all(0x20 <= ord(character) <= 0xFFFD or ord(character) >= 0x10000 for character in shown)
    assert len(shown) < 2_100


@given(HOSTILE)
@settings(deadline=None, max_examples=100)
def test_making_inert_twice_changes_nothing(text: str) -> None:
    once = inert(text)
    assert inert(once, 10_000) == once


@pytest.mark.parametrize(
    "text", ["answer_correct", "Rückerstattung à 12 €", "漢字かな", "نص عربي", "👍", "[67.2%, 92.7%]", "82,5\u00a0%"]
)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert inert(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31m", r"\x1b[31m"),
        ("\x9b2J", r"\x9b2J"),
        ("a\nb\r\tc", r"a\nb\r\tc"),
        ("\ud800", r"\ud800"),
        ("\u202e", r"\u202e"),
        ("\u200b\ufeff\u2060\u00ad", r"\u200b\ufeff\u2060\xad"),
        ("\u3164\u2800", r"\u3164\u2800"),
        ("\U000e0041", r"\U000e0041"),
        ("\ufffe", r"\ufffe"),
        ("\u2028", r"\u2028"),
    ],
)
def test_the_invisible_is_written_out(text: str, shown: str) -> None:
    assert inert(text) == shown


def test_long_text_is_cut_with_a_count() -> None:
    assert inert("x" * 2_000_000, 3) == "xxx… (+1,999,997 characters)"
    # What is cut away is longer than the words that stand for it.
    assert inert("x" * 20, 3) == "x" * 20
    assert inert("x" * 22, 3) == "xxx… (+19 characters)"
    assert inert("xxx", 3) == "xxx"


def test_json_is_compact_and_keeps_its_letters() -> None:
    assert inert_json({"ü": [1, None, "\x1b"]}) == r'{"ü": [1, null, "\u001b"]}'
    assert inert_json("\ud800") == r'"\ud800"'


def test_json_that_cannot_be_written_is_told() -> None:
    deep: list[object] = []
    for _ in range(5_000):
        deep = [deep]
    assert inert_json(deep) == "(cannot be shown)"
    assert inert_json(10**5_000) == "(cannot be shown)"
