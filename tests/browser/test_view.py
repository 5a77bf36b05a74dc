"""``view`` in a real browser: from the list to a run, a case and a comparison, and a run that is followed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from fakes.hostile import HOSTILE
from fakes.projects import AGENT, NONE_WRONG, RIGHT, answered, case, oloproof, project
from fakes.viewing import WAITING, Viewing, going_on, viewing

pytest.importorskip("starlette", reason="the extra oloproof[view] is not installed")
pytest.importorskip("uvicorn", reason="the extra oloproof[view] is not installed")

EVALUATORS = [RIGHT, {"type": "agent_tool_sequence"}]
CHANGING = AGENT.replace("    with", "    tools = tools + open('more').read().split()\n    with")


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewing]:
    """Two runs, the newer of which calls a tool too many."""
    directory = tmp_path_factory.mktemp("viewed")
    cases = [case("first", ["look"], tools=["look"]), case("second", ["look", "pay"], tools=["look", "pay"])]
    project(directory, app=CHANGING, cases=cases, evaluators=EVALUATORS, slices=["first_tool"])
    for more in ("", "delete"):
        (directory / "more").write_text(more)
        assert oloproof(directory, "run").code == 0
    with viewing(directory) as found:
        yield found


@pytest.fixture
def inside(opened: Any, view: Viewing) -> Any:
    """A browser that has opened the printed address."""
    return let_in(opened, view)


def let_in(opened: Any, view: Viewing) -> Any:
    opened.server = view.base
    opened.page.goto(view.address)
    opened.page.wait_for_url(f"{view.base}/")
    return opened.page


def test_from_the_list_to_a_step_and_back(inside: Any, view: Viewing) -> None:
    assert inside.locator("tbody tr").count() == 2
    inside.click("tbody a >> nth=0")
    inside.wait_for_selector("html[data-ready]", state="attached")
    assert "ALLOW" in inside.locator("h1").inner_text()
    assert inside.locator("#list tr td:first-child").all_inner_texts() == ["first", "second"]
    inside.select_option("[name=criterion]", "agent_tool_sequence")
    inside.select_option("[name=verdict]", "fail")
    inside.click("#list a >> nth=1")
    inside.locator("#case h1", has_text="second").wait_for()
    inside.keyboard.press("o")  # its heading is there before its steps are
    inside.wait_for_selector("#step-3.here")
    assert inside.url.endswith("#case=second&step=3")
    inside.keyboard.press("k")
    inside.locator("#case h1", has_text="first").wait_for()
    inside.keyboard.press("Escape")
    inside.wait_for_selector("#report:not([hidden])")
    inside.click("text=All runs")
    inside.wait_for_url(f"{view.base}/")


def test_a_link_to_a_step_opens_it(inside: Any, opened: Any, view: Viewing) -> None:
    run = inside.locator("tbody a").first.get_attribute("href")
    page = opened.to(f"{view.base}{run}#case=second&step=2")
    assert page.evaluate("document.activeElement.id") == "step-2"


@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4), (4, 3, 2, 1, 0)])
def test_keys_pressed_while_cases_are_asked_for_are_heard(order: tuple[int, ...], inside: Any) -> None:
    held: list[Any] = []
    inside.click("tbody a >> nth=0")
    inside.wait_for_selector("html[data-ready]", state="attached")
    inside.route("**/case?*", lambda route: held.append(route))
    keys = [("j", "first"), ("j", "second"), ("k", "first"), ("j", "second"), ("o", "second")]
    for asked, (key, case_id) in enumerate(keys, 1):
        inside.keyboard.press(key)
        deadline = monotonic() + 60
        while len(held) < asked and monotonic() < deadline:
            inside.wait_for_timeout(10)  # in which it hears of what is asked
        assert len(held) == asked
        assert f"id={case_id}&" in held[-1].request.url
    for at in order:
        held[at].continue_()
    inside.wait_for_selector("#step-3.here")
    assert inside.locator("#case h1").all_inner_texts() == ["second"]
    assert inside.locator("#case > .facts").count() == 1
    assert inside.url.endswith("#case=second&step=3")
    inside.unroute("**/case?*")


def test_two_runs_are_chosen_and_compared(inside: Any) -> None:
    inside.check("[name=candidate] >> nth=0")
    inside.check("[name=baseline] >> nth=1")
    inside.click("button")
    inside.wait_for_selector("html[data-ready]", state="attached")
    assert inside.locator("#list tr td:first-child").all_inner_texts() == ["first", "second"]
    inside.click("#list a")
    inside.wait_for_selector("#case .diff")
    assert inside.locator(".diff .differs td").all_text_contents() == ["+", "", "2. delete {}"]


def test_without_script_the_verdict_and_the_list_of_runs_are_read(browser: Any, view: Viewing) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(view.address)
    page.wait_for_url(f"{view.base}/")
    page.click("tbody a >> nth=0")
    page.wait_for_url(f"{view.base}/runs/*")
    text = page.locator("body").inner_text()
    context.close()
    for each in ("ALLOW", "none-wrong", "agent_tool_sequence", "needs JavaScript"):
        assert each in text


def test_nobody_else_is_let_in(browser: Any, view: Viewing) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(view.base)
    assert page.locator("body").inner_text().strip() == "Open the address that `oloproof view` printed."
    context.close()


def test_a_case_that_cannot_be_read_is_told_in_its_place(opened: Any, tmp_path: Path) -> None:
    project(tmp_path)
    assert oloproof(tmp_path, "run").code == 0
    with viewing(tmp_path, "latest") as view:
        opened.server = view.base
        opened.page.goto(view.address)
        opened.page.wait_for_selector("html[data-ready]", state="attached")
        (tmp_path / ".oloproof" / "oloproof.db").unlink()
        opened.page.click("#list a")
        opened.page.locator("#case [role=alert]", has_text="OLO610").wait_for()
        opened.page.keyboard.press("Escape")
        view.process.kill()
        view.process.wait()
        opened.page.click("#list a >> nth=1")
        opened.page.locator("#case [role=alert]", has_text="The server does not answer.").wait_for()
    wanted = ("404", "ERR_CONNECTION_REFUSED")
    opened.misdeeds[:] = [each for each in opened.misdeeds if not any(word in each for word in wanted)]


def test_a_run_is_followed_to_its_verdict(opened: Any, tmp_path: Path) -> None:
    project(tmp_path, app=WAITING, cases=answered("yes", "no"), slices=["metadata.surface"])
    with going_on(tmp_path) as run, viewing(tmp_path, run.id) as view:
        opened.server = view.base
        page = opened.page
        page.goto(view.address)
        page.wait_for_selector("html[data-ready]", state="attached")
        page.locator("#told", has_text="0 of 2 cases").wait_for()
        page.locator("#connection", has_text="This page follows the run.").wait_for()
        assert "RUNNING" in page.locator("h1").inner_text()
        run.go_on(cases=2)
        page.locator("h1", has_text="BLOCK").wait_for()
        page.locator("#list tr >> nth=1").wait_for()


def test_hostile_ids_are_shown_and_do_nothing(opened: Any, tmp_path: Path) -> None:
    texts = [text.encode("utf-8", "backslashreplace").decode() for text in HOSTILE if len(text) < 10_000]
    texts += ["../..", "?a=b&c#d", "%00%2F", "/", "x" * 9_000]
    cases = [{"id": f"{at} {text}", "input": text, "expected": {"answer": "yes"}} for at, text in enumerate(texts)]
    project(tmp_path, cases=cases, rules=[NONE_WRONG])
    assert oloproof(tmp_path, "run").code == 1
    with viewing(tmp_path, "latest") as view:
        opened.server = view.base
        page = opened.page
        page.goto(view.address)
        page.wait_for_selector("html[data-ready]", state="attached")
        links = page.locator("#list a").evaluate_all("(links) => links.map((link) => link.getAttribute('href'))")
        assert len(links) == len(texts)
        for link in links:
            page.evaluate(f"location.hash = {json.dumps(link)}")
            page.wait_for_selector("#case .facts")
            assert page.evaluate("document.querySelectorAll('#case img, #case svg, #case script').length") == 0
            page.keyboard.press("Escape")
            page.wait_for_selector("#report:not([hidden])")
