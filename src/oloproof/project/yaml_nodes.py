"""YAML with positions: the YAML 1.2 core schema over PyYAML's events, duplicates told, bombs refused.

PyYAML reads YAML 1.1, where ``no`` is false, ``1:30`` is 90, ``012`` is ten and ``2026-11-30`` is a date. Its events
come before such guesses, so scalars are resolved here by the core schema (YAML 1.2.2, section 10.3.2) instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NoReturn

import yaml

from oloproof.errors import shown
from oloproof.project.nodes import MAX_DIGITS, SURROGATE, Entry, Fields, Items, Node, Scalar
from oloproof.project.problems import Problems

MAX_DEPTH = 64
MAX_ALIASED = 10_000

Event = Any  # the stubs do not say what the events of each kind carry
_LOADER: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NAMED: dict[str, bool | float | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
}


class _Refused(Exception):
    """The file cannot be understood any further; what is wrong has been noted."""


def parse_yaml(data: bytes, problems: Problems) -> Node | None:
    """The one document in ``data`` (UTF-8, a byte order mark is skipped).

    None when it is unusable; duplicate keys and the like are noted and left out.
    """
    text = decode(data, problems)
    if text is None:
        return None
    try:
        return _Composer(yaml.parse(text, Loader=_LOADER), problems).document()
    except _Refused:
        return None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        context = f" ({error.context})" if error.context else ""
        message = f"not valid YAML: {error.problem}{context}"
        problems.on(line, column, problems.codes.syntax, message, hint=_syntax_hint(text, line, column, error))
    except yaml.reader.ReaderError as error:
        line, column = position(text, int(error.position))
        character = f"U+{ord(text[error.position]):04X}" if error.position < len(text) else "a control character"
        problems.on(
            line,
            column,
            problems.codes.syntax,
            f"not valid YAML: {character} is not allowed",
            hint="remove the character",
        )
    return None


def decode(data: bytes, problems: Problems, *, line: int = 1) -> str | None:
    """UTF-8 bytes, which begin at ``line``, as text without a byte order mark; None (and a problem) when they are
    something else."""
    if data.startswith(b"\x1f\x8b"):
        problems.on(0, 0, problems.codes.encoding, "the file is compressed (gzip)", hint="decompress it first")
        return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line += before.count(b"\n")
        column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8", "replace")) + 1
        message = f"not UTF-8: byte 0x{data[error.start]:02x} ({error.reason})"
        problems.on(line, column, problems.codes.encoding, message, hint="save the file as UTF-8")
        return None


def position(text: str, offset: int) -> tuple[int, int]:
    """Line and column, from 1, of an offset in a text."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


