"""Evidence against numeric integration, and rules that stop early against exact enumeration and published tables."""

from __future__ import annotations

from fractions import Fraction
from math import comb, exp

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import hypergeom

from oloproof.stats import evidence, sequential, without_replacement
from oloproof.stats.sequential import Stopping


@pytest.mark.parametrize(("passed", "failed"), [(0, 0), (10, 0), (0, 3), (29, 1), (9, 11), (80, 20)])
@pytest.mark.parametrize("t", [0.3, 0.8, 0.95])
def test_evidence_is_the_mean_likelihood_ratio(passed: int, failed: int, t: float) -> None:
    def ratio(theta: float) -> float:
        return (theta / t) ** passed * ((1 - theta) / (1 - t)) ** failed

    above = quad(ratio, t, 1, epsabs=0, epsrel=1e-11, limit=200)[0] / (1 - t)
    below = quad(ratio, 0, t, epsabs=0, epsrel=1e-11, limit=200)[0] / t
    found = evidence.log_e(passed, failed, 0, threshold=t)
    assert (exp(found.above), exp(found.below)) == pytest.approx((above, below), rel=1e-8)


@pytest.mark.parametrize(("t", "below", "above"), [(0.5, 0.0179, 0.0179), (0.8, 0.0195, 0.0132), (0.95, 0.016, 0.0091)])
def test_the_mixture_errs_less_than_promised_within_a_thousand_looks(t: float, below: float, above: float) -> None:
    rule = Stopping(1000, Fraction(str(t)), None, None, early=0.025)
    found = sequential.performance(rule, truth=t, stops=sequential.turns(rule, min_cases_to_fail=1))
    assert (found.passes, found.fails) == pytest.approx((below, above), rel=0, abs=5e-5)


@pytest.mark.parametrize(
    ("truth", "passes", "fails", "cases"),
    [
        (0.6, 0.0, 1.0, 63),
        (0.8, 0.023, 0.025, 994),
        (0.85, 0.984, 0.0, 670),
        (0.9, 1.0, 0.0, 165),
        (0.95, 1.0, 0.0, 65),
    ],
)
def test_the_hybrid_over_a_thousand_cases(truth: float, passes: float, fails: float, cases: float) -> None:
    rule = sequential.hybrid(1000, Fraction("0.8"))
    found = sequential.performance(rule, truth=truth, stops=sequential.turns(rule, min_cases_to_fail=1))
    assert found[:2] == pytest.approx((passes, fails), rel=0, abs=5e-4)
    assert round(found.cases) == cases


def test_ten_cases_before_an_early_failure_change_no_figure() -> None:
    rule = sequential.hybrid(1000, Fraction("0.8"))
    stops = sequential.turns(rule)
    for truth, passes, fails, cases in ((0.6, 0.0, 1.0, 63), (0.8, 0.023, 0.025, 994), (0.82, 0.332, 0.001, 975)):
        found = sequential.performance(rule, truth=truth, stops=stops)
        assert found[:2] == pytest.approx((passes, fails), rel=0, abs=5e-4)
        assert found.cases == pytest.approx(cases, rel=0, abs=1)


@pytest.mark.parametrize(("n", "t"), [(200, "0.8"), (200, "0.95"), (400, "0.9"), (500, "0.99")])
def test_the_hybrid_with_an_exact_end_keeps_its_promise(n: int, t: str) -> None:
    rule = sequential.hybrid(n, Fraction(t), method="exact")
    found = sequential.performance(rule, truth=float(t))
    assert found.passes <= 0.025
    assert found.fails <= 0.025


@pytest.mark.parametrize(("t", "at_2_5", "at_0_5"), [("0.8", 24, 33), ("0.9", 51, 69), ("0.95", 105, 142)])
def test_the_first_stop_when_all_pass(t: str, at_2_5: int, at_0_5: int) -> None:
    for early, first in ((0.025, at_2_5), (0.005, at_0_5)):
        rule = Stopping(10**6, Fraction(t), None, None, early=early)
        assert [rule.state(n, 0, 0) for n in (first - 1, first)] == [None, "PASS"]


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_without_replacement_in_whole_numbers(level: float) -> None:
    """The prior-posterior ratio by rational arithmetic, for every beginning of small suites."""
    error = 1 - Fraction(str(level))
    for suite, drawn in ((n, t) for n in (1, 2, 11, 24) for t in range(n + 1)):
        for passed in range(drawn + 1):
            possible = range(passed, suite - drawn + passed + 1)
            ways = [comb(total, passed) * comb(suite - total, drawn - passed) for total in possible]
            # At the limit itself a total stays in.
            kept = [k for k, way in zip(possible, ways, strict=True) if way * (drawn + 1) >= error * comb(suite, drawn)]
            found = without_replacement.interval(passed, drawn - passed, 0, suite=suite, level=level)
            assert found == (kept[0], kept[-1])


def test_without_replacement_by_scipy() -> None:
    suite, passed, drawn = 120, 25, 30
    totals = np.arange(suite + 1)
    masses = hypergeom.pmf(passed, suite, totals, drawn)
    kept = totals[masses > 0.05 / (drawn + 1)]
    assert without_replacement.interval(passed, drawn - passed, 0, suite=suite) == (kept.min(), kept.max())


@pytest.mark.parametrize("total", [30, 36])
def test_the_totals_of_a_suite_are_covered_at_every_moment(total: int) -> None:
    """By enumeration of all random orders of forty cases of which so many pass."""
    suite = 40
    alive, missed = {0: 1.0}, 0.0
    for drawn in range(1, suite + 1):
        moved: dict[int, float] = {}
        for passed, mass in alive.items():
            chance = (total - passed) / (suite - drawn + 1)
            for now, share in ((passed + 1, chance), (passed, 1 - chance)):
                if share > 0:
                    moved[now] = moved.get(now, 0.0) + mass * share
        alive = moved
        for passed in list(alive):
            least, most = without_replacement.interval(passed, drawn - passed, 0, suite=suite)
            if not least <= total <= most:
                missed += alive.pop(passed)
    assert 0 < missed <= 0.05


@pytest.mark.parametrize(("every", "false_pass"), [(500, 0.040), (200, 0.063), (50, 0.115)])
def test_what_naive_peeking_would_cost(every: int, false_pass: float) -> None:
    """Why all of this: Wilson's rule looked at after so many cases each, at a truth of 0.8 against a bar of 0.8."""
    stops = []
    for launched in range(1, 1001):
        turn = sequential.curtailed(launched, Fraction("0.8")) if launched % every == 0 else None
        stops.append(sequential.Turn(launched, turn and turn.pass_from, turn and turn.fail_to))
    rule = sequential.curtailed(1000, Fraction("0.8"))
    assert sequential.performance(rule, truth=0.8, stops=stops).passes == pytest.approx(false_pass, rel=0, abs=1e-3)


def test_curtailment_changes_no_verdict() -> None:
    rule = sequential.curtailed(60, Fraction("0.7"))
    assert rule.pass_from is not None
    assert rule.fail_to is not None
    found = sequential.performance(rule, truth=0.75)
    masses = [comb(60, k) * 0.75**k * 0.25 ** (60 - k) for k in range(61)]
    wanted = sum(masses[rule.pass_from :]), sum(masses[: rule.fail_to + 1])
    assert found[:2] == pytest.approx(wanted, rel=0, abs=1e-12)
    assert found.cases < 60
