"""When attempts begin, without a clock."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oloproof.model.case import AttemptError, system_error
from oloproof.model.project import Backoff, Launching, Retry
from oloproof.runner.launching import Pace, Waiting, wait_before_next

LIMITED = system_error("429", infrastructure="rate_limit")
RETRY = Retry(attempts=4, on=("rate_limit",), backoff=Backoff(first_s=2, max_s=9))


@pytest.mark.parametrize(
    ("retry", "error", "made"),
    [
        (None, LIMITED, 1),
        (RETRY, None, 1),
        (RETRY, system_error("a bug"), 1),
        (RETRY, system_error("cut", infrastructure="connection"), 1),
        (RETRY, AttemptError(kind="timeout", message="late"), 1),
        (RETRY, LIMITED, 4),
        (RETRY, LIMITED, 5),
        (RETRY, system_error("429", infrastructure="rate_limit", retry_after_s=9.5), 1),
    ],
)
def test_what_is_not_made_again(retry: Retry | None, error: AttemptError | None, made: int) -> None:
    assert wait_before_next(retry, error, made=made, seed=1) is None


@pytest.mark.parametrize(("made", "longest"), [(1, 2), (2, 4), (3, 8)])
@given(seed=st.integers(0, 2**32))
def test_the_wait_doubles_and_its_jitter_takes_up_to_half(made: int, longest: float, seed: int) -> None:
    wait_s = wait_before_next(RETRY, LIMITED, made=made, seed=seed)
    assert wait_s is not None
    assert longest / 2 <= wait_s <= longest
    assert wait_s == wait_before_next(RETRY, LIMITED, made=made, seed=seed)


def test_the_wait_never_grows_past_its_bound() -> None:
    often = Retry(attempts=100, on=("rate_limit",), backoff=Backoff(first_s=2, max_s=9))
    waits = [wait_before_next(often, LIMITED, made=made, seed=7) for made in range(1, 100)]
    assert all(wait_s is not None and 1 <= wait_s <= 9 for wait_s in waits)
    assert len(set(waits)) > 90


@pytest.mark.parametrize(("asked_s", "least"), [(0.5, 1), (6.0, 6), (9.0, 9)])
def test_a_service_is_left_alone_for_as_long_as_it_asks(asked_s: float, least: float) -> None:
    error = system_error("429", infrastructure="rate_limit", retry_after_s=asked_s)
    wait_s = wait_before_next(RETRY, error, made=1, seed=3)
    assert wait_s is not None
    assert least <= wait_s <= max(asked_s, 2)


@given(per_minute=st.floats(0.1, 10_000), pauses=st.lists(st.floats(0, 30), max_size=60), start=st.floats(-1e6, 1e6))
def test_no_minute_sees_more_launches_than_it_may(per_minute: float, pauses: list[float], start: float) -> None:
    pace, now, launches = Pace.of(Launching(max_per_minute=per_minute)), start, []
    for pause in pauses:
        now += pause + pace.wait_s(now + pause)
        launches.append(now)
        pace = pace.launched(now)
    for first in launches:
        within = [each for each in launches if first <= each < first + 60 - 1e-3]
        assert len(within) <= per_minute + 1


def test_without_a_bound_nothing_waits() -> None:
    pace = Pace.of(Launching())
    for now in (5.0, 5.0, 1.0):
        assert pace.wait_s(now) == 0
        pace = pace.launched(now)


def test_what_waits_goes_first_when_it_is_due() -> None:
    waiting: Waiting[str] = Waiting()
    assert (bool(waiting), waiting.take(inf), waiting.wait_s(0)) == (False, None, inf)
    for name in ("a", "b", "c"):
        waiting.add(name)
    waiting.add_later("late", 20)
    waiting.add_later("soon", 10)
    assert (waiting.wait_s(4), waiting.take(4)) == (6, "a")
    waiting.put_back(["y", "z"])
    assert [waiting.take(10), waiting.wait_s(10), waiting.take(10), waiting.take(10)] == ["soon", 10, "y", "z"]
    assert [waiting.take(inf) for _ in range(4)] == ["late", "b", "c", None]
