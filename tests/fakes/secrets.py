"""Secrets whose every part can be recognized, and where to look for them."""

from __future__ import annotations

import re
import sqlite3
import zlib
from pathlib import Path

SECRET = "qza1qzb2qzc3@qzd4qze5.org"
"""An e-mail address. Half of it is known by its letters, too: see :func:`parts`."""

IN_CODE = 'S = "qza1qzb2qzc3" + "@qzd4qze5.org"\n'
"""The same for a program, whose text does not hold it."""

_PART = re.compile(r"qz[a-e][1-5]")


def parts(*texts: str) -> list[str]:
    """What the texts hold of the secret, be it cut."""
    return sorted({part for text in texts for part in _PART.findall(text)})


def stored(directory: Path) -> str:
    """All that the files of the store hold, the compressed parts inflated; "" where there is none."""
    texts = [path.read_bytes().decode("latin-1") for path in (directory / ".oloproof").glob("*") if path.is_file()]
    if not texts:
        return ""
    with sqlite3.connect(directory / ".oloproof" / "oloproof.db") as db:
        for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            cells = [cell for row in db.execute(f"SELECT * FROM {table}") for cell in row]
            texts += [_inflated(cell) if isinstance(cell, bytes) else str(cell) for cell in cells]
    return "\n".join(texts)


def _inflated(data: bytes) -> str:
    for start in (0, 1):
        try:
            return zlib.decompress(data[start:]).decode()
        except zlib.error:
            continue
    return data.decode("latin-1")
