"""The HTML report in a real browser: it opens from disk, asks for nothing, and is used as a reader uses it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fakes.projects import AGENT, NONE_WRONG, RIGHT, case, oloproof, project
from oloproof import evaluate

EVALUATORS = [RIGHT, {"type": "agent_tool_sequence"}]


def listed(page: Any) -> list[str]:
    return page.locator("#list tr td:first-child").all_inner_texts()


def test_the_verdict_is_read_first(opened: Any, report: Path) -> None:
    page = opened.at(report)
    assert "ALLOW" in page.locator("h1").inner_text()
    assert listed(page) == ["first", "second", "third"]


@pytest.mark.parametrize(
    ("hash_", "cases"),
    [
        ("#criterion=agent_tool_sequence&verdict=fail", ["second"]),
        ("#verdict=pass", ["first", "second", "third"]),
        ("#slice=metadata.surface%3Dchat", ["third"]),
        ("#text=PAY", ["third"]),
        ("#text=nothing", []),
    ],
)
def test_cases_are_filtered_by_the_address(hash_: str, cases: list[str], opened: Any, report: Path) -> None:
    assert listed(opened.at(report, hash_)) == cases


def test_cases_are_filtered_by_hand_and_the_address_follows(opened: Any, report: Path) -> None:
    page = opened.at(report)
    page.select_option("[name=criterion]", "agent_tool_sequence")
    page.select_option("[name=verdict]", "fail")
    assert listed(page) == ["second"]
    assert page.locator("#count").inner_text() == "1 of 3 attempts"
    assert page.url.endswith("#criterion=agent_tool_sequence&verdict=fail")
    page.click("#list a")
    page.wait_for_selector("#case .facts")
    page.keyboard.press("Escape")
    page.wait_for_selector("#report:not([hidden])")
    assert listed(page) == ["second"]


def test_a_case_shows_its_steps_with_the_offending_one_marked(opened: Any, report: Path) -> None:
    page = opened.at(report, "#case=second&step=2")
    assert page.locator("#report").is_hidden()
    assert page.locator("#case h1").inner_text() == "second"
    assert page.locator(".step h3").all_inner_texts() == ["1. tool_call look", "2. tool_call delete"]
    assert page.locator(".step.offends .fail").all_inner_texts() == ["✗ fails agent_tool_sequence"]
    assert page.evaluate("document.activeElement.id") == "step-2"
    beside = page.locator("#case section", has_text="agent_tool_sequence").locator("tr", has_text="delete")
    assert beside.count() > 0


def test_what_was_expected_stands_beside_what_was_found(opened: Any, tmp_path: Path) -> None:
    says = "def run(case): return {'list': case}"
    rows = [{"id": "c1", "input": ["a", "b", "c"], "expected": {"list": ["a", "c"]}}]
    exact = {"type": "exact_match", "criterion": "right", "field": "list", "expected_field": "list"}
    project(tmp_path, app=says, cases=rows, evaluators=[exact], rules=[NONE_WRONG])
    assert oloproof(tmp_path, "run", "--html", "report.html").code == 1
    page = opened.at(tmp_path / "report.html", "#case=c1")
    added = page.locator(".diff .differs")
    assert [cell.strip() for cell in added.locator("td").all_text_contents()] == ["+", "", '"b"']


def test_the_keyboard_goes_from_case_to_case_and_to_what_offends(opened: Any, report: Path) -> None:
    page = opened.at(report, "#case=first")
    page.keyboard.press("j")
    page.keyboard.press("o")  # while its steps are unpacked
    page.wait_for_selector("#step-2.here")
    assert page.url.endswith("#case=second&step=2")
    page.keyboard.press("k")
    page.locator("#case h1", has_text="first").wait_for()


def test_the_skip_link_leaves_the_case_open(opened: Any, report: Path) -> None:
    page = opened.at(report, "#case=second")
    page.focus(".skip")
    page.keyboard.press("Enter")
    page.wait_for_url("**#top")
    assert page.locator("#case h1").is_visible()


def test_an_address_of_no_case_says_so(opened: Any, report: Path) -> None:
    page = opened.at(report, "#case=nobody")
    assert page.locator("#count").inner_text() == "There is no such case in this file."


def test_without_script_the_verdict_rules_and_criteria_are_read(browser: Any, report: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report.as_uri())
    text = page.locator("body").inner_text()
    context.close()
    for each in ("ALLOW", "none-wrong", "agent_tool_sequence", "needs JavaScript"):
        assert each in text


@pytest.mark.parametrize("width", [375, 1600])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_the_window(width: int, scheme: str, opened: Any, report: Path) -> None:
    opened.page.set_viewport_size({"width": width, "height": 900})
    opened.page.emulate_media(color_scheme=scheme)
    for hash_ in ("", "#case=second"):
        page = opened.at(report, hash_)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [375, 1600])
def test_names_without_end_make_nothing_wider_than_the_window(width: int, opened: Any, tmp_path: Path) -> None:
    long = "x" * 2_000
    rows = [case(f"{at}{long}", ["look"], tools=["look"]) | {"metadata": {"surface": f"{at}{long}"}} for at in range(4)]
    project(tmp_path, app=AGENT, cases=rows, evaluators=EVALUATORS, slices=["metadata.surface"])
    assert oloproof(tmp_path, "run", "--html", "report.html").code == 0
    opened.page.set_viewport_size({"width": width, "height": 900})
    page = opened.at(tmp_path / "report.html")
    assert page.locator("[name=slice] option").count() > 2
    page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.click("#list a")
    page.wait_for_selector("#case .facts")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_comparison_opens_the_calls_of_both_runs(opened: Any, tmp_path: Path) -> None:
    agent = AGENT.replace("    with", "    tools = open('tools').read().split()\n    with")
    project(tmp_path, app=agent, cases=[case("c1", [], tools=["look"])], evaluators=EVALUATORS, rules=None)
    for tools in ("look", "look delete"):
        (tmp_path / "tools").write_text(tools)
        oloproof(tmp_path, "run", "--no-gate")
    done = oloproof(tmp_path, "compare", "latest", "latest~1", "--no-gate", "--html", "compared.html")
    assert done.code == 0, done.err
    page = opened.at(tmp_path / "compared.html", "#slice=agent_tool_sequence%3Dbroken")
    assert listed(page) == ["c1"]
    page.click("#list a")
    page.wait_for_selector("#case .diff")
    assert page.locator(".diff .differs td").all_text_contents() == ["+", "", "2. delete {}"]


TEAM = [
    {"kind": "message", "arguments": {"content": "thinking " * 30}, "agent": "lead"},
    {"kind": "tool_call", "tool_name": "look", "arguments": {"at": 1}, "agent": "lead", "turn": 1},
    {"kind": "tool_call", "tool_name": "ask", "arguments": {"at": 2}, "agent": "lead", "turn": 1},
    {"kind": "tool_result", "tool_name": "look", "error": "it is gone", "agent": "lead"},
    {"kind": "handoff", "agent": "lead", "to_agent": "helper"},
    {"kind": "tool_call", "tool_name": "pay", "arguments": {}, "agent": "helper"},
    {"kind": "handoff", "agent": "helper", "to_agent": "lead"},
]


@pytest.fixture
def team(tmp_path: Path) -> Path:
    """One case of two agents: calls of one turn, an error, a hand-off each way, and a record that is cut."""
    steps = [{"index": at, **step} for at, step in enumerate(TEAM, 1)]
    recording = {"case": "c1", "output": {"answer": "yes"}, "expected": {"answer": "yes"}}
    recording["trajectory"] = {"steps": steps, "truncated": True, "step_limit": 7}
    (tmp_path / "traces.jsonl").write_text(json.dumps(recording))
    project(tmp_path, cases=None, rules=None, system={"recorded": "traces.jsonl"}, policy="none")
    done = oloproof(tmp_path, "judge", "--html", "report.html")
    assert done.code == 0, done.err
    return tmp_path / "report.html"


def test_agents_are_lanes_with_arrows_between_them(opened: Any, team: Path) -> None:
    page = opened.at(team, "#case=c1")
    page.set_viewport_size({"width": 1200, "height": 900})
    assert page.locator(".lanes span").all_inner_texts() == ["lead", "helper"]
    assert page.locator(".arrow").all_inner_texts() == ["lead ⟶ helper", "lead ⟵ helper"]
    boxes = {at: page.locator(f"#step-{at}").bounding_box() for at in range(1, 8)}
    assert boxes[6]["x"] > boxes[5]["x"] + boxes[5]["width"]  # a lane of its own
    assert boxes[7]["x"] == boxes[6]["x"]
    assert boxes[2]["y"] == boxes[3]["y"]  # one turn, side by side
    assert boxes[3]["x"] > boxes[2]["x"]
    assert boxes[4]["y"] > boxes[3]["y"]
    assert "! error" in page.locator("#step-4").inner_text()
    assert "step limit 7" in page.locator(".cut").inner_text()


def test_where_there_is_no_room_for_lanes_each_step_names_its_agent(opened: Any, team: Path) -> None:
    opened.page.set_viewport_size({"width": 375, "height": 900})
    page = opened.at(team, "#case=c1")
    assert page.locator(".lanes").is_hidden()
    assert page.locator("#step-6 .by").inner_text() == "by helper"
    boxes = [page.locator(f"#step-{at} .by").bounding_box() for at in (5, 6)]
    assert all(box["width"] > 20 for box in boxes)
    assert boxes[0]["x"] == boxes[1]["x"]


def test_what_is_folded_is_open_on_paper(opened: Any, team: Path) -> None:
    page = opened.at(team, "#case=c1")
    page.emulate_media(color_scheme="dark", media="print")
    fold = page.locator("#step-1 details")
    assert fold.get_attribute("open") is None
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert fold.get_attribute("open") is not None
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator(".nav").is_hidden()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert fold.get_attribute("open") is None


def test_ten_thousand_cases_fit_into_a_page_and_one_of_them_is_found(opened: Any, tmp_path: Path) -> None:
    cases = [
        {"case": f"case_{number:05}", "input": ["look", "pay"] * 5, "expected": {"answer": "yes", "tools": ["look"]}}
        for number in range(10_000)
    ]
    recorded = [
        case
        | {
            "output": {"answer": f"yes, order {number * 7919 % 10_007}"},
            "trajectory": {
                "steps": [
                    step
                    for at in range(5)
                    for step in (
                        {"kind": "tool_call", "tool_name": "look", "arguments": {"order": number * 31 + at}},
                        {"kind": "tool_result", "tool_name": "look", "result": {"total": number * at % 977}},
                    )
                ]
            },
        }
        for number, case in enumerate(cases)
    ]
    for record in recorded:
        for at, step in enumerate(record["trajectory"]["steps"], 1):
            step["index"] = at
    (tmp_path / "traces.jsonl").write_text("".join(json.dumps(record) + "\n" for record in recorded))
    project(tmp_path, cases=None, rules=None, system={"recorded": "traces.jsonl"}, policy="none")
    done = oloproof(tmp_path, "judge", "--html", "report.html")
    assert done.code == 0, done.err
    file = tmp_path / "report.html"
    assert file.stat().st_size < 15_000_000
    page = opened.at(file)
    page.fill("[name=text]", "case_09999")
    assert listed(page) == ["case_09999"]
    assert page.locator("#count").inner_text() == "1 of 10,000 attempts"


def test_what_a_notebook_draws_is_no_wider_than_its_page(opened: Any, tmp_path: Path) -> None:
    long = "x" * 3_000
    found = evaluate(
        lambda asked: {"answer": asked},
        [{"id": f"c{at}{'y' * 300}", "input": long, "expected": {"answer": f"{at}{long}"}} for at in range(2)],
        evaluators=[{"type": "exact_match", "criterion": "right", "field": "answer", "expected_field": "answer"}],
        rules=[NONE_WRONG],
    )
    parts = (found, found.cases, *found.cases)
    text = "".join(part._repr_html_() for part in parts)
    (tmp_path / "cell.html").write_text(f'<meta charset="utf-8"><link rel="icon" href="data:,">{text}')
    opened.page.set_viewport_size({"width": 1000, "height": 900})
    opened.page.goto((tmp_path / "cell.html").as_uri())
    assert "✗ BLOCK" in opened.page.locator("body").inner_text()
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= 1000
