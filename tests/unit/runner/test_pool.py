from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from threading import Semaphore
from typing import Any

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from fakes.workers import cases
from oloproof.model.case import AttemptError, system_error
from oloproof.model.project import Backoff, Launching, Retry
from oloproof.runner.pool import Pool
from oloproof.runner.ports import Launch
from oloproof.runner.protocol import Ran, RunCase


def test_with_a_window_of_one_nothing_begins_before_the_last_attempt_was_taken() -> None:
    begun: list[str] = []

    def ask(order: RunCase) -> Ran:
        begun.append(order.case_id)
        return Ran(order.n, output=order.input)

    pool = Pool(ask, concurrency=3)
    attempts = pool.run(cases(*range(5)), Launch(window=1))
    assert [next(attempts).output, next(attempts).output] == [0, 1]
    pool.stop()
    assert [attempt.error and attempt.error.kind for attempt in attempts] == ["not_run"] * 3
    assert begun == ["case_1", "case_2"]


def test_a_window_holds_back_what_lies_too_far_behind_the_oldest_case() -> None:
    overtaken = Semaphore(0)

    def ask(order: RunCase) -> Ran:
        if order.n:
            overtaken.release()
            return Ran(order.n)
        for _ in range(4):
            overtaken.acquire()
        return Ran(order.n, output=overtaken.acquire(blocking=False))

    attempts = list(Pool(ask, concurrency=3).run(cases(*range(30)), Launch(window=5)))
    assert [attempt.case_id for attempt in attempts] == [case.id for case in cases(*range(30))]
    assert attempts[0].output is False


LIMITED = system_error("429", infrastructure="rate_limit")
QUICKLY = Retry(attempts=3, backoff=Backoff(first_s=0.001, max_s=0.002))


def refusing(times: int, error: AttemptError = LIMITED) -> Callable[[RunCase], Ran]:
    """Refuses each case so many times, then answers."""
    asked: Counter[tuple[str, int]] = Counter()

    def ask(order: RunCase) -> Ran:
        asked[order.case_id, order.trial] += 1
        said = asked[order.case_id, order.trial]
        return Ran(order.n, error=error, log=f"{said}") if said <= times else Ran(order.n, output=said)

    return ask


@pytest.mark.parametrize(("times", "output", "earlier"), [(0, 1, 0), (2, 3, 2), (3, UNSET, 2)])
def test_what_was_refused_is_asked_again_and_all_of_it_is_kept(times: int, output: Any, earlier: int) -> None:
    pool = Pool(refusing(times), concurrency=2, launching=Launching(retry=QUICKLY))
    attempts = list(pool.run(cases(*range(5)), Launch(trials=(1, 2))))
    assert [(each.case_id, each.trial) for each in attempts] == [(f"case_{n}", t) for n in range(1, 6) for t in (1, 2)]
    firsts = [each for each in attempts if each.trial == 1]
    assert [(each.output, len(each.earlier)) for each in firsts] == [(output, earlier)] * 5
    assert [[before.log for before in each.earlier] for each in firsts] == [["1", "2"][:earlier]] * 5
    assert all(before.error == LIMITED and not before.earlier for each in firsts for before in each.earlier)


def test_an_error_that_is_not_listed_stands() -> None:
    pool = Pool(refusing(1, system_error("a bug")), concurrency=2, launching=Launching(retry=QUICKLY))
    (attempt,) = pool.run(cases(1))
    assert (attempt.error, attempt.earlier) == (system_error("a bug"), ())


def test_a_case_that_waits_keeps_nobody_else_from_being_asked() -> None:
    slowly = Retry(attempts=2, backoff=Backoff(first_s=3600, max_s=3600))
    begun: list[str] = []

    def ask(order: RunCase) -> Ran:
        begun.append(order.case_id)
        if len(begun) == 4:
            pool.stop()
        return Ran(order.n, error=LIMITED) if order.case_id == "case_1" else Ran(order.n, output=1)

    pool = Pool(ask, concurrency=1, launching=Launching(retry=slowly))
    first, *others = pool.run(cases(*range(4)))
    assert begun == ["case_1", "case_2", "case_3", "case_4"]
    assert first.error == AttemptError(kind="not_run", message="the run was stopped before this case was made again")
    assert [before.error for before in first.earlier] == [LIMITED]
    assert [each.output for each in others] == [1, 1, 1]


def test_nothing_is_asked_again_that_may_not_be_launched() -> None:
    asked: list[str] = []

    def ask(order: RunCase) -> Ran:
        asked.append(order.case_id)
        return Ran(order.n, error=LIMITED)

    pool = Pool(ask, concurrency=1, launching=Launching(retry=replace(QUICKLY, attempts=50)))
    first, second = pool.run(cases(1, 2), Launch(may_launch=lambda: len(asked) < 2))
    assert len(first.earlier) + len(second.earlier) == 2
    assert {each.error.kind for each in (first, second) if each.error} == {"not_run"}


def test_what_waits_is_given_up_once_nothing_more_may_be_launched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oloproof.runner.pool.LOOK_AGAIN_S", 0.01)
    slowly = Retry(attempts=2, backoff=Backoff(first_s=3600, max_s=3600))
    asked: list[str] = []

    def ask(order: RunCase) -> Ran:
        asked.append(order.case_id)
        return Ran(order.n, error=LIMITED)

    pool = Pool(ask, concurrency=2, launching=Launching(retry=slowly))
    (attempt,) = pool.run(cases(1), Launch(may_launch=lambda: not asked))
    assert attempt.error is not None
    assert (attempt.error.kind, len(attempt.earlier)) == ("not_run", 1)


def test_the_rate_holds_back_what_could_begin() -> None:
    begun: list[str] = []

    def ask(order: RunCase) -> Ran:
        begun.append(order.case_id)
        return Ran(order.n)

    pool = Pool(ask, concurrency=3, launching=Launching(max_per_minute=0.01))
    attempts = pool.run(cases(1, 2, 3))
    assert next(attempts).error is None
    pool.stop()
    assert [each.error and each.error.kind for each in attempts] == ["not_run", "not_run"]
    assert begun == ["case_1"]
    (attempt,) = pool.run(cases(1))
    assert attempt.error is not None
