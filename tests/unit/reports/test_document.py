from __future__ import annotations

import csv
import io
import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fakes.hostile import NASTY
from golden.specimens import looping_case, odd, odd_case, support, triage, verdicts
from oloproof.errors import Problem
from oloproof.model.case import Attempt, AttemptError, Case
from oloproof.model.judgment import Judgment
from oloproof.model.run import CaseRecord
from oloproof.reports.document import (
    case_document,
    encode,
    problems_document,
    report_document,
    runs_document,
    verdict_csv,
    verdict_lines,
)
from oloproof.reports.view import RunRow, VerdictRow


def test_a_report_has_exactly_these_keys() -> None:
    document = report_document(support())
    keys = [
        "format",
        "run",
        "interval",
        "metrics",
        "slices",
        "slices_tested",
        "errors",
        "decisions",
        "gate",
        "warnings",
    ]
    assert list(document) == keys
    assert document["format"] == "oloproof.report/v1"
    assert document["run"] == {
        "id": "20261130-101500-3fa9",
        "project": "support-agent-example",
        "system": {"name": "support-agent", "version": "2026-11"},
        "status": "complete",
        "cases": 40,
    }
    assert document["interval"] == {"method": "exact", "level": 0.95}
    assert document["gate"] == {"outcome": "BLOCK", "exit_code": 1}


def test_bounds_are_unrounded() -> None:
    rate = report_document(support())["metrics"][0]
    assert list(rate) == ["id", "kind", "passed", "failed", "missing", "excluded", "estimate", "lower", "upper"]
    assert rate["estimate"] == 0.825
    assert math.isclose(rate["lower"], 0.6722098666384142, abs_tol=1e-12)
    assert math.isclose(rate["upper"], 0.9266172706479148, abs_tol=1e-12)


def test_a_quantile_without_a_bound_has_null() -> None:
    assert report_document(support())["metrics"][6] == {
        "id": "steps_p95",
        "kind": "quantile",
        "unit": "steps",
        "observed": 39,
        "missing": 1,
        "estimate": 10,
        "lower": 10,
        "upper": None,
    }


def test_a_slice_below_its_support_has_counts_and_no_bounds() -> None:
    unplaced = report_document(support())["slices"][-1]
    assert (unplaced["slice"], unplaced["value"], unplaced["support"]) == ("repeated_action", "(unplaced)", 1)
    (metric,) = unplaced["metrics"]
    assert (metric["passed"], metric["failed"], metric["lower"], metric["upper"]) == (0, 1, None, None)


def test_a_count_rule_has_whole_numbers() -> None:
    assert report_document(support())["decisions"][1] == {
        "rule": "no-deletion",
        "metric": "agent_constraints_satisfied",
        "kind": "observed_count",
        "state": "FAIL",
        "reason": "observed_failures_exceed_limit",
        "threshold": 0,
        "passed": 37,
        "failed": 3,
        "missing": 0,
        "blocking": True,
    }
    assert '"threshold": 0,' in encode(report_document(support()))


def test_an_interval_rule_carries_what_decided() -> None:
    rule = report_document(support())["decisions"][0]
    assert rule["lower"] == 0.6805000966821229
    assert rule["false_fail"] == 0.0271
    assert rule["maximum"] is None


def test_what_is_not_gated_or_approved_says_so() -> None:
    assert report_document(triage())["gate"] == {"outcome": "NOT_GATED", "exit_code": 0, "why": "policy: none"}
    document = report_document(odd())
    assert document["run"]["partial"] == "--limit 3"
    assert document["run"]["in_process"] is True
    assert document["decisions"][1]["approved_by"] == "@ann <script>"


def test_a_document_keeps_every_character_and_is_ascii() -> None:
    text = encode(report_document(odd()))
    assert text.isascii()
    assert "\x1b" not in text
    assert json.loads(text) == report_document(odd())


def test_a_case_gives_its_evidence() -> None:
    document = case_document(looping_case())
    assert list(document) == ["format", "case", "output", "error", "trajectory", "judgments"]
    assert document["format"] == "oloproof.case/v1"
    assert document["case"]["id"] == "case_040"
    assert document["error"] is None
    assert document["trajectory"]["truncated"] is True
    assert document["trajectory"]["steps"][0] == {
        "index": 1,
        "kind": "tool_call",
        "tool_name": "lookup_order",
        "arguments": {"order_id": "ord-007"},
    }
    assert document["judgments"][1] == {
        "criterion": "agent_no_tool_loop",
        "verdict": "fail",
        "reason": "repeated_call",
        "steps": [1, 3, 5],
        "expected": 2,
        "found": 3,
    }
    assert "expected" not in document["judgments"][2]


