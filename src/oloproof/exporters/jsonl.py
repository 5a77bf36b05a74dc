"""Our own ``traces.jsonl``, which has a place for everything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from oloproof.exporters.format import Exporter
from oloproof.importers.recordings import encode
from oloproof.model.recording import Recording


def write(recordings: Iterable[Recording], losses: Counter[str]) -> Iterator[bytes]:
    """A recording a line."""
    return map(encode, recordings)


EXPORTER: Final = Exporter(name="jsonl", about="recordings as `traces.jsonl` holds them", write=write)
