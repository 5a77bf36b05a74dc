"""Evaluators from the configuration to the report, on recorded traces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fakes.projects import oloproof, project, write_lines


def call(index: int, tool: str, **fields: Any) -> dict[str, Any]:
    return {"index": index, "kind": "tool_call", "tool_name": tool, "arguments": {}, **fields}


def result(index: int, tool: str, **fields: Any) -> dict[str, Any]:
    return {"index": index, "kind": "tool_result", "tool_name": tool, **fields}


def judged(directory: Path, evaluators: list[dict[str, Any]], traces: list[dict[str, Any]]) -> Any:
    project(
        directory,
        evaluators=evaluators,
        cases=None,
        rules=None,
        policy="none",
        system={"recorded": "traces.jsonl"},
    )
    write_lines(directory / "traces.jsonl", traces)
    done = oloproof(directory, "judge", "--json")
    assert done.code == 0, done.err
    return done


def recording(name: str, *steps: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"case": name, "trajectory": {"steps": list(steps), **fields}}


def test_counts_errors_and_budgets(tmp_path: Path) -> None:
    evaluators = [
        {"type": "agent_tool_not_called", "tool_name": "delete"},
        {"type": "agent_tool_call_counts", "bounds": {"search": {"max": 1}, "pay": {"min": 1}}},
        {"type": "agent_tool_errors", "max_errors": 0},
        {"type": "agent_tool_errors", "max_error_rate": 0.5, "ignore_recovered": True, "tool_name": "pay"},
        {"type": "agent_budget", "max_tokens": 10, "tool_name": "pay"},
        {"type": "agent_no_tool_loop", "max_repeats": 1, "max_cycle": 2},
    ]
    first = call(2, "pay", tokens=4), result(3, "pay", error="no")
    again = call(4, "pay", tokens=6), result(5, "pay", error=None)
    loop = [call(index, tool, error=None, tokens=1) for index, tool in enumerate(["pay", "x"] * 2, 1)]
    traces = [
        recording("retried", call(1, "search", error=None), *first, *again),
        recording("silent", call(1, "pay")),
        recording("deleted", call(1, "delete", error=None), truncated=True),
        recording("looped", *loop),
    ]
    done = judged(tmp_path, evaluators, traces)
    assert done.verdict("agent_tool_delete_not_called") == (3, 1, 0, 0)
    assert done.verdict("agent_tool_call_counts") == (3, 0, 1, 0)
    assert done.verdict("agent_tool_errors_le_0") == (1, 1, 2, 0)
    assert done.verdict("agent_tool_pay_error_rate_le_0.5") == (2, 0, 2, 0)
    assert done.verdict("agent_tool_pay_tokens_le_10") == (2, 0, 2, 0)
    assert done.verdict("agent_no_tool_loop") == (1, 2, 1, 0)

    shown = oloproof(tmp_path, "inspect", "latest", "--case", "retried", "--json").json
    errors = next(each for each in shown["judgments"] if each["criterion"] == "agent_tool_errors_le_0")
    assert errors | {"verdict": "fail", "steps": [3], "expected": {"max_errors": 0}} == errors
    assert errors["found"] == {"errors": 1, "calls": 3}
