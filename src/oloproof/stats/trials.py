"""Each case tried several times: how often it passes, how often some of k trials pass, and how often all of them do.

Of a case's R trials let c pass. The share of the choices of k trials that hold a pass, 1 − C(R − c, k) / C(R, k), is
unbiased for the chance that one of k passes (pass@k: Chen et al. 2021, eq. 1); the share of those that hold nothing
else, C(c, k) / C(R, k), for the chance that all k do (pass^k: Yao et al. 2024, τ-bench). Putting c / R into a
formula for independent trials instead is biased. Both are products of k ratios. For k = 1 both are the pass rate c / R.

A metric of a suite is the mean over its cases, and a case is the unit: its trials tell of its own luck, and only more
cases tell of the system's. Both metrics grow with c, so missing trials are counted as failures for the lower end and as
passes for the upper one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from math import fsum, prod
from typing import Literal, NamedTuple

from oloproof.stats import cluster
from oloproof.stats.cluster import Cluster, ClusterInterval
from oloproof.stats.proportion import Method

Metric = Literal["pass_at_k", "pass_hat_k"]


Clusters = Sequence[tuple[Sequence[tuple[int, int, int]], int]]
"""The cases of a cluster, each as (passed, failed, missing) trials, and how many clusters have just such cases."""


class Trials(NamedTuple):
    """How the trials of one case went."""

    passed: int
    failed: int
    missing: int = 0


def bounds(case: Trials, *, metric: Metric, k: int) -> tuple[float, float]:
    """The metric of one case with its missing trials failed, and with them passed; (0, 1) with fewer than k trials.

    k is at least 1.
    """
    trials = sum(case)
    if trials < k:
        return 0.0, 1.0
    value = _METRICS[metric]
    return value(case.passed, trials, k), value(case.passed + case.missing, trials, k)


def estimate(cases: Sequence[Trials], *, metric: Metric, k: int = 1) -> float | None:
    """The mean of the metric over the observed trials of each case that has k of them; None where no case has.

    With k = 1 the mean of the cases' pass rates. It can lie outside the bounds where cases are known to pass or to fail
    with fewer than k trials observed.
    """
    return estimate_of_clusters([((case,), 1) for case in cases], metric=metric, k=k)


def estimate_of_clusters(clusters: Clusters, *, metric: Metric, k: int = 1) -> float | None:
    """:func:`estimate` of a suite that is counted by what its clusters hold."""
    value = _METRICS[metric]
    observed = [
        (passed, passed + failed, count)
        for members, count in clusters
        for passed, failed, _ in members
        if passed + failed >= k
    ]
    cases = sum(count for _, _, count in observed)
    total = fsum(part for passed, trials, count in observed for part in _times(value(passed, trials, k), count))
    return total / cases if cases else None


def _times(value: float, count: int) -> Iterator[float]:
    """What adds up to ``count`` values exactly, so that it does not matter how a suite is counted."""
    return (value * (1 << bit) for bit in range(count.bit_length()) if count >> bit & 1)


def interval(
    cases: Sequence[Trials],
    *,
    metric: Metric,
    k: int = 1,
    groups: Sequence[Hashable] | None = None,
    method: Method = "wilson",
    level: float = 0.95,
) -> ClusterInterval:
    """The interval of the suite's metric, by :mod:`oloproof.stats.cluster`.

    ``groups`` gives each case the name of the group that it belongs to, None makes each its own. Of R trials at most
    ⌊R / k⌋ choices of k are independent; as soon as one trial is missing, those of a case count as one. Groups never
    narrow the interval. Raises ValueError where groups and cases differ in number, and unless 0 < level < 1.
    """
    members: Mapping[Hashable, list[Trials]] = defaultdict(list)
    for name, case in zip(range(len(cases)) if groups is None else groups, cases, strict=True):
        members[name].append(case)
    return of_clusters([(each, 1) for each in members.values()], metric=metric, k=k, method=method, level=level)


def of_clusters(
    clusters: Clusters, *, metric: Metric, k: int = 1, method: Method = "wilson", level: float = 0.95
) -> ClusterInterval:
    """:func:`interval` of a suite that is counted by what its clusters hold. Never narrower than with each case its
    own cluster."""
    values: list[Cluster] = []
    most: float = 0
    complete = True
    for members, count in clusters:
        cases = [Trials(*case) for case in members]
        ends = [bounds(case, metric=metric, k=k) for case in cases]
        values.append(Cluster(fsum(low for low, _ in ends), fsum(high for _, high in ends), len(cases), count))
        most += sum(sum(case) // k for case in cases) * count
        complete = complete and all(case.missing == 0 for case in cases)
    if not complete:
        most = 0
    elif any(len(members) > 1 for members, _ in clusters):
        # Groups that happen to be more alike than their cases, or were put together so, are no further evidence.
        each_alone = [((case,), count) for members, count in clusters for case in members]
        most = min(most, of_clusters(each_alone, metric=metric, k=k, method=method, level=level).effective)
    return cluster.interval(values, most=most, method=method, level=level)


def counted(cases: Sequence[Trials]) -> Trials:
    """The cases as a rule on observed counts sees them: one failed trial fails the case, else one missing misses it.

    Those without any trial are missing.
    """
    failed = sum(case.failed > 0 for case in cases)
    passed = sum(case.failed == case.missing == 0 < case.passed for case in cases)
    return Trials(passed, failed, len(cases) - passed - failed)


def _pass_at_k(passed: int, trials: int, k: int) -> float:
    return 1.0 - _pass_hat_k(trials - passed, trials, k)


def _pass_hat_k(passed: int, trials: int, k: int) -> float:
    return prod(max(0, passed - drawn) / (trials - drawn) for drawn in range(k))


_METRICS: Mapping[Metric, Callable[[int, int, int], float]] = {"pass_at_k": _pass_at_k, "pass_hat_k": _pass_hat_k}
