"""`oloproof plan --aa`: six rules over 5,000 cases, planned and enumerated."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from measure import OLOPROOF, cost, row

CASES = 5_000
RULES = [
    {"id": "floor", "metric": "right", "min": 0.9},
    {"id": "none-wrong", "metric": "right", "kind": "observed_count", "max_failures": 25},
    {"id": "quick", "metric": "steps_p95", "max": 12},
    {"id": "no-worse", "metric": "right", "kind": "non_inferiority", "margin": 0.02},
    {"id": "same", "metric": "right", "kind": "equivalence", "margin": 0.02},
    {"id": "better", "metric": "right", "kind": "superiority"},
]


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        config = {"version": 1, "project": "large", "dataset": "cases.jsonl", "system": {"callable": "app:run"}}
        config |= {"evaluators": [{"type": "contains", "criterion": "right", "field": "answer", "value": "yes"}]}
        config |= {"metrics": [{"id": "steps_p95", "type": "quantile", "source": "agent_steps", "quantile": 0.95}]}
        (root / "oloproof.yaml").write_text(json.dumps(config))
        (root / "release.yaml").write_text(json.dumps({"version": 1, "rules": RULES}))
        (root / "cases.jsonl").write_text("".join(json.dumps({"id": f"c{at}"}) + "\n" for at in range(CASES)))
        before = cost([*OLOPROOF, "check", "--json"], cwd=root)
        planned = cost([*OLOPROOF, "plan", "--json"], cwd=root)
        flips = cost([*OLOPROOF, "plan", "--aa", "--json"], cwd=root)
        row("plan six rules at 5,000 cases, beyond what check costs", planned.cpu_s - before.cpu_s, "s", 1)
        row("the same with how often the gate flips", flips.cpu_s - before.cpu_s, "s", 1)
        row("its peak memory", flips.peak_mib, "MiB", 150)


if __name__ == "__main__":
    main()
