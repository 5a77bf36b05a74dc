"""A run as a trajectory for the harness."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from fakes.runtime import Counted, acts, closed, script
from oloproof.model.reading import final_answer
from oloproof.runtime import (
    Agent,
    AgentLoop,
    AgentRequest,
    Decision,
    JsonlAuditSink,
    Limits,
    RunContext,
    ScriptedController,
    SqliteStore,
    Tool,
    ToolRegistry,
    Usage,
    to_trajectory,
)
from oloproof.testing import recorded_case

TEXT = closed(text={"type": "string"})


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


def loop_of(*actions: Any, **fields: Any) -> AgentLoop:
    tools = ToolRegistry([Counted().tool(cost=0.0), transfer(cost=0.0)])
    return AgentLoop(controller=ScriptedController(actions, answer="done"), tools=tools, **fields)


CTX = RunContext(tenant_id="acme", principal_id="alice")
ASKED = AgentRequest(tenant_id="acme", principal_id="alice", goal="goal")


def test_so_is_a_run_of_the_loop(tmp_path: Path) -> None:
    actions = [Decision.act("tool", {"text": "a"}), Decision.act("transfer", {"text": "b"})]
    for fields in ({}, {"checkpoint_store": SqliteStore(tmp_path / "r"), "audit": JsonlAuditSink(tmp_path / "a")}):
        with recorded_case("goal") as case:
            asyncio.run(loop_of(*actions, name="triage", **fields).run(CTX, ASKED))
        assert case.trajectory is not None
        assert checks(case.trajectory) == {"no_denied_action": True, "within_limits": True, "audit_verified": True}
        assert told(case.trajectory.steps)[-2:] == [("handoff", "triage", "billing"), ("final", "billing", None)]
    with recorded_case("goal") as case:
        asyncio.run(loop_of(record=False).run(CTX, ASKED))
    assert case.trajectory is None


def test_a_run_of_the_loop_that_its_caller_stops_is_recorded_once_it_is_over() -> None:
    loop = loop_of(Decision.act("tool", {"text": "a"}))

    async def stopped() -> str:
        stream = loop.stream(CTX, ASKED)
        run_id = (await anext(stream)).run_id
        await anext(stream)
        await stream.aclose()
        return run_id

    with recorded_case("goal") as case:
        run_id = asyncio.run(stopped())
        assert case.trajectory is None
        asyncio.run(loop.resume(CTX, run_id))
    assert case.trajectory is not None
    assert [step.kind for step in case.trajectory.steps] == ["tool_call", "tool_result", "final"]


def test_who_reads_no_further_than_the_last_event_has_recorded_the_run() -> None:
    async def read() -> None:
        async for event in loop_of().stream(CTX, ASKED):
            if event.result is not None:
                return

    with recorded_case("goal") as case:
        asyncio.run(read())
    assert case.trajectory is not None


def test_a_trail_that_was_tampered_with_is_told() -> None:
    agent = Agent([Counted().tool()], acts("a"))
    state = agent.run("goal")
    assert checks(to_trajectory(state, audit=agent.audit.records))["audit_verified"] is True
    assert checks(to_trajectory(state, audit=agent.audit.records[:-1]))["audit_verified"] is False


def transfer(returns: Any = "ok", **fields: Any) -> Tool:
    return Counted(returns).tool("transfer", hands_to="billing", **fields)


def told(steps: Any) -> list[tuple[str, str | None, str | None]]:
    return [(step.kind, step.agent, step.to_agent) for step in steps]


def test_a_hand_off_changes_who_takes_the_steps() -> None:
    planner = script(Decision.act("tool", {"text": "a"}), Decision.act("transfer", {"text": "refund A-17"}))
    with recorded_case("goal") as case:
        Agent([Counted().tool(), transfer()], planner, name="triage").run("goal")
    assert case.trajectory is not None
    assert told(case.trajectory.steps) == [
        ("tool_call", "triage", None),
        ("tool_result", "triage", None),
        ("handoff", "triage", "billing"),
        ("final", "billing", None),
    ]
    assert case.trajectory.steps[2].arguments == {"text": "refund A-17"}


def test_a_hand_off_passes_the_gates_and_one_that_did_not_succeed_is_none() -> None:
    planner = script(Decision.act("transfer", {"text": "a"}))
    for tool, kinds in (
        (transfer(scopes={"billing"}), ["decision", "final"]),
        (transfer(ValueError("away")), ["tool_call", "tool_result", "final"]),
    ):
        agent = Agent([tool], planner)
        trajectory = to_trajectory(agent.run("goal"), agent="triage", tools=agent.terms.tools)
        assert [step.kind for step in trajectory.steps] == kinds
        assert {step.agent for step in trajectory.steps} == {"triage"}


def test_a_hand_off_of_an_agent_without_a_name_names_the_receiver_alone() -> None:
    agent = Agent([transfer()], script(Decision.act("transfer", {"text": "a"})))
    state = agent.run("goal")
    assert told(to_trajectory(state, tools=agent.terms.tools).steps) == [
        ("handoff", None, "billing"),
        ("final", None, None),
    ]
    assert [step.kind for step in to_trajectory(state).steps] == ["tool_call", "tool_result", "final"]


def test_an_agent_within_a_tool_leaves_the_case_to_the_outer_one() -> None:
    def ask(text: str) -> Any:
        return Agent([Counted().tool()], acts(text), record=False).run(text).answer

    outer = Agent([Counted().tool(), Tool("ask", ask, parameters=TEXT)], acts("sum", tool="ask"), name="triage")
    with recorded_case("goal") as case:
        outer.run("goal")
    assert case.trajectory is not None
    assert [step.tool_name for step in case.trajectory.steps] == ["ask", "ask", None]
