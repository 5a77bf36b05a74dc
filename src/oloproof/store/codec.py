"""What is kept, as bytes: the values of a run and of its cases, apart from the database that holds them.

Headers and aggregates are JSON, so that a person with ``sqlite3`` can read them. Details are JSON too (only JSON
carries every integer that an argument may hold), many cases compressed together, because neighbours resemble each
other: a block is a version byte and a zlib stream.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from msgspec import MsgspecError, Struct
from msgspec.json import Decoder, Encoder, decode, encode

from oloproof.model.case import Attempt, Case
from oloproof.model.comparison import Side
from oloproof.model.judgment import LETTERS, Judgment
from oloproof.model.tally import Amount

T = TypeVar("T")

BLOCK_VERSION = 1
BLOCK_CASES = 64
BLOCK_BYTES = 1 << 20
"""A block is closed once it is this large before compression, so that one read never costs more than a few cases."""
COMPRESSION = 1


class Unreadable(ValueError):
    """Bytes that this codec did not write, or that were damaged since."""


class SourceRef(Struct, frozen=True, gc=False):
    """Where a recorded attempt lies: ``length`` bytes at ``offset`` of the file whose SHA-256 is ``digest`` (hex).

    A relative ``path`` counts from the directory that holds the store's directory, the project's.
    """

    path: str
    digest: str
    offset: int
    length: int


class StoredCase(Struct, frozen=True, gc=False):
    """One judged attempt on its way into the store. ``attempt`` is a :class:`SourceRef` where a file already has it;
    ``side`` is what is counted and compared of it."""

    ordinal: int
    trial: int
    side: Side
    case: Case
    attempt: Attempt | SourceRef
    judgments: tuple[Judgment, ...]


class Placed(NamedTuple):
    """A :class:`SourceRef` whose path and digest were given a number, because all cases of a file share them."""

    source: int
    offset: int
    length: int


class Detail(Struct, frozen=True, array_like=True):
    """What a block says of one case. ``case`` None: recordings are their own dataset, the case is in the recording."""

    attempt: Attempt | Placed
    case: Case | None
    judgments: tuple[Judgment, ...]


_encoder = Encoder()
_sorting_encoder = Encoder(order="sorted")
_decoder = Decoder(Detail)
_sides_decoder = Decoder(list[Side])


def stored_case(
    ordinal: int,
    case: Case,
    attempt: Attempt,
    judgments: Sequence[Judgment],
    source: SourceRef | None = None,
    *,
    places: tuple[str, ...] = (),
    amounts: tuple[Amount, ...] = (),
) -> StoredCase:
    """Make ready for :meth:`Store.append`. With ``source`` the attempt is referred to there and not copied.

    ``ordinal`` is the attempt's place in the run, from 0; ``judgments``, ``places`` (slice values) and ``amounts``
    (quantities) are in the run's order of criteria, slices and quantity sources.
    """
    codes = "".join([LETTERS[judgment.verdict] for judgment in judgments])
    kept = attempt if source is None else source
    side = Side(attempt.case_id, codes, places, amounts)
    return StoredCase(ordinal, attempt.trial, side, case, kept, tuple(judgments))


class RunDigest:
    """SHA-256 over a run's criteria and then, in order, each attempt's case id, trial and codes.

    An approval is bound to it: what a person looked at is what the approval clears.
    """

    def __init__(self, criteria: Sequence[str]) -> None:
        self._hash = hashlib.sha256(_encoder.encode(list(criteria)))

    def add(self, rows: Iterable[StoredCase]) -> None:
        """The next attempts of the run."""
        self._hash.update(b"".join([_encoder.encode((row.side.case_id, row.trial, row.side.codes)) for row in rows]))

    def hexdigest(self) -> str:
        """64 hexadecimal digits."""
        return self._hash.hexdigest()


class Block(Struct, frozen=True):
    """Compressed details, and where each of them starts and how long it is once they are inflated."""

    data: bytes
    spans: tuple[tuple[int, int], ...]


def pack(details: Iterable[Detail]) -> Iterator[Block]:
    """Blocks of up to BLOCK_CASES details, in order."""
    buffer = bytearray()
    spans: list[tuple[int, int]] = []
    for detail in details:
        start = len(buffer)
        _encoder.encode_into(detail, buffer, -1)
        spans.append((start, len(buffer) - start))
        if len(spans) == BLOCK_CASES or len(buffer) >= BLOCK_BYTES:
            yield _block(buffer, spans)
            buffer, spans = bytearray(), []
    if spans:
        yield _block(buffer, spans)


def pack_sides(sides: Sequence[Side]) -> bytes:
    """What a comparison needs of the cases of a block, apart from their details, so that it reads nothing else."""
    return zlib.compress(_encoder.encode(sides), COMPRESSION)


def unpack_sides(data: bytes) -> list[Side]:
    """:func:`pack_sides` back. Raises :class:`Unreadable`."""
    try:
        return _sides_decoder.decode(zlib.decompress(data))
    except (zlib.error, MsgspecError) as error:
        raise Unreadable(str(error)) from error


def identity(value: object) -> str:
    """A short digest of a JSON value, the same for equal values: 16 hexadecimal digits."""
    return hashlib.blake2b(_sorting_encoder.encode(value), digest_size=8).hexdigest()


def inflate(data: bytes) -> bytes:
    """The inside of a block, to be cut at its spans. Raises :class:`Unreadable`."""
    if data[:1] != bytes([BLOCK_VERSION]):
        raise Unreadable(f"a block starts with {data[:1]!r}")
    try:
        return zlib.decompress(memoryview(data)[1:])
    except zlib.error as error:
        raise Unreadable(str(error)) from error


def unpack(data: bytes) -> Detail:
    """One detail, cut from an inflated block. Raises :class:`Unreadable`."""
    try:
        return _decoder.decode(data)
    except (MsgspecError, RecursionError) as error:
        raise Unreadable(str(error)) from error


def to_json(value: object) -> str:
    """A header or an aggregate as JSON text."""
    return encode(value).decode()


def from_json(text: str, *, kind: type[T]) -> T:
    """Read :func:`to_json` back as ``kind``. Raises :class:`Unreadable`."""
    try:
        return decode(text, type=kind)
    except (MsgspecError, RecursionError) as error:
        raise Unreadable(str(error)) from error


def _block(buffer: bytearray, spans: list[tuple[int, int]]) -> Block:
    return Block(data=bytes([BLOCK_VERSION]) + zlib.compress(buffer, COMPRESSION), spans=tuple(spans))
