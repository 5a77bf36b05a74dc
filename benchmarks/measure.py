"""CPU seconds and peak memory of whole commands: what a user pays, interpreter start and worker processes included."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

OLOPROOF = [sys.executable, "-m", "oloproof"]
# An installed package has its bytecode; a checkout under PYTHONDONTWRITEBYTECODE would compile it anew each time.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


@dataclass(frozen=True)
class Cost:
    """CPU seconds (user and system, children included) and peak resident memory of the largest process in MiB."""

    cpu_s: float
    peak_mib: float


def cost(command: Sequence[str], *, cwd: Path, repeats: int = 5, expect: tuple[int, ...] = (0,)) -> Cost:
    """The median over ``repeats`` of what ``command`` costs."""
    costs = [_once(command, cwd=cwd, expect=expect) for _ in range(repeats)]
    return Cost(statistics.median(c.cpu_s for c in costs), statistics.median(c.peak_mib for c in costs))


def _once(command: Sequence[str], *, cwd: Path, expect: tuple[int, ...]) -> Cost:
    with open(os.devnull, "wb") as devnull:
        process = subprocess.Popen(command, cwd=cwd, stdout=devnull, stderr=subprocess.PIPE, env=ENVIRONMENT)
        assert process.stderr is not None
        error = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in expect:
        raise SystemExit(f"{command} exited with {process.returncode}:\n{error.decode(errors='replace')}")
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def row(what: str, value: float, unit: str, goal: float) -> bool:
    """Print one figure beside its goal; True when it is met."""
    met = value <= goal
    print(f"{what:<68} {value:>9.2f} {unit:<10} goal ≤ {goal:g}{'' if met else '   MISSED'}")
    return met
