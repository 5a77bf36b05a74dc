"""Proportion intervals against published tables, 40-digit arithmetic and statsmodels."""

from __future__ import annotations

from fractions import Fraction

import pytest
from scipy.stats import binom
from statsmodels.stats.proportion import proportion_confint

from fakes.bounds import boundaries
from oloproof.stats import proportion, rounding

# Newcombe 1998, "Two-sided confidence intervals for the single proportion: comparison of seven methods", Statistics in
# Medicine 17:857, Table I: method 3 (score without continuity correction) and method 5 (exact), 95 %.
NEWCOMBE = [
    (81, 263, "wilson", 0.2553, 0.3662),
    (15, 148, "wilson", 0.0624, 0.1605),
    (0, 20, "wilson", 0.0000, 0.1611),
    (1, 29, "wilson", 0.0061, 0.1718),
    (81, 263, "exact", 0.2527, 0.3676),
    (15, 148, "exact", 0.0578, 0.1617),
    (0, 20, "exact", 0.0000, 0.1684),
    (1, 29, "exact", 0.0009, 0.1776),
]

# passed, failed, missing, method, level, lower, upper: the defining equations solved with mpmath at 40 digits.
FORTY_DIGITS = [
    (7, 3, 0, "wilson", 0.95, 0.39677814746114532, 0.89220873259369898),
    (7, 3, 0, "exact", 0.95, 0.3475471499400027, 0.93326048882226553),
    (0, 12, 0, "wilson", 0.95, 0.0, 0.24249400665524089),
    (0, 12, 0, "exact", 0.95, 0.0, 0.26464846939705125),
    (12, 0, 0, "wilson", 0.95, 0.75750599334475911, 1.0),
    (12, 0, 0, "exact", 0.95, 0.73535153060294875, 1.0),
    (1, 0, 0, "wilson", 0.9, 0.26986594878405408, 1.0),
    (1, 0, 0, "exact", 0.9, 0.05, 1.0),
    (23, 2, 4, "wilson", 0.95, 0.61609909596132093, 0.98087873383056663),
    (23, 2, 4, "exact", 0.95, 0.60275305077276043, 0.99153603774699818),
    (50, 49, 1, "wilson", 0.99, 0.37527962504483982, 0.63407477384644288),
    (50, 49, 1, "exact", 0.99, 0.36886143735892402, 0.64062496770583065),
    (61, 3, 0, "wilson", 0.8, 0.90648382323364725, 0.97709177129289675),
    (61, 3, 0, "exact", 0.8, 0.89858631960048413, 0.98265717377344089),
    (0, 0, 5, "wilson", 0.95, 0.0, 1.0),
    (0, 0, 5, "exact", 0.95, 0.0, 1.0),
    (437, 11, 2, "wilson", 0.95, 0.95120612903774603, 0.98629683646488586),
    (437, 11, 2, "exact", 0.95, 0.95110572865470856, 0.98773568691273454),
    (2990, 10, 0, "wilson", 0.999, 0.99098983972361375, 0.99877125901314621),
    (2990, 10, 0, "exact", 0.999, 0.99160286587170167, 0.99909937604369772),
]

# passed, failed, missing, and the exact 95 % interval as a report prints it.
PRINTED = [
    (33, 7, 0, "67.2", "92.7"),
    (39, 0, 1, "86.8", "100.0"),
    (29, 10, 1, "56.1", "87.4"),
    (24, 16, 0, "43.3", "75.2"),
    (37, 3, 0, "79.6", "98.5"),
    (39, 1, 0, "86.8", "100.0"),
    (0, 6, 1, "0.0", "57.9"),
    (0, 7, 0, "0.0", "41.0"),
    (29, 1, 0, "82.7", "100.0"),
    (26, 4, 0, "69.2", "96.3"),
    (27, 2, 1, "73.4", "99.2"),
]


@pytest.mark.parametrize(("k", "n", "method", "lower", "upper"), NEWCOMBE)
def test_newcombe_table_1(k: int, n: int, method: proportion.Method, lower: float, upper: float) -> None:
    found = proportion.interval(k, n - k, 0, method=method)
    assert tuple(round(bound, 4) for bound in found) == (lower, upper)


@pytest.mark.parametrize(("passed", "failed", "missing", "method", "level", "lower", "upper"), FORTY_DIGITS)
def test_forty_digit_arithmetic(
    passed: int, failed: int, missing: int, method: proportion.Method, level: float, lower: float, upper: float
) -> None:
    found = proportion.interval(passed, failed, missing, method=method, level=level)
    assert found == pytest.approx((lower, upper), rel=0, abs=1e-14)


@pytest.mark.parametrize(("passed", "failed", "missing", "lower", "upper"), PRINTED)
def test_printed_exact_intervals(passed: int, failed: int, missing: int, lower: str, upper: str) -> None:
    found = proportion.interval(passed, failed, missing, method="exact")
    assert (rounding.percent_lower(found[0]), rounding.percent_upper(found[1])) == (lower, upper)


@pytest.mark.parametrize(("method", "theirs"), [("wilson", "wilson"), ("exact", "beta")])
@pytest.mark.parametrize("level", [0.8, 0.9, 0.95, 0.99, 0.999])
def test_statsmodels(method: proportion.Method, theirs: str, level: float) -> None:
    for n in (1, 2, 7, 20, 40, 333, 5000):
        for k in sorted({0, 1, n // 3, n // 2, n - 1, n}):
            expected = proportion_confint(k, n, alpha=1 - level, method=theirs)
            found = proportion.interval(k, n - k, 0, method=method, level=level)
            assert found == pytest.approx(expected, rel=0, abs=1e-12), (k, n)


@pytest.mark.parametrize("method", ["wilson", "exact"])
@pytest.mark.parametrize("t", ["0.07", "0.5", "0.8", "0.95", "0.99"])
def test_achieved_errors_by_enumeration(method: proportion.Method, t: str) -> None:
    threshold = float(t)
    for n in (1, 5, 12, 40, 120):
        intervals = [proportion.interval(k, n - k, 0, method=method) for k in range(n + 1)]
        false_pass = sum(binom.pmf(k, n, threshold) for k in range(n + 1) if intervals[k][0] >= threshold)
        false_fail = sum(binom.pmf(k, n, threshold) for k in range(n + 1) if intervals[k][1] < threshold)
        rule = boundaries(n, Fraction(t), method=method)
        assert (rule.false_pass, rule.false_fail) == pytest.approx((false_pass, false_fail), rel=0, abs=1e-10)
