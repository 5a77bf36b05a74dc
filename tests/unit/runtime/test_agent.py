"""What a run promises: the gates in order, the limits, and how it ends."""

from __future__ import annotations

import json
import subprocess
import sys
from threading import Event
from typing import Any

import pytest

from fakes.runtime import Counted, Ticking, acts, closed, events, script
from oloproof.runtime import (
    Agent,
    Approval,
    Decision,
    Limits,
    MemoryStore,
    Policy,
    RunState,
    StateError,
    StepOutcome,
    Tool,
    Usage,
    verify_audit,
)


def only_step(state: RunState) -> Any:
    assert len(state.steps) == 1
    return state.steps[0]


def code_of(agent: Agent, goal: str = "goal") -> str | None:
    """The code of the run's only step, None where it executed."""
    error = only_step(agent.run(goal)).error
    return None if error is None else error.code


def test_without_the_scope_the_run_completes_but_the_tool_never_runs() -> None:
    function = Counted()
    state = Agent([function.tool(scopes={"docs:read"})], acts("a")).run("goal")
    step = only_step(state)
    assert (state.status.value, step.outcome.value, step.error.code, step.gate) == (
        "completed",
        "denied",
        "scope_denied",
        "scope",
    )
    assert function.calls == []


@pytest.mark.parametrize(
    ("decision", "policy", "limits", "code"),
    [
        (Decision.act("nothing"), Policy(), {}, "unknown_tool"),
        (Decision.act("tool", {"text": 1}), Policy(allow_effects=()), {}, "invalid_arguments"),
        (Decision.act("tool", {"text": {1, 2}}), Policy(), {}, "invalid_arguments"),
        (Decision.act("tool", {"text": ""}), Policy(allow_effects=()), {}, "permission_denied"),
        (Decision.act("tool", {"text": ""}), Policy(allow_tools={"other"}), {}, "permission_denied"),
        (Decision.act("tool", {"text": ""}), Policy(), {"max_tool_calls": 0}, "scope_denied"),
        (Decision.act("tool", {"text": ""}), Policy(granted_scopes={"s"}), {"max_tool_calls": 0}, "budget_denied"),
        (Decision.act("tool", {"text": ""}), Policy(granted_scopes={"s"}), {"max_cost": 0.5}, "budget_denied"),
        (Decision.act("tool", {"text": ""}), Policy(granted_scopes={"s"}), {}, None),
    ],
)
def test_the_first_gate_that_denies_gives_its_code(
    decision: Decision, policy: Policy, limits: dict[str, Any], code: str | None
) -> None:
    function = Counted()
    agent = Agent([function.tool(scopes={"s"})], script(decision), policy=policy, limits=Limits(max_steps=3, **limits))
    assert code_of(agent) == code
    assert bool(function.calls) is (code is None)
    assert verify_audit(agent.audit.records) == []


def test_the_planner_reads_a_denial_at_its_next_decision() -> None:
    seen: list[Any] = []

    def planner(state: RunState, tools: Any) -> Decision:
        seen.append(state.observations())
        return Decision.finish() if state.steps else Decision.act("nothing")

    Agent([], planner).run("goal")
    assert seen[1][0]["error"]["code"] == "unknown_tool"


def test_least_privilege_denies_what_writes() -> None:
    function = Counted()
    assert code_of(Agent([function.tool(effect="write")], acts("a"))) == "permission_denied"
    assert function.calls == []


@pytest.mark.parametrize(
    ("limits", "reason", "decisions"),
    [
        ({"max_steps": 3}, "max_steps", 3),
        ({"max_steps": 9, "max_cost": 2}, "max_cost", 2),
        ({"max_steps": 9, "max_tokens": 10}, "max_tokens", 2),
        ({"max_steps": 9, "max_seconds": 3}, "max_seconds", 2),
        ({"max_steps": 9, "max_repeats": 2}, "diminishing_returns", 3),
    ],
)
def test_a_limit_stops_the_run(limits: dict[str, Any], reason: str, decisions: int) -> None:
    function = Counted()
    act = Decision.act("tool", {"text": "again"}, usage=Usage(tokens=5))
    state = Agent([function.tool()], script(*[act] * 9), limits=Limits(**limits), clock=Ticking(1.0)).run("goal")
    assert (state.status.value, state.stop_reason, state.spent.decisions) == ("stopped", reason, decisions)


