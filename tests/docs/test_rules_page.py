"""The worked rules of the reference: each passes the one trace and fails the other."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from msgspec import UNSET

from fakes.evidence import of_steps
from oloproof.evaluators import EVALUATORS
from oloproof.model.trajectory import Step

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "rules.md"
ROW = re.compile(r"^\| `(.*?)` \| `(.*?)` \| `(.*?)` \|$", re.M)
CALL = re.compile(r"(?P<tool>\w+)(?:\((?P<arguments>.*?)\))?(?P<failed>!)?(?:->(?P<result>\S+))?")
ROWS = ROW.findall(PAGE.read_text(encoding="utf-8"))


def steps(trace: str) -> list[Step]:
    """``lookup(id=7)->{"total":3} issue_refund!``: calls, each with its end."""
    read: list[Step] = []
    for call in CALL.finditer(trace):
        pairs = [pair.split("=", 1) for pair in (call["arguments"] or "").split(",") if pair]
        arguments = {name: json.loads(value) for name, value in pairs}
        result = json.loads(call["result"]) if call["result"] else UNSET
        read.append(Step(index=0, kind="tool_call", tool_name=call["tool"], arguments=arguments))
        error = "it failed" if call["failed"] else None
        read.append(Step(index=0, kind="tool_result", tool_name=call["tool"], result=result, error=error))
    return read


@pytest.mark.parametrize(("rule", "passes", "fails"), ROWS, ids=[row[0] for row in ROWS])
def test_a_worked_rule(rule: str, passes: str, fails: str) -> None:
    evaluator = EVALUATORS["agent_rule"](rule=rule)
    assert evaluator.judge(of_steps(steps(passes))).verdict == "pass"
    failed = evaluator.judge(of_steps(steps(fails)))
    assert failed.verdict == "fail"
    assert failed.found is not UNSET


def test_there_are_at_least_twenty() -> None:
    assert len(ROWS) >= 20
