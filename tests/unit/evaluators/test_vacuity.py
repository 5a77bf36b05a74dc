"""What a configuration named and no case showed."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from fakes.evidence import calls, of_steps
from oloproof.evaluators import Vacuity
from oloproof.evaluators.counting import ToolNotCalled
from oloproof.evaluators.rule import AgentRule
from oloproof.evaluators.text import Contains
from oloproof.evaluators.vacuity import _LACKING
from oloproof.model.judgment import EXCLUDED_REASONS, MISSING_REASONS, PASS, Judgment, excluded, missing

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
        ([excluded("no_reference")], ()),
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


@pytest.mark.parametrize("reason", _LACKING)
def test_a_criterion_that_judged_no_case_is_told_with_what_is_lacking(reason: str):
    vacuity = Vacuity([Contains(value="yes"), Contains(value="no", criterion="other")])
    for judgment in (excluded("no_reference"), Judgment("missing", reason), missing("system_error")):
        vacuity.see(None, [judgment, PASS])
    assert vacuity.warnings() == (f"criterion 'contains' has nothing to judge: {_LACKING[reason]}",)


@pytest.mark.parametrize("judgment", [PASS, Judgment("fail"), missing("timeout"), missing("evaluator_error")])
def test_nothing_is_lacking_where_a_case_was_judged_or_an_error_is_the_cause(judgment: Judgment):
    vacuity = Vacuity([Contains(value="yes")])
    judgments = [judgment] if judgment.verdict == "missing" else [missing("unnamed_agents"), judgment]
    for each in judgments:
        vacuity.see(None, [each])
    assert vacuity.warnings() == ()


def test_of_two_causes_the_record_is_told_before_the_dataset():
    vacuity = Vacuity([Contains(value="yes")])
    for judgment in (excluded("no_declared_tools"), missing("no_trajectory")):
        vacuity.see(None, [judgment])
    assert vacuity.warnings() == (f"criterion 'contains' has nothing to judge: {_LACKING['no_trajectory']}",)


def test_every_cause_is_a_reason_of_a_verdict():
    assert set(_LACKING) <= {*MISSING_REASONS, *EXCLUDED_REASONS}