def test_calls_past_their_number_are_denied_and_the_run_goes_on() -> None:
    function = Counted()
    agent = Agent([function.tool()], acts("a", "b", "c"), limits=Limits(max_steps=9, max_tool_calls=1))
    state = agent.run("goal")
    assert [step.outcome.value for step in state.steps] == ["executed", "denied", "denied"]
    assert (function.calls, state.status.value) == (["a"], "completed")


def test_costs_add_as_a_person_adds_them() -> None:
    function = Counted()
    limits = Limits(max_steps=20, max_cost=0.3)
    state = Agent([function.tool(cost=0.1)], acts(*"abcde"), limits=limits).run("goal")
    assert (len(function.calls), state.spent.cost, state.stop_reason) == (3, 0.3, "max_cost")


def test_what_the_planner_cost_counts_too() -> None:
    act = Decision.act("tool", {"text": "a"}, usage=Usage(cost=0.75))
    state = Agent([Counted().tool(cost=0.5)], script(act), limits=Limits(max_steps=9, max_cost=1)).run("goal")
    assert only_step(state).error.code == "budget_denied"


def test_a_token_limit_that_cannot_be_enforced_is_refused() -> None:
    function = Counted()
    state = Agent([function.tool()], acts("a"), limits=Limits(max_steps=9, max_tokens=100)).run("goal")
    assert state.error is not None
    assert (state.status.value, state.error.code, function.calls) == ("failed", "usage_not_reported", [])


def test_max_steps_is_required_and_limits_are_checked() -> None:
    with pytest.raises(TypeError):
        Limits()  # type: ignore[call-arg]
    for wrong in ({"max_steps": 0}, {"max_steps": 1, "max_cost": -1.0}, {"max_steps": 1, "max_tokens": -1}):
        with pytest.raises(ValueError):
            Limits(**wrong)
    with pytest.raises(TypeError):
        Limits(max_steps=True)


def raises(*_: Any) -> Any:
    raise RuntimeError("broken \ud800")


@pytest.mark.parametrize(
    ("planner", "code"),
    [
        (raises, "planner_failed"),
        (lambda state, tools: "finish", "invalid_decision"),
        (lambda state, tools: None, "invalid_decision"),
        (lambda state, tools: Decision.finish({1, 2}), "invalid_decision"),
        (lambda state, tools: Decision.act("tool", "text"), "planner_failed"),
        (lambda state, tools: Decision.act(7), "planner_failed"),
    ],
)
def test_a_planner_that_fails(planner: Any, code: str) -> None:
    agent = Agent([Counted().tool()], planner)
    state = agent.run("goal")
    assert state.error is not None
    assert (state.status.value, state.error.code) == ("failed", code)
    assert events(agent.audit.records)[-1] == "run_ended"


def test_the_done_criterion_accepts_or_sends_back() -> None:
    def planner(state: RunState, _: Any) -> Decision:
        return Decision.finish(len(state.steps))

    state = Agent([], planner, done=lambda answer, state: answer == 2).run("goal")
    assert (state.status.value, state.answer) == ("completed", 2)
    assert [step.error.code for step in state.steps if step.error] == ["answer_rejected"] * 2


@pytest.mark.parametrize(("done", "code"), [(raises, "done_failed"), (lambda answer, state: "yes", "invalid_done")])
def test_a_done_criterion_that_fails(done: Any, code: str) -> None:
    state = Agent([], script(), done=done).run("goal")
    assert state.error is not None
    assert (state.status.value, state.error.code, state.answer) == ("failed", code, None)


