"""The observed rules equal unanimity over every way to fill in the missing cases."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from oloproof.stats.counts import at_most_failures

small = st.integers(0, 8)


def unanimous(answers: set[bool]) -> str:
    if answers == {True}:
        return "PASS"
    return "FAIL" if answers == {False} else "INSUFFICIENT_EVIDENCE"


@settings(deadline=None, max_examples=300)
@given(small, small, small, small)
def test_failures(passed: int, failed: int, missing: int, max_failures: int) -> None:
    state = at_most_failures(passed, failed, missing, max_failures=max_failures)
    if passed + failed + missing == 0:
        assert state == "INSUFFICIENT_EVIDENCE"
    else:
        assert state == unanimous({failed + fill <= max_failures for fill in range(missing + 1)})
