"""CSV datasets: headers are dotted paths (``expected.answer``), and a column named ``…:json`` holds JSON.

Every other cell is text. An empty cell is a key left out, never an empty text.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from msgspec import Struct

from oloproof.errors import counted, did_you_mean, shown
from oloproof.project import codes
from oloproof.project.json_nodes import parse_json
from oloproof.project.nodes import Entry, Fields, Items, Node, Scalar
from oloproof.project.problems import Problems
from oloproof.project.spec import Row

JSON_SUFFIX = ":json"
_NESTED = ("input", "expected", "metadata")


class _Column(Struct, frozen=True):
    """A header: where its cells go, and whether they hold JSON."""

    header: str
    path: tuple[str, ...]
    is_json: bool


_Tree = dict[str, "Node | _Tree"]


def table_rows(text: str, problems: Problems) -> Iterator[Fields]:
    """The rows of a CSV text, each placed at the line where it begins; nothing when its header is wrong."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    columns: list[_Column] | None = None
    line = 1
    try:
        for cells in reader:
            if any(cells):
                if columns is None:
                    columns = _columns(cells, line, problems)
                    if columns is None:
                        return
                elif len(cells) != len(columns):
                    _ragged(len(cells), len(columns), line, problems)
                else:
                    yield _row(cells, columns, line, problems)
            line = reader.line_num + 1
    except csv.Error as error:
        problems.on(line, 0, problems.codes.syntax, f"not valid CSV: {error}", hint=_csv_hint(str(error)))


def _columns(headers: list[str], line: int, problems: Problems) -> list[_Column] | None:
    before = len(problems.found)
    columns: list[_Column] = []
    for number, header in enumerate(headers, 1):
        name = header.strip()
        path = tuple(name.removesuffix(JSON_SUFFIX).split("."))
        columns.append(_Column(name, path, name.endswith(JSON_SUFFIX)))
        if not all(path):
            problems.on(line, 0, codes.BAD_TABLE, f"column {number} has no name", hint="name it or remove it")
        elif path[0] not in Row.__struct_fields__:
            hint = did_you_mean(path[0], Row.__struct_fields__, otherwise="the columns are")
            if len(headers) == 1 and (";" in name or "\t" in name):
                hint = "separate the columns with commas"
            problems.on(line, 0, problems.codes.unknown_key, f"unknown column {shown(name)}", hint=hint)
        elif path[0] not in _NESTED and name != path[0]:
            problems.on(line, 0, codes.BAD_TABLE, f"the column {shown(name)} must be named {path[0]!r}")
    for index, column in enumerate(columns):
        clash = next((other for other in columns[:index] if _clash(other.path, column.path)), None)
        if clash is not None and all(column.path):
            message = f"the columns {shown(clash.header)} and {shown(column.header)} fill the same place"
            problems.on(line, 0, codes.BAD_TABLE, message, hint="keep one of them")
    if all(column.path[0] != "id" for column in columns) and len(problems.found) == before:
        problems.on(line, 0, problems.codes.missing_key, "the table needs the column 'id'")
    return columns if len(problems.found) == before else None


def _clash(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    shorter = min(len(a), len(b))
    return a[:shorter] == b[:shorter]


def _ragged(found: int, wanted: int, line: int, problems: Problems) -> None:
    message = f"this row has {counted(found, 'cell')}, the header has {wanted}"
    problems.on(line, 0, codes.BAD_TABLE, message, hint='a cell that holds a comma is written in quotes: "a, b"')


def _row(cells: list[str], columns: list[_Column], line: int, problems: Problems) -> Fields:
    tree: _Tree = {}
    for cell, column in zip(cells, columns, strict=True):
        node = _cell(cell, column, line, problems) if cell else None
        if node is None:
            continue
        branch = tree
        for key in column.path[:-1]:
            deeper = branch.setdefault(key, {})
            assert isinstance(deeper, dict)  # headers that clash were refused
            branch = deeper
        branch[column.path[-1]] = node
    return _fields(tree, line)


def _cell(cell: str, column: _Column, line: int, problems: Problems) -> Node | None:
    if not column.is_json:
        return Scalar(cell, cell, line, 0)
    inside = Problems(problems.file, codes=problems.codes)
    node = parse_json(cell, inside)
    for problem in inside.found[:1]:
        problems.on(line, 0, problem.code, f"column {shown(column.header)}: {problem.message}", hint=problem.hint)
    return None if inside.found or node is None else _placed(node, line)


def _placed(node: Node, line: int) -> Node:
    """A value from inside a cell, placed where the row begins: positions within a cell are of no use to anyone."""
    match node:
        case Scalar():
            return Scalar(node.value, node.text, line, 0)
        case Items():
            return Items(tuple(_placed(item, line) for item in node.items), line, 0)
        case Fields():
            entries = (Entry(entry.key, _placed(entry.value, line), line, 0) for entry in node.entries)
            return Fields(tuple(entries), line, 0)


def _fields(tree: _Tree, line: int) -> Fields:
    entries = (
        Entry(key, _fields(value, line) if isinstance(value, dict) else value, line, 0) for key, value in tree.items()
    )
    return Fields(tuple(entries), line, 0)


def _csv_hint(message: str) -> str:
    return "keep such a value in a JSONL file" if "field limit" in message else ""
