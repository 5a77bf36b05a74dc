"""The examples that the runtime was asked to run unchanged, where their pages are at hand."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from textwrap import dedent

import pytest

PAGES = next((each / "shared/seeds" for each in Path(__file__).parents if (each / "shared/seeds").is_dir()), None)
BLOCK = re.compile(r"^\.\. code-block:: python\n\n((?:   .*\n|\n)+)", re.M)


def page(name: str) -> str:
    """A page, with the runtime's name in the place of the other's."""
    found = [] if PAGES is None else sorted(PAGES.glob(f"{name}_*.txt"))
    if not found:
        pytest.skip("the pages are not beside this project")
    return found[0].read_text(encoding="utf-8").replace("scikitplot.agent", "oloproof.runtime")


def test_the_examples_of_the_guide_run() -> None:
    blocks = BLOCK.findall(page("000"))
    assert len(blocks) == 2
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(dedent(block), "guide", "exec"), names)


def test_the_example_of_a_tool_holds() -> None:
    examples = doctest.DocTestParser().get_doctest(page("001").split("cost: float")[0], {}, "tool", None, 0)
    assert len(examples.examples) == 4
    assert doctest.DocTestRunner().run(examples).failed == 0
