"""Makes passages.jsonl and data/ of a directory of pages: ``python make_data.py ../../docs``.

The passages are the pages' paragraphs, cut at sentences where they are longer than 500 characters. A task is the first
half of a sentence; what is looked for is the one passage that holds the whole of it.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SECTIONS = ("explanation", "howto", "reference", "tutorial")
LONGEST = 500
FEWEST_WORDS = 6
EVERY = 4
"""One of so many sentences becomes a task."""

HERE = Path(__file__).parent
FENCED = re.compile(r"^```.*?^```$", re.M | re.S)
COMMENT = re.compile(r"<!--.*?-->", re.S)
LINK = re.compile(r"\[([^]]*)]\([^)]*\)")
END_OF_SENTENCE = re.compile(r"(?<=[.!?]) (?=[A-Z])")
NO_PROSE = ("#", "|", "-", "*", "1.", ">", "$")


def sentences(paragraph: str) -> list[str]:
    return END_OF_SENTENCE.split(" ".join(LINK.sub(r"\1", paragraph).split()))


def pieces(paragraph: str) -> Iterator[str]:
    """A paragraph in pieces of whole sentences, as long as they may be."""
    piece = ""
    for sentence in sentences(paragraph):
        if piece and len(piece) + 1 + len(sentence) > LONGEST:
            yield piece
            piece = ""
        piece = f"{piece} {sentence}".strip()
    if piece:
        yield piece


def passages(pages: Path) -> Iterator[dict[str, str]]:
    for section in SECTIONS:
        for page in sorted((pages / section).glob("*.md")):
            text = COMMENT.sub("", FENCED.sub("", page.read_text(encoding="utf-8")))
            paragraphs = (part.strip() for part in text.split("\n\n"))
            prose = [part for part in paragraphs if part and not part.startswith(NO_PROSE)]
            for number, piece in enumerate((each for part in prose for each in pieces(part)), 1):
                yield {"id": f"{section}/{page.stem}#{number}", "text": piece}


def tasks(held: list[dict[str, str]]) -> Iterator[dict[str, Any]]:
    """A case for each sentence of enough words that one passage alone holds."""
    whole = [(passage["id"], sentence) for passage in held for sentence in sentences(passage["text"])]
    fit = [
        (place, sentence)
        for place, sentence in whole
        if len(sentence.split()) >= FEWEST_WORDS and sum(sentence in passage["text"] for passage in held) == 1
    ]
    for number, (place, sentence) in enumerate(fit[::EVERY], 1):
        words = sentence.split()
        yield {
            "id": f"task-{number:03d}",
            "input": {"query": " ".join(words[: len(words) // 2])},
            "expected": {"passage": place},
            "metadata": {"section": place.partition("/")[0]},
        }


def write(path: Path, rows: list[Any]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def main(pages: Path) -> None:
    held = list(passages(pages))
    write(HERE / "passages.jsonl", held)
    write(HERE / "data" / "tasks.jsonl", list(tasks(held)))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
