from __future__ import annotations

import pytest
from msgspec.structs import replace

from golden import specimens, trials
from oloproof.model.comparison import CriterionPairs
from oloproof.model.decision import Decision, PairFinding
from oloproof.model.measured import Measured, Quantile, Rate
from oloproof.model.tally import Distribution, PairTable, Tally
from oloproof.reports.bars import Bar, bars, difference_bars
from oloproof.reports.view import view


def of(kind: str, margin: float | None, lower: float, upper: float) -> Bar | None:
    table = PairTable(both_pass=6, fixed=3, broken=1)
    finding = PairFinding(kind=kind, table=table, lower=lower, upper=upper, margin=margin, limit=0)  # type: ignore[arg-type]
    decision = Decision(
        rule="r", metric="m", state="PASS", reason="difference_above_zero", blocking=False, finding=finding
    )
    return bars(replace(specimens.support(), decisions=(decision,))).decisions[0]


@pytest.mark.parametrize(
    "report", [specimens.support, specimens.triage, specimens.stopped, specimens.odd, trials.tried]
)
def test_there_is_a_bar_for_every_row_of_the_view(report) -> None:
    drawn, plots = view(report()), bars(report())
    assert len(plots.metrics) == len(drawn.metrics)
    assert len(plots.slices) == len(drawn.slices)
    assert len(plots.decisions) == len(drawn.decisions)


def test_what_is_missing_is_the_open_part() -> None:
    lookup = bars(specimens.support()).metrics[1]
    assert lookup is not None
    assert (lookup.passed, lookup.possible, lookup.estimate) == (39 / 40, 1.0, 1.0)


def test_a_count_rule_has_its_limit_where_one_more_failure_would_break_it() -> None:
    no_deletion = bars(specimens.support()).decisions[1]
    assert no_deletion == Bar(passed=37 / 40, possible=37 / 40, limits=(1.0,))


def test_a_quantity_reaches_from_zero_to_its_largest_value_or_limit() -> None:
    quick = bars(specimens.support()).decisions[2]
    assert quick == Bar(start="0", end="12 steps", estimate=10 / 12, lower=10 / 12, upper=None, limits=(1.0,))


def test_a_difference_has_zero_in_its_middle() -> None:
    bar = of("equivalence", 0.1, -0.05, 0.2)
    assert bar is not None
    assert (bar.start, bar.end) == ("-20 pp", "+20 pp")
    assert (*bar.limits, bar.lower, bar.upper) == pytest.approx((0.25, 0.75, 0.375, 1.0))
    assert of("max_new_failures", None, -0.05, 0.2) is None


def test_the_criteria_of_a_comparison_share_an_axis() -> None:
    comparison = specimens.compared().comparison
    assert comparison is not None
    much = CriterionPairs("much", PairTable(both_pass=20, broken=20), (), (), ())
    both = replace(comparison, criteria=(*comparison.criteria, much))
    little, far = difference_bars(both, level=0.95)
    (alone,) = difference_bars(comparison, level=0.95)
    assert little is not None
    assert far is not None
    assert alone is not None
    assert (little.start, little.end) == (far.start, far.end) != (alone.start, alone.end)
    assert (far.estimate or 0) < (little.estimate or 0)


@pytest.mark.parametrize(
    ("values", "columns"),
    [
        (((0.0, 1), (2.0, 2)), [0.5, 0.0, 1.0]),
        (((0.0, 4),), [1.0]),
        (((0.5, 1), (100.0, 1)), [1.0, *[0.0] * 38, 1.0]),
    ],
)
def test_a_distribution_has_a_column_for_each_whole_number_or_forty(
    values: tuple[tuple[float, int], ...], columns: list[float]
) -> None:
    metric = Quantile("q", "agent_steps", "0.5", "steps", Distribution(values, ((0, 0),)))
    report = replace(specimens.support(), decisions=(), measured=Measured(4, (metric,)))
    (drawn,) = bars(report).distributions
    assert [column.observed for column in drawn.columns] == columns


def test_nothing_is_drawn_of_a_rate_that_says_nothing() -> None:
    """The table says that it is vacuous: no dot stands at 100 % beside that."""
    before = specimens.support()
    rates = (Rate("idle", Tally(passed=40), vacuous=True), Rate("busy", Tally(passed=40)))
    found = bars(replace(before, measured=replace(before.measured, metrics=rates))).metrics
    assert [bar.estimate for bar in found if bar is not None] == [None, 1.0]
