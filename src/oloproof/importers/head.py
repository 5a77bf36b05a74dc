"""The beginning of a file, as the formats that may claim it look at it."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any

from msgspec import UNSET

from oloproof.importers.documents import NotJson, read_json
from oloproof.inputs import BOM
from oloproof.model.values import MAX_DEPTH, Json

_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*("|\\?\Z)|[\[\]{},]', re.DOTALL)
_CLOSERS = {b"[": b"]", b"{": b"}"}


class Head:
    """The first bytes of a file. ``file`` is its name, ``data`` without a byte order mark."""

    def __init__(self, data: bytes, file: str) -> None:
        self.data = data.removeprefix(BOM)
        self.file = file

    @cached_property
    def value(self) -> Json:
        """The file's JSON value, or that of its first line, as far as the head has it; UNSET when it is no JSON."""
        return self.values[0] if self.values else UNSET

    @cached_property
    def values(self) -> tuple[Json, ...]:
        """The values of the first lines (JSON Lines), or the one value of a document; () when it is no JSON."""
        lines = [line for line in self.data.splitlines() if line.strip()]
        found = []
        for line in lines:
            value = _value(line)
            if value is UNSET:
                break
            found.append(value)
        if found:
            return tuple(found)
        whole = beginning(self.data)
        return () if whole is UNSET else (whole,)

    @property
    def item(self) -> Json:
        """The value, or the first of the values in it where it is an array; UNSET when there is none."""
        value = self.value
        if isinstance(value, list):
            return value[0] if value else UNSET
        return value

    def keys(self) -> frozenset[str]:
        """The keys of :attr:`item`, none where that is no object."""
        item: Any = self.item
        return frozenset(item) if isinstance(item, dict) else frozenset()


def beginning(data: bytes) -> Json:
    """The JSON value of which ``data`` is the beginning, without its last, incomplete part; UNSET where it is none."""
    value = _value(data)
    if value is not UNSET:
        return value
    closers: list[bytes] = []
    end = 0
    for token in _TOKEN.finditer(data):
        text = token[0]
        if text in _CLOSERS:
            closers.append(_CLOSERS[text])
            end = token.end()
        elif text in (b"]", b"}"):
            if not closers or closers.pop() != text:
                return UNSET
            end = token.end()
        elif text == b",":
            end = token.start()
        else:
            if token[1] != b'"':
                break  # a text that is cut off
            continue
        if len(closers) > MAX_DEPTH:
            break
    return _value(data[:end] + b"".join(reversed(closers))) if end else UNSET


def _value(data: bytes) -> Json:
    try:
        return read_json(data)
    except NotJson:
        return UNSET
