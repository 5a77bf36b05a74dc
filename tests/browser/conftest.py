"""A real browser without a window: Debian's chromium, or whatever of that kind is on the path."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fakes.projects import AGENT, RIGHT, case, oloproof, project

PATIENCE_MS = 120_000
"""How long a busy machine may take to start the browser, and to draw what a page waits for."""


class Opened:
    """A page opened from disk, and everything that it did which it should not: requests, complaints, dialogs."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.server = "file://"
        """What the page may ask, besides what lies on the disk."""
        self.misdeeds: list[str] = []
        page.on("console", lambda message: self.misdeeds.append(f"console {message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.misdeeds.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (self.misdeeds.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: self.asked(request.url))

    def asked(self, url: str) -> None:
        if not url.startswith(("file://", "data:,", self.server)):
            self.misdeeds.append(f"request: {url}")

    def at(self, file: Path, hash_: str = "") -> Any:
        """The page once its script has read what is packed inside."""
        return self.to(f"{file.as_uri()}{hash_}")

    def to(self, address: str) -> Any:
        """The same of a page that is somewhere else."""
        self.page.goto("about:blank")
        self.page.goto(address)
        self.page.wait_for_selector("html[data-ready]", state="attached")
        return self.page


@pytest.fixture(scope="module")  # while it is open an event loop runs in the thread, where other tests start their own
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        pytest.skip("there is no chromium on the path")
    with sync_api.sync_playwright() as playwright:
        options = {"args": ["--no-sandbox", "--disable-gpu"], "timeout": PATIENCE_MS}
        launched = playwright.chromium.launch(executable_path=program, **options)
        yield launched
        launched.close()


@pytest.fixture
def opened(browser: Any) -> Iterator[Opened]:
    context = browser.new_context()
    context.set_default_timeout(PATIENCE_MS)
    found = Opened(context.new_page())
    yield found
    context.close()
    assert found.misdeeds == []


EVALUATORS = [RIGHT, {"type": "agent_tool_sequence"}]


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three cases, of which the second calls a tool too many."""
    directory = tmp_path_factory.mktemp("report")
    cases = [
        case("first", ["look"], tools=["look"]),
        case("second", ["look", "delete"], tools=["look"]),
        case("third", ["pay"], tools=["pay"]) | {"metadata": {"surface": "chat"}},
    ]
    slices = ["metadata.surface"]
    project(directory, app=AGENT, cases=cases, evaluators=EVALUATORS, slices=slices)
    assert oloproof(directory, "run", "--html", "report.html").code == 0
    return directory / "report.html"
