from __future__ import annotations

import pytest
from msgspec import UNSET

from fakes.hostile import NASTY
from golden.specimens import odd, support
from oloproof.model.decision import Gate
from oloproof.reports.lists import failure_table, missing_table, runs_table, steps_text, verdict_table
from oloproof.reports.view import RunRow, VerdictRow


@pytest.mark.parametrize(
    ("steps", "text"),
    [((), "–"), ((3,), "3"), ((1, 2, 3, 7), "1–3, 7"), ((7, 1, 1, 2), "1–2, 7"), ((5, 7, 9), "5, 7, 9")],
)
def test_neighbouring_steps_are_drawn_together(steps: tuple[int, ...], text: str) -> None:
    assert steps_text(steps) == text


def test_runs_say_what_became_of_them() -> None:
    table = runs_table(
        [
            RunRow(run=support().run, gate=Gate(outcome="NOT_GATED", exit_code=3)),
            RunRow(run=odd().run, gate=None),
        ]
    )
    assert table.columns == ("run", "status", "cases", "system", "started", "gate")
    assert table.rows[0] == (
        "20261130-101500-3fa9",
        "complete",
        "40",
        "support-agent 2026-11 (callable app:run)",
        "2026-11-30T10:15:00Z",
        "NOT GATED",
    )
    assert table.rows[1][1] == "interrupted (--limit 3)"
    assert table.rows[1][-1] == "–"


def test_verdicts_give_reason_detail_and_steps() -> None:
    rows = [
        VerdictRow(case="a", criterion="c", verdict="fail", trial=2, reason="loop", detail="thrice", steps=(1, 2)),
        VerdictRow(case="b", criterion="c", verdict="pass"),
    ]
    assert verdict_table(rows).rows == (
        ("a · trial 2", "c", "fail", "thrice (loop)", "1–2"),
        ("b", "c", "pass", "–", "–"),
    )


@pytest.mark.parametrize(
    ("expected", "found", "said"),
    [
        (UNSET, UNSET, "–"),
        ("refunded", "no", '"refunded" → "no"'),
        (2, UNSET, "expected 2"),
        (UNSET, None, "found null"),
        ({"no_deletion": True, "polite": True}, {"no_deletion": False}, "no_deletion failed"),
        ({"tech": ["search"]}, {"tech": "issue_refund"}, "tech may not call issue_refund"),
        ({"max": 2}, 3, "at most 2, found 3"),
        (["search"], "delete", 'delete is none of ["search"]'),
        (["a"], ["a", "b"], '["a"] → ["a", "b"]'),
        ({"a": 1}, {"a": 2}, '{"a": 1} → {"a": 2}'),
        ("x" * 200, "\x1b", f'"{"x" * 79}… (+122 characters) → "\\u001b"'),
    ],
)
def test_failures_say_what_was_wrong(expected: object, found: object, said: str) -> None:
    row = VerdictRow(case="a", criterion="c", verdict="fail", expected=expected, found=found)
    assert failure_table([row]).rows == (("a", "c", "–", "–", said),)


def test_missing_verdicts_say_what_was_raised_and_an_evaluator_by_its_first_line() -> None:
    rows = [
        VerdictRow(case="a", criterion="c", verdict="missing", reason="system_error", error="ValueError: boom"),
        VerdictRow(case="b", criterion="c", verdict="missing", reason="evaluator_error", detail="KeyError: 1\n  File"),
        VerdictRow(case="c", criterion="c", verdict="missing", reason="truncated_trajectory"),
    ]
    assert missing_table(rows).rows == (
        ("a", "c", "ValueError: boom (system_error)"),
        ("b", "c", "KeyError: 1 (evaluator_error)"),
        ("c", "c", "truncated_trajectory"),
    )


@pytest.mark.parametrize("text", NASTY, ids=range(len(NASTY)))
def test_cells_are_inert(text: str) -> None:
    row = VerdictRow(case=text, criterion=text, verdict="fail", reason=text, detail=text)
    for cell in verdict_table([row]).rows[0]:
        assert "\x1b" not in cell
        assert "\n" not in cell
        assert len(cell) < 3_000
