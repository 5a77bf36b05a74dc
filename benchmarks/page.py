"""The HTML report of 20,000 cases of ten steps, all of which fail: its cost beside `judge`, which reads and judges
them, beside `load_run` and beside decoding the stored rows alone; its size, and when it is painted first."""

from __future__ import annotations

import json
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from measure import OLOPROOF, cost, row

from oloproof.store import Store

CASES = 20_000

CONFIG = """
version: 1
project: recorded
cases: 20000
system: {recorded: traces.jsonl}
evaluators: [{type: agent_tool_sequence}]
policy: none
"""


def write_project(root: Path) -> None:
    (root / "oloproof.yaml").write_text(CONFIG)
    with (root / "traces.jsonl").open("w") as file:
        for number in range(CASES):
            steps = []
            for at in range(5):
                call = {"kind": "tool_call", "tool_name": "look", "arguments": {"order": number * 31 + at}}
                result = {"kind": "tool_result", "tool_name": "look", "result": {"total": number * at % 977}}
                steps += [{"index": 2 * at + 1, **call}, {"index": 2 * at + 2, **result}]
            answer = {"answer": f"yes, order {number * 7919 % 10_007}"}
            recording = {"case": f"case_{number:05}", "output": answer, "trajectory": {"steps": steps}}
            file.write(json.dumps(recording | {"expected": {"tools": ["look"]}}) + "\n")


SCRIPT = """
import oloproof
run = oloproof.load_run()
assert sum(len(case.trajectory.steps) for case in run.cases) == 200_000
"""


def decoded_s(root: Path) -> float:
    """Seconds of CPU that it takes to decode every stored case of the run with its recording, none of them kept."""
    times = []
    for _ in range(5):
        start = time.process_time()
        with Store.open(root / ".oloproof") as store:
            for _ in store.records(store.find("latest").id):
                pass
        times.append(time.process_time() - start)
    return statistics.median(times)


def first_paints_ms(page: Path) -> list[float]:
    """When Chromium first painted the page, five times over; nothing where there is no Chromium or no playwright."""
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return []
    if program is None:
        return []
    painted = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        for _ in range(5):
            opened = browser.new_page()
            opened.goto(page.as_uri())
            opened.wait_for_selector("html[data-ready]", state="attached")
            painted.append(opened.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"))
            opened.close()
        browser.close()
    return painted


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        write_project(root)
        judge = cost([*OLOPROOF, "judge"], cwd=root, repeats=3)
        page = cost([*OLOPROOF, "report", "--html", "report.html"], cwd=root, repeats=3)
        row("report --html of 20,000 cases", page.cpu_s / judge.cpu_s, "× judge", 3)
        script = cost([sys.executable, "-c", SCRIPT], cwd=root, repeats=3)
        print(f"the same: {page.cpu_s / script.cpu_s:.1f} × a script that reads every case with `load_run`")
        print(f"the same: {page.cpu_s / decoded_s(root):.1f} × decoding every case in this process, keeping none")
        row("the page's size", (root / "report.html").stat().st_size / 1e6, "MB", 15)
        if painted := first_paints_ms(root / "report.html"):
            row("first paint in Chromium", statistics.median(painted), "ms", 1500)
        else:
            print("first paint: not measured, since chromium or playwright is not here")


if __name__ == "__main__":
    main()