@pytest.mark.parametrize(
    ("returns", "code"),
    [
        (ValueError("no such order"), "tool_failed"),
        (float("nan"), "tool_result_not_json"),
        ((1, 2), "tool_result_not_json"),
        ({1: "a"}, "tool_result_not_json"),
        (object(), "tool_result_not_json"),
        ("\ud800", "tool_result_not_json"),
    ],
)
def test_a_tool_that_fails_is_the_outcome_of_its_step(returns: Any, code: str) -> None:
    state = Agent([Counted(returns).tool()], acts("a")).run("goal")
    step = only_step(state)
    assert (step.outcome, step.error.code, state.status.value) == (StepOutcome.FAILED, code, "completed")


def test_a_tool_that_is_not_back_in_time() -> None:
    release = Event()
    tool = Tool("tool", lambda text: release.wait(60), parameters=closed(text={}), timeout_s=0.02)
    try:
        assert code_of(Agent([tool], acts("a"))) == "tool_timeout"
    finally:
        release.set()


def test_nothing_that_a_planner_or_a_tool_changes_changes_the_run() -> None:
    kept: list[Any] = []

    def greedy(items: list[int]) -> Any:
        items.append(99)
        kept.append(items)
        return items

    def planner(state: RunState, tools: list[dict[str, Any]]) -> Decision:
        tools[0]["name"] = "other"
        tools.clear()
        if state.steps:
            state.steps[0].result.append("x")
            state.steps[0].decision.arguments.clear()  # type: ignore[union-attr]
            kept[0].append("y")
            return Decision.finish("done") if len(state.steps) == 2 else Decision.act("greedy", {"items": [2]})
        return Decision.act("greedy", {"items": [1]})

    state = Agent([Tool("greedy", greedy, parameters=closed(items={"type": "array"}))], planner).run("goal")
    assert [step.decision.arguments for step in state.steps] == [{"items": [1]}, {"items": [2]}]  # type: ignore[union-attr]
    assert [step.result for step in state.steps] == [[1, 99], [2, 99]]


def test_a_run_id_is_used_once() -> None:
    agent = Agent([], script())
    agent.run("goal", run_id="r")
    with pytest.raises(StateError, match="already"):
        agent.run("goal", run_id="r")
    assert Agent([], script(), tenant="b", audit=agent.audit).run("goal", run_id="r").answer == "done"


def test_every_decision_denial_and_call_is_in_the_trail() -> None:
    function = Counted()
    agent = Agent(
        [function.tool(), Counted(ValueError()).tool("bad")],
        script(Decision.act("nothing"), Decision.act("tool", {"text": "a"}), Decision.act("bad", {"text": "a"})),
    )
    state = agent.run("goal")
    assert events(agent.audit.records) == [
        "run_started",
        *("decided", "denied"),
        *("decided", "call_started", "call_finished"),
        *("decided", "call_started", "call_failed"),
        "decided",
        "run_ended",
    ]
    assert verify_audit(agent.audit.records, heads=[state]) == []


def test_the_state_is_saved_whole() -> None:
    state = Agent([Counted().tool()], acts("ä", "b")).run("goal \ud800")
    assert RunState.from_json(state.to_json()) == state
    with pytest.raises(StateError):
        RunState.from_json(b"{}")


def test_a_message_is_kept_no_longer_than_anybody_reads() -> None:
    agent = Agent([Counted(ValueError("x" * 10**6)).tool()], acts("a"))
    assert len(only_step(agent.run("goal")).error.message) == 2000
    assert max(len(record.data.get("message", "")) for record in agent.audit.records) == 2000


def test_a_call_that_is_under_way_is_not_interrupted_by_a_limit() -> None:
    clock = Ticking(0.0)

    def slow(text: str) -> str:
        clock.now += 100
        return text

    tool = Tool("tool", slow, parameters=closed(text={"type": "string"}))
    state = Agent([tool], acts("a", "b"), limits=Limits(max_steps=9, max_seconds=1), clock=clock).run("goal")
    assert (only_step(state).result, state.stop_reason, state.spent.seconds) == ("a", "max_seconds", 100)


