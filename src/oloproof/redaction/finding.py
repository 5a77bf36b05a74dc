"""Where secrets are in a text.

A text may hold another one: a JSON document as an argument, an address in a query. What is written there as an escape
(``\\u0040``, ``\\n``, ``%40``) is read as what it stands for, up to three levels deep, and what is found is taken out
of the text as it was written.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from oloproof.model.redaction import MARKER, MARKER_RULE, OwnPattern
from oloproof.model.values import TAG
from oloproof.redaction.shapes import BUILT_IN, Span

_LEVELS = 3
_MEMORY_BYTES = 64 << 20
_ESCAPE = re.compile(rb'\\u[0-9a-fA-F]{4}|\\["\\/bfnrt]|%[0-9a-fA-F]{2}')

_ANCHOR = re.compile(r"(?<!\[)\^|\$|\\[AzB]")
"""What may be said in a pattern of the ends of a text, which a document has elsewhere."""

_READ_OTHERWISE = rf"\\|%|[0-9][eE][+]?[0-9]|{re.escape(TAG)}"
"""What stands for something else in a document: an escape, a number with an exponent, a tag."""


class PatternError(ValueError):
    """RE2 refuses a pattern of the user's, or it would find nothing at all everywhere."""


class Found(NamedTuple):
    """A secret: bytes ``start`` to ``end`` of a text, and the rule that found it."""

    start: int
    end: int
    rule: str


class _Rule(NamedTuple):
    name: str
    compiled: Any
    within: Callable[[bytes], Iterator[Span]] | None


class Finder:
    """The rules, compiled once. Errors: :class:`PatternError` for a pattern of the user's."""

    def __init__(self, built_in: Sequence[str], own: Sequence[OwnPattern] = ()) -> None:
        self._rules = [
            _Rule(name, _compiled(pattern), shape.within)
            for name, shape in BUILT_IN.items()
            if name in built_in
            for pattern in shape.patterns
        ]
        self._rules += [_Rule(each.name, own_pattern(each.pattern), None) for each in own]
        self._names = frozenset(rule.name for rule in self._rules)
        # One look tells that there is nothing, which is what nearly all texts come to.
        looks = "|".join([r"\[redacted:", *(f"(?:{rule.compiled.pattern})" for rule in self._rules)])
        self._any = _compiled(looks)
        is_anchored = any(_ANCHOR.search(each.pattern) for each in own)
        self._hint = None if is_anchored else _compiled(f"{looks}|{_READ_OTHERWISE}")

    def may_be_in(self, document: bytes) -> bool:
        """Whether something may be found in a text, a key or a number of a JSON document; False is certain."""
        return self._hint is None or self._hint.search(document) is not None

    def found(self, data: bytes) -> list[Found]:
        """The secrets of a text in UTF-8, in order. None overlaps another: those that do are one."""
        spans = self._at_level(data)
        levels: list[_Read] = []
        inner = data
        while len(levels) < _LEVELS and (b"\\" in inner or b"%" in inner):
            read = _read(inner)
            if read is None:
                break
            levels.append(read)
            inner = read.data
            for found in self._at_level(inner):
                start, end = found.start, found.end
                for level in reversed(levels):
                    start, end = level.place(start, end)
                spans.append(Found(start, end, found.rule))
        return merged(spans)

    def _at_level(self, data: bytes) -> list[Found]:
        if self._any.search(data) is None:
            return []
        spans = list(self._markers(data))
        for rule in self._rules:
            for match in rule.compiled.finditer(data):
                group = 1 if match.re.groups and match.span(1) != (-1, -1) else 0
                start, end = match.span(group)
                if rule.within is None:
                    spans.append(Found(start, end, rule.name))
                else:
                    spans += [Found(start + a, start + b, rule.name) for a, b in rule.within(data[start:end])]
        return [span for span in spans if span.start < span.end]

    def _markers(self, data: bytes) -> Iterator[Found]:
        """What looks as if it had been put there. What was redacted before keeps the name of its rule."""
        if b"[redacted:" not in data:
            return
        for match in _MARKER.finditer(data):
            name = match[1].decode()
            yield Found(*match.span(), name if name in self._names else MARKER_RULE)


_MARKER = re.compile(MARKER.pattern.encode())


def own_pattern(pattern: str) -> Any:
    """A pattern of the user's, compiled. Errors: :class:`PatternError`."""
    compiled = _compiled(pattern)
    _compiled(f"(?:{pattern})|x")  # beside others, which it must not swallow
    if compiled.search(b"") is not None:
        raise PatternError("it matches the empty text, so it would be found everywhere")
    return compiled


def _compiled(pattern: str) -> Any:
    import re2  # imported late: most projects redact nothing

    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY_BYTES
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        said = error.args[0]
        reason = said.decode(errors="replace") if isinstance(said, bytes) else str(error)
        raise PatternError(f"RE2 cannot compile it: {reason}") from None


class _Read:
    """A text with its escapes read, and where each part of it was written."""

    def __init__(self, data: bytes, pieces: Sequence[tuple[int, int, int]]) -> None:
        """``pieces``: where each begins here, where it was written, and how long it was there; 0 for a piece that was
        written as it is."""
        self.data = data
        self._pieces = pieces
        self._starts = [piece[0] for piece in pieces]

    def place(self, start: int, end: int) -> Span:
        """Where these bytes were written; an escape is never cut in two."""
        begin, written, escaped = self._piece(start)
        first = written if escaped else written + start - begin
        begin, written, escaped = self._piece(end - 1)
        last = written + escaped if escaped else written + end - begin
        return first, last

    def _piece(self, place: int) -> tuple[int, int, int]:
        return self._pieces[bisect_right(self._starts, place) - 1]


def _read(data: bytes) -> _Read | None:
    """The text with its escapes read; None where it has none."""
    out = bytearray()
    pieces: list[tuple[int, int, int]] = []
    at = 0
    for match in _ESCAPE.finditer(data):
        if match.start() > at:
            pieces.append((len(out), at, 0))
            out += data[at : match.start()]
        pieces.append((len(out), match.start(), match.end() - match.start()))
        out += _meaning(match[0])
        at = match.end()
    if not pieces:
        return None
    if at < len(data):
        pieces.append((len(out), at, 0))
        out += data[at:]
    return _Read(bytes(out), pieces)


_SIMPLE: Mapping[bytes, bytes] = {
    b"\\" + bytes([byte]): json.loads(b'"\\' + bytes([byte]) + b'"').encode() for byte in b'"\\/bfnrt'
}


def _meaning(escape: bytes) -> bytes:
    if escape[:1] == b"%":
        return bytes([int(escape[1:], 16)])
    return _SIMPLE.get(escape) or chr(int(escape[2:], 16)).encode("utf-8", "surrogatepass")


def merged(spans: Iterable[Found]) -> list[Found]:
    """The same in order, those that overlap as one."""
    one: list[Found] = []
    for span in sorted(spans, key=lambda each: (each.start, -each.end)):
        if one and span.start < one[-1].end:
            if span.end > one[-1].end:
                one[-1] = one[-1]._replace(end=span.end)
            continue
        one.append(span)
    return one
