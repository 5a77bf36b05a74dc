"""Passages of text files: enough to try a service without credentials.

They are ranked by BM25 where bm25s is installed, as it is with the extra ``service``; else by how many of the query's
words a passage has and nothing else. For anything more give :class:`~oloproof.runtime.RetrieveTool` a ``Retriever`` of
your own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from oloproof.errors import UsageError
from oloproof.runtime import Bm25Retriever, ChunkRef, Retriever, RunContext
from oloproof.runtime.retrieval import words_of
from oloproof.service.errors import ServiceError

SUFFIXES: Final = frozenset({".md", ".rst", ".txt"})
LONGEST_FILE: Final = 2**20
LONGEST_PASSAGE: Final = 2000
"""Characters of a passage that are kept."""

_BLANK_LINES: Final = re.compile(r"\n\s*\n")


def retriever_over(directories: Sequence[Path]) -> Retriever:
    """A retriever over the text files below each directory. A corpus is named after its directory; where there are
    several, so are their passages.

    Files of more than a megabyte, hidden ones and links are left out. Errors: ServiceError for what is no directory.
    """
    for directory in directories:
        if not directory.is_dir():
            raise ServiceError("OLO766", f"{directory} is no directory", "name a directory of text files")
    passages = [passage for directory in directories for passage in _passages(directory)]
    if len(directories) > 1:
        passages = [replace(passage, chunk_id=f"{passage.corpus_id}/{passage.chunk_id}") for passage in passages]
    try:
        return Bm25Retriever(passages)
    except UsageError:  # bm25s is not there, and the command works without an extra
        return _SharedWords(passages)


class _SharedWords:
    def __init__(self, passages: Sequence[ChunkRef]) -> None:
        self._passages = [(passage, frozenset(words_of(passage.text))) for passage in passages]

    async def retrieve(
        self, ctx: RunContext, *, query: str, top_k: int, corpus_ids: Sequence[str] | None
    ) -> list[ChunkRef]:
        """The passages with the most words of the query; of equals, the shortest first."""
        wanted = set(words_of(query))
        found = [
            (shared, len(words), passage)
            for passage, words in self._passages
            if (corpus_ids is None or passage.corpus_id in corpus_ids) and (shared := len(wanted & words))
        ]
        found.sort(key=lambda each: (-each[0], each[1]))
        return [replace(passage, score=shared / len(wanted)) for shared, _, passage in found[:top_k]]


def _passages(directory: Path) -> Iterator[ChunkRef]:
    for path in sorted(directory.rglob("*")):
        source = path.relative_to(directory)
        hidden = any(part.startswith(".") for part in source.parts)
        if hidden or path.is_symlink() or path.suffix.lower() not in SUFFIXES or not path.is_file():
            continue
        if path.stat().st_size > LONGEST_FILE:
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        for number, part in enumerate(filter(None, map(str.strip, _BLANK_LINES.split(text))), 1):
            yield ChunkRef(
                chunk_id=f"{source.as_posix()}#{number}",
                text=part[:LONGEST_PASSAGE],
                corpus_id=directory.resolve().name,
                source=source.as_posix(),
            )
