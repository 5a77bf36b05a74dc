"""Evaluators from the configuration to the report, on recorded traces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fakes.projects import case, oloproof, project, write_lines

pytestmark = pytest.mark.usefixtures("system_at_hand")


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


STATEFUL = """
from oloproof import current_case

def run(order):
    case = current_case()
    orders = {"o1": {"status": "paid", "amount": 40}, "o2": {"status": "paid"}}
    case.state(before={"orders": orders, "customers": ["ann"]})
    if order == "crash":
        raise RuntimeError("the shop is closed")
    if order != "forget":
        orders[order] = {**orders.get(order, {}), "status": "refunded"}
        case.state({"orders": orders, "customers": ["ann"]})
    return {"answer": "yes"}
"""


def test_the_state_that_a_system_records(tmp_path: Path) -> None:
    evaluators = [
        {"type": "state_matches", "path": "orders", "mode": "subset"},
        {"type": "state_unchanged", "paths": ["customers", "orders.o2"]},
    ]
    wanted = {"orders": {"o1": {"status": "refunded"}}}
    cases = [case(order, order, state=wanted) for order in ("o1", "o2", "crash", "forget")]
    project(tmp_path, app=STATEFUL, evaluators=evaluators, cases=[*cases, case("any", "o1")], rules=None, policy="none")
    done = oloproof(tmp_path, "run", "--json")
    assert done.code == 0, done.err
    assert done.verdict("state_matches") == (1, 1, 2, 1)
    assert done.verdict("state_unchanged") == (2, 1, 2, 0)

    shown = oloproof(tmp_path, "inspect", "--case", "o2", "--json").json
    assert shown["state"]["after"]["orders"]["o2"] == {"status": "refunded"}
    assert [judgment["reason"] for judgment in shown["judgments"]] == [None, None]
    assert shown["judgments"][1] | {"expected": "paid", "found": "refunded"} == shown["judgments"][1]
    assert "state before" in oloproof(tmp_path, "inspect", "--case", "crash").out


def test_states_and_answers_of_recordings(tmp_path: Path) -> None:
    evaluators = [
        {"type": "state_unchanged"},
        {"type": "contains", "source": "final", "value": "yes"},
        {"type": "json_schema", "source": "final", "schema": {"type": "string", "minLength": 4}},
        {"type": "regex", "engine": "python", "source": "final", "pattern": "^(?!no)"},
        {"type": "agent_terminal_status"},
        {"type": "canary_absent", "input_field": "secret"},
    ]

    def final(content: Any) -> dict[str, Any]:
        return {"index": 1, "kind": "final", "arguments": content}

    traces = [
        {"input": {"secret": "abc"}, "output": "fine"} | each
        for each in (
            recording("good", final("yes, sir"), terminal_status="success")
            | {"state": {"before": [1], "after": [1.0]}},
            recording("bad", final("no, abc"), terminal_status="failure") | {"state": {"before": 1, "after": 2}},
            recording("silent") | {"state": {"after": 2}},
            recording("cut", final("yes, sir"), truncated=True),
        )
    ]
    done = judged(tmp_path, evaluators, traces)
    assert done.verdict("state_unchanged") == (1, 1, 2, 0)
    assert done.verdict("contains") == (1, 2, 1, 0)
    assert done.verdict("json_schema") == (2, 1, 1, 0)
    assert done.verdict("regex") == (1, 2, 1, 0)
    assert done.verdict("agent_terminal_status") == (1, 1, 2, 0)
    assert done.verdict("canary_absent") == (2, 1, 1, 0)


def test_a_state_with_a_key_that_means_nothing_is_refused(tmp_path: Path) -> None:
    project(tmp_path, cases=None, rules=None, policy="none", system={"recorded": "traces.jsonl"})
    write_lines(tmp_path / "traces.jsonl", [{"case": "c1", "state": {"afer": 1}}])
    done = oloproof(tmp_path, "judge")
    assert done.code == 2
    assert "traces.jsonl:1: unknown key 'afer' in state" in done.err


def test_a_planted_text_that_is_none_is_told_where_it_is(tmp_path: Path) -> None:
    evaluators = [{"type": "canary_absent", "input_field": "secret"}]
    project(tmp_path, evaluators=evaluators, cases=[case("c1", {"secret": 7})], rules=None, policy="none")
    done = oloproof(tmp_path, "check")
    assert done.code == 2
    assert "cases.jsonl:1:34: case 'c1': input.secret must be a text that is not empty [OLO213]" in done.err


def test_a_misspelt_place_of_the_planted_text_is_told(tmp_path: Path) -> None:
    evaluators = [{"type": "canary_absent", "expected_field": "canry"}]
    project(tmp_path, evaluators=evaluators, cases=[case("c1", canary="sk-7")], rules=None, policy="none")
    done = oloproof(tmp_path, "check")
    assert done.code == 2
    assert "expected_field 'canry' is in no case [OLO119]" in done.err
    assert "did you mean 'canary'?" in done.err
