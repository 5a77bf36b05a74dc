from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oloproof.metrics.quantities import UNITS
from oloproof.model.measured import Quantile, Rate
from oloproof.model.project import QuantitySource
from oloproof.model.run import IntervalChoice
from oloproof.model.tally import Distribution, Tally
from oloproof.reports.figures import (
    Figures,
    counts_text,
    estimate_text,
    figures,
    in_unit,
    interval_text,
    quantity_text,
    time_text,
    total,
)
from oloproof.stats.rounding import percent_of

WILSON = IntervalChoice()


def test_a_rate_over_nothing_has_no_estimate_and_the_widest_interval() -> None:
    assert figures(Rate("x", Tally(0, 0, 0, 4)), WILSON) == Figures(None, 0.0, 1.0)
    assert estimate_text(Rate("x", Tally()), None) == "–"


def test_a_quantile_over_nothing_has_no_figures() -> None:
    metric = Quantile("x", "agent_steps", "0.5", "steps", Distribution())
    assert figures(metric, WILSON) == Figures(None, None, None)
    assert interval_text(metric, lower=None, upper=None) == "[no bound, no bound] steps"


def test_method_and_level_are_those_chosen() -> None:
    rate = Rate("x", Tally(33, 7))
    narrow = figures(rate, IntervalChoice(method="wilson", level=0.8))
    wide = figures(rate, IntervalChoice(method="exact", level=0.95))
    assert wide.lower is not None
    assert narrow.lower is not None
    assert wide.lower < 0.68 < narrow.lower


@pytest.mark.parametrize(("passed", "failed", "text"), [(0, 1, "0.0%"), (1, 0, "100.0%"), (1999, 1, "99.9%")])
def test_no_estimate_rounds_into_certainty(passed: int, failed: int, text: str) -> None:
    rate = Rate("x", Tally(passed, failed))
    assert estimate_text(rate, rate.tally.estimate) == text


@pytest.mark.parametrize(("written", "name"), [("0.5", "p50"), ("0.95", "p95"), ("0.999", "p99.9"), ("0.10", "p10")])
def test_quantiles_are_named_by_their_percentage(written: str, name: str) -> None:
    metric = Quantile("x", "tokens", written, "tokens", Distribution(((1, 2),), ((0, 1),)))
    assert counts_text(metric) == f"{name} of 2 observed · 1 missing · 0 excluded"


@pytest.mark.parametrize(
    ("value", "low", "high"),
    [
        (10, "10", "10"),
        (10.0, "10", "10"),
        (1234567, "1,234,567", "1,234,567"),
        (812.43712, "812.437", "812.438"),
        (1234567.5, "1,234,567", "1,234,568"),
        (0.0132456789, "0.0132456", "0.0132457"),
        (1e-300, "0", "0.000000000001"),
        (1e300, "1E+300", "1E+300"),
        (0, "0", "0"),
    ],
)
def test_quantities_round_outward_to_six_digits(value: float, low: str, high: str) -> None:
    assert quantity_text(value, rounding=ROUND_FLOOR) == low
    assert quantity_text(value, rounding=ROUND_CEILING) == high


@given(st.floats(0, 1e18))
@settings(deadline=None, max_examples=100)
def test_printed_quantities_bracket_the_value(value: float) -> None:
    low = Decimal(quantity_text(value, rounding=ROUND_FLOOR).replace(",", ""))
    high = Decimal(quantity_text(value, rounding=ROUND_CEILING).replace(",", ""))
    assert low <= Decimal(repr(value)) <= high


def test_shares_are_written_as_they_were() -> None:
    assert percent_of("0.70") == "70"
    assert percent_of(0.955) == "95.5"
    assert percent_of(1) == "100"


def test_totals_are_of_criteria_alone() -> None:
    quantile = Quantile("q", "tokens", "0.5", "tokens", Distribution(((1, 5),)))
    assert total([Rate("a", Tally(1, 2, 3, 4)), Rate("b", Tally(1)), quantile]) == Tally(2, 2, 3, 4)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (59, "59 s"), (60, "1 min 0 s"), (3599, "59 min 59 s"), (3600, "1 h 0 min"), (90_061, "25 h 1 min")],
)
def test_a_time_is_told_to_the_second_and_from_an_hour_on_to_the_minute(seconds: int, text: str) -> None:
    assert time_text(seconds) == text


@pytest.mark.parametrize(
    ("source", "one", "more"),
    [("agent_steps", "1 step", "1.5 steps"), ("latency_ms", "1 ms", "1.5 ms"), ("cost_usd", "1 USD", "1.5 USD")],
)
def test_one_of_a_unit_is_told_in_the_singular(source: QuantitySource, one: str, more: str) -> None:
    assert (in_unit("1", UNITS[source]), in_unit("1.5", UNITS[source])) == (one, more)
