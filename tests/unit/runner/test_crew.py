"""The crew's decisions, with lanes that run jobs when told to."""

from __future__ import annotations

import os
import tempfile

import pytest

from oloproof.runner.crew import Crew
from oloproof.runner.protocol import RunCase, Slot


class Done:
    """A job whose result is its number."""

    def __init__(self, order):
        self.n = order.n

    def run(self):
        return self.n

    def give_up(self):
        return -self.n

    def line(self, result):
        return str(result).encode()


class Quiet:
    def __init__(self):
        self.woken, self.abandoned = 0, []

    def wake(self, orders):
        self.woken += orders

    def abandon(self, job):
        self.abandoned.append(job.n)

    def recover(self, now):
        return None


class Bench:
    def __init__(self, limit):
        self.now = 100.0
        self.lines = []
        self.lane = Quiet()
        self.files = [tempfile.TemporaryFile() for _ in range(limit)]  # noqa: SIM115 -- closed by the fixture
        slots = [Slot(file.fileno()) for file in self.files]
        self.crew = Crew(
            lambda order, slot: Done(order), self.lines.append, slots=slots, timeout_s=10, clock=lambda: self.now
        )

    @property
    def reported(self):
        """The results, without what was said of their beginning."""
        return [line for line in self.lines if not line.startswith(b"{")]

    def submit(self, *numbers):
        self.crew.submit([RunCase(n, f"case_{n}", None, 0) for n in numbers], self.lane)

    def expire(self):
        return self.crew.expire(self.lane)


@pytest.fixture
def bench():
    made = []

    def make(limit=1):
        made.append(Bench(limit))
        return made[-1]

    yield make
    for each in made:
        for file in each.files:
            file.close()


def test_orders_are_taken_in_order_and_as_many_as_may_run(bench):
    b = bench(limit=2)
    b.submit(1, 2, 3)
    assert b.lane.woken == 3
    first, second = b.crew.take(), b.crew.take()
    assert (first.n, second.n, b.crew.take()) == (1, 2, None)
    assert b.crew.settle(second, second.run())
    assert b.crew.take().n == 3
    assert b.reported == [b"2"]


def test_a_beginning_is_told_before_the_job_is_made(bench):
    b = bench(limit=2)
    b.submit(1, 2, 3)
    b.crew.take()
    b.crew.take()
    assert b.lines == [b'{"type":"began","n":1,"at":100.0}', b'{"type":"began","n":2,"at":100.0}']


def test_waiting_for_the_parent_takes_none_of_a_jobs_time(bench):
    b = bench()
    b.crew._report = lambda line: setattr(b, "now", b.now + 60)
    b.submit(1)
    b.crew.take()
    assert b.expire() == 10


def test_a_late_job_is_answered_once(bench):
    b = bench()
    b.submit(1, 2)
    late = b.crew.take()
    b.now += 10
    b.expire()
    assert b.reported == [b"-1"]
    assert b.lane.abandoned == [1]
    assert not b.crew.settle(late, late.run())
    assert b.reported == [b"-1"]
    assert b.crew.take().n == 2


def test_a_late_job_answers_for_no_other_of_the_same_number(bench):
    b = bench()
    b.submit(1)
    late = b.crew.take()
    b.now += 10
    b.expire()
    b.submit(1)
    anew = b.crew.take()
    assert not b.crew.settle(late, "late")
    assert b.crew.settle(anew, "anew")
    assert b.reported == [b"-1", b"anew"]


def test_a_job_in_time_is_not_given_up(bench):
    b = bench()
    b.submit(1)
    job = b.crew.take()
    b.now += 9.9
    assert b.expire() == pytest.approx(0.1)
    assert b.crew.settle(job, 1)
    b.now += 10
    assert b.expire() is None
    assert b.reported == [b"1"]


def test_the_slot_of_a_late_job_wakes_who_waits_for_it(bench):
    b = bench()
    b.submit(1, 2)
    b.crew.take()
    woken = b.lane.woken
    b.now += 10
    assert b.expire() == 10
    assert b.lane.woken == woken + 1


def test_orders_may_be_dropped_until_they_are_taken(bench):
    b = bench()
    b.submit(1, 2, 3)
    b.crew.take()
    assert b.crew.drop() == (2, 3)
    assert b.crew.drop() == ()
    assert b.crew.take() is None


def test_nothing_going_on_needs_no_watching(bench):
    assert bench().expire() is None


def test_the_slot_says_which_job_began_until_it_is_reported(bench):
    b = bench()
    b.submit(7)
    job = b.crew.take()
    begun = os.pread(b.files[0].fileno(), 100, 0)
    assert begun.startswith(b'{"type":"began","n":7,')
    b.crew.settle(job, 7)
    assert os.pread(b.files[0].fileno(), 100, 0) == begun


def test_an_answer_goes_with_what_begins_next(bench):
    b = bench()
    b.submit(1, 2)
    assert b.crew.settle(b.crew.take(), 1)
    assert b.reported == []
    second = b.crew.take()
    assert b.reported == [b'1\n{"type":"began","n":2,"at":100.0}']
    assert b.crew.settle(second, 2)
    assert b.reported[1:] == [b"2"]


def test_an_answer_waits_for_nothing_that_does_not_begin(bench):
    b = bench()
    b.submit(1, 2)
    assert b.crew.settle(b.crew.take(), 1)
    assert b.crew.drop() == (2,)
    assert b.crew.take() is None
    assert b.reported == [b"1\n"]


def test_of_several_jobs_none_waits_for_another(bench):
    b = bench(limit=2)
    b.submit(1, 2, 3)
    first = b.crew.take()
    b.crew.take()
    assert b.crew.settle(first, 1)
    assert b.reported == [b"1"]
