"""What a configuration named and no case showed."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from fakes.evidence import calls, of_steps
from oloproof.evaluators import Vacuity
from oloproof.evaluators.counting import ToolNotCalled
from oloproof.evaluators.rule import AgentRule
from oloproof.evaluators.text import Contains
from oloproof.model.judgment import PASS, Judgment, excluded, missing

ABSENT = Judgment("fail", "field_absent")
CRASHED = Judgment("fail", "system_error")
WARNING = "criterion 'contains' reads the field 'answer', which no output has"


@pytest.mark.parametrize(
    ("judgments", "warnings"),
    [
        ([ABSENT], (WARNING,)),
        ([ABSENT, CRASHED, missing("timeout")], (WARNING,)),
        ([ABSENT, PASS], ()),
        ([ABSENT, Judgment("fail", "not_text")], ()),
        ([missing("system_error"), missing("output_not_recorded")], ()),
        ([excluded("not_selected")], ()),
        ([CRASHED, Judgment("fail", "timeout")], ()),
        ([], ()),
    ],
)
def test_a_field_is_missed_only_where_there_was_an_output(judgments: Sequence[Judgment], warnings: tuple[str, ...]):
    vacuity = Vacuity([Contains(field="answer", value="yes")])
    for judgment in judgments:
        vacuity.see(None, [judgment])
    assert vacuity.warnings() == warnings


@pytest.mark.parametrize(
    ("rule", "traces", "trigger"),
    [
        ("a before b", ["a", "a a"], "b"),
        ("a before b", ["a", "a b"], None),
        ("after a: eventually b", ["b"], "a"),
        ("c at most once between b and a", ["b b", "a b"], "b and a"),
        ("never a if b", ["a"], "b"),
        ("before b: never a", ["a"], "b"),
        ("a before b and after a: eventually b", ["b"], None),
        ("never a", ["b"], None),
    ],
)
def test_a_rule_whose_trigger_never_came_says_nothing(rule: str, traces: list[str], trigger: str | None):
    evaluator = AgentRule(rule=rule, criterion="r")
    vacuity = Vacuity([evaluator])
    for trace in traces:
        evidence = of_steps(calls(trace))
        vacuity.see(evidence.reading, [evaluator.judge(evidence)])
    told = [text for text in vacuity.warnings() if "says nothing" in text]
    assert told == ([] if trigger is None else [f"criterion 'r' says nothing: in no case was there {trigger}"])


@pytest.mark.parametrize(
    ("tool", "meant"),
    [
        ("lookup_ordr", "; did you mean 'lookup_order'?"),
        ("Lookup_order", "; did you mean 'lookup_order'?"),
        ("delete_order", ""),
        ("lok", ""),
    ],
)
def test_a_tool_that_nobody_called_is_told_beside_the_one_that_is_called_nearly_so(tool: str, meant: str):
    evaluator = ToolNotCalled(tool_name=tool, criterion="c")
    vacuity = Vacuity([evaluator])
    evidence = of_steps(calls("lookup_order create_order"))
    vacuity.see(evidence.reading, [evaluator.judge(evidence)])
    assert vacuity.warnings() == (f"criterion 'c' names the tool '{tool}', which no case called{meant}",)
