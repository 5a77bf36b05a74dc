"""A run as a trajectory for the harness."""

from __future__ import annotations

from typing import Any

from fakes.runtime import Counted, acts, script
from oloproof.model.reading import final_answer
from oloproof.runtime import Agent, Decision, Limits, Usage, to_trajectory
from oloproof.testing import recorded_case


def checks(trajectory: Any) -> dict[str, bool]:
    return {check.name: check.passed for check in trajectory.constraints}


def test_calls_results_denials_and_the_answer() -> None:
    planner = script(
        Decision.act("tool", {"text": "a"}, usage=Usage(tokens=7)),
        Decision.act("bad", {"text": "a"}),
        Decision.act("unknown", {"x": 1}),
    )
    agent = Agent([Counted().tool(), Counted(ValueError("no")).tool("bad")], planner)
    trajectory = to_trajectory(agent.run("goal"))
    assert [step.kind for step in trajectory.steps] == [
        *("tool_call", "tool_result"),
        *("tool_call", "tool_result"),
        "decision",
        "final",
    ]
    call, result, _, failed, denied, _ = trajectory.steps
    assert (call.tool_name, call.arguments, call.tokens, result.result, result.error) == (
        "tool",
        {"text": "a"},
        7,
        "ok",
        None,
    )
    assert failed.error == "tool_failed: ValueError: no"
    assert denied.arguments is not None
    assert (denied.arguments["denied"], denied.arguments["tool"], denied.arguments["gate"]) == (
        "unknown_tool",
        "unknown",
        "validation",
    )
    assert (final_answer(trajectory), trajectory.terminal_status, trajectory.truncated) == ("done", "success", False)
    assert checks(trajectory) == {"no_denied_action": False}


def test_a_run_that_a_limit_stopped_is_truncated() -> None:
    agent = Agent([Counted().tool()], acts(*"abc"), limits=Limits(max_steps=2))
    trajectory = to_trajectory(agent.run("goal"), limits=agent.terms.limits)
    assert (trajectory.truncated, trajectory.step_limit, trajectory.terminal_status) == (True, 2, "unknown")
    assert checks(trajectory) == {"no_denied_action": True, "within_limits": True}


def test_what_one_decision_spent_past_a_limit_is_told() -> None:
    limits = Limits(max_steps=9, max_tokens=10)
    state = Agent([], script(Decision.finish("x", usage=Usage(tokens=11))), limits=limits).run("goal")
    trajectory = to_trajectory(state, limits=limits)
    assert checks(trajectory)["within_limits"] is False


def test_a_run_that_failed_says_why() -> None:
    trajectory = to_trajectory(Agent([], lambda state, tools: None).run("goal"))
    assert trajectory.steps[-1].arguments is not None
    assert (trajectory.steps[-1].arguments["failed"], trajectory.terminal_status) == ("invalid_decision", "failure")


def test_inside_a_case_it_is_recorded_by_itself() -> None:
    with recorded_case("goal") as case:
        Agent([Counted().tool()], acts("a")).run("goal")
    assert case.trajectory is not None
    assert checks(case.trajectory) == {"no_denied_action": True, "within_limits": True, "audit_verified": True}
    with recorded_case("goal") as case:
        Agent([Counted().tool()], acts("a"), record=False).run("goal")
    assert case.trajectory is None


def test_a_trail_that_was_tampered_with_is_told() -> None:
    agent = Agent([Counted().tool()], acts("a"))
    state = agent.run("goal")
    assert checks(to_trajectory(state, audit=agent.audit.records))["audit_verified"] is True
    assert checks(to_trajectory(state, audit=agent.audit.records[:-1]))["audit_verified"] is False
