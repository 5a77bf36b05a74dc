"""Where a configuration that was found sound says something, for what only the cases show to be wrong with it."""

from __future__ import annotations

from pathlib import Path

from oloproof.errors import UsageError
from oloproof.project.codes import CONFIG
from oloproof.project.nodes import Fields, Items
from oloproof.project.problems import Problems, read_bytes
from oloproof.project.yaml_nodes import parse_yaml


def evaluator_place(config: str, number: int, key: str) -> tuple[int, int]:
    """The line and column of a key's value in the ``number``-th evaluator, from 0, of the file ``config``.

    The file is read again, since a checked project does not carry places around that only a mistake asks for; (0, 0)
    where it has changed in the meantime.
    """
    try:
        root = parse_yaml(read_bytes(Path(config), what="the configuration", codes=CONFIG), Problems(config))
    except UsageError:
        return 0, 0
    entry = root.entry("evaluators") if isinstance(root, Fields) else None
    if entry is None or not isinstance(entry.value, Items) or number >= len(entry.value.items):
        return 0, 0
    written = entry.value.items[number]
    place = written.place(key) if isinstance(written, Fields) else written
    return place.line, place.column
