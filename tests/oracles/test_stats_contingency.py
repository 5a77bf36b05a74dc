"""The one-sided exact test against Fisher's own example, scipy, and its size and power by enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, fisher_exact, hypergeom

from oloproof.stats.contingency import Group, worse_than_rest


def test_the_lady_tasting_tea() -> None:
    """Fisher 1935, *The Design of Experiments*, chapter 2: three of four cups right has 17 chances in 70, four 1."""
    assert worse_than_rest(Group(1, 3), Group(3, 1)).exact == pytest.approx(17 / 70, rel=1e-12)
    assert worse_than_rest(Group(0, 4), Group(4, 0)).exact == pytest.approx(1 / 70, rel=1e-12)


@pytest.mark.parametrize("sizes", [(1, 1), (3, 97), (10, 190), (12, 8), (40, 160), (400, 19_600)])
def test_scipy(sizes: tuple[int, int]) -> None:
    size, other = sizes
    for passed in sorted({0, 1, size // 2, size - 1, size}):
        for rest in sorted({0, other // 2, int(0.9 * other), other}):
            found = worse_than_rest(Group(passed, size - passed), Group(rest, other - rest))
            _, exact = fisher_exact([[passed, size - passed], [rest, other - rest]], alternative="less")
            at = hypergeom.pmf(passed, size + other, passed + rest, size)
            least = hypergeom.pmf(max(0, passed + rest - other), size + other, passed + rest, size)
            wanted = exact, exact - at / 2, least / 2
            assert found == pytest.approx(wanted, rel=1e-9, abs=1e-10), (passed, rest)


# Cases in the slice and in the rest, their true rates, and how often Fisher and mid-p are at most 0.025.
SIZES_AND_POWERS = [
    (10, 190, 0.8, 0.8, 0.012, 0.022),
    (10, 190, 0.9, 0.9, 0.011, 0.020),
    (20, 180, 0.9, 0.9, 0.013, 0.021),
    (40, 160, 0.95, 0.95, 0.010, 0.019),
    (10, 190, 0.7, 0.9, 0.305, 0.374),
    (20, 180, 0.5, 0.9, 0.966, 0.976),
]


@pytest.mark.parametrize(("size", "other", "here", "there", "exact", "mid_p"), SIZES_AND_POWERS)
def test_size_and_power(size: int, other: int, here: float, there: float, exact: float, mid_p: float) -> None:
    masses = np.outer(binom.pmf(range(size + 1), size, here), binom.pmf(range(other + 1), other, there))
    called = np.zeros(2)
    for passed, rest in zip(*np.nonzero(masses > 1e-9), strict=True):
        found = worse_than_rest(Group(int(passed), size - int(passed)), Group(int(rest), other - int(rest)))
        called += masses[passed, rest] * (np.array([found.exact, found.mid_p]) <= 0.025)
    assert called == pytest.approx((exact, mid_p), rel=0, abs=6e-4)
