"""Text from an agent, made safe to show: one visible line of bounded length.

An agent chooses its case ids, tool names, arguments and answers, and so may choose an escape sequence that clears the
screen, a bidirectional override that reverses a verdict, or two megabytes of anything. After :func:`inert` a text
holds only characters that draw something where they stand; what it held otherwise is written out as an escape. It is
legal in XML 1.0 and in UTF-8. The syntax of a format (``<``, ``|``, ``[``) is the business of that format's renderer.
"""

from __future__ import annotations

import json
import unicodedata
from typing import Any

import msgspec

NAME_LIMIT = 200
"""Characters shown of what names something: a case, a tool, a slice value."""
TEXT_LIMIT = 1_000
"""Characters shown of what says something: an argument, an answer, a reason."""

_encode = msgspec.json.Encoder().encode
_format = msgspec.json.format
_encode_any = json.JSONEncoder(ensure_ascii=False).encode
_SHORT_ESCAPES = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}
# Letters and marks by category that draw nothing: fillers and joiners, in which text can hide.
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")


def inert(text: str, limit: int = NAME_LIMIT) -> str:
    """``text`` on one line, everything invisible written as an escape, cut after ``limit`` characters with a count.

    What is no longer than the count itself is not cut away.
    """
    if len(text) <= limit and text.isascii() and text.isprintable():
        return text  # nearly all that is shown
    note = f"… (+{len(text) - limit:,} characters)" if len(text) > limit else ""
    if len(text) <= limit + len(note):
        note = ""
    shown = text[:limit] if note else text
    if not (shown.isprintable() and _BLANK.isdisjoint(shown)):
        shown = "".join(map(_visible, shown))
    return shown + note


def inert_lines(text: str) -> tuple[str, ...]:
    """What was printed, line by line; nothing where it is blank."""
    return tuple(inert(line, TEXT_LIMIT) for line in text.rstrip("\n").split("\n")) if text.strip() else ()


def inert_json(value: Any, limit: int = TEXT_LIMIT) -> str:
    """A JSON value as compact, inert text."""
    try:
        text = _encode_any(value) if isinstance(value, str) else _format(_encode(value), indent=0).decode()
    except UnicodeEncodeError:  # a lone surrogate, which UTF-8 does not have
        text = _encode_any(value)
    except (RecursionError, ValueError):  # nested by the thousand, or an integer of thousands of digits
        return "(cannot be shown)"
    return inert(text, limit)


def _visible(character: str) -> str:
    if character in _SHORT_ESCAPES:
        return _SHORT_ESCAPES[character]
    # Of what Python calls unprintable, only the spaces of other scripts (category Zs) draw what they are.
    drawn = character.isprintable() or unicodedata.category(character) == "Zs"
    if drawn and character not in _BLANK:
        return character
    code = ord(character)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
