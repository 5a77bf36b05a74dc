"""Passages in memory, ranked against a query by BM25 (Robertson et al.), as the library bm25s counts it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

from msgspec.structs import replace

from oloproof.errors import Problem, UsageError
from oloproof.runtime.controllers import RunContext
from oloproof.runtime.events import ChunkRef

_WORD: Final = re.compile(r"\w+")


class Bm25Retriever:
    """The passages that share a query's rare words, best first; ``score`` is BM25 (k1 1.5, b 0.75), without a unit.

    Words are runs of letters and digits, in any case and any script. A passage that shares no word is not found; of
    equals the one that was given first comes first. The index is made once and never changes, so threads may share it.

    Errors: UsageError where bm25s is not installed.
    """

    def __init__(self, passages: Iterable[ChunkRef]) -> None:
        try:
            import bm25s  # an extra, and slow to import
        except ImportError:
            hint = "pip install 'oloproof[retrieval]'"
            raise UsageError(Problem("OLO755", "ranking by BM25 needs bm25s", hint)) from None
        self._passages = tuple(passages)
        texts = [words_of(passage.text) for passage in self._passages]
        self._index: Any = None
        if any(texts):  # of no words at all there is no index
            self._index = bm25s.BM25()
            self._index.index(texts, show_progress=False)

    def search(self, query: str, *, top_k: int, corpus_ids: Collection[str] | None = None) -> list[ChunkRef]:
        """At most ``top_k`` passages; ``corpus_ids`` None searches all corpora."""
        asked = words_of(query)
        if self._index is None or not asked:
            return []
        scores = self._index.get_scores(asked)
        ranked = (int(each) for each in (-scores).argsort(kind="stable"))
        found: list[ChunkRef] = []
        for each in ranked:
            if len(found) == top_k or scores[each] <= 0:
                break
            passage = self._passages[each]
            if corpus_ids is None or passage.corpus_id in corpus_ids:
                found.append(replace(passage, score=float(scores[each])))
        return found

    async def retrieve(
        self, ctx: RunContext, *, query: str, top_k: int, corpus_ids: Sequence[str] | None
    ) -> list[ChunkRef]:
        """:meth:`search`, as a ``Retriever``."""
        return self.search(query, top_k=top_k, corpus_ids=corpus_ids)


def words_of(text: str) -> list[str]:
    """The words of a text, in one case."""
    return _WORD.findall(text.casefold())
