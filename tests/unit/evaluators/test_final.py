"""Evaluators of the output, asked of the trajectory's last final step: ``source: final``."""

from __future__ import annotations

from typing import Any

import pytest

from fakes.evidence import of_steps
from oloproof.evaluators import EVALUATORS
from oloproof.model.judgment import Judgment
from oloproof.model.trajectory import Step
from oloproof.model.values import TAG

CONTAINS = EVALUATORS["contains"](source="final", value="yes")


def final(content: Any, **fields: Any) -> Step:
    return Step(index=0, kind="final", arguments=content, **fields)


@pytest.mark.parametrize(
    ("type_name", "options", "content", "word"),
    [
        ("contains", {"value": "yes"}, "oh yes", "pass"),
        ("contains", {"value": "yes", "field": "answer"}, {"answer": "yes"}, "pass"),
        ("exact_match", {"value": {"a": 1}}, {"a": 1.0}, "pass"),
        ("regex", {"pattern": "^n"}, "oh no", "fail"),
        ("numeric", {"value": 1, "tolerance": 0.1, "field": "total"}, {"total": 1.1}, "pass"),
    ],
)
def test_each_evaluator_reads_it(type_name: str, options: dict[str, Any], content: Any, word: str) -> None:
    evaluator = EVALUATORS[type_name](source="final", **options)
    judgment = evaluator.judge(of_steps([Step(index=0, kind="message"), final(content)]))
    assert (judgment.verdict, judgment.steps) == (word, (2,))
    assert evaluator.reads == "trajectory"


def test_the_last_answer_of_the_agent_itself_counts() -> None:
    called = Step(index=0, kind="tool_call", tool_name="desk")
    assert CONTAINS.judge(of_steps([final("no"), final("yes")])).verdict == "pass"
    assert CONTAINS.judge(of_steps([called, final("no"), final("yes", inside=1)])).verdict == "fail"


@pytest.mark.parametrize(
    ("steps", "options", "judgment"),
    [
        ([], {}, Judgment("fail", "no_final_answer", detail="the run ended without a final step")),
        ([final(None)], {}, Judgment("missing", "arguments_not_recorded")),
        ([final({TAG: "object"})], {}, Judgment("missing", "arguments_not_recorded")),
        ([final("yes")], {"truncated": True}, Judgment("missing", "truncated_trajectory")),
        ([final("yes")], {"truncated": True, "error": "timeout"}, Judgment("missing", "timeout")),
    ],
)
def test_when_there_is_no_answer_to_judge(steps: list[Step], options: dict[str, Any], judgment: Judgment) -> None:
    assert CONTAINS.judge(of_steps(steps, **options)) == judgment


def test_an_answer_without_the_field_fails() -> None:
    evaluator = EVALUATORS["contains"](source="final", value="yes", field="answer")
    judgment = evaluator.judge(of_steps([final({"other": "yes"})]))
    assert judgment == Judgment("fail", "field_absent", (1,), detail="the final answer has no answer")


@pytest.mark.parametrize(("type_name", "key"), [("regex", "pattern"), ("json_schema", "schema")])
def test_what_the_worker_checks_is_asked_of_the_trajectory(type_name: str, key: str) -> None:
    options: dict[str, Any] = {"pattern": "a", "engine": "python"} if type_name == "regex" else {"schema": {}}
    function = EVALUATORS[type_name](source="final", **options).worker_function
    assert function is not None
    assert function[0].endswith("_final")
    assert key in function[1]
