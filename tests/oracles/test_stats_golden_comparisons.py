"""The shared table of statistical values: comparisons, slices, trials, planning and early stopping.

It also holds Newcombe's and Agresti & Min's intervals, Boschloo's test, Holm's and Benjamini & Yekutieli's adjustments,
bets on a mean and plug-in estimates, which are not offered: those are left out. Of its figures the exact ones are
compared, not those that were simulated.
"""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from oloproof.stats import (
    cluster,
    contingency,
    evidence,
    multiplicity,
    paired,
    planning,
    sequential,
    trials,
    without_replacement,
)
from oloproof.stats.cluster import Cluster
from oloproof.stats.contingency import Group
from oloproof.stats.paired import Pairs
from oloproof.stats.sequential import Stopping
from oloproof.stats.trials import Trials

GOLDEN = Path(__file__).parents[2].parent / "shared" / "design" / "statistics_golden.json"
PAIR_KEYS = {
    "11": "both_pass",
    "10": "fixed",
    "01": "broken",
    "00": "both_fail",
    "1?": "now_pass",
    "0?": "now_fail",
    "?1": "was_pass",
    "?0": "was_fail",
    "??": "both_missing",
}
METHODS = ("wilson", "exact")

pytestmark = pytest.mark.skipif(not GOLDEN.is_file(), reason="the shared golden values are not beside this checkout")


@pytest.fixture(scope="module")
def golden() -> dict[str, Any]:
    return json.loads(GOLDEN.read_text(encoding="utf-8"))


def as_written(number: float) -> Fraction:
    return Fraction(str(number))


def table(row: dict[str, Any]) -> Pairs:
    return Pairs(row["both"], row["cand_only"], row["base_only"], row["neither"])


def test_paired_intervals(golden: dict[str, Any]) -> None:
    rows = golden["paired"]
    for row in rows:
        assert paired.interval(table(row), level=row["level"]) == pytest.approx(row["tango"], rel=0, abs=1e-9), row
    many = [table(row) for row in rows] * 100
    assert all(row["level"] == 0.95 for row in rows)
    for found, row in zip(paired.intervals(many), rows * 100, strict=True):
        assert found == pytest.approx(row["tango"], rel=0, abs=1e-9), row


def test_mcnemar(golden: dict[str, Any]) -> None:
    for row in golden["paired"]:
        wanted = [row["mcnemar"][key] for key in ("exact", "midp", "worse_exact", "worse_midp")]
        assert paired.mcnemar(table(row)) == pytest.approx(wanted, rel=0, abs=1e-9), row


def test_missing_pairs(golden: dict[str, Any]) -> None:
    for row in golden["paired_missing"]:
        pairs = Pairs(**{PAIR_KEYS[key]: count for key, count in row["counts"].items()})
        assert list(pairs.worst()) == [*row["worst_table"], 0, 0, 0, 0, 0]
        assert list(pairs.best()) == [*row["best_table"], 0, 0, 0, 0, 0]
        lower, upper = paired.interval(pairs)
        assert (lower, upper) == pytest.approx(row["tango"], rel=0, abs=1e-9), row
        verdict = "PASS" if lower >= -0.02 else "FAIL" if upper < -0.02 else "INSUFFICIENT_EVIDENCE"
        assert verdict == row["max_regression_02"], row
        assert paired.at_most_new_failures(pairs, max_new_failures=0) == row["max_new_failures_0"], row
        assert (pairs.broken, paired.could_be_new(pairs)) == (row["new_failures"], row["could_be_new"]), row


def test_multiplicity(golden: dict[str, Any]) -> None:
    for row in golden["multiplicity"]:
        assert multiplicity.benjamini_hochberg(row["p"]) == pytest.approx(row["bh"], rel=0, abs=1e-12)


def test_slices(golden: dict[str, Any]) -> None:
    for row in golden["slice_tests"]:
        part = Group(row["slice_pass"], row["slice_n"] - row["slice_pass"])
        rest = Group(row["rest_pass"], row["rest_n"] - row["rest_pass"])
        found = contingency.worse_than_rest(part, rest)
        wanted = row["fisher_less"], row["fisher_midp_less"]
        assert (found.exact, found.mid_p) == pytest.approx(wanted, rel=0, abs=1e-10), row


def test_pass_at_k(golden: dict[str, Any]) -> None:
    for row in golden["pass_at_k"]:
        case = Trials(row["c"], row["n"] - row["c"])
        for metric, key in (("pass_at_k", "pass_at_k"), ("pass_hat_k", "pass_hat_k")):
            low, high = trials.bounds(case, metric=metric, k=row["k"])
            assert low == high == pytest.approx(row[key], rel=0, abs=1e-12), row


def test_missing_trials(golden: dict[str, Any]) -> None:
    for row in golden["epoch_missing"]:
        case = Trials(row["passes"], row["failures"], row["missing"])
        found = trials.bounds(case, metric="pass_hat_k", k=row["k"])
        assert found == pytest.approx(row["pass_hat_k"], rel=0, abs=1e-12), row


