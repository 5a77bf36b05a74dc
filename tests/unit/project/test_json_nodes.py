"""The slow JSON reader agrees with the standard library's wherever both have an opinion."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from oloproof.project.json_nodes import parse_json
from oloproof.project.nodes import Fields, Items, Node, plain
from oloproof.project.problems import Problems

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@settings(deadline=None, max_examples=150)
@given(VALUES, st.sampled_from([None, 0, 2]), st.booleans())
def test_it_reads_what_the_standard_library_writes(value: object, indent: int | None, ascii_only: bool) -> None:
    problems = Problems("f.json")
    node = parse_json(json.dumps(value, indent=indent, ensure_ascii=ascii_only), problems)
    assert node is not None
    assert plain(node, problems) == value
    assert problems.found == []


@settings(deadline=None, max_examples=300)
@given(st.text(alphabet='[]{}",: \n\\u0e+-.1ntrfalse', max_size=30))
def test_it_refuses_what_the_standard_library_refuses(text: str) -> None:
    problems = Problems("f.json")
    node = parse_json(text, problems)
    try:
        expected = json.loads(text)
    except ValueError:
        assert node is None
    else:
        assert node is not None
        assert problems.found or plain(node, problems) == expected


@settings(deadline=None, max_examples=150)
@given(VALUES, st.integers(1, 9), st.integers(1, 9))
def test_every_node_stands_where_its_text_begins(value: object, line: int, column: int) -> None:
    text = json.dumps(value, indent=1)
    lines = text.split("\n")

    def check(node: Node) -> None:
        row = node.line - line
        offset = node.column - 1 - (column - 1 if row == 0 else 0)
        begins = lines[row][offset]
        match node:
            case Fields():
                assert begins == "{"
                for entry in node.entries:
                    check(entry.value)
            case Items():
                assert begins == "["
                for item in node.items:
                    check(item)
            case _:
                assert begins not in "{[ ,:"

    node = parse_json(text, Problems("f.json"), line=line, column=column)
    assert node is not None
    check(node)
