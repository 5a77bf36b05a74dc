"""Passages of text files, found by the words that they share with a query: enough to try a service without credentials.

It ranks by how many of the query's words a passage has and nothing else. For anything more give
:class:`~oloproof.runtime.RetrieveTool` a ``Retriever`` of your own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from oloproof.runtime import ChunkRef, Retriever, RunContext
from oloproof.service.errors import ServiceError

SUFFIXES: Final = frozenset({".md", ".rst", ".txt"})
LONGEST_FILE: Final = 2**20
LONGEST_PASSAGE: Final = 2000
"""Characters of a passage that are kept."""

_WORD: Final = re.compile(r"\w+")
_BLANK_LINES: Final = re.compile(r"\n\s*\n")


class _Passage(Struct, frozen=True):
    ref: ChunkRef
    words: frozenset[str]


def retriever_over(directories: Sequence[Path]) -> Retriever:
    """A retriever over the text files below each directory; a corpus is named after its directory.

    Files of more than a megabyte, hidden ones and links are left out. Errors: ServiceError for what is no directory.
    """
    for directory in directories:
        if not directory.is_dir():
            raise ServiceError("OLO766", f"{directory} is no directory", "name a directory of text files")
    return _SharedWords([passage for directory in directories for passage in _passages(directory)])


class _SharedWords:
    def __init__(self, passages: Sequence[_Passage]) -> None:
        self._passages = passages

    async def retrieve(
        self, ctx: RunContext, *, query: str, top_k: int, corpus_ids: Sequence[str] | None
    ) -> list[ChunkRef]:
        """The passages with the most words of the query; of equals, the shortest first."""
        wanted = _words(query)
        found = [
            (shared, len(passage.words), passage.ref)
            for passage in self._passages
            if (corpus_ids is None or passage.ref.corpus_id in corpus_ids) and (shared := len(wanted & passage.words))
        ]
        found.sort(key=lambda each: (-each[0], each[1]))
        return [
            ChunkRef(
                chunk_id=ref.chunk_id,
                text=ref.text,
                score=shared / len(wanted),
                corpus_id=ref.corpus_id,
                source=ref.source,
            )
            for shared, _, ref in found[:top_k]
        ]


def _passages(directory: Path) -> Iterator[_Passage]:
    for path in sorted(directory.rglob("*")):
        source = path.relative_to(directory)
        hidden = any(part.startswith(".") for part in source.parts)
        if hidden or path.is_symlink() or path.suffix.lower() not in SUFFIXES or not path.is_file():
            continue
        if path.stat().st_size > LONGEST_FILE:
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        for number, part in enumerate(filter(None, map(str.strip, _BLANK_LINES.split(text))), 1):
            ref = ChunkRef(
                chunk_id=f"{source.as_posix()}#{number}",
                text=part[:LONGEST_PASSAGE],
                corpus_id=directory.resolve().name,
                source=source.as_posix(),
            )
            yield _Passage(ref, _words(part))


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))
