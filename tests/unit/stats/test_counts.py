from __future__ import annotations

import pytest

from oloproof.stats.counts import at_most_failures, failure_rate_bound


@pytest.mark.parametrize(
    ("cases", "state"),
    [
        ((40, 0, 0), "PASS"),
        ((39, 0, 1), "INSUFFICIENT_EVIDENCE"),
        ((39, 1, 0), "FAIL"),
        ((38, 1, 1), "FAIL"),
        ((0, 0, 0), "INSUFFICIENT_EVIDENCE"),
    ],
)
def test_no_failure_allowed(cases: tuple[int, int, int], state: str) -> None:
    assert at_most_failures(*cases, max_failures=0) == state


def test_missing_cases_within_the_limit_cannot_break_it() -> None:
    assert at_most_failures(38, 0, 2, max_failures=2) == "PASS"
    assert at_most_failures(37, 0, 3, max_failures=2) == "INSUFFICIENT_EVIDENCE"


@pytest.mark.parametrize(("n", "bound"), [(20, 0.139), (40, 0.072), (100, 0.0295), (1000, 0.0030), (5000, 0.0006)])
def test_what_no_failure_proves(n: int, bound: float) -> None:
    assert failure_rate_bound(n) == pytest.approx(bound, rel=0, abs=5e-4)
    assert (1 - failure_rate_bound(n)) ** n == pytest.approx(0.05)
