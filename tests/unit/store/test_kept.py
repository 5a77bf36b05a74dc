"""What stands of a run that was cut short, and what has room again once it goes on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from fakes import stored
from oloproof.errors import BrokenError, UsageError
from oloproof.model.case import Attempt, AttemptError, system_error
from oloproof.model.judgment import PASS, Judgment, missing
from oloproof.model.measured import Measured
from oloproof.model.run import Run
from oloproof.model.stopping import Stopping
from oloproof.store import Store, StoredCase, identity, stored_case

RUN = stored.run()
GOING_ON = replace(RUN, resumed=("2026-12-01T00:00:00Z",))
OPEN = (missing("not_run"),) * 3
CRASHED = Attempt(case_id="case_00002", error=system_error("busy", infrastructure="rate_limit"))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / ".oloproof") as store:
        store.begin(RUN)
        yield store


def not_run(number: int, *earlier: Attempt) -> StoredCase:
    case = stored.case(number)
    error = AttemptError(kind="not_run", message="stopped")
    return stored_case(number, case, Attempt(case_id=case.id, error=error, earlier=earlier), OPEN)


def judged(number: int, *, trial: int = 1, ordinal: int | None = None) -> StoredCase:
    """Told from its neighbours by its letters."""
    words = [PASS if number >> at & 1 else Judgment("fail") for at in range(3)]
    return stored.row(number, judgments=words, trial=trial, ordinal=ordinal)


def letters(store: Store) -> list[tuple[str, str]]:
    """What is counted of the run, from its sides."""
    return [(side.case_id[-1], side.codes) for _, side in store.attempts(RUN.id)]


def of(*numbers: int) -> list[tuple[str, str]]:
    return [(str(number), judged(number).side.codes) for number in numbers]


def test_what_never_began_does_not_stand_and_what_waited_is_made_again(store: Store) -> None:
    store.append(RUN.id, [judged(0), not_run(1), not_run(2, CRASHED), judged(3)])
    kept = store.kept(RUN.id)
    assert list(kept) == [("case_00000", 1), ("case_00002", 1), ("case_00003", 1)]
    assert [ordinal for ordinal, _ in kept.ordinals()] == [0, 2, 3]
    assert kept.waiting == {("case_00002", 1)}
    assert kept[("case_00002", 1)].attempt.earlier == (CRASHED,)
    stands = kept.without(kept.waiting)
    assert (list(stands), stands.waiting) == ([("case_00000", 1), ("case_00003", 1)], frozenset())


def test_an_attempt_that_left_every_verdict_open_stands(store: Store) -> None:
    crashed = replace(CRASHED, case_id="case_00001")
    store.append(RUN.id, [stored_case(1, stored.case(1), crashed, (missing("system_error"),) * 3)])
    assert list(store.kept(RUN.id)) == [("case_00001", 1)]
    assert not store.kept(RUN.id).waiting


def test_what_is_run_again_has_its_place_in_the_run(store: Store) -> None:
    store.append(RUN.id, [judged(0), not_run(1), judged(2), not_run(3)])
    store.append(RUN.id, [not_run(4)])
    store.resume(GOING_ON, store.kept(RUN.id))
    assert letters(store) == of(0, 2)
    store.append(RUN.id, [judged(4), judged(1)])
    store.append(RUN.id, [judged(3)])
    assert letters(store) == of(0, 1, 2, 3, 4)
    assert [row.case_id[-1] for row in store.verdicts(RUN.id)] == list("01234")
    assert [record.case.id[-1] for record in stored.records(store, RUN.id)] == list("01234")


def test_an_attempt_that_is_made_anew_takes_the_place_of_the_one_before(store: Store) -> None:
    store.append(RUN.id, [judged(0), judged(1), judged(2)])
    store.resume(GOING_ON, store.kept(RUN.id))
    changed = replace(judged(1), side=replace(judged(1).side, codes="mmm"))
    store.append(RUN.id, [changed])
    assert letters(store) == [*of(0), ("1", "mmm"), *of(2)]
    assert [row.codes for row in store.verdicts(RUN.id)] == [codes for _, codes in letters(store)]


@pytest.mark.parametrize("header", [replace(RUN, reruns=1), GOING_ON])
def test_re_runs_are_kept_and_not_counted(store: Store, header: Run) -> None:
    store.append(RUN.id, [judged(0), judged(1)])
    store.append(RUN.id, [judged(1, trial=2, ordinal=7)])
    store.finish(header, Measured(cases=2, metrics=()), None)
    assert letters(store) == of(0, 1)
    assert [side.case_id[-1] for side in store.sides(RUN.id, identified=True).cases] == ["0", "1"]
    assert len(list(store.verdicts(RUN.id))) == 3


def test_sides_are_in_the_order_of_the_dataset_whatever_the_launch_order_was(store: Store) -> None:
    """And each is told apart by what its own case asked."""
    launched = replace(RUN, stopping=Stopping(seed=1))
    store.append(RUN.id, [judged(2), judged(0)])
    store.append(RUN.id, [judged(1)])
    store.finish(launched, Measured(cases=3, metrics=()), None)
    sides = store.sides(RUN.id, identified=True).cases
    assert [(side.case_id[-1], side.codes) for side in sides] == of(0, 1, 2)
    assert [side.question for side in sides] == [identity(stored.case(number).input) for number in range(3)]


def test_what_a_run_came_to_is_forgotten_when_it_goes_on(store: Store) -> None:
    store.append(RUN.id, [judged(0)])
    store.finish(RUN, stored.measured(1), None, warnings=("odd",))
    store.resume(GOING_ON, store.kept(RUN.id))
    assert (store.warnings(RUN.id), store.comparison(RUN.id), store.find(RUN.id)) == ((), None, GOING_ON)
    with pytest.raises(BrokenError, match="OLO510"):
        store.aggregates(RUN.id)


def test_an_attempt_waits_until_what_it_came_to_is_kept(store: Store) -> None:
    again = replace(CRASHED, log="again")
    store.keep_waiting(RUN.id, CRASHED)
    store.keep_waiting(RUN.id, again)
    assert store.waiting(RUN.id) == {("case_00002", 1): (CRASHED, again)}
    store.append(RUN.id, [judged(0)])
    assert store.waiting(RUN.id).keys() == {("case_00002", 1)}
    made = replace(stored.attempt(2), earlier=(CRASHED, again))
    store.append(RUN.id, [stored_case(2, stored.case(2), made, stored.VERDICTS)])
    assert store.waiting(RUN.id) == {}


def test_one_process_alone_writes_a_run(store: Store) -> None:
    with Store.open(store.directory) as other:
        with pytest.raises(UsageError, match="OLO415"):
            other.hold(RUN.id)
        store.close()
        assert other.hold(RUN.id) == RUN
