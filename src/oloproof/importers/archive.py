"""Zip archives that a stranger wrote: members by name, each as large as it says and no larger than a document may be.

New Inspect logs are compressed with Zstandard (method 93), which zipfile reads from Python 3.14 on; before, the library
zstandard does it.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import SEEK_END, BytesIO
from struct import unpack_from
from typing import Final

from oloproof.importers.source import MOST_BYTES, Source

MAGIC: Final = b"PK\x03\x04"
_ZSTANDARD: Final = 93
_METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, _ZSTANDARD)
_LOCAL_HEADER: Final = 30


class ArchiveError(ValueError):
    """What is wrong with an archive or with a member of it, and what to do."""

    def __init__(self, what: str, hint: str = "") -> None:
        super().__init__(what)
        self.hint = hint


class Archive:
    """An open archive. ``names`` are its members in their order."""

    def __init__(self, opened: zipfile.ZipFile) -> None:
        self._opened = opened
        self.names = opened.namelist()

    def read(self, name: str) -> bytes:
        """A member's bytes. ArchiveError when it is damaged, too large, or compressed in a way that is not known."""
        member = self._opened.getinfo(name)
        if member.file_size > MOST_BYTES:
            raise ArchiveError(f"{name} has {member.file_size} bytes, and at most {MOST_BYTES} are read")
        if member.compress_type not in _METHODS:
            raise ArchiveError(f"{name} is compressed by method {member.compress_type}, which is not read")
        try:
            if member.compress_type == _ZSTANDARD:
                return self._zstandard(member)
            with self._opened.open(member) as stream:
                data = stream.read(member.file_size + 1)
        except ArchiveError:
            raise
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError) as error:
            raise ArchiveError(f"{name} cannot be unpacked: {error}") from error
        if len(data) != member.file_size:
            raise ArchiveError(f"{name} is not as large as the archive says")
        return data

    def _zstandard(self, member: zipfile.ZipInfo) -> bytes:
        try:
            import zstandard
        except ImportError:
            hint = "pip install 'oloproof[inspect]'"
            raise ArchiveError(f"{member.filename} is compressed with Zstandard", hint) from None
        file = self._opened.fp
        assert file is not None
        file.seek(member.header_offset)
        header = file.read(_LOCAL_HEADER)
        if len(header) < _LOCAL_HEADER or not header.startswith(MAGIC):
            raise ArchiveError(f"{member.filename} is not where the archive says")
        name_length, extra_length = unpack_from("<HH", header, _LOCAL_HEADER - 4)
        file.seek(name_length + extra_length, 1)
        packed = BytesIO(file.read(member.compress_size))
        try:  # in a stream, since a frame may say that it is far larger than the archive does, and would be believed
            with zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True) as stream:
                data: bytes = stream.read(member.file_size + 1)
        except zstandard.ZstdError as error:
            raise ArchiveError(f"{member.filename} cannot be unpacked: {error}") from error
        if len(data) != member.file_size:
            raise ArchiveError(f"{member.filename} is not as large as the archive says")
        if zlib.crc32(data) != member.CRC:
            raise ArchiveError(f"{member.filename} is damaged: its checksum is another")
        return data


@contextmanager
def archive(source: Source) -> Iterator[Archive]:
    """The archive that a file is. ArchiveError when it is none."""
    with source.open() as file:
        try:
            opened = zipfile.ZipFile(file)
            members = opened.infolist()
            packed = sum(member.compress_size for member in members)
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
            raise ArchiveError(f"the file is no zip archive: {error}") from error
        with opened:
            if packed > file.seek(0, SEEK_END):
                raise ArchiveError("its members lie in one another, as in an archive that unpacks without end")
            yield Archive(opened)
