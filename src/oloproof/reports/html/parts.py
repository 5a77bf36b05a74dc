"""The cases of a run, packed to lie inside the page: blocks of case views, then the list that finds them.

Each part is JSON, deflated and in base64, whose alphabet holds no sign of any markup. A block is read when one of its
cases is opened. Only what is being packed is in memory.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from oloproof.model.alignment import Alignment
from oloproof.model.judgment import LETTERS, Judgment
from oloproof.model.run import CaseRecord, Run
from oloproof.reports.case import Block, CaseView, case_view
from oloproof.reports.html.aligned import Line, aligned
from oloproof.reports.html.discretion import discreet_case
from oloproof.reports.inert import inert, inert_json

ROOM = 12_000_000
"""Bytes of base64 up to which steps and verdicts of a case still go into the page."""
ROOM_FOR_PASSING = 7_000_000
"""The same for a case that passes everything, so that those that fail find room behind it."""

LEFT_OUT = -1
"""The block of a case whose details found no room."""
UNREADABLE = -2
"""The block of a case whose recorded file is not what it was."""
SERVED = -3
"""The block of a case that a server is asked for. Its place is its id where that is shown otherwise, else 0."""

_QUICKLY, _CLOSELY = 3, 6
"""Levels of compression: the second takes three times as long for a sixth less, which counts once room is used up."""

_CASES = 100
_BYTES = 512_000
_PREVIEW = 100
_MOST_LINES = 200
_encoder = msgspec.json.Encoder()


class Entry(Struct, frozen=True, kw_only=True):
    """An attempt of the run. ``record`` None: it cannot be read (any more). ``places`` are its slice values, in the
    run's order; empty where it is counted in none. ``alignments``, by criterion, are its calls beside a reference that
    they do not fit; ``calls`` are they beside a baseline's."""

    case: str
    trial: int
    judgments: tuple[Judgment, ...]
    record: CaseRecord | None
    places: tuple[str, ...] = ()
    alignments: Mapping[str, Alignment] = {}
    calls: tuple[Line, ...] = ()


class Part(Struct, frozen=True):
    """A packed text and the id of the element that holds it."""

    id: str
    text: str


class _Page(Struct, frozen=True):
    """A case as the script shows it: ``diffs`` are, by criterion, what was expected beside what was found, ``calls``
    those of a baseline beside its own."""

    view: CaseView
    diffs: dict[str, tuple[Line, ...]]
    calls: tuple[Line, ...]


def packed(entries: Iterable[Entry], run: Run, *, content: bool, room: int = ROOM) -> Iterator[Part]:
    """The blocks ``block-0``, ``block-1`` … and the ``index``. Without ``content``, inputs, outputs, arguments and
    results are left out."""
    blocks, spent, waiting, size = 0, 0, list[bytes](), 0
    index = _Index(run, content=content)
    for entry in entries:
        left = room - spent - index.size
        wanted = left > 0 and (left > room - ROOM_FOR_PASSING * room // ROOM or _is_notable(entry))
        if entry.record is None:
            index.add(entry, UNREADABLE, 0)
            continue
        if not wanted:
            index.add(entry, LEFT_OUT, 0)
            continue
        index.add(entry, blocks, len(waiting))
        waiting.append(_page(entry, entry.record, content=content))
        size += len(waiting[-1])
        if len(waiting) == _CASES or size >= _BYTES:
            part = Part(f"block-{blocks}", _pack(waiting, _QUICKLY if spent < room // 4 else _CLOSELY))
            spent += len(part.text)
            blocks, waiting, size = blocks + 1, [], 0
            yield part
    if waiting:
        yield Part(f"block-{blocks}", _pack(waiting, _CLOSELY))
    yield Part("index", index.text())


def listed(entries: Iterable[Entry], run: Run, *, content: bool) -> str:
    """The index alone, of cases that a server is asked for one by one: :func:`case_json`."""
    index = _Index(run, content=content)
    for entry in entries:
        if entry.record is None:
            index.add(entry, UNREADABLE, 0)
        else:
            index.add(entry, SERVED, 0 if inert(entry.case) == entry.case else entry.case)
    return index.text()


def case_json(entry: Entry, *, content: bool) -> bytes:
    """A case as the script shows it. The entry must have its record."""
    assert entry.record is not None
    return _page(entry, entry.record, content=content)


def _is_notable(entry: Entry) -> bool:
    return any(judgment.verdict in ("fail", "missing") for judgment in entry.judgments)


def _page(entry: Entry, record: CaseRecord, *, content: bool) -> bytes:
    view = case_view(record, alignments=entry.alignments)
    if not content:
        return _encoder.encode(_Page(discreet_case(view, record), {}, entry.calls))
    failing = (
        (name, judgment)
        for name, judgment in record.judgments
        if judgment.verdict == "fail" and name not in entry.alignments
    )
    diffs = {inert(name): rows for name, judgment in failing if (rows := aligned(judgment.expected, judgment.found))}
    if view.blocks:
        view = replace(view, blocks=tuple(map(_bounded, view.blocks)))
    return _encoder.encode(_Page(view, diffs, entry.calls))


def _bounded(block: Block) -> Block:
    """A traceback or log of which no more is shown than anyone reads in a browser."""
    if len(block.lines) <= _MOST_LINES:
        return block
    left = f"… {len(block.lines) - _MOST_LINES:,} lines are left out …"
    half = _MOST_LINES // 2
    return Block(block.title, (*block.lines[:half], left, *block.lines[-half:]))


def _pack(pages: list[bytes], level: int) -> str:
    return base64.b64encode(zlib.compress(b"[" + b",".join(pages) + b"]", level)).decode()


class _Index:
    """A row a case, compressed as it comes: id, trial, verdict letters, slice values, place, what was asked."""

    def __init__(self, run: Run, *, content: bool) -> None:
        self._content = content
        self._deflate = zlib.compressobj(_CLOSELY)
        self._chunks: list[bytes] = []
        self._bytes = 0
        self._values: list[dict[str, int]] = [{} for _ in run.slices]
        self._rows = 0
        head = {"criteria": list(map(inert, run.criteria)), "slices": list(map(inert, run.slices)), "tries": run.trials}
        self._write(_encoder.encode(head)[:-1] + b',"rows":[')

    @property
    def size(self) -> int:
        """Bytes of base64 so far, at most by what the compressor still holds."""
        return self._bytes * 4 // 3

    def add(self, entry: Entry, block: int, at: int | str) -> None:
        places = [
            known.setdefault(inert(value), len(known)) for known, value in zip(self._values, entry.places, strict=False)
        ]
        letters = "".join(LETTERS[judgment.verdict] for judgment in entry.judgments)
        row: list[Any] = [inert(entry.case), entry.trial, letters, places, block, at, self._preview(entry)]
        self._write((b"," if self._rows else b"") + _encoder.encode(row))
        self._rows += 1

    def text(self) -> str:
        self._write(b'],"values":' + _encoder.encode([list(known) for known in self._values]) + b"}")
        return base64.b64encode(b"".join(self._chunks) + self._deflate.flush()).decode()

    def _preview(self, entry: Entry) -> str:
        return inert_json(entry.record.case.input, _PREVIEW) if self._content and entry.record is not None else ""

    def _write(self, data: bytes) -> None:
        chunk = self._deflate.compress(data)
        self._bytes += len(chunk)
        self._chunks.append(chunk)
