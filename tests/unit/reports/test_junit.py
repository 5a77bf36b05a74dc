from __future__ import annotations

import xml.etree.ElementTree as ET
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fakes.hostile import NASTY
from golden.specimens import odd, support, triage, verdicts
from oloproof.model.decision import Gate
from oloproof.model.measured import Measured, Rate
from oloproof.model.run import Report
from oloproof.model.tally import Tally
from oloproof.reports.inert import inert
from oloproof.reports.junit import junit
from oloproof.reports.view import VerdictRow, view


def parsed(report: Report, rows: list[VerdictRow]) -> ET.Element:
    return ET.fromstring("".join(junit(view(report), rows)))


def suite(document: ET.Element, name: str) -> ET.Element:
    (found,) = (each for each in document if each.get("name") == name)
    return found


def test_every_blocking_rule_is_a_failure() -> None:
    rules = suite(parsed(support(), []), "rules")
    assert rules.attrib == {"name": "rules", "tests": "4", "failures": "3", "errors": "0", "skipped": "0"}
    outcome = {case.get("name"): [child.tag for child in case] for case in rules}
    assert outcome == {
        "answer-floor": ["system-out"],
        "no-deletion": ["failure"],
        "quick": ["failure"],
        "loops": ["failure"],
    }
    failure = rules.find("testcase[@name='no-deletion']/failure")
    assert failure is not None
    assert failure.get("message") == "FAIL: 3 failures observed, 0 allowed"
    assert failure.text == "agent_constraints_satisfied: observed_failures_exceed_limit"


def test_a_warning_is_skipped_and_not_green() -> None:
    report = support()
    warned = replace(report.decisions[2], blocking=False)
    report = replace(report, decisions=(report.decisions[0], warned), gate=Gate(outcome="ALLOW", exit_code=0))
    rules = suite(parsed(report, []), "rules")
    assert rules.get("failures") == "0"
    assert rules.find("testcase[@name='quick']/skipped") is not None


def test_each_judged_case_and_criterion_is_a_test() -> None:
    cases = suite(parsed(support(), verdicts()), "cases")
    tags = {(case.get("classname"), case.get("name")): [child.tag for child in case] for case in cases}
    assert tags == {
        ("answer_correct", "case_001"): [],
        ("agent_no_tool_loop", "case_002"): ["failure"],
        ("agent_tool_permissions", "case_003"): ["failure"],
        ("answer_correct", "case_007"): ["skipped"],
        ("agent_no_tool_loop", "case_040"): ["skipped"],
        ("]]>", "=1+1 · trial 2"): ["failure"],
    }
    skipped = cases.find("testcase[@name='case_040']/skipped")
    assert skipped is not None
    assert skipped.get("message") == "truncated_trajectory"
    crashed = cases.find("testcase[@name='case_007']/skipped")
    assert crashed is not None
    assert crashed.get("message") == "60 s; late (timeout)"


def test_a_failure_says_what_was_expected_and_on_which_steps() -> None:
    row = VerdictRow(case="c", criterion="a", verdict="fail", steps=(4, 5), expected="yes", found="no")
    failure = suite(parsed(support(), [row]), "cases").find("testcase/failure")
    assert failure is not None
    assert failure.text == '"yes" → "no"\nsteps 4–5'


def test_the_counts_of_the_suite_are_those_of_its_rows() -> None:
    report = replace(support(), measured=Measured(3, (Rate("a", Tally(1, 1, 1, 1)),)))
    rows = [
        VerdictRow(case="1", criterion="a", verdict="pass"),
        VerdictRow(case="2", criterion="a", verdict="fail", reason="field_absent"),
        VerdictRow(case="3", criterion="a", verdict="missing", reason="timeout", detail="60 s"),
        VerdictRow(case="4", criterion="a", verdict="excluded", reason="no_reference"),
    ]
    cases = suite(parsed(report, rows), "cases")
    assert cases.attrib == {"name": "cases", "tests": "3", "failures": "1", "errors": "0", "skipped": "1"}
    assert len(cases.findall("testcase")) == 3
    assert len(cases.findall("testcase/failure")) == 1
    assert len(cases.findall("testcase/skipped")) == 1


def test_a_run_that_is_not_gated_on_purpose_is_a_skipped_gate() -> None:
    rules = suite(parsed(triage(), []), "rules")
    skipped = rules.find("testcase[@name='gate']/skipped")
    assert skipped is not None
    assert skipped.get("message") == "NOT GATED (exit 0): policy: none"


@pytest.mark.parametrize(
    "gate",
    [
        Gate(outcome="NOT_GATED", exit_code=3, why="no policy"),
        Gate(outcome="BLOCK", exit_code=3, why="no rule passed, and exit 0 needs one that does"),
        Gate(outcome="BLOCK", exit_code=5),
    ],
)
def test_a_run_that_is_not_green_never_looks_so(gate: Gate) -> None:
    document = parsed(replace(triage(), gate=gate), [])
    failure = suite(document, "rules").find("testcase[@name='gate']/failure")
    assert failure is not None
    assert suite(document, "rules").get("failures") == "1"


def test_a_run_without_rules_and_let_through_has_no_suite_of_rules() -> None:
    document = parsed(replace(triage(), gate=Gate(outcome="ALLOW", exit_code=0)), [])
    assert [each.get("name") for each in document] == ["cases"]


@pytest.mark.parametrize("text", NASTY, ids=range(len(NASTY)))
def test_nasty_texts_come_back_inert(text: str) -> None:
    row = VerdictRow(case=text, criterion=text, verdict="fail", reason=text or None, detail=text)
    (case,) = suite(parsed(odd(), [row]), "cases")
    assert case.get("name") == inert(text)
    assert case.get("classname") == inert(text)


@given(st.text(st.characters(), max_size=40))
@settings(deadline=None, max_examples=100)
def test_any_text_makes_a_document_that_parses(text: str) -> None:
    rows = [
        VerdictRow(case=text, criterion=text, verdict="fail", reason=text, detail=text),
        VerdictRow(case=text, criterion=text, verdict="missing", reason=text, detail=text),
    ]
    report = support()
    report = replace(
        report,
        run=replace(report.run, project=text),
        decisions=tuple(replace(decision, rule=text, metric=text) for decision in report.decisions),
    )
    cases = suite(parsed(report, rows), "cases")
    assert [case.get("name") for case in cases] == [inert(text)] * 2


def test_rows_stream() -> None:
    def endless():
        while True:
            yield VerdictRow(case="c", criterion="x", verdict="pass")

    assert len(list(islice(junit(view(support()), endless()), 10_000))) == 10_000
