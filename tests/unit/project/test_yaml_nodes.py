"""YAML by the 1.2 core schema, with the place of everything."""

from __future__ import annotations

import math
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from oloproof.project import yaml_nodes
from oloproof.project.nodes import Fields, Items, Node, Scalar, plain
from oloproof.project.problems import Problems
from oloproof.project.yaml_nodes import parse_yaml


def read(text: str | bytes) -> Node:
    problems = Problems("f.yaml")
    node = parse_yaml(text if isinstance(text, bytes) else text.encode(), problems)
    assert problems.found == []
    assert node is not None
    return node


def value(text: str) -> Any:
    node = read(text)
    assert isinstance(node, Scalar)
    return node.value


@pytest.fixture(params=["libyaml", "pure Python"], autouse=True)
def loader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "CSafeLoader" if request.param == "libyaml" else "SafeLoader"
    if not hasattr(yaml, name):
        pytest.skip("PyYAML was built without libyaml")
    monkeypatch.setattr(yaml_nodes, "_LOADER", getattr(yaml, name))


@pytest.mark.parametrize(
    "text",
    [
        "yes",
        "no",
        "on",
        "off",
        "y",
        "n",
        "Yes",
        "NO",
        "tRUE",
        "nULL",
        "2026-11-30",
        "2026-11-30T10:00:00Z",
        "1:30",
        "1_000",
        "0b1",
        "0x",
        "1e",
        ".",
        "-.",
        "+",
        "1.2.3",
        "=",
        "<<",
        "inf",
        "nan",
        ".Nan",
        "0o8",
        "１２",
    ],
)
def test_what_yaml_1_1_would_guess_stays_a_string(text: str) -> None:
    assert value(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *(("012", 12), ("0o12", 10), ("0x1F", 31), ("-7", -7), ("+7", 7)),
        *(("1.0", 1.0), (".5", 0.5), ("5.", 5.0), ("1e3", 1000.0), ("-1.5E-2", -0.015)),
        *(("true", True), ("False", False), ("TRUE", True), ("~", None), ("null", None), ("NULL", None)),
        *((".inf", math.inf), ("-.INF", -math.inf)),
    ],
)
def test_the_core_schema(text: str, expected: object) -> None:
    found = value(text)
    assert (found, type(found)) == (expected, type(expected))


def test_not_a_number() -> None:
    assert math.isnan(value(".nan"))


@pytest.mark.parametrize("text", ['"12"', "'true'", '"~"', "|\n 1.0\n"])
def test_quoted_and_block_scalars_are_strings(text: str) -> None:
    assert isinstance(value(text), str)


def test_everything_has_its_place_and_its_text() -> None:
    node = read("a: 0.70\nbb:\n  - x\n  - {c: 1}\n")
    assert isinstance(node, Fields)
    first, second = node.entries
    assert (first.key, first.line, first.column) == ("a", 1, 1)
    assert isinstance(first.value, Scalar)
    assert (first.value.text, first.value.line, first.value.column) == ("0.70", 1, 4)
    assert (second.line, second.column) == (2, 1)
    assert isinstance(second.value, Items)
    inner = second.value.items[1]
    assert isinstance(inner, Fields)
    assert (inner.line, inner.column) == (4, 5)
    assert (inner.entries[0].line, inner.entries[0].column) == (4, 6)


def test_a_byte_order_mark_is_skipped() -> None:
    assert plain(read(b"\xef\xbb\xbfa: 1\n"), Problems("f")) == {"a": 1}


def test_an_alias_is_its_anchor() -> None:
    assert plain(read("a: &x [1, 2]\nb: *x\n"), Problems("f")) == {"a": [1, 2], "b": [1, 2]}


def test_aliases_are_bounded() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 30)]
    problems = Problems("f.yaml")
    assert parse_yaml("\n".join(lines).encode(), problems) is None
    assert [problem.message for problem in problems.found] == ["aliases expand to more than 10,000 values"]


def test_depth_is_bounded() -> None:
    problems = Problems("f.yaml")
    assert parse_yaml(b"[" * 900 + b"]" * 900, problems) is None
    assert [problem.message for problem in problems.found] == ["nested more than 64 levels deep"]


def test_half_a_surrogate_pair_is_refused() -> None:
    problems = Problems("f.yaml")
    assert parse_yaml(b'a: "\\ud800"', problems) is None
    assert len(problems.found) == 1


@settings(deadline=None, max_examples=150)
@given(st.one_of(st.binary(), st.text().map(lambda text: text.encode("utf-8", "surrogatepass"))))
def test_no_bytes_do_more_than_cause_problems(data: bytes) -> None:
    problems = Problems("f.yaml")
    assert (parse_yaml(data, problems) is None) <= bool(problems.found)
