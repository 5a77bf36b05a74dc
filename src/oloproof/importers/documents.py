"""The JSON that foreign files are made of: one document, or one value a line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from msgspec import DecodeError, MsgspecError, Struct
from msgspec.json import decode

from oloproof.errors import Problem
from oloproof.importers import codes
from oloproof.importers.source import Source
from oloproof.inputs import BOM
from oloproof.model.values import Json, snapshot

_TOO_DEEP = "nested too deeply to be read"
_BYTE = re.compile(r" *\(byte (?P<byte>\d+)\)")


T = TypeVar("T")


class NotJson(ValueError):
    """Where (from 1; 0: unknown) and how bytes stop being JSON."""

    def __init__(self, what: str, *, line: int = 0, column: int = 0) -> None:
        super().__init__(what)
        self.line = line
        self.column = column


class Document(Struct, frozen=True):
    """A JSON value of a file: ``line`` counts from 1 in JSON Lines, and is 0 where the value is the whole file."""

    line: int
    value: Json


def documents(source: Source) -> Iterator[Document | Problem]:
    """The values of a file: the one it is (line 0), or one a line, streamed. What is no JSON is a Problem.

    A file whose first line is a value of its own, and not its only line, is JSON Lines; any other is one document.
    """
    lines = enumerate(source.lines(), 1)
    first = next(((number, line) for number, line in lines if line.strip(_BLANK)), None)
    if first is None:
        yield Problem(codes.NOT_JSON, "the file is empty", file=source.name)
        return
    number, text = first
    try:
        value = read_json(text.removeprefix(BOM))
    except NotJson:
        yield _whole(source)
        return
    second = next(((number, line) for number, line in lines if line.strip(_BLANK)), None)
    if second is None:
        yield Document(0, value)
        return
    yield Document(number, value)
    yield _line(source.name, *second)
    for number, text in lines:
        if text.strip(_BLANK):
            yield _line(source.name, number, text)


_BLANK = b" \t\r\n" + BOM


def each_document(sources: Iterable[Source], tell: Callable[[Document, str], Iterator[T]]) -> Iterator[T | Problem]:
    """What ``tell`` makes of each document of the files and of its file's name; problems as they are."""
    for source in sources:
        for document in documents(source):
            if isinstance(document, Problem):
                yield document
                continue
            try:
                yield from tell(document, source.name)
            except RecursionError:
                yield too_deep(source.name, document.line)


def too_deep(file: str, line: int = 0) -> Problem:
    """The problem with a value that could be parsed and cannot be looked into."""
    return Problem(codes.NOT_JSON, f"its values are {_TOO_DEEP}", "leave that run out", file=file, line=line)


def _whole(source: Source) -> Document | Problem:
    try:
        return Document(0, read_json(source.read().removeprefix(BOM)))
    except NotJson as error:
        what = f"the file is neither JSON nor JSON Lines: {error}"
        return Problem(codes.NOT_JSON, what, file=source.name, line=error.line, column=error.column)


def _line(file: str, number: int, text: bytes) -> Document | Problem:
    try:
        return Document(number, read_json(text))
    except NotJson as error:
        return Problem(codes.NOT_JSON, f"the line is not JSON: {error}", file=file, line=number, column=error.column)


def read_json(data: bytes) -> Json:
    """One JSON value. What only lenient writers produce (NaN, lone surrogates, UTF-16) is read too, and tagged.

    Raises :class:`NotJson`.
    """
    try:
        return decode(data)
    except (MsgspecError, RecursionError) as error:
        try:
            return snapshot(json.loads(data))
        except (ValueError, RecursionError):
            raise not_json(data, error) from error


def not_json(data: bytes, error: Exception) -> NotJson:
    """What msgspec's ``error`` says of bytes that are no JSON."""
    if not isinstance(error, DecodeError):
        return NotJson(_TOO_DEEP)
    said = str(error)
    found = _BYTE.search(said)
    if found is None:
        return NotJson("it ends too early" if "truncated" in said else said)
    before = data[: int(found["byte"])]
    last_line = before.rpartition(b"\n")[2].decode(errors="replace")
    what = _BYTE.sub("", said).removeprefix("JSON is malformed: ")
    return NotJson(what, line=before.count(b"\n") + 1, column=len(last_line) + 1)