def test_an_output_that_was_not_recorded_is_no_null() -> None:
    error = AttemptError(kind="timeout", message="60 s")
    unrecorded = CaseRecord(
        run_id="r",
        case=Case(id="a", cluster="shop"),
        attempt=Attempt(case_id="a", error=error),
        judgments=(("c", Judgment("missing", "timeout", detail="60 s")),),
    )
    document = case_document(unrecorded)
    assert "output" not in document
    assert document["error"] == {"kind": "timeout", "message": "60 s", "traceback": None}
    assert document["trajectory"] is None
    assert document["case"] == {"id": "a", "input": None, "expected": {}, "metadata": {}, "cluster": "shop"}
    assert document["judgments"][0]["detail"] == "60 s"
    null = replace(unrecorded, attempt=replace(unrecorded.attempt, output=None))
    assert case_document(null)["output"] is None


def test_an_odd_case_is_written_too() -> None:
    assert json.loads(encode(case_document(odd_case())))["case"]["id"] == "\x1b[31mcase\ud800"


def test_runs_are_listed_with_their_verdict_or_null() -> None:
    rows = [RunRow(run=support().run, gate=support().gate), RunRow(run=odd().run, gate=None)]
    document = runs_document(rows)
    assert document["format"] == "oloproof.runs/v1"
    assert document["runs"][0] == {
        "id": "20261130-101500-3fa9",
        "project": "support-agent-example",
        "system": {"name": "support-agent", "version": "2026-11"},
        "status": "complete",
        "cases": 40,
        "started_at": "2026-11-30T10:15:00Z",
        "finished_at": "2026-11-30T10:15:01Z",
        "gate": {"outcome": "BLOCK", "exit_code": 1},
    }
    assert document["runs"][1]["gate"] is None
    assert document["runs"][1]["partial"] == "--limit 3"


def test_verdicts_are_a_line_each() -> None:
    lines = list(verdict_lines(verdicts()))
    assert json.loads(lines[4]) == {
        "case": "case_040",
        "trial": 1,
        "criterion": "agent_no_tool_loop",
        "verdict": "missing",
        "reason": "truncated_trajectory",
    }
    assert json.loads(lines[0])["reason"] is None


def test_a_table_of_no_verdicts_has_its_header() -> None:
    assert list(verdict_csv([])) == ["case,trial,criterion,verdict,reason\n"]


def test_a_cell_that_a_spreadsheet_would_split_is_quoted() -> None:
    _, line = verdict_csv([VerdictRow(case="a;b", criterion='c,"', verdict="fail", reason="d")])
    assert line == '"a;b",1,"c,""",fail,d\n'


def test_errors_are_grouped_and_name_the_first_case() -> None:
    assert report_document(support())["errors"] == [
        {"kind": "timeout", "message": "no answer within 60 s", "cases": 1, "first": "case_040"}
    ]
    assert [(group["message"], group.get("trial")) for group in report_document(odd())["errors"]] == [
        ("\x1b[31mboom | `", 2),
        (None, None),
    ]


def test_what_a_problem_does_not_know_is_null() -> None:
    (problem,) = problems_document([Problem("OLO101", "the configuration does not exist")])["problems"]
    assert problem == {
        "file": None,
        "line": None,
        "column": None,
        "code": "OLO101",
        "message": "the configuration does not exist",
        "hint": None,
    }


@given(st.text(st.characters(), max_size=30) | st.sampled_from(NASTY))
@settings(deadline=None, max_examples=150)
def test_no_cell_starts_a_formula_and_no_line_breaks(text: str) -> None:
    row = VerdictRow(case=text, criterion=text, verdict="fail", reason=text)
    table = "".join(verdict_csv([row]))
    table.encode()
    header, cells = csv.reader(io.StringIO(table))
    assert len(header) == len(cells) == 5
    for cell in cells:
        assert not cell.startswith(("=", "+", "-", "@", "\t", "\r"))


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "＝1"])
def test_a_formula_is_defused_by_an_apostrophe(text: str) -> None:
    _, line = verdict_csv([VerdictRow(case=text, criterion="c", verdict="pass")])
    assert line.startswith("'")


@given(st.text(st.characters(), max_size=30))
@settings(deadline=None, max_examples=60)
def test_a_json_line_keeps_every_character(text: str) -> None:
    (line,) = verdict_lines([VerdictRow(case=text, criterion=text, verdict="fail", reason=text)])
    assert line.count("\n") == 1
    assert json.loads(line)["case"] == text
