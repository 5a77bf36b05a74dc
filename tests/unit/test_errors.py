from __future__ import annotations

import pytest

from oloproof.errors import (
    PRECEDENCE,
    BrokenError,
    ExitCode,
    Problem,
    RecordError,
    UsageError,
    did_you_mean,
    with_article,
)


@pytest.mark.parametrize(
    ("problem", "line"),
    [
        (Problem("OLO104", "no such metric"), "no such metric [OLO104]"),
        (Problem("OLO104", "no such metric", "a hint", file="a.yaml"), "a.yaml: no such metric [OLO104]"),
        (Problem("OLO104", "no such metric", file="a.yaml", line=3), "a.yaml:3: no such metric [OLO104]"),
        (Problem("OLO104", "no such metric", file="a.yaml", line=3, column=7), "a.yaml:3:7: no such metric [OLO104]"),
        (Problem("OLO104", "no such metric", file="a.yaml", column=7), "a.yaml: no such metric [OLO104]"),
    ],
)
def test_a_problem_says_where_what_and_its_code(problem: Problem, line: str) -> None:
    assert str(problem) == line


def test_every_error_carries_its_problems_and_its_exit_code() -> None:
    several = UsageError(Problem(code, "what") for code in ("OLO101", "OLO102"))
    assert (str(several), several.exit_code) == ("what [OLO101]\nwhat [OLO102]", ExitCode.USAGE)
    broken = BrokenError("no room", code="OLO503", hint="free some")
    assert (broken.problems, broken.exit_code) == ((Problem("OLO503", "no room", "free some"),), ExitCode.BROKEN)
    record = RecordError("step 0: indexes count from 1", code="OLO701")
    assert isinstance(record, ValueError)
    assert str(record) == "step 0: indexes count from 1 [OLO701]"
    assert record.problems == (Problem("OLO701", "step 0: indexes count from 1"),)


def test_every_exit_code_of_a_finished_run_has_its_rank() -> None:
    assert set(PRECEDENCE) == set(ExitCode) - {ExitCode.INTERRUPTED}


@pytest.mark.parametrize(
    ("wrong", "known", "hint"),
    [
        ("rihgt", ["right", "left"], "did you mean 'right'?"),
        ("RIGTH", ["Right", "left"], "did you mean 'Right'?"),
        ("zzz", ["right", "left"], "the words are: right, left"),
        ("zzz", [], ""),
    ],
)
def test_a_misspelt_name_is_told_the_nearest(wrong: str, known: list[str], hint: str) -> None:
    assert did_you_mean(wrong, known, otherwise="the words are") == hint


def test_without_more_to_say_a_strange_name_gets_no_hint() -> None:
    assert did_you_mean("zzz", ["right"]) == ""


@pytest.mark.parametrize(("noun", "text"), [("int", "an int"), ("Event", "an Event"), ("list", "a list")])
def test_a_noun_with_its_article(noun: str, text: str) -> None:
    assert with_article(noun) == text
