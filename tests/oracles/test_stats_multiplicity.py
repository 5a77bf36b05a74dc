"""Adjusted p-values against published tables, statsmodels and scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import false_discovery_control
from statsmodels.stats.multitest import multipletests

from oloproof.stats import multiplicity

# Benjamini & Hochberg 1995, Journal of the Royal Statistical Society B 57:289, §3.2: of 15 comparisons in a trial of
# thrombolysis, their procedure calls the first four at 0.05.
THROMBOLYSIS = [
    *(0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344),
    *(0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0),
]


def test_benjamini_and_hochberg_1995() -> None:
    assert sum(p <= 0.05 for p in multiplicity.benjamini_hochberg(THROMBOLYSIS)) == 4


@pytest.mark.parametrize("size", [1, 2, 3, 10, 60])
def test_statsmodels_and_scipy(size: int) -> None:
    rolls = np.random.default_rng(size)
    for _ in range(4):
        p = (rolls.random(size) ** 3).round(3).tolist()
        found = multiplicity.benjamini_hochberg(p)
        assert found == pytest.approx(false_discovery_control(p, method="bh"), rel=0, abs=1e-12)
        assert found == pytest.approx(multipletests(p, method="fdr_bh")[1], rel=0, abs=1e-12)
