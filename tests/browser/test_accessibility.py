"""axe-core finds no serious fault on any page, in light and dark, narrow and wide, on a screen and printed."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from fakes.projects import NONE_WRONG, REVIEWED, RIGHT, case, oloproof, project
from fakes.viewing import WAITING, Viewing, going_on, viewing

pytest.importorskip("axe_playwright_python", reason="axe-core is not installed: it comes with the extra `world`")
pytest.importorskip("uvicorn", reason="the extra oloproof[view] is not installed")

AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
SIZES = [(375, "light"), (375, "dark"), (768, "light"), (1280, "light"), (1600, "dark")]
SEVERE = ("serious", "critical")
ODD = """
from oloproof import *

@system(records=("agent_trajectory/v1",))
def run(tools):
    tools = tools + open("more").read().split()
    with current_case().trace() as trace:
        for at, tool in enumerate(tools):
            trace.message({"content": "thinking about it " * 20}, agent="first" if at < 2 else "second")
            with trace.calling(tool, agent="first" if at < 2 else "second") as call:
                call.result = {"said": list(range(60))}
            if at == 1:
                trace.handoff("second", agent="first")
    if tools[-1] == "crash":
        raise RuntimeError("it broke")
    return {"answer": "yes" if "delete" not in tools else ["no"]}
"""


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs with every kind of verdict and state, agents, errors, slices and distributions, compared in a file."""
    found = tmp_path_factory.mktemp("pages")
    cases = [
        case("first", ["look"], tools=["look"]),
        case("second", ["look", "pay", "tell"], tools=["look", "pay", "tell"]),
        case("third", ["look", "pay", "crash"], tools=["look"]) | {"metadata": {"surface": "chat"}},
    ]
    rules = [NONE_WRONG, REVIEWED | {"id": "looked-at"}, {"id": "floor", "metric": "agent_tool_sequence", "min": 0.5}]
    rules += [{"id": "no-worse", "metric": "right", "kind": "non_inferiority", "margin": 0.02}]
    project(
        found,
        app=ODD,
        cases=cases,
        rules=rules,
        evaluators=[RIGHT, {"type": "agent_tool_sequence"}],
        metrics=[{"id": "steps_p95", "type": "quantile", "source": "agent_steps", "quantile": 0.95}],
        slices=["metadata.surface", "first_tool"],
    )
    for more in ("", "delete"):
        (found / "more").write_text(more)
        oloproof(found, "run", "--html", "report.html")
    oloproof(found, "compare", "latest", "latest~1", "--html", "compared.html")
    return found


@pytest.fixture(scope="module")
def view(directory: Path) -> Iterator[Viewing]:
    with viewing(directory) as found:
        yield found


def faults(page: Any) -> list[str]:
    """What axe-core calls serious or critical, each with the first element that has it."""
    page.evaluate(AXE)  # as a debugger would, since the page's policy lets no other script in
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{each['id']}: {each['nodes'][0]['html'][:200]} {each['nodes'][0]['failureSummary']}"
        for each in found["violations"]
        if each["impact"] in SEVERE
    ]


def scrolled(page: Any) -> list[str]:
    """The tables that are wider than the window, by name: what stands at their end is not seen."""
    wider = "places => places.filter(at => at.scrollWidth > at.clientWidth).map(at => at.ariaLabel)"
    return page.eval_on_selector_all(".wide", wider)


@pytest.fixture(params=SIZES, ids=lambda p: f"{p[0]}-{p[1]}")
def sized(request: pytest.FixtureRequest, opened: Any) -> Any:
    width, scheme = request.param
    opened.page.set_viewport_size({"width": width, "height": 900})
    opened.page.emulate_media(color_scheme=scheme)
    return opened


@pytest.mark.parametrize("hash_", ["", "#case=second", "#case=third&step=3"])
@pytest.mark.parametrize("name", ["report.html", "compared.html"])
def test_a_file(name: str, hash_: str, sized: Any, directory: Path) -> None:
    page = sized.at(directory / name, hash_)
    assert faults(page) == []
    assert scrolled(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]


def test_the_pages_of_the_server(sized: Any, view: Viewing) -> None:
    sized.server = view.base
    page = sized.page
    page.goto(view.address)
    page.wait_for_url(f"{view.base}/")
    assert faults(page) == []
    assert scrolled(page) == []
    run = page.locator("tbody a").first.get_attribute("href")
    assert faults(sized.to(f"{view.base}{run}")) == []
    assert faults(sized.to(f"{view.base}{run}#case=second")) == []
    answer = page.goto(f"{view.base}/nowhere")
    assert answer.status == 404
    assert faults(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
    sized.misdeeds[:] = [each for each in sized.misdeeds if "404" not in each]


def test_a_run_that_goes_on(opened: Any, tmp_path: Path) -> None:
    project(tmp_path, app=WAITING)
    with going_on(tmp_path) as run, viewing(tmp_path, run.id) as view:
        opened.server = view.base
        opened.page.goto(view.address)
        opened.page.wait_for_selector("html[data-ready]", state="attached")
        for width, scheme in SIZES:
            opened.page.set_viewport_size({"width": width, "height": 900})
            opened.page.emulate_media(color_scheme=scheme)
            assert faults(opened.page) == []
            assert scrolled(opened.page) == []
        opened.page.goto("about:blank")
