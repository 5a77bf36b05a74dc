"""Where audit records go: memory, or a file of JSON lines. Each holds the runs' heads and refuses a fork."""

from __future__ import annotations

import fcntl
import os
import warnings
from collections.abc import Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final, Protocol

from msgspec import MsgspecError
from msgspec.json import Decoder, Encoder

from oloproof.runtime.audit import NONE, AuditHead, AuditRecord
from oloproof.runtime.errors import AuditError, StateError, TornAuditWarning

if TYPE_CHECKING:
    from collections.abc import Iterator

_DECODE: Final = Decoder(AuditRecord).decode
_ENCODE: Final = Encoder().encode
_CHUNK: Final = 1 << 20


class AuditSink(Protocol):
    """What takes audit records and knows the last one of each run."""

    def append(self, records: Sequence[AuditRecord]) -> None:
        """Add the next records of one run. Errors: StateError where they do not follow the run's last record."""

    def head(self, run: tuple[str, str]) -> AuditHead | None:
        """The last record of a run (tenant, run id), None when it has none."""

    @property
    def records(self) -> list[AuditRecord]:
        """All records, in the order in which they came."""


class MemoryAuditSink:
    """Audit records in memory, gone with the process."""

    def __init__(self) -> None:
        self._records: list[AuditRecord] = []
        self._heads: dict[tuple[str, str], AuditHead] = {}
        self._lock = Lock()

    def append(self, records: Sequence[AuditRecord]) -> None:
        """Add the next records of one run. Errors: StateError where they do not follow the run's last record."""
        with self._lock:
            _require_following(self._heads, records)
            self._records.extend(records)
            _move(self._heads, records)

    def head(self, run: tuple[str, str]) -> AuditHead | None:
        """The last record of a run (tenant, run id), None when it has none."""
        with self._lock:
            return self._heads.get(run)

    @property
    def records(self) -> list[AuditRecord]:
        """All records, in the order in which they came."""
        with self._lock:
            return list(self._records)


class JsonlAuditSink:
    """One line a record, appended to ``path``; several processes may share it. ``fsync=True`` survives a machine crash.

    A file that ends in half a line, as a crash leaves it, is mended when it is next used: the half line is cut off and
    a :class:`TornAuditWarning` says so. The record is in the saved state of its run, and a resume writes it again.

    Errors: AuditError where the file cannot be opened, or holds a whole line that is no record.
    """

    def __init__(self, path: str | os.PathLike[str], *, fsync: bool = False) -> None:
        self.path = Path(path)
        self._fsync = fsync
        self._heads: dict[tuple[str, str], AuditHead] = {}
        self._read_to = 0
        self._lines = 0
        self._lock = Lock()
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise AuditError(f"{self.path}: the audit file cannot be opened: {error.strerror}") from None
        with self._held():
            self._catch_up()

    def append(self, records: Sequence[AuditRecord]) -> None:
        """Add the next records of one run. Errors: StateError where they do not follow the run's last record."""
        text = b"".join(_ENCODE(record) + b"\n" for record in records)
        with self._held():
            self._catch_up()
            _require_following(self._heads, records)
            rest = memoryview(text)
            try:
                while rest:
                    rest = rest[os.write(self._file, rest) :]
                if self._fsync:
                    os.fsync(self._file)
            except OSError as error:
                raise AuditError(f"{self.path}: the audit file cannot be written: {error.strerror}") from None
            self._read_to += len(text)
            self._lines += len(records)
            _move(self._heads, records)

    def head(self, run: tuple[str, str]) -> AuditHead | None:
        """The last record of a run (tenant, run id), None when it has none."""
        with self._held():
            self._catch_up()
            return self._heads.get(run)

    @property
    def records(self) -> list[AuditRecord]:
        """All records, read back from the file."""
        return read_audit(self.path)

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    @contextmanager
    def _held(self) -> Iterator[None]:
        """Alone with the file: among this process's threads, and among processes."""
        with self._lock:
            fcntl.flock(self._file, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.flock(self._file, fcntl.LOCK_UN)

    def _catch_up(self) -> None:
        """Read what others have appended, a part at a time, and cut off half a line."""
        size = os.fstat(self._file).st_size
        if size < self._read_to:
            raise AuditError(f"{self.path}: the audit file has become shorter", hint="restore it, or start another")
        if size == self._read_to:
            return
        rest = b""
        while part := os.pread(self._file, _CHUNK, self._read_to + len(rest)):
            *lines, rest = (rest + part).split(b"\n")
            for line in lines:
                _move(self._heads, [_record(line, self.path, self._lines + 1)])
                self._lines += 1
                self._read_to += len(line) + 1
        if rest:
            os.ftruncate(self._file, self._read_to)
            _tell_torn(self.path, len(rest))


def read_audit(path: str | os.PathLike[str]) -> list[AuditRecord]:
    """The records of an audit file, for :func:`verify_audit`. Half a line at its end is left out, with a
    :class:`TornAuditWarning`.

    Errors: AuditError where the file cannot be read, or a whole line is no record; it names the line.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise AuditError(f"{os.fspath(path)}: the audit file cannot be read: {error.strerror}") from None
    whole = data.rfind(b"\n") + 1
    if whole < len(data):
        _tell_torn(Path(path), len(data) - whole)
    return [_record(line, Path(path), number) for number, line in enumerate(data[:whole].split(b"\n")[:-1], 1)]


def _record(line: bytes, path: Path, number: int) -> AuditRecord:
    try:
        return _DECODE(line)
    except MsgspecError as error:
        raise AuditError(f"{path}:{number}: this line is no audit record: {error}") from None


def _tell_torn(path: Path, length: int) -> None:
    warnings.warn(
        f"{path}: it ended in half a line of {length} bytes, as a crash leaves it; the half line is left out",
        TornAuditWarning,
        stacklevel=4,
    )


def _require_following(heads: dict[tuple[str, str], AuditHead], records: Sequence[AuditRecord]) -> None:
    for record in records[:1]:
        head = heads.get(record.run)
        due = (0, NONE) if head is None else (head.seq + 1, head.digest)
        if (record.seq, record.previous) != due:
            raise StateError(
                f"the audit trail of the run {record.run_id!r} goes on otherwise: its next record is {due[0]}",
                hint="somebody else has resumed this run, or the trail is another's",
            )


def _move(heads: dict[tuple[str, str], AuditHead], records: Iterable[AuditRecord]) -> None:
    for record in records:
        heads[record.run] = record.head
