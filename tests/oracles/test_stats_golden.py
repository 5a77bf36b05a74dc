"""The shared table of statistical values, where it lies beside the checkout, at the tolerances that it states.

It also holds Jeffreys and continuity-corrected intervals and rules on observed rates, which are not offered: their rows
are left out.
"""

from __future__ import annotations

import json
from fractions import Fraction
from math import inf
from pathlib import Path
from typing import Any

import pytest

from fakes.bounds import boundaries
from oloproof.stats import counts, proportion, quantile, rounding

GOLDEN = Path(__file__).parents[2].parent / "shared" / "design" / "statistics_golden.json"
METHODS = ("wilson", "exact")

pytestmark = pytest.mark.skipif(not GOLDEN.is_file(), reason="the shared golden values are not beside this checkout")


@pytest.fixture(scope="module")
def golden() -> dict[str, Any]:
    return json.loads(GOLDEN.read_text(encoding="utf-8"))


def offered(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    kept = [row for row in rows if row["method"] in METHODS]
    assert kept
    return kept


def as_written(number: float) -> Fraction:
    return Fraction(str(number))


def test_proportions(golden: dict[str, Any]) -> None:
    for row in offered(golden["proportion"]):
        counted = row["passes"], row["failures"], row["missing"]
        bounds = proportion.interval(*counted, method=row["method"], level=row["level"])
        assert bounds == pytest.approx((row["lower"], row["upper"]), rel=0, abs=1e-12), row


def test_edges_are_exact_where_the_bound_is_0_or_1(golden: dict[str, Any]) -> None:
    for row in offered(golden["proportion_edge"]):
        k, n = row["k"], row["n"]
        lower, upper = proportion.interval(k, n - k, 0, method=row["method"])
        assert (lower, upper) == pytest.approx((row["lower"], row["upper"]), rel=0, abs=1e-12), row
        assert (lower == 0, upper == 1) == (k == 0, k == n)


def test_one_sided_bounds_are_ends_of_a_two_sided_interval(golden: dict[str, Any]) -> None:
    for row in offered(golden["proportion_one_sided"]):
        level = float(2 * as_written(row["level"]) - 1)
        bounds = proportion.interval(row["k"], row["n"] - row["k"], 0, method=row["method"], level=level)
        assert bounds == pytest.approx((row["lower"], row["upper"]), rel=0, abs=1e-12), row


def test_display_rounds_outward(golden: dict[str, Any]) -> None:
    for row in golden["display"]:
        counted = row["passes"], row["failures"], row["missing"]
        lower, upper = proportion.interval(*counted, method=row["method"])
        printed = float(rounding.percent_lower(lower)), float(rounding.percent_upper(upper))
        assert printed == tuple(row["rounded_outward"]) == tuple(row["printed_by_public_tool"])


def test_gates_on_an_interval(golden: dict[str, Any]) -> None:
    for row in golden["interval_gate"]:
        passed, failed, missing = row["passes"], row["failures"], row["missing"]
        bounds = proportion.interval(passed, failed, missing)
        assert bounds == pytest.approx((row["lower"], row["upper"]), rel=0, abs=1e-12), row
        rule = boundaries(passed + failed + missing, as_written(row["threshold"]))
        verdict = "INSUFFICIENT_EVIDENCE"
        if rule.pass_from is not None and passed >= rule.pass_from:
            verdict = "PASS"
        if rule.fail_to is not None and passed + missing <= rule.fail_to:
            verdict = "FAIL"
        assert verdict == row["verdict"], row


def test_decision_boundaries(golden: dict[str, Any]) -> None:
    for row in golden["decision_boundaries"]:
        rule = boundaries(row["n"], as_written(row["threshold"]), method=row["method"])
        assert rule.pass_from == row["pass_if_passes_at_least"], row
        assert rule.fail_to == row["fail_if_passes_at_most"], row
        assert rule.false_pass == pytest.approx(row["false_pass_at_threshold"], rel=0, abs=1e-10), row
        assert rule.false_fail == pytest.approx(row["false_fail_at_threshold"], rel=0, abs=1e-10), row


def test_observed_counts(golden: dict[str, Any]) -> None:
    for row in golden["max_failures"]:
        counted = row["passes"], row["failures"], row["missing"]
        assert counts.at_most_failures(*counted, max_failures=row["max_failures"]) == row["verdict"], row


def test_quantiles(golden: dict[str, Any]) -> None:
    for row in golden["quantile"]["rows"]:
        sample = sorted(golden["quantile"]["samples"][row["sample"]])
        q = as_written(row["q"])
        found = quantile.interval(sample, [-inf] * row["missing"], q=q, level=row["level"])
        assert found == (row["estimate"], row["lower"], row["upper"]), row
        assert quantile.ranks(row["n"], q=q, level=row["level"]) == (row["rank_lower"], row["rank_upper"]), row


def test_sample_sizes_for_an_upper_bound(golden: dict[str, Any]) -> None:
    for row in golden["quantile"]["min_n_for_upper_bound"]:
        q = as_written(row["q"])
        for missing in (0, 1, 2, 5):
            assert quantile.needed_for_upper_bound(q, missing=missing) == row[f"m{missing}"], row
        with_lower = next(n for n in range(1, 100) if quantile.ranks(n, q=q, level=0.95)[0] > 0)
        assert with_lower == row["min_n_lower"], row
