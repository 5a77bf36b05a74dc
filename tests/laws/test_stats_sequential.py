"""Laws of evidence and of stopping: validity under any stopping, by enumeration, and what a missing case may do."""

from __future__ import annotations

from fractions import Fraction
from math import exp, inf, isclose, log

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oloproof.stats import sequential, without_replacement
from oloproof.stats.evidence import interval, log_e
from oloproof.stats.sequential import Stopping

counts = st.integers(0, 200)
some = st.integers(0, 10)
rates = st.integers(1, 99).map(lambda percent: percent / 100)
levels = st.sampled_from([0.8, 0.9, 0.95, 0.99])
ROUNDING = 1e-9


@settings(deadline=None, max_examples=100)
@given(counts, counts, rates, rates)
def test_evidence_is_a_supermartingale(passed: int, failed: int, t: float, p: float) -> None:
    """One case more leaves the e-value where it is on average at p = t, and lowers it on the side of its hypothesis."""
    now = log_e(passed, failed, 0, threshold=t)
    after_pass, after_fail = log_e(passed + 1, failed, 0, threshold=t), log_e(passed, failed + 1, 0, threshold=t)

    def growth(rate: float, side: int) -> float:
        return rate * exp(after_pass[side] - now[side]) + (1 - rate) * exp(after_fail[side] - now[side])

    if min(*now, *after_pass, *after_fail) > -inf:
        assert isclose(growth(t, 0), 1, rel_tol=1e-6)
        assert isclose(growth(t, 1), 1, rel_tol=1e-6)
        assert growth(min(p, t), 0) <= 1 + 1e-6
        assert growth(max(p, t), 1) <= 1 + 1e-6


@pytest.mark.parametrize("t", [0.2, 0.8, 0.97])
def test_evidence_has_mean_one_whenever_a_run_is_stopped(t: float) -> None:
    """Under p = t, over all 2^n orders of outcomes: stopped at 40 cases or as soon as it reaches 4."""
    alive, mean = {(0, 0): 1.0}, 0.0
    for _ in range(40):
        moved: dict[tuple[int, int], float] = {}
        for (passed, failed), mass in alive.items():
            for counted, chance in (((passed + 1, failed), t), ((passed, failed + 1), 1 - t)):
                moved[counted] = moved.get(counted, 0.0) + mass * chance
        alive = moved
        for counted in list(alive):
            reached = log_e(*counted, 0, threshold=t).above
            if reached >= log(4):
                mean += alive.pop(counted) * exp(reached)
    mean += sum(mass * exp(log_e(*counted, 0, threshold=t).above) for counted, mass in alive.items())
    assert mean == pytest.approx(1, rel=1e-9)


@settings(deadline=None, max_examples=100)
@given(counts, counts, some, rates)
def test_what_is_missing_only_lowers_the_evidence(passed: int, failed: int, missing: int, t: float) -> None:
    found = log_e(passed, failed, missing, threshold=t)
    for filled in range(missing + 1):
        known = log_e(passed + filled, failed + missing - filled, 0, threshold=t)
        assert found.above <= known.above + ROUNDING
        assert found.below <= known.below + ROUNDING
    dropped = log_e(passed, failed, 0, threshold=t)
    assert found.above <= dropped.above + ROUNDING
    assert found.below <= dropped.below + ROUNDING


@settings(deadline=None, max_examples=80)
@given(counts, counts, rates)
def test_failing_is_the_mirror_image_of_passing(passed: int, failed: int, t: float) -> None:
    found, mirrored = log_e(passed, failed, 0, threshold=t), log_e(failed, passed, 0, threshold=1 - t)
    assert (found.above, found.below) == pytest.approx((mirrored.below, mirrored.above), rel=1e-9, abs=1e-9)
    lower, upper = interval(passed, failed, 0)
    assert interval(failed, passed, 0) == pytest.approx((1 - upper, 1 - lower), rel=0, abs=1e-12)


