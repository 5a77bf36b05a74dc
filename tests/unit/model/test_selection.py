from __future__ import annotations

import pytest

from oloproof.model.case import Case
from oloproof.model.selection import MetadataValue, Selection

CASES = [
    Case(id="a", metadata={"surface": "chat", "user": {"age": 3.0, "pro": True}, "year": 2024}),
    Case(id="b", metadata={"surface": "mail", "user": {"age": None, "tags": ["x", 1]}, "year": "2024"}),
    Case(id="c", metadata={"surface": "(none)"}),
    Case(id="d"),
]


def chosen(**fields: object) -> list[str]:
    return [case.id for case in Selection(**fields).of(CASES)]


def test_nothing_selected_is_everything() -> None:
    assert not Selection()
    assert str(Selection()) == ""
    assert chosen() == ["a", "b", "c", "d"]


def test_cases_by_id_in_the_order_of_the_dataset() -> None:
    assert chosen(case_ids=("c", "a")) == ["a", "c"]
    assert chosen(case_ids=("c", "a"), limit=1) == ["a"]


@pytest.mark.parametrize(
    ("path", "value", "ids"),
    [
        ("surface", "chat", ["a"]),
        ("user.age", "3", ["a"]),
        ("user.age", "null", ["b"]),
        ("user.pro", "true", ["a"]),
        ("user.tags", '["x",1]', ["b"]),
        ("user.tags.0", "x", ["b"]),
        ("surface", "(none)", ["d"]),
        ("surface", '"(none)"', ["c"]),
        ("surface", "Chat", []),
        ("year", "2024", ["a", "b"]),
        ("year", '"2024"', ["b"]),
    ],
)
def test_a_metadata_value_is_written_as_reports_print_it(path: str, value: str, ids: list[str]) -> None:
    assert chosen(slice=MetadataValue(tuple(path.split(".")), value)) == ids


def test_it_says_what_narrowed_the_run() -> None:
    selection = Selection(case_ids=("a",), slice=MetadataValue(("user", "age"), "3"), limit=2)
    assert selection
    assert str(selection) == "--case a --slice metadata.user.age=3 --limit 2"
    many = Selection(case_ids=tuple(map(str, range(1200))))
    assert str(many) == "--case 0 --case 1 --case 2 --case 3 --case 4 and 1,195 more"
