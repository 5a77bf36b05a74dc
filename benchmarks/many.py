"""`oloproof judge` on 1,000 and on 100,000 recorded trajectories of 20 steps: what memory and time a case adds."""

from __future__ import annotations

import tempfile
from pathlib import Path

from judge import write_project
from measure import OLOPROOF, cost, row

FEW, MANY = 1_000, 100_000


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        costs = {}
        for cases in (1, FEW, MANY):
            root = Path(temporary) / str(cases)
            write_project(root, 0, cases=cases)
            costs[cases] = cost([*OLOPROOF, "judge"], cwd=root, repeats=1 if cases == MANY else 5, expect=(0, 1, 3))
        row(f"peak memory at {MANY:,} trajectories", costs[MANY].peak_mib / costs[FEW].peak_mib, "× 1,000", 1.5)
        added = (costs[MANY].peak_mib - costs[FEW].peak_mib) * 2**20 / (MANY - FEW)
        row("memory that each of them adds", added, "bytes", 64)
        row("judge, stored and gated", (costs[MANY].cpu_s - costs[1].cpu_s) / (MANY - 1) * 1e6, "µs a case", 40)
        store = sum(path.stat().st_size for path in (root / ".oloproof").rglob("*") if path.is_file())
        row("store, beside the recordings that it refers to", store / MANY, "bytes each", 150)


if __name__ == "__main__":
    main()
