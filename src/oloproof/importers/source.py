"""A file, as importers see it: they read what they are given and open nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, Final, Protocol

MOST_BYTES: Final = 256 * 2**20
"""A document, or a line, may be as long as this; a file of lines may have any length."""


class Source(Protocol):
    """A file, as importers see it. Whatever it raises is a UsageError that names the file."""

    @property
    def name(self) -> str:
        """The path as the user would type it."""

    def head(self) -> bytes:
        """The first 64 KiB."""

    def lines(self) -> Iterator[bytes]:
        """The lines, each with its newline. UsageError for one of more than :data:`MOST_BYTES`."""

    def read(self) -> bytes:
        """All of it. UsageError for more than :data:`MOST_BYTES`."""

    def open(self) -> BinaryIO:
        """The file itself, to seek in (an archive); the caller closes it."""
