"""Approval, pause, resume and crash: an approval runs its action once, and what is unknown is not repeated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from fakes.runtime import Counted, acts, events
from oloproof.runtime import (
    Agent,
    Approval,
    Limits,
    MemoryAuditSink,
    MemoryStore,
    Policy,
    RunState,
    SqliteStore,
    StateError,
    ToolEffect,
    verify_audit,
)
from oloproof.runtime.state import Calling, Waiting

WRITES = Policy(allow_effects=frozenset({ToolEffect.READ, ToolEffect.WRITE}))


class Desk:
    """A store and a trail that outlive the agents that work at it."""

    def __init__(self) -> None:
        self.store, self.audit = MemoryStore(), MemoryAuditSink()
        self.function = Counted()

    def agent(self, *texts: str, tools: Any = None, policy: Policy = WRITES, **fields: Any) -> Agent:
        kept = {"store": self.store, "audit": self.audit} | fields
        given = [self.function.tool(effect="write")] if tools is None else tools
        return Agent(given, acts(*texts or ("a",)), policy=policy, **kept)

    def stored(self, run_id: str = "r") -> RunState:
        state = self.store.load("default", run_id)
        assert state is not None
        return state


def granted(state: RunState, yes: bool = True, digest: str | None = None) -> Approval:
    assert state.pending is not None
    return Approval(digest or state.pending.digest, granted=yes, approver="allen")


def last_code(state: RunState) -> str | None:
    error = state.steps[-1].error
    return None if error is None else error.code


def test_an_approval_runs_its_action_once() -> None:
    desk = Desk()
    paused = desk.agent().run("goal", run_id="r")
    assert (paused.status.value, desk.function.calls) == ("awaiting_approval", [])
    approval = granted(paused)
    done = desk.agent().resume("r", approvals=[approval])
    assert (done.status.value, desk.function.calls) == ("completed", ["a"])
    for again in ("r", paused):
        with pytest.raises(StateError):
            desk.agent().resume(again, approvals=[approval])
    assert desk.function.calls == ["a"]
    assert verify_audit(desk.audit.records, heads=[done]) == []


def test_an_old_copy_is_refused_by_the_trail_alone() -> None:
    desk = Desk()
    agent = desk.agent(store=None)
    paused = agent.run("goal")
    agent.resume(paused, approvals=[granted(paused)])
    with pytest.raises(StateError, match="old"):
        agent.resume(paused, approvals=[granted(paused)])
    assert desk.function.calls == ["a"]


def test_a_refusal_is_the_outcome_of_the_step() -> None:
    desk = Desk()
    paused = desk.agent().run("goal")
    done = desk.agent().resume(paused.run_id, approvals=[granted(paused), granted(paused, yes=False)])
    assert (last_code(done), done.status.value, desk.function.calls) == ("approval_denied", "completed", [])


def test_a_forged_approval_authorises_nothing_and_is_on_the_record() -> None:
    desk = Desk()
    paused = desk.agent().run("goal")
    still = desk.agent().resume(paused.run_id, approvals=[granted(paused, digest="0" * 64)])
    assert (still.status.value, desk.function.calls) == ("awaiting_approval", [])
    assert "approval_ignored" in events(desk.audit.records)


def test_an_approval_is_good_for_one_step_of_one_run() -> None:
    desk = Desk()
    paused = desk.agent("a", "a").run("goal", run_id="r")
    approval = granted(paused)
    second = desk.agent("a", "a").resume("r", approvals=[approval])
    assert second.pending is not None
    assert second.pending.digest != approval.digest
    still = desk.agent("a", "a").resume("r", approvals=[approval])
    other = desk.agent("a", "a").run("goal", run_id="other")
    assert desk.agent("a", "a").resume(other.run_id, approvals=[approval]).status.value == "awaiting_approval"
    assert (still.status.value, desk.function.calls) == ("awaiting_approval", ["a"])


def test_an_approval_of_a_tool_that_has_changed_is_stale() -> None:
    desk = Desk()
    paused = desk.agent().run("goal")
    changed = [desk.function.tool(effect="external")]
    policy = Policy(allow_effects=frozenset(ToolEffect))
    done = desk.agent(tools=changed, policy=policy).resume(paused.run_id, approvals=[granted(paused)])
    assert (last_code(done), desk.function.calls) == ("approval_stale", [])


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"tools": []}, "unknown_tool"),
        ({"policy": Policy()}, "permission_denied"),
        ({"limits": Limits(max_steps=9, max_tool_calls=0)}, "budget_denied"),
    ],
)
def test_every_gate_runs_again_at_resume(changed: dict[str, Any], code: str) -> None:
    desk = Desk()
    paused = desk.agent().run("goal")
    done = desk.agent(**changed).resume(paused.run_id, approvals=[granted(paused)])
    assert (last_code(done), desk.function.calls) == (code, [])


def test_an_approver_answers_at_once_or_leaves_it_open() -> None:
    desk = Desk()
    yes = desk.agent(approver=lambda request: Approval(request.digest, True, "rule")).run("goal")
    no = desk.agent(approver=lambda request: Approval(request.digest, False, "rule")).run("goal")
    assert (yes.status.value, last_code(no), desk.function.calls) == ("completed", "approval_denied", ["a"])

    def broken(request: Any) -> Any:
        raise OSError("no terminal")

    for approver in (lambda request: None, lambda request: True, lambda request: Approval("x", True, "rule"), broken):
        assert desk.agent(approver=approver).run("goal").status.value == "awaiting_approval"
    assert desk.function.calls == ["a"]


class Killed(BaseException):
    """What no handler of the runtime may swallow."""


def crashed(desk: Desk, **fields: Any) -> None:
    desk.function.returns = Killed()
    with pytest.raises(Killed):
        Agent(
            [desk.function.tool(**fields)],
            acts("a"),
            policy=WRITES,
            store=desk.store,
            audit=desk.audit,
            approver=lambda request: Approval(request.digest, True, "rule"),
        ).run("goal", run_id="r")


def test_a_call_that_a_crash_cut_off_is_not_repeated_when_it_writes() -> None:
    desk = Desk()
    crashed(desk, effect="write")
    assert desk.stored().spent.tool_calls == 1
    desk.function.returns = "ok"
    done = desk.agent().resume("r")
    assert (done.steps[0].outcome.value, last_code(done)) == ("interrupted", "tool_interrupted")
    assert (done.status.value, desk.function.calls) == ("completed", ["a"])


def test_a_call_that_may_be_repeated_starts_again_three_times_in_all() -> None:
    desk = Desk()
    crashed(desk)
    agent = desk.agent(tools=[desk.function.tool()])
    for _ in range(2):
        with pytest.raises(Killed):
            agent.resume("r")
    done = agent.resume("r")
    assert (len(desk.function.calls), last_code(done), done.spent.tool_calls) == (3, "tool_interrupted", 3)


def test_a_call_that_starts_again_passes_every_gate() -> None:
    desk = Desk()
    crashed(desk, effect="write", idempotent=True)
    desk.function.returns = "ok"
    stale = desk.agent(tools=[desk.function.tool(effect="write", idempotent=True, scopes={"x"})])
    assert last_code(stale.resume("r")) == "scope_denied"
    desk = Desk()
    crashed(desk, effect="write", idempotent=True)
    desk.function.returns = "ok"
    done = desk.agent(tools=[desk.function.tool(effect="write", idempotent=True)]).resume("r")
    assert (done.steps[0].outcome.value, desk.function.calls) == ("executed", ["a", "a"])


def test_a_trail_that_was_cut_is_refused_and_one_that_a_crash_left_behind_is_brought_up() -> None:
    desk = Desk()
    paused = desk.agent().run("goal", run_id="r")
    whole = desk.audit.records
    behind = MemoryAuditSink()
    behind.append(whole[: -len(paused.outbox)])
    assert desk.agent(audit=behind).resume("r").status.value == "awaiting_approval"
    assert verify_audit(behind.records) == []
    cut = MemoryAuditSink()
    cut.append(whole[:1])
    with pytest.raises(StateError, match="does not hold"):
        Agent([], acts(), audit=cut).resume(paused)


def test_two_tenants_with_one_run_id_know_nothing_of_one_another(tmp_path: Path) -> None:
    store, audit = SqliteStore(tmp_path / "runs.db"), MemoryAuditSink()
    function = Counted()
    writing = function.tool(effect="write")
    agents = {
        tenant: Agent([writing], acts(tenant), policy=WRITES, store=store, audit=audit, tenant=tenant)
        for tenant in "ab"
    }
    paused = {tenant: agent.run("goal", run_id="r") for tenant, agent in agents.items()}
    still = agents["a"].resume("r", approvals=[granted(paused["b"])])
    assert (still.status.value, function.calls) == ("awaiting_approval", [])
    with pytest.raises(StateError, match="no run"):
        agents["a"].resume(paused["b"])
    with pytest.raises(StateError, match="no run"):
        Agent([], acts(), store=store, tenant="c").resume("r")
    assert agents["b"].resume("r", approvals=[granted(paused["b"])]).answer == "done"
    assert (function.calls, verify_audit(audit.records)) == (["b"], [])
    store.close()


def test_of_two_sessions_one_is_refused_before_it_acts(tmp_path: Path) -> None:
    store, audit = SqliteStore(tmp_path / "runs.db"), MemoryAuditSink()
    function = Counted()

    def agent() -> Agent:
        return Agent([function.tool(effect="write")], acts("a"), policy=WRITES, store=store, audit=audit)

    paused = agent().run("goal", run_id="r")
    taken_up = replace(paused, revision=paused.revision + 1)
    store.save(taken_up)
    with pytest.raises(StateError, match="not the stored one"):
        agent().resume(paused, approvals=[granted(paused)])
    with pytest.raises(StateError, match="not the one before"):
        store.save(taken_up)
    assert function.calls == []
    store.close()


def test_resume_needs_a_run() -> None:
    with pytest.raises(StateError, match="no store"):
        Agent([], acts()).resume("r")
    with pytest.raises(StateError, match="no run"):
        Agent([], acts(), store=MemoryStore()).resume("r")
    with pytest.raises(TypeError):
        Desk().agent().resume("r", approvals=["yes"])  # type: ignore[list-item]
    with pytest.raises(TypeError):
        Approval("digest", "yes", "allen")  # type: ignore[arg-type]


def test_a_run_is_resumed_by_the_names_that_it_was_begun_with_whatever_is_in_them(tmp_path: Path) -> None:
    store, function = SqliteStore(tmp_path / "runs.db"), Counted()
    agent = Agent([function.tool(effect="write")], acts("a"), policy=WRITES, store=store, tenant="a\ud800")
    paused = agent.run("goal", run_id="r\udc80")
    done = agent.resume("r\udc80", approvals=[granted(paused)])
    assert (done.status.value, function.calls) == ("completed", ["a"])
    with pytest.raises(StateError, match="already"):
        agent.run("goal", run_id="r\udc80")
    store.close()


def test_a_copy_that_was_changed_by_hand_is_refused() -> None:
    desk = Desk()
    paused = desk.agent().run("goal")
    assert isinstance(paused.at, Waiting)
    forged = replace(paused, at=Calling(paused.at.act, approved=paused.at.request))
    with pytest.raises(StateError, match="not the stored one"):
        desk.agent(tools=[desk.function.tool(effect="write", idempotent=True)]).resume(forged)
    assert desk.function.calls == []
