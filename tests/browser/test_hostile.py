"""The corpus of hostile texts in Chromium: no dialog, no request, no complaint, no node that nobody wrote."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from fakes.hostile import HOSTILE
from fakes.projects import NONE_WRONG, RIGHT, oloproof, project

AGENT = """
import os
from oloproof import *

@system(records=("agent_trajectory/v1",))
def run(text):
    named = text[:500] or "empty"
    with current_case().trace() as trace:
        trace.message({text[:100]: [text]}, agent=named)
        trace.tool_call(named, {text[:100]: text}, agent=named)
        trace.tool_result(named, {"said": text}, agent=named)
        trace.handoff(f"{named} 2", agent=named)
    print(text.encode("utf-8", "backslashreplace").decode())
    if text.startswith(("<", "word 5")):
        raise RuntimeError(text)
    return {"answer": text if os.path.exists("worse") else "yes"}
"""
NODES = "(root) => [...new Set([...document.querySelectorAll(root + ' *')].map((node) => node.localName))]"
ATTRIBUTES = """() => [...document.querySelectorAll('body *')].flatMap((node) => [...node.attributes])
  .filter((each) => /^on/i.test(each.name) || /^(href|src|action|data)$/.test(each.name) && !/^#/.test(each.value))
  .map((each) => each.name + '=' + each.value)"""


def texts() -> list[str]:
    """What a dataset of UTF-8 can hold of the corpus, and what may still be in it."""
    return [text.encode("utf-8", "backslashreplace").decode() for text in HOSTILE if len(text) < 10_000]


def judged(directory: Path, said: list[str]) -> Path:
    """A project judged twice, once before its agent got worse."""
    cases = [
        {
            "id": f"{number} {text}",
            "input": text,
            "expected": {"answer": "yes", "tools": [text[:500] or "empty", "another"]},
            "metadata": {"said": text},
        }
        for number, text in enumerate(said)
    ]
    evaluators = [RIGHT, {"type": "agent_tool_sequence"}]
    slices = ["metadata.said", "first_tool"]
    project(directory, app=AGENT, cases=cases, evaluators=evaluators, rules=[NONE_WRONG], slices=slices)
    oloproof(directory, "run", "--no-gate")
    (directory / "worse").touch()
    assert oloproof(directory, "run", "--html", "report.html").code == 1
    done = oloproof(directory, "compare", "latest", "latest~1", "--no-gate", "--html", "compared.html")
    assert done.code == 0, done.err
    return directory


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return judged(tmp_path_factory.mktemp("hostile"), texts())


@pytest.fixture(scope="module")
def harmless(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same shape, said in plain words."""
    words = [f"word {number}{' and more' * (number % 2 * 60)}" for number, _ in enumerate(texts())]
    return judged(tmp_path_factory.mktemp("harmless"), words)


@pytest.mark.parametrize("name", ["report.html", "compared.html"])
def test_the_page_has_the_nodes_of_one_that_says_nothing_hostile(
    name: str, opened: Any, hostile: Path, harmless: Path
) -> None:
    plain = opened.at(harmless / name).evaluate(NODES, "html")
    page = opened.at(hostile / name)
    assert page.locator("#list tr").count() > 50
    assert set(page.evaluate(NODES, "html")) <= set(plain)
    assert page.evaluate(ATTRIBUTES) == []
    assert page.evaluate("document.querySelectorAll('script:not([type])').length") == 1


def nodes_of_cases(page: Any) -> dict[str, set[str]]:
    """By its address, the nodes that each listed case is drawn with, and what they should not be."""
    links = page.locator("#list a").evaluate_all("(links) => links.map((link) => link.getAttribute('href'))")
    found = {}
    for href in links:
        page.evaluate("(hash) => { location.hash = hash }", href)
        number = re.match(r"#case=(\d+)", href)
        assert number is not None
        page.locator("#case h1", has_text=re.compile(rf"^{number[1]}\b")).wait_for()
        page.wait_for_selector("#case .facts")  # its heading is there before the rest is
        found[href] = {*page.evaluate(NODES, "#case"), *page.evaluate(ATTRIBUTES)}
    return found


@pytest.mark.parametrize("name", ["report.html", "compared.html"])
def test_every_case_is_shown_and_does_nothing(name: str, opened: Any, hostile: Path, harmless: Path) -> None:
    written = set[str]().union(*nodes_of_cases(opened.at(harmless / name)).values())
    drawn = nodes_of_cases(opened.at(hostile / name))
    assert len(drawn) > 50
    assert {href: nodes - written for href, nodes in drawn.items() if nodes - written} == {}


def test_the_log_and_the_error_of_a_case_are_texts(opened: Any, hostile: Path) -> None:
    at = texts().index("<img src=x onerror=alert(1)>")
    page = opened.at(hostile / "report.html", f"#text={at} ")
    page.click("#list a")
    page.wait_for_selector("#case .facts")
    assert "RuntimeError: <img src=x onerror=alert(1)>" in page.locator("#case").inner_text()
