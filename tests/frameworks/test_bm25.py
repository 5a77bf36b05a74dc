"""BM25 over passages in memory, with the library that counts it."""

from __future__ import annotations

import asyncio
from math import log
from pathlib import Path

import pytest

from fakes.projects import oloproof
from oloproof.runtime import (
    AgentLoop,
    AgentRequest,
    Bm25Retriever,
    ChunkRef,
    HeuristicController,
    RetrieveTool,
    RunContext,
    ToolRegistry,
)

pytest.importorskip("bm25s")


def passages(*texts: str, corpus: str | None = None) -> list[ChunkRef]:
    return [ChunkRef(chunk_id=f"c{number}", text=text, corpus_id=corpus) for number, text in enumerate(texts)]


def found(retriever: Bm25Retriever, query: str, top_k: int = 10) -> list[str]:
    return [each.chunk_id for each in retriever.search(query, top_k=top_k)]


def test_a_rare_word_counts_more_than_common_ones() -> None:
    retriever = Bm25Retriever(passages("the cat and the dog", "the dog and the bird", "the dog and a refund"))
    assert found(retriever, "the refund") == ["c2", "c0", "c1"]


def test_the_score_is_bm25() -> None:
    retriever = Bm25Retriever(passages("refund refund order", "order one two"))
    (best,) = retriever.search("refund", top_k=5)
    frequency, length, mean = 2, 3, 3
    idf = log(1 + (2 - 1 + 0.5) / (1 + 0.5))
    assert best.score == pytest.approx(
        idf * frequency / (frequency + 1.5 * (1 - 0.75 + 0.75 * length / mean)), rel=1e-6
    )


def test_what_shares_no_word_is_not_found_and_equals_keep_their_order() -> None:
    retriever = Bm25Retriever(passages("same words", "nothing here", "same words"))
    assert found(retriever, "SAME") == ["c0", "c2"]
    assert found(retriever, "same", top_k=1) == ["c0"]
    assert found(retriever, "elsewhere") == found(retriever, "?!") == found(retriever, "same", top_k=0) == []


def test_other_scripts_have_words_too() -> None:
    assert found(Bm25Retriever(passages("Größe der Straße", "заказ возврат")), "ВОЗВРАТ") == ["c1"]
    assert found(Bm25Retriever(passages("Größe der STRASSE", "x")), "straße") == ["c0"]


@pytest.mark.parametrize("texts", [(), ("",), ("", "?!")])
def test_nothing_is_found_where_there_are_no_words(texts: tuple[str, ...]) -> None:
    assert found(Bm25Retriever(passages(*texts)), "anything") == []


def test_a_corpus_is_searched_alone() -> None:
    retriever = Bm25Retriever([*passages("a word", corpus="one"), *passages("a word too", corpus="two")])
    assert [each.corpus_id for each in retriever.search("word", top_k=5, corpus_ids=("two",))] == ["two"]
    assert retriever.search("word", top_k=5, corpus_ids=()) == []


def test_the_tool_over_passages_answers_a_run() -> None:
    tool = RetrieveTool.over(passages("A chunk's text is a slice of its source.", "Ids have 64 hex digits."))
    loop = AgentLoop(controller=HeuristicController(), tools=ToolRegistry([tool]))
    ctx = RunContext(tenant_id="acme", principal_id="alice")
    request = AgentRequest(tenant_id="acme", principal_id="alice", goal="hex digits of an id", top_k=1)
    assert asyncio.run(loop.run(ctx, request)).citations == ("c1",)


def test_the_agent_command_ranks_by_it(tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    common = "\n\n".join(f"the order of the day {number}" for number in range(5))
    (tmp_path / "pages" / "a.md").write_text(f"{common}\n\nrefund\n")
    done = oloproof(tmp_path, "agent", "the refund of the order", "--corpus", "pages", "--top-k", "1")
    assert (done.code, "[a.md#6]" in done.out) == (0, True)  # the rare word; by shared words it would be the first
