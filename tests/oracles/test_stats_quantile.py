"""Quantile intervals against scipy.stats and Wilks's sample sizes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import quantile_test

from oloproof.stats import quantile


@pytest.mark.parametrize("q", ["0.25", "0.5", "0.9", "0.95"])
@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_scipy(q: str, level: float) -> None:
    # Not n = 1: 0.95 at level 0.9 is then a tie, P(B < 1) = 0.05, which scipy leaves to rounding.
    for n in (2, 5, 16, 40, 100, 251):
        sample = [float(value) for value in range(1, n + 1)]
        theirs = quantile_test(sample, p=float(q)).confidence_interval(confidence_level=level)
        expected = tuple(None if np.isnan(bound) else float(bound) for bound in (theirs.low, theirs.high))
        found = quantile.interval(sample, [], q=Fraction(q), level=level)
        assert (found.lower, found.upper) == expected, n


@pytest.mark.parametrize("q", ["0.07", "0.5", "0.55", "0.9", "0.95"])
def test_the_estimate_is_the_inverted_distribution_function(q: str) -> None:
    for n in (1, 2, 7, 40, 101):
        sample = [float(value) for value in range(1, n + 1)]
        # Ranks where q · n is whole are exact here and a matter of rounding there.
        if (Fraction(q) * n).denominator > 1:
            expected = np.quantile(sample, float(q), method="inverted_cdf")
            assert quantile.interval(sample, [], q=Fraction(q)).estimate == expected


def test_wilks_95_95() -> None:
    """Wilks 1941, Annals of Mathematical Statistics 12:91: sizes for a one-sided 95 % limit on the 95th percentile by
    the largest, second largest, … observation."""
    sizes = [quantile.needed_for_upper_bound(Fraction(19, 20), missing=order, level=0.9) for order in range(5)]
    assert sizes == [59, 93, 124, 153, 181]
