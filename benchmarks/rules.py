"""`oloproof judge` with temporal rules beside msgspec's own decoding of the same bytes, and of ten times the steps."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from judge import RESULTS, decode_s
from measure import OLOPROOF, cost, row

CASES = 20_000
SHORT, LONG = 20, 200

CONFIG = """
version: 1
project: recorded
dataset: cases.jsonl
system: {recorded: traces.jsonl}
evaluators:
  - {type: agent_rule, rule: "lookup_order before issue_refund"}
  - {type: agent_rule, rule: "search at most 60 times between lookup_order and issue_refund"}
  - {type: agent_rule, rule: "after error(issue_refund): send_mail within 3 calls"}
  - {type: agent_rule, rule: "issue_refund(amount > 100) only after lookup_order(order_id = same)"}
  - {type: agent_tool_called, tool_name: lookup_order}
  - {type: agent_tool_not_called, tool_name: delete_customer}
  - {type: agent_no_tool_loop}
  - {type: agent_tool_sequence, mode: in_order}
  - {type: agent_constraints_satisfied, constraints: [no_deletion]}
  - {type: agent_max_steps, max_steps: 240}
policy: none
"""

TOOLS = ("lookup_order", "search", "issue_refund", "get_user", "send_mail")


def write_project(root: Path, *, cases: int, steps: int, items: int) -> None:
    root.mkdir()
    (root / "oloproof.yaml").write_text(CONFIG)
    with (root / "traces.jsonl").open("w") as traces, (root / "cases.jsonl").open("w") as rows:
        for number in range(cases):
            constraints = [{"name": "no_deletion", "passed": number % 50 != 0}]
            made = _steps(number, steps, items)
            trajectory = {"steps": made, "terminal_status": "success", "constraints": constraints}
            name = f"case_{number:05d}"
            traces.write(json.dumps({"case": name, "output": {"answer": "refunded"}, "trajectory": trajectory}) + "\n")
            rows.write(json.dumps({"id": name, "input": number, "expected": {"tools": list(TOOLS[:3:2])}}) + "\n")


def _steps(number: int, steps: int, items: int) -> list[dict[str, object]]:
    """Calls of five tools in turn, with results. A case in ten begins with a refund; in one in seven they fail."""
    made: list[dict[str, object]] = []
    for index in range(1, steps + 1, 2):
        place = index // 2 + (2 if number % 10 == 0 else 0)
        tool = TOOLS[place % len(TOOLS)]
        arguments = {"order_id": f"ord-{number}-{place // len(TOOLS)}", "amount": 20 * place}
        lines = [
            {"sku": f"sku-{number}-{line}", "name": "desk lamp", "price": 19.5, "count": line} for line in range(items)
        ]
        result = {"status": "ok", "total": 12.5, "items": lines}
        error = "card expired" if tool == "issue_refund" and number % 7 == 0 else None
        made.append({"index": index, "kind": "tool_call", "tool_name": tool, "arguments": arguments})
        made.append({"index": index + 1, "kind": "tool_result", "tool_name": tool, "result": result, "error": error})
    return made


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        none = Path(temporary) / "none"
        write_project(none, cases=1, steps=SHORT, items=0)
        start = cost([*OLOPROOF, "judge"], cwd=none).cpu_s
        for name, items in RESULTS.items():
            short, long = (Path(temporary) / f"{length} {name}" for length in ("short", "long"))
            write_project(short, cases=CASES, steps=SHORT, items=items)
            write_project(long, cases=CASES // 10, steps=LONG, items=items)
            base = decode_s(short / "traces.jsonl")
            size = (short / "traces.jsonl").stat().st_size / CASES
            print(f"{CASES:,} times {SHORT} steps in {size:,.0f} bytes, results {name}: {base:.3f} s to decode")
            spent = cost([*OLOPROOF, "judge"], cwd=short).cpu_s
            row("judge, 10 evaluators, 4 of them rules, stored", spent / base, "× decoding", 10)
            tenth = cost([*OLOPROOF, "judge"], cwd=long).cpu_s
            a_case, a_long_case = (spent - start) / CASES, (tenth - start) / (CASES // 10)
            row(f"a case of {LONG} steps beside one of {SHORT}", a_long_case / a_case, "×", 11)


if __name__ == "__main__":
    main()
