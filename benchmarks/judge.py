"""`oloproof judge` beside msgspec's own decoding of the same bytes, then `gate` and `inspect` of that run."""

from __future__ import annotations

import gc
import json
import statistics
import tempfile
import time
from pathlib import Path

import msgspec
from measure import OLOPROOF, cost, row

from oloproof.model.recording import Recording

CASES, STEPS = 20_000, 20
RESULTS = {"short": 0, "as in real traces": 6}
"""Items in a tool's result beside a line of status: real ones hold some hundred bytes, toys some fifty."""

CONFIG = """
version: 1
project: recorded
dataset: cases.jsonl
system: {recorded: traces.jsonl}
evaluators:
  - {type: agent_tool_called, tool_name: lookup_order}
  - {type: agent_no_tool_loop}
  - {type: agent_tool_sequence, mode: in_order}
  - {type: agent_constraints_satisfied, constraints: [no_deletion]}
  - {type: agent_max_steps, max_steps: 24}
slices: [metadata.surface, first_tool, "trajectory_length:10,20"]
policy: {version: 1, rules: [{id: called, metric: agent_tool_lookup_order_called, min: 0.9}]}
"""


def write_project(root: Path, items: int, *, cases: int = CASES) -> None:
    root.mkdir()
    (root / "oloproof.yaml").write_text(CONFIG)
    tools = ("lookup_order", "search", "issue_refund", "get_user", "send_mail")
    with (root / "traces.jsonl").open("w") as traces, (root / "cases.jsonl").open("w") as dataset:
        for number in range(cases):
            steps: list[dict[str, object]] = []
            for index in range(1, STEPS + 1, 2):
                tool = tools[(number + index) % len(tools)]
                arguments = {"order_id": f"ord-{number}", "page": index}
                lines = [
                    {"sku": f"sku-{number}-{line}", "name": "desk lamp", "price": 19.5, "count": line}
                    for line in range(items)
                ]
                result = {"status": "ok", "total": 12.5, "items": lines}
                steps.append({"index": index, "kind": "tool_call", "tool_name": tool, "arguments": arguments})
                steps.append({"index": index + 1, "kind": "tool_result", "tool_name": tool, "result": result})
            trajectory = {
                "steps": steps,
                "terminal_status": "success",
                "constraints": [{"name": "no_deletion", "passed": number % 50 != 0}],
            }
            recording = {"case": f"case_{number:05d}", "output": {"answer": "refunded"}, "trajectory": trajectory}
            traces.write(json.dumps(recording) + "\n")
            case = {
                "id": f"case_{number:05d}",
                "input": {"order_id": f"ord-{number}"},
                "expected": {"tools": ["lookup_order", "issue_refund"]},
                "metadata": {"surface": ("chat", "mail", "voice")[number % 3]},
            }
            dataset.write(json.dumps(case) + "\n")


def decode_s(path: Path) -> float:
    """Seconds of CPU that msgspec needs for the file's lines, into the same typed structs, none of them kept."""
    decoder = msgspec.json.Decoder(Recording)
    times = []
    gc.disable()
    for _ in range(5):
        start = time.process_time()
        with path.open("rb") as file:
            for line in file:
                decoder.decode(line)
        times.append(time.process_time() - start)
    gc.enable()
    return statistics.median(times)


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        for name, items in RESULTS.items():
            root = Path(temporary) / name
            write_project(root, items)
            base = decode_s(root / "traces.jsonl")
            size = (root / "traces.jsonl").stat().st_size / CASES
            print(f"{CASES:,} times {STEPS} steps in {size:,.0f} bytes, results {name}: {base:.3f} s to decode")
            judge = cost([*OLOPROOF, "judge"], cwd=root, expect=(0, 1, 3))
            row("judge, 5 evaluators, 3 slices, stored and gated", judge.cpu_s / base, "× decoding", 4)
        row("gate of that run", cost([*OLOPROOF, "gate"], cwd=root, expect=(0, 1, 3)).cpu_s, "s", 0.3)
        row("inspect of that run", cost([*OLOPROOF, "inspect"], cwd=root).cpu_s, "s", 0.3)


if __name__ == "__main__":
    main()