class _Composer:
    """Builds the tree from events: a recursive descent, with the depth and the aliases bounded."""

    def __init__(self, events: Iterator[Event], problems: Problems) -> None:
        self.events = events
        self.problems = problems
        self.anchors: dict[str, tuple[Node, int]] = {}
        self.open_anchors: set[str] = set()
        self.count = 0
        self.aliased = 0
        self.depth = 0

    def document(self) -> Node:
        next(self.events)  # the stream starts
        event = next(self.events)
        if isinstance(event, yaml.StreamEndEvent):
            self.problems.on(1, 1, self.problems.codes.syntax, "the file is empty")
            raise _Refused
        root = self.node(next(self.events))
        next(self.events)  # the document ends
        event = next(self.events)
        if not isinstance(event, yaml.StreamEndEvent):
            self.refuse(event, "a second document starts here", hint="keep one document in the file")
        return root

    def node(self, event: Event) -> Node:
        if isinstance(event, yaml.AliasEvent):
            return self.alias(event)
        self.check_tag(event)
        anchor = event.anchor
        if anchor is not None:
            self.open_anchors.add(anchor)
        before = self.count
        self.count += 1
        node = self.content(event)
        if anchor is not None:
            self.open_anchors.discard(anchor)
            self.anchors[anchor] = (node, self.count - before)
        return node

    def content(self, event: Event) -> Node:
        line, column = event.start_mark.line + 1, event.start_mark.column + 1
        if isinstance(event, yaml.ScalarEvent):
            if SURROGATE.search(event.value):  # an escape; only the loader without libyaml lets it pass
                self.refuse(event, "the text holds half of a surrogate pair, which is no character")
            value = self.resolve(event, line, column) if event.implicit[0] else event.value
            return Scalar(value, event.value, line, column, _inset(event))
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.refuse(event, f"nested more than {MAX_DEPTH} levels deep")
        node: Node
        if isinstance(event, yaml.SequenceStartEvent):
            node = Items(tuple(self.items()), line, column)
        else:
            node = Fields(tuple(self.entries()), line, column)
        self.depth -= 1
        return node

    def items(self) -> Iterator[Node]:
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            yield self.node(event)

    def entries(self) -> Iterator[Entry]:
        seen: dict[str, int] = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            key = self.node(event)
            value = self.node(next(self.events))
            line, column = event.start_mark.line + 1, event.start_mark.column + 1
            if not isinstance(key, Scalar):
                self.problems.on(
                    line, column, self.problems.codes.unsupported, "a key must be a string, found a list or a mapping"
                )
            elif not isinstance(key.value, str):
                hint = f'write it in quotes: "{key.text}"' if key.text else ""
                self.problems.on(
                    line,
                    column,
                    self.problems.codes.unsupported,
                    f"the key {shown(key.text)} is not a string",
                    hint=hint,
                )
            elif key.value in seen:
                message = f"duplicate key {shown(key.value)}, first on line {seen[key.value]}"
                self.problems.on(line, column, self.problems.codes.duplicate_key, message, hint="keep one of them")
            else:
                seen[key.value] = line
                yield Entry(key.value, value, line, column)

    def alias(self, event: Event) -> Node:
        if event.anchor in self.open_anchors:
            self.refuse(event, f"the alias *{event.anchor} contains itself")
        if event.anchor not in self.anchors:
            self.refuse(event, f"the alias *{event.anchor} names no anchor above it")
        node, count = self.anchors[event.anchor]
        self.count += count
        self.aliased += count
        if self.aliased > MAX_ALIASED:
            self.refuse(event, f"aliases expand to more than {MAX_ALIASED:,} values", hint="write the values out")
        return node

    def check_tag(self, event: Event) -> None:
        if event.tag is not None:
            tag = event.tag.replace("tag:yaml.org,2002:", "!!")
            hint = 'remove it; a string is written in quotes: "2"'
            self.problems.on(
                event.start_mark.line + 1,
                event.start_mark.column + 1,
                self.problems.codes.unsupported,
                f"the tag {shown(tag)} is not read",
                hint=hint,
            )

    def resolve(self, event: Event, line: int, column: int) -> str | int | float | bool | None:
        """A plain scalar by the core schema: everything that is not clearly something else is a string."""
        text: str = event.value
        if text in _NAMED:
            return _NAMED[text]
        if not text[0].isascii() or text[0] not in "+-.0123456789":
            return text
        if _INTEGER.fullmatch(text):
            if len(text) > MAX_DIGITS:
                self.problems.on(
                    line, column, self.problems.codes.unsupported, f"a number of more than {MAX_DIGITS} digits"
                )
                return 0
            return int(text, {"0o": 8, "0x": 16}.get(text[:2], 10))
        return float(text) if _FLOAT.fullmatch(text) else text

    def refuse(self, event: Event, message: str, *, hint: str = "") -> NoReturn:
        """Note a problem after which nothing further can be said, and stop."""
        mark = event.start_mark
        self.problems.on(mark.line + 1, mark.column + 1, self.problems.codes.unsupported, message, hint=hint)
        raise _Refused


def _inset(event: Event) -> int | None:
    """How far after its place the text of a scalar begins, None where it does not stand there letter by letter."""
    start, end = event.start_mark, event.end_mark
    inset = 1 if event.style in ("'", '"') else 0
    is_literal = start.line == end.line and end.column - start.column == len(event.value) + 2 * inset
    return inset if is_literal else None


def _syntax_hint(text: str, line: int, column: int, error: yaml.MarkedYAMLError) -> str:
    lines, problem, context = text.split("\n"), str(error.problem), str(error.context)
    here = lines[line - 1] if line <= len(lines) else ""
    if here[: len(here) - len(here.lstrip())].count("\t") or "'\\t'" in problem:
        return "indent with spaces: YAML allows no tabs there"
    if "mapping values" in problem and ": " in here[: column - 1]:
        return "a value that holds ': ' is written in quotes"
    if "mapping values" in problem or "parsing a block" in context:
        return "the keys of one mapping, or the items of one list, begin in the same column; a key ends in ': '"
    if "parsing a flow" in context:
        return "a bracket is not closed above, or a text that holds a comma, a colon or a bracket stands without quotes"
    if "quoted scalar" in context and error.context_mark is not None:
        return f"the quotation mark on line {error.context_mark.line + 1} is not closed"
    if here[column - 1 : column] in ("@", "`"):
        return f"a text that begins with {here[column - 1]} is written in quotes"
    return ""
