"""Intervals for clustered values: the formula in another library's words, and coverage by exact enumeration."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from scipy.stats import multinomial, norm, t
from statsmodels.stats.proportion import proportion_confint

from oloproof.stats import cluster, trials
from oloproof.stats.cluster import Cluster
from oloproof.stats.proportion import Method
from oloproof.stats.trials import Trials


@pytest.mark.parametrize("passes", [[5] * 28 + [0] * 8 + [3] * 4, [4, 5, 3, 4, 5, 5, 2, 4], [3, 2, 2, 3, 1]])
def test_equal_clusters_by_numpy_and_scipy(passes: list[int]) -> None:
    shares = np.array(passes) / 5
    p, n = shares.mean(), len(shares)
    variance = np.var([*shares, 0, 1], ddof=1) / n
    effective = np.clip(p * (1 - p) / variance * (norm.isf(0.025) / t.isf(0.025, n - 1)) ** 2, n, 5 * n)
    lower, upper = proportion_confint(p * effective, effective, method="wilson")
    found = cluster.interval([Cluster(passed, passed, 5) for passed in passes])
    assert found == pytest.approx((effective, lower, upper), rel=1e-12)


def test_unequal_clusters_by_the_jackknife() -> None:
    sums, sizes = np.array([9.0, 1, 4, 2, 2, 7, 0, 3]), np.array([10, 1, 4, 3, 2, 9, 2, 3])
    n, total = len(sizes), sizes.sum()
    p = sums.sum() / total
    without = (sums.sum() - sums) / (total - sizes)
    jackknife = (n - 1) ** 2 * ((without - p) ** 2).sum() / n**2
    equal = total**2 / (sizes**2).sum()
    pseudo = p**2 + (1 - p) ** 2 - (1 - 2 * p) ** 2 / (equal + 2)
    variance = (equal * jackknife + pseudo / equal) / (equal + 1)
    effective = p * (1 - p) / variance * (norm.isf(0.025) / t.isf(0.025, equal - 1)) ** 2
    found = cluster.interval([Cluster(s, s, int(m)) for s, m in zip(sums, sizes, strict=True)])
    assert found.effective == pytest.approx(np.clip(effective, equal, total), rel=1e-12)


@pytest.mark.parametrize("passes", [[5] * 28 + [0] * 8 + [3] * 4, [4, 5, 3, 4, 5, 5, 2, 4], [0] * 6, [5] * 6])
def test_exact_ends_are_clopper_and_pearsons_at_the_effective_number(passes: list[int]) -> None:
    """Korn & Graubard 1998; statsmodels takes numbers that are not whole as well."""
    clusters = [Cluster(passed, passed, 5) for passed in passes]
    effective, lower, upper = cluster.interval(clusters, method="exact")
    wanted = proportion_confint(sum(passes) / (5 * len(passes)) * effective, effective, method="beta")
    assert effective == cluster.interval(clusters).effective
    assert (lower, upper) == pytest.approx(wanted, rel=1e-9)


def of_two_kinds(share: float, here: float, there: float, tried: int) -> tuple[float, list[float]]:
    """The mean rate and the chance that a case passes 0, 1, … of its trials, for two kinds of cases."""
    masses = [
        sum(w * comb(tried, c) * q**c * (1 - q) ** (tried - c) for w, q in ((share, here), (1 - share, there)))
        for c in range(tried + 1)
    ]
    return share * here + (1 - share) * there, masses


# Kinds of cases: those of a rate, their share, and the rate of the others.
TRUTHS = [
    (0.75, 0.98, 0.3),
    (0.85, 1.0, 0.0),
    (0.95, 0.995, 0.2),
    (0.98, 0.999, 0.0),
    (0.5, 0.9, 0.5),
    (1.0, 0.9, 0.9),
]


@pytest.mark.parametrize(("share", "here", "there"), TRUTHS)
@pytest.mark.parametrize(("cases", "tried"), [(20, 3), (40, 2)])
def test_coverage_by_enumeration(share: float, here: float, there: float, cases: int, tried: int) -> None:
    """Over every composition of the suite; pooling the trials would call a bad system good with up to 20 % here."""
    truth, chances = of_two_kinds(share, here, there, tried)
    covered = false_pass = 0.0
    compositions = np.array(
        [(*counts, cases - sum(counts)) for counts in np.ndindex(*[cases + 1] * tried) if sum(counts) <= cases]
    )
    masses = multinomial.pmf(compositions, cases, chances)
    for counts, mass in zip(compositions.tolist(), masses.tolist(), strict=True):
        if mass > 1e-9:
            suite = [Trials(c, tried - c) for c, count in enumerate(counts) for _ in range(count)]
            _, lower, upper = trials.interval(suite, metric="pass_hat_k")
            covered += mass * (lower <= truth <= upper)
            false_pass += mass * (lower >= truth)
    assert covered >= 0.93
    assert false_pass <= 0.032


@pytest.mark.parametrize("sizes", [[1] * 35 + [20] * 5, list(range(1, 21)), [3] * 12 + [6] * 12])
def test_false_pass_with_unequal_clusters(sizes: list[int]) -> None:
    """Over 1,500 suites from a fixed seed, the clusters of two kinds, both of them and those that always agree."""
    rolls = np.random.default_rng(7)
    for truth, kinds in ((0.81, (0.98, 0.3)), (0.75, (1.0, 0.0))):
        rates = np.where(rolls.random((1500, len(sizes))) < 0.75, *kinds)
        sums = rolls.binomial(sizes, rates).tolist()
        suites = [[Cluster(s, s, m) for s, m in zip(row, sizes, strict=True)] for row in sums]
        lowers = np.array([cluster.interval(suite).lower for suite in suites])
        assert (lowers >= truth).mean() <= 0.034


@pytest.mark.parametrize(("passed", "tried", "k"), [(3, 5, 2), (7, 10, 3), (13, 20, 4), (0, 4, 1), (4, 4, 4)])
def test_metrics_of_k_by_binomial_coefficients(passed: int, tried: int, k: int) -> None:
    """Chen et al. 2021, eq. 1, and its counterpart for all of k."""
    case = Trials(passed, tried - passed)
    at, hat = 1 - comb(tried - passed, k) / comb(tried, k), comb(passed, k) / comb(tried, k)
    assert trials.bounds(case, metric="pass_at_k", k=k) == pytest.approx((at, at), rel=1e-12)
    assert trials.bounds(case, metric="pass_hat_k", k=k) == pytest.approx((hat, hat), rel=1e-12)


@pytest.mark.parametrize("rate", [0.2, 0.7, 0.95])
def test_metrics_of_k_are_unbiased(rate: float) -> None:
    tried, k = 6, 3
    masses = [comb(tried, c) * rate**c * (1 - rate) ** (tried - c) for c in range(tried + 1)]
    for metric, truth in (("pass_at_k", 1 - (1 - rate) ** k), ("pass_hat_k", rate**k)):
        means = (trials.bounds(Trials(c, tried - c), metric=metric, k=k)[0] for c in range(tried + 1))
        assert sum(m * value for m, value in zip(masses, means, strict=True)) == pytest.approx(truth, rel=1e-12)


@pytest.mark.parametrize("method", ["wilson", "exact"])
@pytest.mark.parametrize("lost", [(0.1, 0.1), (0.0, 0.3), (0.3, 0.0)])
def test_coverage_with_trials_that_go_missing(method: Method, lost: tuple[float, float]) -> None:
    """Over 300 suites from a fixed seed, also where what failed is what is lost, or what passed."""
    rolls = np.random.default_rng(11)
    for truth, kinds in ((0.81, (0.98, 0.3)), (0.75, (1.0, 0.0))):
        rates = np.where(rolls.random((300, 40)) < 0.75, *kinds)
        passed = rolls.binomial(5, rates)
        seen, failed = rolls.binomial(passed, 1 - lost[0]), rolls.binomial(5 - passed, 1 - lost[1])
        ends = np.array(
            [
                trials.interval(
                    [Trials(p, f, 5 - p - f) for p, f in zip(*row, strict=True)], metric="pass_hat_k", method=method
                )[1:]
                for row in zip(seen.tolist(), failed.tolist(), strict=True)
            ]
        )
        assert ((ends[:, 0] <= truth) & (truth <= ends[:, 1])).mean() >= 0.95
        assert (ends[:, 0] >= truth).mean() <= 0.03
