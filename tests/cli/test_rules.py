"""``agent_rule`` from the configuration to the report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fakes.projects import Done, oloproof, project, write_lines


def recording(name: str, *calls: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """The calls, each followed by its result where it has one."""
    steps: list[dict[str, Any]] = []
    for call in calls:
        tool, result = call["tool_name"], call.pop("result", None)
        steps.append({"index": len(steps) + 1, "kind": "tool_call", "arguments": {}, **call})
        if result is not None:
            steps.append({"index": len(steps) + 1, "kind": "tool_result", "tool_name": tool, "result": result})
    return {"case": name, "trajectory": {"steps": steps, **fields}}


def call(tool: str, result: Any = None, **arguments: Any) -> dict[str, Any]:
    return {"tool_name": tool, "arguments": arguments, "result": result}


def judged(directory: Path, rules: dict[str, str], traces: list[dict[str, Any]], *options: str) -> Done:
    evaluators = [{"type": "agent_rule", "criterion": name, "rule": rule} for name, rule in rules.items()]
    keys: dict[str, Any] = {"cases": None, "rules": None, "policy": "none", "system": {"recorded": "traces.jsonl"}}
    project(directory, evaluators=evaluators, **keys)
    write_lines(directory / "traces.jsonl", traces)
    return oloproof(directory, "judge", *options)


def test_rules_are_judged_and_their_evidence_is_kept(tmp_path: Path) -> None:
    rules = {
        "looked_up": "lookup before refund",
        "own_order": "never refund(order not from lookup.result.order.id)",
        "once": "refund at most once per order",
    }
    traces = [
        recording("good", call("lookup", {"order": {"id": 7}}), call("refund", order=7)),
        recording("other", call("lookup", {"order": {"id": 7}}), call("refund", order=8)),
        recording("twice", call("refund", order=7), call("refund", order=7), truncated=True),
        recording("begun", call("lookup", {"order": {"id": 7}}), truncated=True),
    ]
    done = judged(tmp_path, rules, traces, "--json")
    assert done.code == 0, done.err
    assert done.verdict("looked_up") == (3, 1, 0, 0)
    assert done.verdict("own_order") == (1, 2, 1, 0)
    assert done.verdict("once") == (2, 1, 1, 0)

    case = oloproof(tmp_path, "inspect", "--case", "twice", "--json").json
    (judgment,) = (each for each in case["judgments"] if each["criterion"] == "once")
    assert judgment["steps"] == [1, 2]
    assert judgment["expected"] == "refund at most once per order"
    assert judgment["found"] == "refund 2 times (steps 1, 2) with the same order"


def test_a_rule_that_no_case_gave_anything_to_say_is_vacuous(tmp_path: Path) -> None:
    rules = {"approved": "refund only after approve", "quiet": "never shout"}
    done = judged(tmp_path, rules, [recording("a", call("approve")), recording("b", call("search"))])
    assert any("approved" in line and "vacuous" in line and "2 / 2 observed" in line for line in done.lines)
    told = " ".join(done.lines)
    assert "criterion 'approved' says nothing: in no case was there refund" in told
    assert "criterion 'quiet' names the tool 'shout', which no case called" in told
    metrics = oloproof(tmp_path, "inspect", "--json").json["metrics"]
    assert [(metric["estimate"], metric.get("vacuous")) for metric in metrics] == [(None, True), (1.0, None)]


def test_mistakes_are_located_with_a_caret(tmp_path: Path) -> None:
    done = judged(tmp_path, {"a": "lookup befor refund", "b": "pay at least 2 times and pay at most once"}, [])
    assert done.code == 2
    first, second = (line for line in done.lines if "OLO67" in line)
    assert first.startswith("oloproof.yaml:1:148: rule: 'befor' cannot come here: '(', 'at', 'before'")
    assert second == "oloproof.yaml:1:214: rule: no run can satisfy this rule [OLO671]"
    assert "did you mean 'before'?" in done.lines


def test_the_schema_knows_rules(tmp_path: Path) -> None:
    schema = oloproof(tmp_path, "schema", "oloproof").json
    assert schema["$defs"]["AgentRule"]["required"] == ["type", "rule"]
