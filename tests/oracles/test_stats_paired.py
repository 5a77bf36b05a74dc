"""Paired differences against published intervals, the defining equation solved independently, scipy and statsmodels."""

from __future__ import annotations

from math import comb, sqrt

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import binom, binomtest, norm
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar

from oloproof.stats import chances, paired
from oloproof.stats.paired import Pairs

# Both pass, fixed, broken, both fail; Tango's interval and the mid-p of McNemar. The first two are the examples of
# Fagerland, Lydersen & Laake, *Statistical Analysis of Contingency Tables* (2017), chapter 8, on airway
# hyper-responsiveness and complete response; the third is that of the R package PropCIs.
PUBLISHED = [
    (Pairs(1, 1, 7, 12), -0.5172, -0.0260, 0.0391),
    (Pairs(59, 6, 16, 80), -0.1240, -0.0054, 0.0347),
    (Pairs(80, 40, 20, 20), 0.0309, 0.2181, 0.0099),
]


@pytest.mark.parametrize(("pairs", "lower", "upper", "mid_p"), PUBLISHED)
def test_published(pairs: Pairs, lower: float, upper: float, mid_p: float) -> None:
    assert paired.interval(pairs) == pytest.approx((lower, upper), rel=0, abs=5e-5)
    assert paired.mcnemar(pairs).mid_p == pytest.approx(mid_p, rel=0, abs=5e-5)


def likeliest_broken(fixed: int, broken: int, n: int, x: float) -> float:
    """The share of broken pairs with the largest trinomial likelihood where fixed − broken is x, by numeric search."""

    def minus_log(q: float) -> float:
        rest = 1 - 2 * q - x
        return -(fixed * np.log(q + x) + broken * np.log(q) + (n - fixed - broken) * np.log(rest))

    least, most = max(0.0, -x), (1 - x) / 2
    edge = (most - least) * 1e-12
    return minimize_scalar(minus_log, bounds=(least + edge, most - edge), method="bounded", options={"xatol": 1e-13}).x


@pytest.mark.parametrize(("fixed", "broken", "n"), [(6, 16, 161), (1, 7, 21), (40, 20, 160), (3, 2, 9), (10, 40, 500)])
@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_the_score_statistic_of_the_constrained_likelihood(fixed: int, broken: int, n: int, level: float) -> None:
    z = norm.isf((1 - level) / 2)

    def statistic(x: float) -> float:
        q = likeliest_broken(fixed, broken, n, x)
        return (fixed - broken - n * x) / sqrt(n * (2 * q + x - x * x))

    difference = (fixed - broken) / n
    lower = brentq(lambda x: statistic(x) - z, -1 + 1e-6, difference, xtol=1e-12)
    upper = brentq(lambda x: statistic(x) + z, difference, 1 - 1e-6, xtol=1e-12)
    found = paired.interval(Pairs(0, fixed, broken, n - fixed - broken), level=level)
    assert found == pytest.approx((lower, upper), rel=0, abs=1e-7)


def test_without_discordant_pairs_it_is_wilsons_bound() -> None:
    z2 = float(norm.isf(0.025)) ** 2
    for n in (1, 50, 189, 5000):
        assert paired.interval(Pairs(both_pass=n)) == pytest.approx((-z2 / (n + z2), z2 / (n + z2)), rel=0, abs=1e-12)


@pytest.mark.parametrize(
    ("fixed", "broken"), [(2_490, 2_510), (2_500, 2_502), (60_000, 60_700), (2_000_000, 1_996_000)]
)
def test_mcnemar_of_very_many_pairs(fixed: int, broken: int) -> None:
    """On both sides of where whole numbers are given up, which would take minutes for the last."""
    n, found = fixed + broken, paired.mcnemar(Pairs(fixed=fixed, broken=broken))
    fewer = min(fixed, broken)
    assert found.exact == pytest.approx(min(1.0, 2 * binom.cdf(fewer, n, 0.5)), rel=1e-9, abs=0)
    assert found.mid_p == pytest.approx(2 * binom.cdf(fewer, n, 0.5) - binom.pmf(fewer, n, 0.5), rel=1e-9, abs=0)
    assert found.worse_exact == pytest.approx(binom.cdf(fixed, n, 0.5), rel=1e-9, abs=0)


def test_mcnemar_by_scipy_and_statsmodels() -> None:
    for fixed in (0, 1, 4, 20, 151):
        for broken in (0, 1, 5, 20, 130):
            found = paired.mcnemar(Pairs(10, fixed, broken, 10))
            theirs = statsmodels_mcnemar([[10, fixed], [broken, 10]], exact=True).pvalue
            assert found.exact == pytest.approx(theirs, rel=1e-9, abs=0)
            if fixed + broken:
                worse = binomtest(broken, fixed + broken, alternative="greater").pvalue
                at = comb(fixed + broken, broken) / 2 ** (fixed + broken)
                assert found.worse_exact == pytest.approx(worse, rel=1e-9, abs=0)
                assert found.worse_mid_p == pytest.approx(worse - at / 2, rel=1e-9, abs=1e-15)


@pytest.mark.parametrize(
    ("margin", "n", "size"),
    [
        (0.0, 100, 0.0265),
        (0.005, 50, 0.0298),
        (0.02, 50, 0.0249),
        (0.02, 100, 0.0261),
        (0.05, 50, 0.0268),
        (0.05, 100, 0.0253),
        (0.10, 50, 0.0262),
        (0.10, 100, 0.0257),
    ],
)
def test_the_size_of_non_inferiority(margin: float, n: int, size: float) -> None:
    """By enumeration: a candidate exactly worse by the margin passes at most so often, whatever share is discordant."""
    worst = 0.0
    for hundredths in range(1, 41):
        fixed = hundredths / 100 * (1 - margin) / 2
        found = chances.of_difference(n, fixed=fixed, broken=fixed + margin, at_least=-margin)
        worst = max(worst, found.passes)
    assert worst == pytest.approx(size, rel=0, abs=1e-3)
    assert worst <= 0.03
