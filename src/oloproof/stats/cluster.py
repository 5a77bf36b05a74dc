"""An interval for a mean of values that come in clusters: the trials of a case, or cases that share a fixture.

Values of one cluster tend to agree, so m of them tell less than m independent ones; counted as if they were, a bad
system passes far too often. The interval is Wilson's at the *effective* number of values: as many independent ones as
would vary like the mean does (Kish 1965, design effect; Korn & Graubard 1998).

With N clusters of sizes m_i and sums s_i, let M = Σ m_i and p = Σ s_i / M. How far the mean would move without cluster
i, times N − 1, is its residual (N − 1) (s_i − p m_i) / (M − m_i): y_i − p where all sizes are equal and y_i = s_i / m_i
(the jackknife of a ratio, Cochran 1977, chapter 6). Clusters of different sizes count as E = M² / Σ m_i² equal ones
(Kish 1965), which is N where they are equal: a few large ones are no more than that. With two pseudo-clusters, one at 0
and one at 1, so that a sample in which no cluster happens to be bad does not look certain, the variance of the mean is

    v = ((E / N)² Σ residual² + p² + (1 − p)² − (1 − 2p)² / (E + 2)) / (E (E + 1))

which for equal sizes is the sample variance of y_1, …, y_N, 0, 1 over N. The pseudo-clusters are this program's own
device, in the spirit of Agresti & Coull (1998), and justified by simulation and enumeration alone. The effective number
is p (1 − p) / v · (z / t)², with Student's t of E − 1 degrees of freedom, but not below E, which it would be if all the
values of a cluster agreed, and not above the number of values, which it would be if all were independent.

Method ``exact`` is the interval of Clopper & Pearson (1934) at the same effective number and p times as many passes,
neither of which has to be whole (Korn & Graubard 1998). It is wider than Wilson's; that it covers at least as often as
the level says is proved for independent values alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum, sqrt
from typing import NamedTuple, assert_never

from oloproof.stats.level import tail, z
from oloproof.stats.proportion import Method


class Cluster(NamedTuple):
    """The sum of ``size`` values in [0, 1]; those missing counted as 0 in ``low`` and as 1 in ``high``. There are
    ``times`` clusters just so."""

    low: float
    high: float
    size: int
    times: int = 1


class ClusterInterval(NamedTuple):
    """Bounds of the mean and the number of independent values that would have given them."""

    effective: float
    lower: float
    upper: float


def interval(
    clusters: Sequence[Cluster], *, most: float | None = None, method: Method = "wilson", level: float = 0.95
) -> ClusterInterval:
    """The interval of the mean of all values, (0, 1) over 0 values where there is no cluster.

    ``most`` is how many independent ones the values could hold (None: as many as they are). As soon as a value is
    missing the effective number is at its lower limit, and each end takes its own fill; so it is with a single cluster,
    of which no variance is known. The interval of a proportion where every cluster has one value. Raises ValueError
    unless 0 < level < 1.
    """
    if not clusters:
        return ClusterInterval(0.0, 0.0, 1.0)
    values = _values(clusters)
    low = fsum(cluster.low * cluster.times for cluster in clusters) / values
    high = fsum(cluster.high * cluster.times for cluster in clusters) / values
    effective = values**2 / sum(cluster.size**2 * cluster.times for cluster in clusters)
    limit = values if most is None else most
    if limit > effective and low == high and effective > 1:
        effective = min(limit, max(effective, _independent(clusters, equal=effective, mean=low, level=level)))
    return ClusterInterval(
        effective=effective,
        lower=_low(low, n=effective, method=method, level=level),
        upper=1.0 - _low(1.0 - high, n=effective, method=method, level=level),
    )


def _independent(clusters: Sequence[Cluster], *, equal: float, mean: float, level: float) -> float:
    """How many independent values would vary like the mean, where the clusters count as ``equal`` equal ones."""
    from scipy.special import stdtrit  # 0.3 s, and clusters of one value do without

    count, values = sum(cluster.times for cluster in clusters), _values(clusters)
    residuals = [(count - 1) * (cluster.low - mean * cluster.size) / (values - cluster.size) for cluster in clusters]
    squared = (residual**2 * cluster.times for residual, cluster in zip(residuals, clusters, strict=True))
    squares = (equal / count) ** 2 * fsum(squared)
    pseudo = mean**2 + (1 - mean) ** 2 - (1 - 2 * mean) ** 2 / (equal + 2)
    variance = (squares + pseudo) / (equal * (equal + 1))
    student = float(stdtrit(equal - 1, 1 - tail(level)))
    return mean * (1 - mean) / variance * (z(level) / student) ** 2


def _values(clusters: Sequence[Cluster]) -> int:
    return sum(cluster.size * cluster.times for cluster in clusters)


def _low(share: float, *, n: float, method: Method, level: float) -> float:
    match method:
        case "wilson":
            return _wilson_low(share, n=n, level=level)
        case "exact":
            return _exact_low(share, n=n, level=level)
        case _:
            assert_never(method)


def _wilson_low(share: float, *, n: float, level: float) -> float:
    """The score bound (Wilson 1927) at a share of n values, where neither has to be a whole number.

    Written like :func:`oloproof.stats.proportion.interval`, without subtraction: exactly 0 at 0.
    """
    half_width = z(level)
    spread = half_width * sqrt(share * (1 - share) / n + half_width**2 / (4 * n * n))
    return share * share / (share + half_width**2 / (2 * n) + spread)


def _exact_low(share: float, *, n: float, level: float) -> float:
    """The same of Clopper & Pearson (1934), by the quantile of a beta distribution."""
    if share == 0:
        return 0.0
    from scipy.special import betaincinv  # 0.3 s, and only this method needs it

    return float(betaincinv(share * n, (1 - share) * n + 1, tail(level)))