def test_a_call_that_would_pass_the_cost_is_denied_and_a_cheaper_one_is_not() -> None:
    dear, cheap = Counted(), Counted()
    tools = [dear.tool("dear", cost=5), cheap.tool("cheap", cost=1)]
    planner = script(Decision.act("dear", {"text": "a"}), Decision.act("cheap", {"text": "a"}))
    state = Agent(tools, planner, limits=Limits(max_steps=9, max_cost=3)).run("goal")
    assert [step.outcome.value for step in state.steps] == ["denied", "executed"]
    assert (dear.calls, cheap.calls, state.status.value) == ([], ["a"], "completed")


def test_running_time_adds_up_over_sessions_and_waiting_does_not_count() -> None:
    clock = Ticking(1.0)
    agent = Agent(
        [Counted().tool(effect="write")],
        acts("a"),
        policy=Policy(allow_effects=frozenset({"read", "write"})),
        store=MemoryStore(),
        clock=clock,
    )
    paused = agent.run("goal")
    assert paused.spent.seconds == 1
    clock.now += 10_000  # a person thinks about it
    assert paused.pending is not None
    done = agent.resume(paused.run_id, approvals=[Approval(paused.pending.digest, granted=True, approver="allen")])
    assert done.spent.seconds == 3  # the first decision, the call, and the second decision


def test_two_runs_never_share_a_history() -> None:
    agent = Agent([], script())
    first, second = agent.run("goal"), agent.run("goal")
    assert first.audit_head.digest != second.audit_head.digest
    nonces = {record.data["nonce"] for record in agent.audit.records if record.event == "run_started"}
    assert len(nonces) == 2


def test_the_state_is_saved_before_each_effect_and_after_it() -> None:
    class Kept(MemoryStore):
        def save(self, state: RunState) -> None:
            super().save(state)
            kept.append((type(state.at).__name__, len(state.steps)))

    kept: list[tuple[str, int]] = []
    Agent([Counted().tool()], acts("a", "b"), store=Kept()).run("goal")
    assert kept == [("Deciding", 0), ("Calling", 0), ("Deciding", 1), ("Calling", 1), ("Deciding", 2), ("Completed", 2)]


def test_a_tool_without_parameters_takes_no_arguments() -> None:
    tool = Tool("now", lambda: "noon")
    assert only_step(Agent([tool], script(Decision.act("now"))).run("goal")).result == "noon"
    assert code_of(Agent([tool], script(Decision.act("now", {"zone": "x"})))) == "invalid_arguments"


def test_what_is_external_needs_a_policy_and_a_person() -> None:
    function = Counted()
    tool = function.tool(effect="external")
    assert code_of(Agent([tool], acts("a"))) == "permission_denied"
    allowed = Agent([tool], acts("a"), policy=Policy(allow_effects=frozenset({"external"})))
    assert (allowed.run("goal").status.value, function.calls) == ("awaiting_approval", [])


def test_observations_are_the_steps_as_plain_json() -> None:
    planner = script(Decision.act("tool", {"text": "a"}), Decision.act("nothing"))
    seen = Agent([Counted().tool()], planner).run("goal").observations()
    assert json.loads(json.dumps(seen)) == seen
    assert seen[0] == {"step": 0, "outcome": "executed", "tool": "tool", "arguments": {"text": "a"}, "result": "ok"}
    assert (seen[1]["outcome"], seen[1]["error"]["code"]) == ("denied", "unknown_tool")


def test_the_runtime_loads_nothing_of_the_harness() -> None:
    code = "import sys, oloproof.runtime; print(*sorted(m for m in sys.modules if m.count('.') == 1))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.removeprefix("oloproof.") for name in done.stdout.split() if name.startswith("oloproof.")}
    assert loaded <= {"errors", "model", "record", "runtime", "_version"}
