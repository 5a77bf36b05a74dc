"""From the verdict to the step that offends and back again, as a reviewer goes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fakes.projects import AGENT, NONE_WRONG, RIGHT, case, oloproof, project

SEQUENCE = {"type": "agent_tool_sequence"}
AS_DECLARED = {"id": "as-declared", "metric": "agent_tool_sequence", "kind": "observed_count", "max_failures": 0}
NO_WORSE = {"id": "no-worse", "metric": "agent_tool_sequence", "kind": "non_inferiority", "margin": 0.02}


def long_call(tool: str) -> str:
    """A tool whose name is longer than what a step shows of its arguments."""
    return f"{tool}-{'and-more-' * 12}"


@pytest.fixture(scope="module")
def blocked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of 250 cases the 3rd, the 120th and the 240th call another tool than was declared, the last of them 30 times."""
    directory = tmp_path_factory.mktemp("blocked")
    cases = [case(f"c{number}", ["look"], tools=["look"]) for number in range(1, 251)]
    for number, called in ((3, ["pay"]), (120, ["look", "pay"]), (240, [long_call("pay")] * 30)):
        cases[number - 1] = case(f"c{number}", called, tools=["look"])
    project(directory, app=AGENT, cases=cases, evaluators=[RIGHT, SEQUENCE], rules=[NONE_WRONG, AS_DECLARED])
    assert oloproof(directory, "run", "--html", "report.html").code == 1
    return directory / "report.html"


def listed(page: Any) -> list[str]:
    return page.locator("#list tr td:first-child").all_inner_texts()


def test_the_verdict_leads_to_the_cases_behind_it(opened: Any, blocked: Path) -> None:
    page = opened.at(blocked)
    page.get_by_role("link", name="agent_tool_sequence: see the 3 that fail").first.click()
    page.wait_for_function("document.activeElement.id === 'cases'")
    assert listed(page) == ["c3", "c120", "c240"]
    assert page.locator("[name=verdict]").input_value() == "fail"
    assert page.locator(".verdict .way").count() == 1  # the rule that nothing breaks leads nowhere


def test_what_leads_to_the_list_is_not_there_without_the_script_that_makes_it(browser: Any, blocked: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(blocked.as_uri())
    assert page.locator(".way").count() > 0
    assert page.locator(".way:visible").count() == 0
    context.close()


def test_who_comes_back_from_a_case_finds_its_place_in_the_list(opened: Any, blocked: Path) -> None:
    page = opened.at(blocked)
    page.click("#more")
    page.click("#list a:text-is('c240')")
    page.wait_for_selector("#case .facts")
    page.keyboard.press("Escape")
    page.wait_for_function("document.activeElement.textContent === 'c240'")
    assert page.evaluate("document.activeElement.getBoundingClientRect().top") < page.viewport_size["height"]
    page.go_back()
    page.locator("#case h1", has_text="c240").wait_for()


def test_a_case_says_where_it_stands_among_those_chosen(opened: Any, blocked: Path) -> None:
    page = opened.at(blocked, "#verdict=fail")
    page.click("#list a")
    page.wait_for_selector("#case .facts")
    assert "1 of 3" in page.locator(".nav").inner_text()
    assert page.locator(".nav .none").inner_text() == "previous case"
    at = page.get_by_role("link", name="next case").bounding_box()["x"]
    page.get_by_role("link", name="next case").click()
    page.locator("#case h1", has_text="c120").wait_for()
    assert page.get_by_role("link", name="next case").bounding_box()["x"] == at  # one clicks on without looking
    page.get_by_role("link", name="first offending step").click()
    page.wait_for_selector("#step-2.here")


def test_where_nothing_fits_it_is_said_and_undone(opened: Any, blocked: Path) -> None:
    page = opened.at(blocked, "#verdict=fail&text=nobody")
    assert page.locator("#count").inner_text() == "0 of 250 attempts: none is like that"
    assert page.locator(".list").is_hidden()
    page.click("#clear")
    assert page.locator("#count").inner_text() == "250 of 250 attempts"
    assert page.locator("#clear").is_hidden()
    assert page.evaluate("document.activeElement.name") == "text"
    assert page.evaluate("location.hash") == ""


def test_what_is_long_does_not_stand_before_the_steps(opened: Any, blocked: Path) -> None:
    page = opened.at(blocked, "#case=c240")
    found = page.locator("td.content details")
    assert found.get_attribute("open") is None
    assert page.get_by_text("31 rows").is_visible()
    found.locator("summary").click()
    assert found.locator(".start").is_hidden()  # nothing is said twice
    assert long_call("pay") in found.locator("pre").inner_text()


def test_what_a_declared_call_has_no_difference_of_has_no_column(opened: Any, blocked: Path) -> None:
    page = opened.at(blocked, "#case=c120")
    beside = page.locator("#case section", has_text="declared calls beside found ones").locator("thead th")
    assert beside.all_inner_texts() == ["call", "declared", "found"]


LINES = """cells => cells.flatMap((cell) => {
  const range = document.createRange();
  range.selectNodeContents(cell);
  return cell.textContent.includes(" ") ? [] : [range.getClientRects().length];
})"""


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two cases, of which the second has come to fail."""
    directory = tmp_path_factory.mktemp("compared")
    rows = [case("c1", ["look"], tools=["look"]), case("c2", ["pay"], tools=["pay"])]
    project(directory, app=AGENT, cases=rows, evaluators=[SEQUENCE], rules=[NO_WORSE])
    assert oloproof(directory, "run", "--no-gate").code == 0
    (directory / "app.py").write_text(AGENT.replace("in tools", "in [each for each in tools if each != 'pay']"))
    assert oloproof(directory, "run", "--no-gate").code == 0
    assert oloproof(directory, "compare", "latest", "latest~1", "--html", "compared.html").code in (1, 3)
    return directory / "compared.html"


def test_the_verdict_of_a_comparison_leads_to_what_is_broken(opened: Any, compared: Path) -> None:
    page = opened.at(compared)
    page.get_by_role("link", name="agent_tool_sequence: see the 1 that is broken").click()
    page.wait_for_function("document.activeElement.id === 'cases'")
    assert listed(page) == ["c2"]


def test_the_cases_that_changed_lead_to_their_steps(opened: Any, compared: Path) -> None:
    page = opened.at(compared)
    page.locator("[data-case] a", has_text="c2").first.click()
    page.locator("#case h1", has_text="c2").wait_for()


@pytest.mark.parametrize("width", [720, 768, 1280])
def test_a_number_is_not_broken_into_lines(width: int, opened: Any, compared: Path) -> None:
    opened.page.set_viewport_size({"width": width, "height": 900})
    counts = opened.at(compared).eval_on_selector_all("td.figure", LINES)
    assert set(counts) == {1}


def test_in_forced_colours_the_offending_step_has_another_border(opened: Any, blocked: Path) -> None:
    opened.page.emulate_media(forced_colors="active")
    page = opened.at(blocked, "#case=c120")
    widths = [page.evaluate(f"getComputedStyle(document.getElementById('step-{at}')).borderTopWidth") for at in (1, 2)]
    assert widths == ["1px", "3px"]