def test_clusters(golden: dict[str, Any]) -> None:
    for row in golden["cluster_wilson"]:
        cases = [Trials(passed, row["trials"] - passed) for passed in row["passes_per_case"]]
        clusters = [Cluster(case.passed, case.passed, row["trials"]) for case in cases]
        wanted = row["n_eff"], row["lower"], row["upper"]
        assert cluster.interval(clusters) == pytest.approx(wanted, rel=1e-12, abs=1e-12), row
        assert trials.interval(cases, metric="pass_hat_k") == pytest.approx(wanted, rel=1e-12, abs=1e-12), row
        assert trials.estimate(cases, metric="pass_at_k") == pytest.approx(row["p"], rel=0, abs=1e-12), row


def test_planning(golden: dict[str, Any]) -> None:
    for row in golden["planning"]["all_pass"]:
        t = as_written(row["threshold"])
        for method in METHODS:
            assert planning.needed_to_pass(t, method=method) == row[f"{method}_all_pass"], row
            assert planning.needed_to_pass(t, failures=1, method=method) == row[f"{method}_one_failure"], row


def test_what_would_settle(golden: dict[str, Any]) -> None:
    for row in golden["planning"]["settle"]:
        counted = row["k"], row["observed"] - row["k"], row["missing"]
        for method in METHODS:
            found = planning.settle(*counted, threshold=as_written(row["threshold"]), method=method)
            wanted = row[method]
            assert found.all_pass == wanted["all_pass_more"], row
            assert found.all_fail == wanted["all_fail_more"], row
            assert found.likely == wanted["at_observed_rate"], row
            assert found.recovered == (wanted["if_missing_pass"] == "PASS"), row


def test_evidence(golden: dict[str, Any]) -> None:
    for row in golden["sequential"]["mixture"]:
        found = evidence.log_e(row["passes"], row["failures"], 0, threshold=row["p0"])
        assert found == pytest.approx((row["log_e_ge"], row["log_e_lt"]), rel=0, abs=1e-9), row
        bounds = evidence.interval(row["passes"], row["failures"], 0)
        assert bounds == pytest.approx(row["cs95"], rel=0, abs=1e-9), row
        rule = Stopping(10**6, as_written(row["p0"]), None, None, early=0.025)
        state = rule.state(row["passes"], row["failures"], 0, min_cases_to_fail=1)
        assert (state or "CONTINUE") == row["decision_05"], row


def test_without_replacement(golden: dict[str, Any]) -> None:
    for row in golden["sequential"]["without_replacement"]:
        counted, suite = (row["passes"], row["drawn"] - row["passes"], 0), row["N"]
        level = float(1 - as_written(row["alpha"]))
        bounds = without_replacement.interval(*counted, suite=suite, level=level)
        assert bounds == (row["total_lower"], row["total_upper"]), row


def test_hybrid_boundaries(golden: dict[str, Any]) -> None:
    for row in golden["sequential"]["hybrid_boundaries"]:
        rule = sequential.hybrid(row["N"], as_written(row["threshold"]))
        assert rule[2:] == (row["final_pass_at"], row["final_fail_at"], row["a0"]), row
        stops = sequential.turns(rule, min_cases_to_fail=1)
        for bound in row["bounds"]:
            assert stops[bound["t"] - 1] == (bound["t"], bound["pass_at"], bound["fail_at"]), row
        assert next(t for t, pass_from, _ in stops if pass_from is not None) == row["first_possible_pass"]
        assert next(t for t, _, fail_to in stops if fail_to is not None) == row["first_possible_fail"]


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("curtailed Wilson", sequential.curtailed(1000, Fraction("0.8"))),
        ("hybrid mixture 0.0050", sequential.hybrid(1000, Fraction("0.8"))),
        ("one-sided beta mixture a=1", Stopping(1000, Fraction("0.8"), None, None, early=0.025)),
    ],
)
def test_how_rules_perform(golden: dict[str, Any], name: str, rule: Stopping) -> None:
    figures = golden["figures"]["sequential_expected_n"]["iid"]
    rows = next(rows for key, rows in figures.items() if key.startswith(name))
    stops = sequential.turns(rule, min_cases_to_fail=1)
    for row in rows:
        found = sequential.performance(rule, truth=row["p"], stops=stops)
        wanted = row["p_pass"], row["p_fail"], row["expected_n"]
        assert found == pytest.approx(wanted, rel=1e-9, abs=1e-9), row


def test_how_the_hybrid_performs(golden: dict[str, Any]) -> None:
    rows = golden["figures"]["hybrid"]
    for n, threshold in {(int(row[0]), row[1]) for row in rows if row[0] <= 400}:
        rule = sequential.hybrid(n, as_written(threshold))
        stops = sequential.turns(rule, min_cases_to_fail=1)
        for row in rows:
            if (row[0], row[1]) == (n, threshold):
                found = sequential.performance(rule, truth=row[2], stops=stops)
                assert found == pytest.approx(row[5:8], rel=1e-9, abs=1e-9), row
