"""`oloproof run`: the worked example, then trivial cases by the thousand (time, memory and disk for each case)."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

from measure import OLOPROOF, cost, row

EXAMPLE = Path(__file__).parents[1] / "examples" / "support_agent"

APP = """
from oloproof import current_case, system

@system(name="trivial", version="1", records=("agent_trajectory/v1",))
def run(case):
    with current_case().trace() as trace:
        trace.message(case["text"])
        trace.tool_call("look", {"id": case["text"]})
        trace.tool_result("look", "found")
        trace.final("done")
    return {"answer": "done"}
"""

CONFIG = """
version: 1
project: trivial
dataset: cases.jsonl
system: {callable: "app:run"}
evaluators:
  - {type: contains, field: answer, expected_field: answer, criterion: answer_correct}
  - {type: agent_tool_called, tool_name: look}
  - {type: agent_no_tool_loop}
  - {type: agent_tool_sequence}
  - {type: agent_max_steps, max_steps: 10}
  - {type: agent_max_tool_calls, max_calls: 3}
slices: [metadata.group, first_tool, "trajectory_length:4,8"]
policy: {version: 1, rules: [{id: floor, metric: answer_correct, min: 0.9}]}
"""


def project(directory: Path, cases: int) -> None:
    directory.mkdir()
    (directory / "app.py").write_text(APP)
    (directory / "oloproof.yaml").write_text(CONFIG)
    with (directory / "cases.jsonl").open("w") as file:
        for number in range(cases):
            case = {
                "id": f"case_{number:06d}",
                "input": {"text": f"order {number}"},
                "expected": {"answer": "done", "tools": ["look"]},
                "metadata": {"group": f"g{number % 5}"},
            }
            file.write(json.dumps(case) + "\n")


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        shutil.copytree(EXAMPLE, root / "example", ignore=shutil.ignore_patterns(".oloproof", "__pycache__"))
        row("run, the 40-case example", cost([*OLOPROOF, "run"], cwd=root / "example", expect=(1,)).cpu_s, "s", 0.35)

        costs = {}
        for cases in (4, 4_000, 40_000):
            project(root / str(cases), cases)
            repeats = 1 if cases > 4_000 else 3
            costs[cases] = cost([*OLOPROOF, "run"], cwd=root / str(cases), repeats=repeats, expect=(0, 3))
        overhead = (costs[4_000].cpu_s - costs[4].cpu_s) / 3_996 * 1e6
        row("run, 4,000 trivial cases (parent and worker)", overhead, "µs a case", 200)
        row("peak memory at 40,000 cases", costs[40_000].peak_mib / costs[4_000].peak_mib, "× at 4,000", 1.5)
        size = sum(path.stat().st_size for path in (root / "40000" / ".oloproof").rglob("*") if path.is_file())
        row("store after one run of 40,000 cases", size / 40_000, "bytes each", 600)


if __name__ == "__main__":
    main()
