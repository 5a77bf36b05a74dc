"""`oloproof view` over a run of 20,000 recorded cases: how long a page, the list of cases and a case take, in
milliseconds from the request to the last byte, beside a page that says nothing."""

from __future__ import annotations

import http.client
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from measure import ENVIRONMENT, OLOPROOF, row
from page import CASES, write_project

REPEATS = 51


class Asking:
    """A browser that was let in."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self._connection = http.client.HTTPConnection(parts.netloc)
        self._cookie = ""
        self.get(f"/?{parts.query}")

    def get(self, path: str) -> str:
        """The text at this address, or that it leads to."""
        self._connection.request("GET", path, headers={"Cookie": self._cookie})
        answer = self._connection.getresponse()
        text = answer.read().decode()
        if cookie := answer.getheader("Set-Cookie"):
            self._cookie = cookie.partition(";")[0]
        if leads := answer.getheader("Location"):
            return leads
        if answer.status not in (200, 404):
            raise SystemExit(f"{path} answered {answer.status}: {text}")
        return text

    def median_ms(self, *paths: str) -> float:
        """Of the paths in turn, after each was asked for once."""
        for path in paths:
            self.get(path)
        times = []
        for at in range(REPEATS):
            before = time.perf_counter()
            self.get(paths[at % len(paths)])
            times.append((time.perf_counter() - before) * 1000)
        return statistics.median(times)


@contextmanager
def viewed(root: Path) -> Iterator[Asking]:
    command = [*OLOPROOF, "view", "--no-open"]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT) as server:
        assert server.stdout is not None
        try:
            yield Asking(server.stdout.readline().strip())
        finally:
            server.terminate()


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        write_project(root)
        subprocess.run([*OLOPROOF, "judge"], cwd=root, check=True, capture_output=True)
        with viewed(root) as browser:
            run = browser.get("/runs/latest")
            cases = [f"{run}/case?id=case_{number:05}" for number in range(0, CASES, CASES // 7)]
            case = browser.median_ms(*cases)
            row("view: a case of 20,000", case, "ms", 50)
            row("view: the page of a run", browser.median_ms(run), "ms", 100)
            row("view: a case, beside a page that says there is none", case / browser.median_ms("/nowhere"), "×", 15)
            started = time.perf_counter()
            browser.get(f"{run}/index")
            row("view: the list of 20,000 cases", (time.perf_counter() - started) * 1000, "ms", 3000)


if __name__ == "__main__":
    main()
