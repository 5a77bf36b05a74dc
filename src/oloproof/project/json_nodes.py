"""JSON with positions (RFC 8259), for saying where a text is wrong. msgspec, which is faster, reads the sound ones."""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_right
from json.decoder import scanstring  # type: ignore[attr-defined]  # undocumented and stable since Python 2.6

from oloproof.errors import shown
from oloproof.project.nodes import MAX_DIGITS, SURROGATE, Entry, Fields, Items, Node, Scalar
from oloproof.project.problems import Problems

_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_WORD = re.compile(r"-?[A-Za-z]+")
_CONSTANTS = {"true": True, "false": False, "null": None}


class _Malformed(Exception):
    """Not JSON from ``offset`` on."""

    def __init__(self, offset: int, message: str) -> None:
        self.offset = offset
        self.message = message
        super().__init__(message)


def parse_json(text: str, problems: Problems, *, line: int = 1, column: int = 1, end_hint: str = "") -> Node | None:
    """The one value in ``text``, which starts at ``line`` and ``column`` of its file; None when it is not JSON.

    ``end_hint`` is the hint where the text ends too early. Duplicate keys and numbers out of range are noted, and the
    reading goes on.
    """
    reader = _Reader(text, problems, line, column)
    try:
        node, end = reader.value(reader.space(0))
        end = reader.space(end)
        if end != len(text):
            raise _Malformed(end, "more text after the value")
    except _Malformed as error:
        hint = end_hint if error.offset == len(text) else ""
        reader.note(error.offset, problems.codes.syntax, f"not valid JSON: {error.message}", hint=hint)
        return None
    except RecursionError:
        problems.on(line, column, problems.codes.unsupported, "nested too deeply")
        return None
    return node


class _Reader:
    def __init__(self, text: str, problems: Problems, line: int, column: int) -> None:
        self.text = text
        self.problems = problems
        self.line = line
        self.column = column
        self.breaks = [match.start() for match in re.finditer("\n", text)]

    def place(self, offset: int) -> tuple[int, int]:
        row = bisect_right(self.breaks, offset - 1)
        if row == 0:
            return self.line, self.column + offset
        return self.line + row, offset - self.breaks[row - 1]

    def note(self, offset: int, code: str, message: str, *, hint: str = "") -> None:
        self.problems.on(*self.place(offset), code, message, hint=hint)

    def space(self, offset: int) -> int:
        match = _SPACE.match(self.text, offset)
        return match.end() if match else offset

    def value(self, offset: int) -> tuple[Node, int]:
        match self.text[offset : offset + 1]:
            case "{":
                return self.fields(offset)
            case "[":
                return self.items(offset)
            case '"':
                string, end = self.string(offset)
                return Scalar(string, string, *self.place(offset)), end
            case "":
                raise _Malformed(offset, "it ends where a value should be")
            case _:
                return self.scalar(offset)

    def scalar(self, offset: int) -> tuple[Node, int]:
        number = _NUMBER.match(self.text, offset)
        if number is not None:
            return Scalar(self.number(number), number[0], *self.place(offset)), number.end()
        word = _WORD.match(self.text, offset)
        if word is None:
            raise _Malformed(offset, f"{shown(self.text[offset])} where a value should be")
        if word[0] not in _CONSTANTS:
            raise _Malformed(offset, f"{word[0][:40]} is not a JSON value")
        return Scalar(_CONSTANTS[word[0]], word[0], *self.place(offset)), word.end()

    def number(self, match: re.Match[str]) -> int | float:
        integral = match[1] is None and match[2] is None
        number = 0 if len(match[0]) > MAX_DIGITS else int(match[0]) if integral else float(match[0])
        if len(match[0]) > MAX_DIGITS or not math.isfinite(number):
            message = f"the number {match[0][:40]} is out of range"
            self.note(match.start(), self.problems.codes.bad_value, message)
            return 0
        return number

    def string(self, offset: int) -> tuple[str, int]:
        try:
            string, end = scanstring(self.text, offset + 1, True)
        except json.JSONDecodeError as error:
            message = error.msg[:1].lower() + error.msg[1:]
            raise _Malformed(error.pos, message.removesuffix(" at").removesuffix(" starting").rstrip(": ")) from None
        if SURROGATE.search(string):
            message = "the text holds half of a surrogate pair, which is no character"
            self.note(offset, self.problems.codes.bad_value, message, hint="write both halves, or remove it")
        return string, end

    def items(self, offset: int) -> tuple[Node, int]:
        items: list[Node] = []
        end = self.space(offset + 1)
        if self.text[end : end + 1] == "]":
            return Items((), *self.place(offset)), end + 1
        while True:
            item, end = self.value(end)
            items.append(item)
            end, last = self.separator(self.space(end), "]")
            if last:
                return Items(tuple(items), *self.place(offset)), end

    def fields(self, offset: int) -> tuple[Node, int]:
        entries: list[Entry] = []
        lines: dict[str, int] = {}
        end = self.space(offset + 1)
        if self.text[end : end + 1] == "}":
            return Fields((), *self.place(offset)), end + 1
        while True:
            if self.text[end : end + 1] != '"':
                raise _Malformed(end, "a key in double quotes should be here")
            start = end
            key, end = self.string(end)
            end = self.space(end)
            if self.text[end : end + 1] != ":":
                raise _Malformed(end, "a colon should be here")
            value, end = self.value(self.space(end + 1))
            line, column = self.place(start)
            if key in lines:
                message = f"duplicate key {shown(key)}, first on line {lines[key]}"
                self.note(start, self.problems.codes.duplicate_key, message, hint="keep one of them")
            else:
                lines[key] = line
                entries.append(Entry(key, value, line, column))
            end, last = self.separator(self.space(end), "}")
            if last:
                return Fields(tuple(entries), *self.place(offset)), end

    def separator(self, offset: int, closing: str) -> tuple[int, bool]:
        """Past a comma (and the space after it), or past the closing bracket, which is then the last."""
        found = self.text[offset : offset + 1]
        if found == closing:
            return offset + 1, True
        if found != ",":
            raise _Malformed(offset, f"a comma or {closing} should be here")
        return self.space(offset + 1), False
