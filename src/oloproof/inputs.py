"""What holds of everything that is read from outside, whatever it turns out to be."""

from __future__ import annotations

from typing import Any, Final

BOM: Final = b"\xef\xbb\xbf"
"""The byte order mark that some editors put before a text; it belongs to no value."""

READ_AT_ONCE: Final = 1 << 18
"""Bytes of a long file that are read at once. With Python's own eight thousand, every third line of a recording would
be put together from two reads, which costs more than finding where it ends."""


def each_key_once(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object whose keys are there once each, as a hook of ``json.loads``: of two, one reader takes the one and
    another the other. Errors: ValueError.
    """
    held = dict(members)
    if len(held) != len(members):
        raise ValueError("a key is there twice")
    return held
