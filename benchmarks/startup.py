"""What the commands cost before they do anything, as multiples of a bare interpreter's start."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from measure import OLOPROOF, cost, row


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        cwd = Path(directory)
        bare = cost([sys.executable, "-c", "pass"], cwd=cwd, repeats=21).cpu_s
        for what, command, goal in (
            ("oloproof --version", [*OLOPROOF, "--version"], 7),
            ("oloproof --help", [*OLOPROOF, "--help"], 9),
            ("import oloproof", [sys.executable, "-c", "import oloproof"], 7),
        ):
            row(what, cost(command, cwd=cwd, repeats=21).cpu_s / bare, "× python", goal)
        collect = [sys.executable, "-m", "pytest", "--collect-only", "-q"]
        with_it, without = (
            cost([*collect, *options], cwd=cwd, repeats=11, expect=(5,)).cpu_s
            for options in ((), ("-p", "no:oloproof"))
        )
        row("pytest with the plug-in, which nobody asked for", with_it / without, "× pytest", 1.05)


if __name__ == "__main__":
    main()
