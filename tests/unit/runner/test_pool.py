from __future__ import annotations

from threading import Semaphore

from fakes.workers import cases
from oloproof.runner.pool import Pool
from oloproof.runner.protocol import Ran, RunCase


def test_with_a_window_of_one_nothing_begins_before_the_last_attempt_was_taken() -> None:
    begun: list[str] = []

    def ask(order: RunCase) -> Ran:
        begun.append(order.case_id)
        return Ran(order.n, output=order.input)

    pool = Pool(ask, concurrency=3)
    attempts = pool.run(cases(*range(5)), window=1)
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

    attempts = list(Pool(ask, concurrency=3).run(cases(*range(30)), window=5))
    assert [attempt.case_id for attempt in attempts] == [case.id for case in cases(*range(30))]
    assert attempts[0].output is False
