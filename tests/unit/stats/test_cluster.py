from __future__ import annotations

import pytest

from oloproof.stats.cluster import Cluster, ClusterInterval, interval


def whole(*passes: int, size: int = 5) -> list[Cluster]:
    return [Cluster(passed, passed, size) for passed in passes]


def test_forty_cases_of_two_kinds() -> None:
    found = interval(whole(*[5] * 28, *[0] * 8, *[3] * 4))
    assert found == pytest.approx((40.327337, 0.609422, 0.865352), rel=0, abs=1e-6)


def test_no_cluster_says_nothing() -> None:
    assert interval([]) == ClusterInterval(0.0, 0.0, 1.0)


def test_a_single_cluster_counts_as_one_value() -> None:
    found = interval(whole(3))
    assert found == pytest.approx((1.0, 0.077119, 0.964191), rel=0, abs=1e-6)


def test_clusters_that_agree_within_count_as_one_value_each() -> None:
    assert interval(whole(*[5] * 20)).effective == 20
    assert interval(whole(*[5] * 20)).upper == 1.0
    assert interval(whole(*[0] * 20)).lower == 0.0


def test_clusters_that_are_alike_count_as_all_their_values() -> None:
    assert interval(whole(*[3] * 20)).effective == 100
    assert interval(whole(*[3] * 20), most=60).effective == 60


def test_a_missing_value_counts_both_ways_and_clusters_as_one_value_each() -> None:
    found = interval([*whole(*[3] * 19), Cluster(2, 3, 5)])
    assert found.effective == 20
    assert found.lower < interval(whole(*[3] * 20)).lower
    assert found.upper > interval(whole(*[3] * 20)).upper


def test_large_clusters_are_few() -> None:
    sizes = [1] * 35 + [20] * 5
    found = interval([Cluster(size, size, size) for size in sizes])
    assert found.effective == pytest.approx(135**2 / (35 + 5 * 400))


def test_a_level_outside_0_to_1_is_refused() -> None:
    with pytest.raises(ValueError, match="a confidence level lies between 0 and 1"):
        interval(whole(1, 2), level=95)


def test_clusters_that_are_alike_may_be_counted() -> None:
    each = [Cluster(3.0, 3.0, 5), Cluster(5.0, 5.0, 5), Cluster(0.5, 0.5, 2)]
    counted = [cluster._replace(times=times) for cluster, times in zip(each, (4, 20, 7), strict=True)]
    one_by_one = [cluster for cluster in counted for _ in range(cluster.times)]
    listed = interval([cluster._replace(times=1) for cluster in one_by_one])
    assert interval(counted) == pytest.approx(listed, rel=1e-12)
    assert interval([Cluster(5.0, 5.0, 5, times=30)]) == pytest.approx(interval([Cluster(5.0, 5.0, 5)] * 30), rel=1e-12)
