"""What holds of every store of runs: the tests of a store inherit these and say how one is opened."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from msgspec.structs import replace

from fakes.runtime import Counted, acts
from oloproof.runtime import (
    Agent,
    Approval,
    MemoryAuditSink,
    Policy,
    RunState,
    RunStore,
    StateError,
    ToolEffect,
    verify_audit,
)

Opened = Callable[[], RunStore]
"""A handle on the store of a test; each call gives another handle on the same one."""

WRITES = Policy(allow_effects=frozenset({ToolEffect.READ, ToolEffect.WRITE}))
TEXT = "né \u202e \x1b[2J 日本 ' \" ; DROP TABLE oloproof_runs; -- \\u0000 %s \x00"


def a_state(tenant: str = "acme", run_id: str = "r", goal: str = "goal", revision: int = 0) -> RunState:
    state = Agent([], acts(), tenant=tenant).run(goal, run_id=run_id)
    return replace(state, revision=revision)


class StoreLaws:
    """The laws of :class:`oloproof.runtime.RunStore`; the fixture ``opened`` is the subclass's."""

    def test_it_keeps_the_last_state_and_refuses_any_other_order(self, opened: Opened) -> None:
        store, state = opened(), a_state()
        for number in (0, 1, 2):
            store.save(replace(state, revision=number))
        for number in (0, 1, 2, 4):
            with pytest.raises(StateError):
                store.save(replace(state, revision=number))
        assert store.load(*state.key) == replace(state, revision=2)

    def test_a_run_that_was_not_begun_is_not_gone_on_with(self, opened: Opened) -> None:
        store = opened()
        with pytest.raises(StateError):
            store.save(a_state(revision=1))
        assert store.load("acme", "r") is None

    def test_what_is_forgotten_is_gone_and_may_begin_again(self, opened: Opened) -> None:
        store, state = opened(), a_state()
        store.save(state)
        store.delete("other", state.run_id)
        assert store.load(*state.key) == state
        store.delete(*state.key)
        store.delete(*state.key)
        assert store.load(*state.key) is None
        store.save(state)

    def test_a_run_is_found_by_its_tenant_and_its_id_and_by_nothing_else(self, opened: Opened) -> None:
        store = opened()
        keys = [("a", "b:c"), ("a:b", "c"), ("A", "b:c"), ("a", "b:c "), ("", "x"), ("x", ""), ("%", "_"), ("é", "é")]
        for number, key in enumerate(keys):
            assert store.load(*key) is None
            store.save(a_state(*key, goal=str(number)))
        assert [store.load(*key).goal for key in keys] == [str(number) for number in range(len(keys))]  # type: ignore[union-attr]
        store.delete(*keys[0])
        assert [store.load(*key) is None for key in keys] == [True, *[False] * (len(keys) - 1)]

    def test_two_tenants_with_one_run_id_go_on_apart(self, opened: Opened) -> None:
        store, first, second = opened(), a_state("acme", "r", "one"), a_state("beta", "r", "two")
        store.save(first)
        with pytest.raises(StateError):
            store.save(replace(second, revision=1))
        store.save(second)
        store.save(replace(first, revision=1))
        assert store.load("beta", "r") == second

    def test_hostile_text_comes_back_as_it_was(self, opened: Opened) -> None:
        store, state = opened(), a_state(goal=TEXT)
        store.save(state)
        loaded = store.load(*state.key)
        assert loaded == state
        assert loaded is not None
        assert loaded.to_json() == state.to_json()

    def test_a_key_that_a_store_cannot_hold_is_refused_or_kept_and_never_another(self, opened: Opened) -> None:
        store = opened()
        store.save(a_state("acme", "r"))
        for key in (("acme", "r\x00"), ("acme\x00", "r"), ("acme", "\x00r")):
            assert store.load(*key) is None
            store.delete(*key)
            state = a_state(*key, goal="other")
            try:
                store.save(state)
            except StateError:
                assert store.load(*key) is None
            else:
                assert store.load(*key) == state
        kept = store.load("acme", "r")
        assert kept is not None
        assert kept.goal == "goal"

    def test_of_many_who_save_the_next_state_at_once_one_does(self, opened: Opened) -> None:
        first, state = opened(), a_state()
        first.save(state)
        together = Barrier(6)

        def save(number: int) -> bool:
            store = opened() if number % 2 else first
            together.wait(60)
            try:
                store.save(replace(state, revision=1, goal=str(number)))
            except StateError:
                return False
            return True

        with ThreadPoolExecutor(6) as pool:
            won = list(pool.map(save, range(6)))
        kept = first.load(*state.key)
        assert won.count(True) == 1
        assert kept is not None
        assert kept.goal == str(won.index(True))

    def test_of_two_sessions_that_resume_one_run_the_second_does_nothing(self, opened: Opened) -> None:
        function, audit = Counted(), MemoryAuditSink()

        def agent(**fields: Any) -> Agent:
            kept = {"store": opened(), "audit": audit} | fields
            return Agent([function.tool(effect="write")], acts("a"), policy=WRITES, **kept)

        paused = agent().run("goal", run_id="r")
        assert paused.pending is not None
        approval = Approval(paused.pending.digest, granted=True, approver="allen")
        done = agent().resume("r", approvals=[approval])
        for again in (paused, "r"):
            with pytest.raises(StateError):
                agent().resume(again, approvals=[approval])
        with pytest.raises(StateError):  # nor with a trail that does not tell
            agent(audit=MemoryAuditSink()).resume(paused, approvals=[approval])
        with pytest.raises(StateError):
            agent(tenant="beta").resume("r", approvals=[approval])
        assert function.calls == ["a"]
        assert verify_audit(audit.records, heads=[done]) == []
