"""What every importer hands over, and the JSON that foreign files are made of."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from msgspec import DecodeError, MsgspecError, Struct
from msgspec.json import decode

from oloproof.model.recording import Recording
from oloproof.model.values import Json, snapshot

_BYTE = re.compile(r" *\(byte (?P<byte>\d+)\)")


class Summary(Struct, frozen=True, kw_only=True):
    """How much there was: ``unanswered`` calls have no result, ``errors`` are results that say so."""

    trajectories: int = 0
    steps: int = 0
    calls: int = 0
    results: int = 0
    errors: int = 0
    unanswered: int = 0
    truncated: int = 0


class Import(Struct, frozen=True, kw_only=True):
    """Recordings, and how often something could not be carried over, by kind."""

    recordings: tuple[Recording, ...]
    losses: Mapping[str, int]
    summary: Summary


class NotJson(ValueError):
    """Where (from 1; 0: unknown) and how bytes stop being JSON."""

    def __init__(self, what: str, *, line: int = 0, column: int = 0) -> None:
        super().__init__(what)
        self.line = line
        self.column = column


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
        return NotJson("nested too deeply to be read")
    said = str(error)
    found = _BYTE.search(said)
    if found is None:
        return NotJson("it ends too early" if "truncated" in said else said)
    before = data[: int(found["byte"])]
    last_line = before.rpartition(b"\n")[2].decode(errors="replace")
    what = _BYTE.sub("", said).removeprefix("JSON is malformed: ")
    return NotJson(what, line=before.count(b"\n") + 1, column=len(last_line) + 1)
