"""Binomial tails against scipy.stats and a published example."""

from __future__ import annotations

from fractions import Fraction

import pytest
from scipy.stats import binom

from oloproof.stats import binomial


@pytest.mark.parametrize("n", [1, 2, 10, 40, 333, 2000, 20_000])
@pytest.mark.parametrize("p", ["0.001", "0.05", "0.3", "0.5", "0.8", "0.95", "0.999"])
def test_scipy(n: int, p: str) -> None:
    share = Fraction(p)
    centre, spread = n * float(p), (n * float(p) * (1 - float(p))) ** 0.5
    around = {round(centre + sigmas * spread / 2) for sigmas in range(-12, 13)}
    for k in sorted({0, n - 1, n} | {k for k in around if 0 <= k <= n}):
        assert binomial.cdf(k, n=n, p=share) == pytest.approx(binom.cdf(k, n, float(p)), rel=0, abs=1e-11)
        assert binomial.between(k + 1, n, n=n, p=share) == pytest.approx(binom.sf(k, n, float(p)), rel=0, abs=1e-11)


def test_small_tails_are_precise_relative_to_themselves() -> None:
    assert binomial.cdf(0, n=200, p=Fraction(1, 2)) == pytest.approx(0.5**200, rel=1e-12)
    assert binomial.between(200, 200, n=200, p=Fraction(1, 10)) == pytest.approx(0.1**200, rel=1e-12)


def test_conover() -> None:
    """Conover, *Practical Nonparametric Statistics*, 3rd edition, p. 139: for n = 15, p = 3/4, P(Y ≤ 7) = 0.0173."""
    assert round(binomial.cdf(7, n=15, p=Fraction(3, 4)), 4) == 0.0173
