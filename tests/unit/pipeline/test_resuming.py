"""What a run that goes on takes over, and when it may not go on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from oloproof.errors import UsageError
from oloproof.model.case import Attempt, AttemptError, Case, system_error
from oloproof.model.decision import ObservedCount, Policy
from oloproof.model.judgment import PASS, Judgment, missing
from oloproof.model.project import CallableSystem, Project, SystemSpec
from oloproof.model.run import CaseRecord, Run, SystemIdentity
from oloproof.model.stopping import Stopping
from oloproof.pipeline.ports import Ports
from oloproof.pipeline.resuming import Resumed, attempts, continued, refuse_other_places
from oloproof.pipeline.world import real_ports
from oloproof.runner.attempted import Attempted
from oloproof.store import Kept, Key, Store
from oloproof.store.kept import StoredAt

WAS = Run(
    id="20260101T000000-aaaaaa",
    project="p",
    system=SystemIdentity(name="agent", version="1", source="callable app:run", code="a"),
    status="interrupted",
    started_at="2026-01-01T00:00:00Z",
    criteria=("right", "short"),
    judged_by=("r", "s"),
    slices=("tool",),
    config_digest="c",
    dataset_digest="d",
    judging_code="j",
    trials=2,
    stopping=Stopping(seed=1, rules=("none-wrong",)),
)
POLICY = Policy(rules=(ObservedCount(id="none-wrong", metric="right", max_failures=0),))
CASES = [Case(id="c1"), Case(id="c2")]


def unread(place: StoredAt) -> Any:
    raise AssertionError("no case need be read")


def resumed(was: Run, *stand: tuple[str, int], changed_too: bool = True) -> Resumed:
    """A run of which these attempts stand, the first of it."""
    places = {key: StoredAt(ordinal, 1, 0, 1) for ordinal, key in enumerate(stand)}
    return Resumed(was, Kept(places, unread), frozenset(), changed_too)


@pytest.fixture
def ports(tmp_path: Path) -> Iterator[Ports]:
    with Store.open(tmp_path / ".oloproof") as store:
        store.begin(WAS, POLICY)
        yield real_ports(store)


def project(policy: Policy | None = POLICY) -> Project:
    kind = CallableSystem(target="app:run", directory=".")
    return Project(
        name="p", config="oloproof.yaml", directory=".", system=SystemSpec(kind=kind), evaluators=(), policy=policy
    )


CHANGES: list[tuple[dict[str, Any], str]] = [
    ({"config_digest": "other"}, "another configuration"),
    ({"dataset_digest": "other"}, "another dataset"),
    ({"system": replace(WAS.system, version="2")}, "the system is agent 2"),
    ({"system": replace(WAS.system, code="b")}, "other code of the system"),
    ({"judging_code": "other"}, "other code of the evaluators"),
]


@pytest.mark.parametrize(("change", "message"), CHANGES)
def test_what_has_changed_is_refused_or_noted(ports: Ports, change: dict[str, Any], message: str) -> None:
    header = replace(WAS, **change)
    with pytest.raises(UsageError, match=message):
        continued(resumed(WAS, changed_too=False), header, ports, config="oloproof.yaml")
    (noted,) = continued(resumed(WAS), header, ports, config="oloproof.yaml").changed
    assert message in noted


@pytest.mark.parametrize("changed_too", [False, True])
def test_what_had_changed_when_a_run_went_on_before_is_never_forgotten(ports: Ports, changed_too: bool) -> None:
    """Else the same run, cut short once more, would be gated as if one system had run all of it."""
    was = replace(WAS, changed=("began under another configuration",), resumed=("2026-01-02T00:00:00Z",))
    going_on = continued(resumed(was, changed_too=changed_too), WAS, ports, config="oloproof.yaml")
    assert going_on.changed == was.changed
    assert len(going_on.resumed) == 2
    assert (going_on.id, going_on.started_at) == (was.id, was.started_at)


STOPPING = Stopping(seed=1, rules=("none-wrong",))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"criteria": ("right", "long")}, "other criteria"),
        ({"judged_by": ("r", "other")}, "other criteria"),
        ({"slices": ()}, "other criteria or slices"),
        ({"trials": 3}, "to be tried 2 times, and it is 3 now"),
        ({"redaction": "other"}, "takes other secrets out"),
        ({"stopping": None}, "could stop early by other rules"),
        ({"stopping": replace(STOPPING, seed=2)}, "could stop early by other rules"),
        ({"stopping": replace(STOPPING, method="hybrid")}, "could stop early by other rules"),
        ({"stopping": replace(STOPPING, rules=())}, "could stop early by other rules"),
        ({"dataset_digest": "other"}, "no longer the first of the dataset"),
    ],
)
def test_no_run_goes_on_where_its_attempts_would_mean_something_else(
    ports: Ports, change: dict[str, Any], message: str
) -> None:
    stands = resumed(WAS, ("c1", 1))
    refuse_other_places(stands, WAS, project(), CASES, ports)
    with pytest.raises(UsageError, match=message):
        refuse_other_places(stands, replace(WAS, **change), project(), CASES, ports)


@pytest.mark.parametrize(
    "policy", [None, Policy(rules=(ObservedCount(id="none-wrong", metric="right", max_failures=1),))]
)
def test_a_run_that_may_stop_early_goes_on_under_its_own_policy(ports: Ports, policy: Policy | None) -> None:
    with pytest.raises(UsageError, match="its own policy"):
        refuse_other_places(resumed(WAS, ("c1", 1)), WAS, project(policy), CASES, ports)


@pytest.mark.parametrize(
    ("ids", "goes_on"),
    [(["c1", "c2"], True), (["c1", "c3", "c4"], True), (["c2", "c1"], False), (["c3", "c1", "c2"], False), ([], False)],
)
def test_other_cases_may_follow_those_that_ran_and_none_may_stand_between(
    ports: Ports, ids: list[str], goes_on: bool
) -> None:
    was, cases = replace(WAS, stopping=None), [Case(id=name) for name in ids]
    stands, header = resumed(was, ("c1", 1), ("c1", 2)), replace(was, dataset_digest="other")
    if goes_on:
        refuse_other_places(stands, header, project(), cases, ports)
    else:
        with pytest.raises(UsageError, match="no longer the first"):
            refuse_other_places(stands, header, project(), cases, ports)


def test_a_run_that_never_loaded_goes_on_whatever_is_measured_now(ports: Ports) -> None:
    was = replace(WAS, status="broken")
    refuse_other_places(resumed(was), replace(was, criteria=("other",)), project(), CASES, ports)
    with pytest.raises(UsageError, match="takes other secrets out"):
        refuse_other_places(resumed(was), replace(was, redaction="other"), project(), CASES, ports)
    with pytest.raises(UsageError, match="other criteria"):
        refuse_other_places(resumed(was, ("c1", 1)), replace(was, criteria=("other",)), project(), CASES, ports)


CASE = Case(id="c1")
NOT_RUN = Attempt(case_id="c1", error=AttemptError(kind="not_run", message="stopped"))
CRASHED = Attempt(case_id="c1", error=system_error("busy", infrastructure="rate_limit"))
ANSWERED = Attempt(case_id="c1", output="yes")


def of_one(fresh: Attempt | None = None, **known: Any) -> Attempted:
    """What becomes of the only attempt that is tried."""
    (found,) = attempts([(CASE, 1)], fresh=iter(() if fresh is None else (fresh,)), **({"kept": {}} | known))
    return found


def record(attempt: Attempt, *judgments: Judgment) -> dict[Key, CaseRecord]:
    named = tuple((f"criterion-{at}", judgment) for at, judgment in enumerate(judgments))
    return {("c1", 1): CaseRecord(run_id=WAS.id, case=CASE, attempt=attempt, judgments=named)}


def test_what_stands_is_neither_run_nor_judged() -> None:
    assert of_one(kept=record(ANSWERED, PASS)) == Attempted(CASE, ANSWERED, judgments=(PASS,))
    with pytest.raises(ValueError, match="nobody asked for case 'c1'"):
        of_one(ANSWERED, kept=record(ANSWERED, PASS))


def test_what_is_made_again_goes_on_from_what_was_settled() -> None:
    lost = missing("system_error")
    found = of_one(ANSWERED, again=record(CRASHED, PASS, lost))
    assert (found.attempt, found.attempt.earlier) == (replace(ANSWERED, earlier=(CRASHED,)), (CRASHED,))
    assert (found.judgments, found.settled, found.before) == (None, (PASS, lost), ())


def test_where_it_is_not_made_again_the_error_stands_as_it_was_judged() -> None:
    """And not that it was not run: it was, and came to this."""
    found = of_one(NOT_RUN, again=record(CRASHED, PASS, missing("system_error")))
    assert found == Attempted(CASE, CRASHED, judgments=(PASS, missing("system_error")))


def test_where_a_run_is_stopped_between_two_attempts_the_last_that_ended_stands() -> None:
    busy = replace(CRASHED, log="again")
    found = of_one(replace(NOT_RUN, earlier=(busy,)), again=record(CRASHED, PASS))
    assert (found.attempt, found.settled) == (replace(busy, earlier=(CRASHED,)), (PASS,))
    assert not found.attempt.not_run


def test_what_waited_when_the_run_ended_is_judged_with_what_is_made() -> None:
    waited = {("c1", 1): (CRASHED,)}
    of_killed = of_one(ANSWERED, waited=waited)
    of_stopped = of_one(ANSWERED, again=record(replace(NOT_RUN, earlier=(CRASHED,)), missing("not_run")))
    for found in (of_killed, of_stopped):
        assert found == Attempted(CASE, replace(ANSWERED, earlier=(CRASHED,)), before=(CRASHED,))
