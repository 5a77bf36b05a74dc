"""What every renderer can draw without knowing what it is about: a fact and a table."""

from __future__ import annotations

from msgspec import Struct


class Fact(Struct, frozen=True):
    """A label and what stands beside it: a line of a header, or a thing to do and its command."""

    label: str
    text: str


class Table(Struct, frozen=True):
    """A titled list of texts, for whatever needs no more: runs, verdicts, slices in short."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
