"""What the tables of a comparison say of levels and quantities."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fakes.compared import compared
from golden.specimens import support
from oloproof.model.comparison import QuantileId, QuantilePairs
from oloproof.model.decision import NonInferiority, Policy
from oloproof.model.tally import Distribution, PairTable
from oloproof.reports.comparison import comparison_tables, pairs_text
from oloproof.reports.view import view

PAIRS = compared(PairTable(both_pass=30, broken=10))
NO_WORSE = NonInferiority(id="no-worse", metric="right", margin="0.02")


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        (None, ""),
        (Policy(rules=(), confidence_level=0.9), ""),
        (Policy(rules=(NO_WORSE,)), ""),
        (Policy(rules=(NO_WORSE,), confidence_level=0.9), "; rules on pairs are decided at 90%"),
    ],
)
def test_the_level_of_the_rules_is_told_where_it_is_another_one(policy: Policy | None, told: str) -> None:
    report = replace(support(), policy=policy, decisions=(), comparison=PAIRS)
    assert pairs_text(report) == f"40 cases of the baseline; intervals by Tango's score, 95%{told}"
    (fact,) = [fact.text for fact in view(report).facts if fact.label == "baseline"]
    assert fact == f"old: 40 pairs; intervals by Tango's score, 95%{told}"


def test_a_run_of_trials_says_when_a_case_passes() -> None:
    report = replace(support(), comparison=replace(PAIRS, trials=5))
    (fact,) = [fact.text for fact in view(report).facts if fact.label == "baseline"]
    assert fact.endswith("; a case passes if all 5 trials do")


def test_the_bounds_of_a_difference_of_quantities_are_rounded_outward_but_for_the_last_digits_of_a_double() -> None:
    cost = QuantileId("cost", "cost_usd", "0.5", "USD")
    before, now = Distribution(((0.1, 80),), ()), Distribution(((0.1 + 0.2, 80),), ())
    third = Distribution(((1 / 3, 80),), ())
    for candidate, estimate, bounds in (
        (now, "0.3", "[0.2, 0.2] USD"),
        (third, "0.333333", "[0.233333, 0.233334] USD"),
    ):
        quantiles = (QuantilePairs(cost, candidate, before),)
        report = replace(support(), comparison=replace(PAIRS, quantiles=quantiles))
        (table,) = [table for table in comparison_tables(report, {}) if table.title == "quantities"]
        assert table.rows[0][1:4] == ("0.1", estimate, bounds)
