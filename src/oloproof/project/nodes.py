"""What a file says, with the place where it says it: the tree that YAML, JSON and CSV are all read into.

Scalars carry their value and the text as written, because a threshold of ``0.70`` is a decimal and not the binary
fraction next to it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from oloproof.errors import shown
from oloproof.project.problems import Problems

MAX_DIGITS = 400
SURROGATE = re.compile("[\ud800-\udfff]")
"""A character that no UTF-8 text has: half of an escape, or a byte that could not be decoded."""


class Scalar(Struct, frozen=True, eq=False):
    """A string, number, boolean or null, and the text it was written as.

    ``inset`` is how many characters after its place the text begins, which a quote makes one; None where the text does
    not stand in the file letter by letter, on one line.
    """

    value: str | int | float | bool | None
    text: str
    line: int
    column: int
    inset: int | None = None


class Items(Struct, frozen=True, eq=False):
    """A list."""

    items: tuple[Node, ...]
    line: int
    column: int


class Entry(Struct, frozen=True, eq=False):
    """A key and its value; the place is the key's."""

    key: str
    value: Node
    line: int
    column: int


class Fields(Struct, frozen=True, eq=False):
    """A mapping, entries in written order and without duplicates."""

    entries: tuple[Entry, ...]
    line: int
    column: int

    def entry(self, key: str) -> Entry | None:
        """The entry of a key, None when it is absent."""
        return next((entry for entry in self.entries if entry.key == key), None)

    def place(self, key: str) -> Node:
        """The value of a key, the mapping itself where the key is absent: what a problem with the key points at."""
        entry = self.entry(key)
        return self if entry is None else entry.value

    def text(self, key: str) -> str | None:
        """The value of a key that holds a string, None where it does not."""
        value = self.place(key)
        return value.value if isinstance(value, Scalar) and isinstance(value.value, str) else None


Node = Scalar | Items | Fields


def inside(node: Node, path: Sequence[str | int]) -> Node:
    """The node that ``path`` (keys and positions) leads to, or the last one on the way that is there."""
    for key in path:
        if isinstance(node, Fields):
            entry = node.entry(str(key))
            if entry is None:
                break
            node = entry.value
        elif isinstance(node, Items) and str(key).isdecimal() and int(key) < len(node.items):
            node = node.items[int(key)]
        else:
            break
    return node


def plain(node: Node, problems: Problems) -> Any:
    """The JSON value of a node; numbers that JSON does not have (infinities, NaN) are noted as problems."""
    match node:
        case Scalar():
            if isinstance(node.value, float) and not math.isfinite(node.value):
                problems.at(
                    node,
                    problems.codes.bad_value,
                    f"{excerpt(node.text)} is not a finite number",
                    hint="JSON has no such value",
                )
            return node.value
        case Items():
            return [plain(item, problems) for item in node.items]
        case Fields():
            return {entry.key: plain(entry.value, problems) for entry in node.entries}


def describe(node: Node) -> str:
    """A node as an error message calls it: ``the string '2'``, ``the number 1.0``, ``a list``."""
    match node:
        case Items():
            return "a list"
        case Fields():
            return "a mapping"
        case Scalar(value=None):
            return "nothing"
        case Scalar(value=bool()):
            return node.text
        case Scalar(value=int()):
            return f"the integer {excerpt(node.text)}"
        case Scalar(value=float()):
            return f"the number {excerpt(node.text)}"
        case _:
            return f"the string {shown(node.text)}"


def excerpt(text: str) -> str:
    """A number; of a long one how long it is, as of :func:`~oloproof.errors.shown` texts."""
    return text if len(text) <= 40 else f"… ({len(text):,} characters)"
