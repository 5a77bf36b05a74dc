"""Which attempts of earlier runs stand in for those that a run would make."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from oloproof.errors import UsageError
from oloproof.model.case import Attempt, Case, system_error
from oloproof.model.judgment import PASS
from oloproof.model.run import Run, RunStatus, SystemIdentity
from oloproof.model.trajectory import Trajectory
from oloproof.pipeline.reusing import Own, Reused, reusable
from oloproof.pipeline.world import real_ports
from oloproof.store import Store, stored_case

CASE = Case(id="c1", input="where is it?", metadata={"surface": "chat"})
ANSWERED = Attempt(case_id="c1", output="there")
KEY = ("c1", 1)
NOW = Run(
    id="20260101T000000-000000",
    project="p",
    system=SystemIdentity(name="agent", version="1", source="callable app:run", code="a"),
    status="running",
    started_at="",
    criteria=("right",),
    config_digest="c",
    dataset_digest="d",
)

NOTHING = Own()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / ".oloproof") as store:
        yield store


def past(store: Store, *attempts: Attempt, case: Case = CASE, status: RunStatus = "complete", **header: Any) -> Run:
    """A run before this one, with these attempts at the case."""
    run = replace(NOW, id=f"20250101T000000-{len(store.runs()):06}", **header)
    store.begin(run)
    store.append(run.id, [stored_case(at, case, attempt, (PASS,)) for at, attempt in enumerate(attempts)])
    store.set_status(run.id, status)
    return run


def found(store: Store, case: Case = CASE, *, reruns: int = 0, own: Own = NOTHING, **header: Any) -> Reused:
    now = replace(NOW, **header)
    return reusable(now, [case], real_ports(store), own=own, reruns=reruns, config="oloproof.yaml")


def test_what_a_whole_run_made_is_taken_over_and_says_so(store: Store) -> None:
    run = past(store, ANSWERED)
    assert found(store).attempt(KEY) == replace(ANSWERED, taken_from=run.id)


def test_what_a_run_took_over_is_of_the_run_that_made_it(store: Store) -> None:
    past(store, replace(ANSWERED, taken_from="the-first"))
    assert found(store).attempt(KEY).taken_from == "the-first"
    assert [each.run for each in found(store).counts] == ["the-first"]


@pytest.mark.parametrize(
    "header",
    [
        {"changed": ("other code",)},
        {"in_process": True},
        {"partial": "--case c1"},
        {"config_digest": "other"},
        {"project": "other"},
        {"system": replace(NOW.system, version="2")},
        {"system": replace(NOW.system, name="other")},
        {"system": replace(NOW.system, source="callable app:other")},
        {"system": replace(NOW.system, code="b")},
    ],
)
def test_a_run_that_may_have_asked_something_else_gives_nothing(store: Store, header: dict[str, Any]) -> None:
    past(store, ANSWERED, **header)
    assert not found(store).taken
    assert not found(store).again


@pytest.mark.parametrize("change", [{"input": "where?"}, {"metadata": {}}, {"metadata": {"surface": "mail"}}])
def test_an_attempt_at_another_question_is_not_taken_over(store: Store, change: dict[str, Any]) -> None:
    past(store, ANSWERED, case=replace(CASE, **change))
    assert not found(store).taken
    past(store, ANSWERED, case=replace(CASE, expected={"answer": "elsewhere"}))
    assert found(store).taken.keys() == {KEY}


@pytest.mark.parametrize(
    "attempt",
    [
        Attempt(case_id="c1", error=system_error("broken")),
        replace(ANSWERED, trajectory=Trajectory(steps=(), truncated=True)),
    ],
)
def test_the_newest_attempt_decides_and_is_made_again_where_it_is_not_whole(store: Store, attempt: Attempt) -> None:
    past(store, ANSWERED)
    newest = past(store, attempt)
    assert not found(store).taken
    assert found(store).before(KEY) == (replace(attempt, taken_from=newest.id),)


def test_the_newest_complete_run_goes_first_and_of_those_cut_short_the_oldest(store: Store) -> None:
    def who(status: RunStatus) -> str:
        run = past(store, ANSWERED, status=status)
        by = found(store).attempt(KEY).taken_from
        return "this" if by == run.id else "another"

    assert [who(status) for status in ("interrupted", "running", "interrupted")] == ["this", "another", "another"]
    assert [who(status) for status in ("complete", "interrupted", "complete")] == ["this", "another", "this"]


def test_a_re_run_is_no_trial(store: Store) -> None:
    past(store, ANSWERED, replace(ANSWERED, trial=2))
    assert found(store, trials=2).taken.keys() == {KEY}


def test_what_a_resumed_run_has_is_not_looked_for(store: Store) -> None:
    past(store, ANSWERED, replace(ANSWERED, trial=2), trials=2)
    assert found(store, trials=2).taken.keys() == {KEY, ("c1", 2)}
    assert found(store, trials=2, own=Own(done={KEY})).taken.keys() == {("c1", 2)}


@pytest.mark.parametrize(("digest", "waits"), [("d", True), ("other", False)])
def test_what_waited_is_known_to_be_the_same_on_the_same_dataset_alone(store: Store, digest: str, waits: bool) -> None:
    """Of an attempt that waited, nothing is stored but what it came to, and not what was asked."""
    run = past(store, status="running", dataset_digest=digest)
    crashed = Attempt(case_id="c1", error=system_error("busy", infrastructure="rate_limit"))
    store.keep_waiting(run.id, crashed)
    before = found(store).before(KEY)
    assert before == ((replace(crashed, taken_from=run.id),) if waits else ())


def test_re_runs_go_with_the_attempts_that_they_confirmed(store: Store) -> None:
    first = past(store, ANSWERED, replace(ANSWERED, trial=2), replace(ANSWERED, trial=3), reruns=2)
    assert found(store, reruns=1).taken.keys() == {KEY, ("c1", 2)}
    assert found(store).taken.keys() == {KEY}
    past(store, replace(ANSWERED, taken_from=first.id))
    assert found(store, reruns=2).taken.keys() == {KEY, ("c1", 2), ("c1", 3)}
    past(store, ANSWERED)
    assert found(store, reruns=2).taken.keys() == {KEY}, "another attempt, which nothing has confirmed"


def test_a_run_of_other_trials_confirms_nothing(store: Store) -> None:
    two = [replace(ANSWERED, trial=trial) for trial in (1, 2, 3)]
    past(store, *two, trials=2, reruns=1)
    assert found(store, reruns=2).taken.keys() == {KEY}


def test_without_a_version_nobody_knows_that_it_is_the_same(store: Store) -> None:
    with pytest.raises(UsageError, match="OLO421"):
        found(store, system=replace(NOW.system, version=None))
