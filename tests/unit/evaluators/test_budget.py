"""Sums of time, tokens and money against their bounds."""

from __future__ import annotations

from typing import Any

import pytest

from fakes.evidence import of_steps
from oloproof.evaluators import ConfigError
from oloproof.evaluators.budget import Budget
from oloproof.model.judgment import Judgment
from oloproof.model.trajectory import Step


def took(tool: str | None = None, **values: Any) -> Step:
    return Step(index=0, kind="message" if tool is None else "tool_call", tool_name=tool, **values)


@pytest.mark.parametrize(
    ("costs", "bound", "word"),
    [
        ([0.1, 0.1, 0.1], 0.3, "pass"),
        ([0.1, 0.2], 0.3, "pass"),
        ([0.1, 0.1, 0.1000000000000001], 0.3, "fail"),
        ([1e-300, 1e300], 1e300, "fail"),
        ([1e300], 1e300, "pass"),
        ([1.7e308, 1.7e308], 1e300, "fail"),
        ([0, 0], 0, "pass"),
        ([0, 5e-324], 0, "fail"),
    ],
)
def test_sums_are_of_decimals(costs: list[float], bound: float, word: str) -> None:
    judgment = Budget(max_cost_usd=bound).judge(of_steps([took(cost_usd=cost) for cost in costs]))
    assert judgment.verdict == word


def test_tokens_beyond_doubles_are_counted_to_the_last() -> None:
    steps = [took(tokens=2**60), took(tokens=1)]
    assert Budget(max_tokens=2**60).judge(of_steps(steps)).verdict == "fail"
    assert Budget(max_tokens=2**60 + 1).judge(of_steps(steps)).verdict == "pass"


def test_a_step_that_lacks_what_its_kind_carries_leaves_the_sum_open() -> None:
    steps = [took("a", tokens=5), took("a"), took()]
    assert Budget(max_tokens=9).judge(of_steps(steps)) == Judgment(
        "missing", "metric_not_recorded", expected={"max_tokens": 9}, found={"tokens": 5}
    )
    assert Budget(max_tokens=4).judge(of_steps(steps)).verdict == "fail"
    assert Budget(max_tokens=9).judge(of_steps([steps[0], steps[2]])).verdict == "pass"


@pytest.mark.parametrize(
    ("steps", "word"), [([], "pass"), ([took("b", tokens=9)], "pass"), ([took("a"), took("b", tokens=9)], "missing")]
)
def test_what_was_not_measured_is_not_nothing(steps: list[Step], word: str) -> None:
    assert Budget(max_tokens=1, tool_name="a").judge(of_steps(steps)).verdict == word


def test_results_of_the_tool_count_too() -> None:
    steps = [took("a", latency_ms=3), Step(index=0, kind="tool_result", tool_name="a", latency_ms=4), took("b")]
    judgment = Budget(max_latency_ms=6, tool_name="a").judge(of_steps(steps))
    assert (judgment.verdict, judgment.steps, judgment.found) == ("fail", (2,), {"latency_ms": 7})


def test_the_evidence_is_where_each_sum_went_over() -> None:
    steps = [took(tokens=2, cost_usd=1), took(tokens=2, cost_usd=0), took(tokens=2, cost_usd=1)]
    judgment = Budget(max_tokens=3, max_cost_usd=1).judge(of_steps(steps))
    assert (judgment.verdict, judgment.steps) == ("fail", (2, 3))
    assert judgment.expected == {"max_tokens": 3, "max_cost_usd": 1}
    assert judgment.found == {"tokens": 6, "cost_usd": 2}


def test_names() -> None:
    assert Budget(max_latency_ms=1500.0).criterion == "agent_latency_ms_le_1500"
    assert Budget(max_cost_usd=0.05, tool_name="pay").criterion == "agent_tool_pay_cost_usd_le_0.05"
    assert Budget(max_cost_usd=0.05, max_tokens=1).criterion == "agent_budget"


def test_a_bound_is_given() -> None:
    with pytest.raises(ConfigError, match="at least one of"):
        Budget()