@settings(deadline=None, max_examples=80)
@given(counts, counts, some, levels)
def test_the_interval_encloses_the_share_and_widens_with_what_is_missing(
    passed: int, failed: int, missing: int, level: float
) -> None:
    lower, upper = interval(passed, failed, missing, level=level)
    assert (lower == 0, upper == 1) == (passed == 0, failed == 0)
    if passed + failed:
        assert lower <= passed / (passed + failed) <= upper
    wider = interval(passed, failed, missing + 1, level=level)
    assert wider[0] <= lower + ROUNDING
    assert upper <= wider[1] + ROUNDING


@settings(deadline=None, max_examples=80)
@given(counts, counts, some, rates)
def test_the_bound_reaches_the_threshold_where_the_evidence_suffices(
    passed: int, failed: int, missing: int, t: float
) -> None:
    lower, upper = interval(passed, failed, missing)
    found = log_e(passed, failed, missing, threshold=t)
    if abs(found.above - log(40)) > 1e-6:
        assert (found.above >= log(40)) == (lower >= t)
    if abs(found.below - log(40)) > 1e-6:
        assert (found.below >= log(40)) == (upper <= t)


@settings(deadline=None, max_examples=100)
@given(st.integers(1, 12), st.integers(0, 10).map(lambda tenths: Fraction(tenths, 10)), st.data())
def test_curtailment_stops_where_every_completion_agrees(n: int, t: Fraction, data: st.DataObject) -> None:
    rule = sequential.curtailed(n, t, level=0.6)
    passed = data.draw(st.integers(0, n))
    failed = data.draw(st.integers(0, n - passed))
    missing = data.draw(st.integers(0, n - passed - failed))
    left = n - passed - failed
    endings = set()
    for passes in range(left + 1):
        for lost in range(left - passes + 1):
            could_pass, could_fail = rule.pass_from is not None, rule.fail_to is not None
            if could_pass and passed + passes >= (rule.pass_from or 0):
                endings.add("PASS")
            elif could_fail and passed + passes + lost <= (rule.fail_to or 0):
                endings.add("FAIL")
            else:
                endings.add(None)
    assert rule.state(passed, failed, missing) == (endings.pop() if len(endings) == 1 else None)


@settings(deadline=None, max_examples=40)
@given(st.integers(20, 60), st.sampled_from(["0.3", "0.6", "0.8"]))
def test_turns_say_what_the_state_says(n: int, t: str) -> None:
    rule = sequential.hybrid(n, Fraction(t))
    for launched, pass_from, fail_to in sequential.turns(rule):
        for passed in range(launched + 1):
            state = rule.state(passed, launched - passed, 0)
            assert (state == "PASS") == (pass_from is not None and passed >= pass_from)
            assert (state == "FAIL") == (fail_to is not None and passed <= fail_to)


@settings(deadline=None, max_examples=80)
@given(st.integers(1, 300), rates, st.data())
def test_what_is_missing_stops_nothing_that_a_known_case_would_not(n: int, t: float, data: st.DataObject) -> None:
    rule = Stopping(n, Fraction(str(t)), None, None, early=0.05)
    passed = data.draw(st.integers(0, n))
    failed = data.draw(st.integers(0, n - passed))
    missing = data.draw(st.integers(0, min(8, n - passed - failed)))
    state = rule.state(passed, failed, missing)
    if state is not None:
        assert all(rule.state(passed + k, failed + missing - k, 0) == state for k in range(missing + 1))


@settings(deadline=None, max_examples=80)
@given(st.integers(1, 60), st.data())
def test_without_replacement_stays_within_what_is_certain(suite: int, data: st.DataObject) -> None:
    passed = data.draw(st.integers(0, suite))
    failed = data.draw(st.integers(0, suite - passed))
    missing = data.draw(st.integers(0, suite - passed - failed))
    least, most = without_replacement.interval(passed, failed, missing, suite=suite)
    assert passed <= least <= most <= suite - failed
    if passed + failed == suite:
        assert least == most == passed
    for filled in range(missing + 1):
        inner = without_replacement.interval(passed + filled, failed + missing - filled, 0, suite=suite)
        assert least <= inner[0] <= inner[1] <= most
