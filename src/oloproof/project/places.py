"""Where files that were found well-formed say something, for what only their use shows to be wrong with it.

They are read again, since checked values do not carry places around that only a mistake asks for. A place is a line and
a column, both from 1; the column is 0 where it is not known, as in a table or where the file changed in the meantime.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from oloproof.errors import UsageError
from oloproof.model.case import Case
from oloproof.project.codes import CONFIG
from oloproof.project.json_nodes import parse_json
from oloproof.project.nodes import Fields, Items, Node, inside
from oloproof.project.problems import Problems, read_bytes
from oloproof.project.yaml_nodes import parse_yaml

Keys = Sequence[str | int]


def config_root(config: str) -> Fields | None:
    """What the configuration says, with its places; None where it cannot be read."""
    try:
        root = parse_yaml(read_bytes(Path(config), what="the configuration", codes=CONFIG), Problems(config))
    except UsageError:
        return None
    return root if isinstance(root, Fields) else None


def evaluator_place(config: str, number: int, key: str) -> tuple[int, int]:
    """The place of a key's value in the ``number``-th evaluator, from 0, of the file ``config``; (0, 0) where it is not
    known."""
    root = config_root(config)
    entry = None if root is None else root.entry("evaluators")
    if entry is None or not isinstance(entry.value, Items) or number >= len(entry.value.items):
        return 0, 0
    written = entry.value.items[number]
    place = written.place(key) if isinstance(written, Fields) else written
    return place.line, place.column


def key_place(config: str, key: str) -> tuple[int, int]:
    """The place of the value of a key of the configuration itself, likewise."""
    root = config_root(config)
    entry = None if root is None else root.entry(key)
    return (0, 0) if entry is None else (entry.value.line, entry.value.column)


def case_places(file: str, wanted: Sequence[tuple[Case, Keys]]) -> list[tuple[int, int]]:
    """For each case of ``file`` and path into it, in the order of the file, the place there."""
    suffix = Path(file).suffix.lower()
    try:
        if suffix in (".json", ".yaml", ".yml"):
            rows = _rows(Path(file).read_bytes(), is_json=suffix == ".json")
        elif suffix == ".csv":
            rows = {}
        else:
            rows = _lines(file, [case.line for case, _ in wanted])
    except (OSError, UsageError):
        rows = {}
    return [_place(rows.get(case.line, []), case, path) for case, path in wanted]


def place_in_line(text: bytes, line: int, path: Keys) -> tuple[int, int]:
    """The place that ``path`` leads to in the one JSON value ``text``, which is the ``line``-th of its file."""
    node = _parsed(text, line)
    return (line, 0) if node is None else _at(node, path)


def _at(node: Node, path: Keys) -> tuple[int, int]:
    place = inside(node, path)
    return place.line, place.column


def _place(rows: list[Node], case: Case, path: Keys) -> tuple[int, int]:
    """Two rows of a JSON document may stand on one line."""
    row = next((row for row in rows if isinstance(row, Fields) and row.text("id") in (case.id, None)), None)
    return (case.line, 0) if row is None else _at(row, path)


def _rows(data: bytes, *, is_json: bool) -> dict[int, list[Node]]:
    """The rows of a document, by line."""
    root = _parsed(data, 1) if is_json else parse_yaml(data, Problems(""))
    if isinstance(root, Fields):
        root = root.place("cases")
    rows: dict[int, list[Node]] = {}
    for row in root.items if isinstance(root, Items) else ():
        rows.setdefault(row.line, []).append(row)
    return rows


def _lines(file: str, numbers: Sequence[int]) -> dict[int, list[Node]]:
    """The values on some lines, whose numbers ascend."""
    rows: dict[int, list[Node]] = {}
    done = 0
    with open(file, "rb") as lines:
        for number in sorted(set(numbers)):
            text = next(islice(lines, number - done - 1, None), b"")
            node, done = _parsed(text, number), number
            rows[number] = [] if node is None else [node]
    return rows


def _parsed(data: bytes, line: int) -> Node | None:
    return parse_json(data.decode("utf-8-sig", errors="replace").rstrip(), Problems(""), line=line)
