"""A slice against the rest of the run: what is tested, what is told, and that a null run is left in peace."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest
from scipy.stats import false_discovery_control, hypergeom

from oloproof.model.measured import Measured, Quantile, Rate, SliceGroup
from oloproof.model.slice_values import OTHERS, UNPLACED
from oloproof.model.tally import Distribution, Tally
from oloproof.reports.rest import MOST_ROWS, rest_note, rest_table, rest_tests


def run(*groups: tuple[str, Tally], elsewhere: int = 0) -> Measured:
    """One slice with these values, and so many cases that pass and that no value places."""
    total = sum((tally for _, tally in groups), Tally(elsewhere))
    rows = [SliceGroup("kind", value, tally.n, (Rate("right", tally),)) for value, tally in groups]
    return Measured(total.n, (Rate("right", total),), tuple(rows))


def test_a_slice_that_passes_less_often_is_told_with_its_counts() -> None:
    tests = rest_tests(run(("search", Tally(3, 7, 1)), ("lookup", Tally(170, 20, 1))))
    table = rest_table(tests)
    # The other one is nearly the whole run: with every failure in it, it would not stand out.
    assert table.title == (
        "slices that pass less often than the rest: 1 tested, 1 with too few cases or failures ever to tell"
    )
    (row,) = table.rows
    # What is missing is filled in against the suspicion: 4 of 11 pass here, and 170 of 191 elsewhere.
    p = float(hypergeom.cdf(4, 202, 174, 11) - hypergeom.pmf(4, 202, 174, 11) / 2)
    assert (tests[0].p, tests[0].adjusted) == pytest.approx((p, p))
    assert row[:5] == ("kind=search", "right", "30.0% (3/10)", "1", "89.5% (170/190)")
    assert rest_note(tests) == ""


def test_the_adjustment_is_over_those_that_could_ever_tell() -> None:
    groups = [("bad", Tally(2, 8)), ("fair", Tally(70, 10)), ("good", Tally(100, 2)), ("tiny", Tally(1, 0))]
    *tested, tiny = rest_tests(run(*groups))
    assert tiny.adjusted is None
    wanted = false_discovery_control([test.p for test in tested])
    assert [test.adjusted for test in tested] == pytest.approx(list(wanted))
    assert "3 tested, 1 with too few cases or failures ever to tell" in rest_table(rest_tests(run(*groups))).title


def test_where_nothing_stands_out_one_line_says_so() -> None:
    tests = rest_tests(run(("a", Tally(40, 5)), ("b", Tally(41, 4))))
    assert rest_table(tests).rows == ()
    assert rest_note(tests) == "no slice stands out as passing less often than the rest: 2 tested"
    assert rest_note(rest_tests(Measured(3, (Rate("right", Tally(3)),)))) == ""


def test_without_a_failure_there_is_nothing_to_find() -> None:
    assert [test.adjusted for test in rest_tests(run(("a", Tally(40)), ("b", Tally(60))))] == [None, None]


def test_cases_that_no_value_places_are_no_group() -> None:
    groups = (SliceGroup("kind", "a", 5, (Rate("right", Tally(5)),)), SliceGroup("kind", OTHERS, 9, ()))
    unplaced = SliceGroup("kind", UNPLACED, 4, (Rate("right", Tally(0, 4)),))
    found = rest_tests(Measured(18, (Rate("right", Tally(14, 4)),), (*groups, unplaced)))
    assert [(test.value, test.rest) for test in found] == [("a", Tally(9, 4))]


def test_quantiles_are_not_tested() -> None:
    steps = Quantile("steps", "agent_steps", "0.5", "steps", Distribution())
    group = SliceGroup("kind", "a", 5, (Rate("right", Tally(5)), steps))
    assert len(rest_tests(Measured(9, (Rate("right", Tally(9)), steps), (group,)))) == 1


def test_many_suspicious_slices_are_cut() -> None:
    groups = [(f"v{at:02}", Tally(1, 9)) for at in range(MOST_ROWS + 5)]
    assert len(rest_table(rest_tests(run(*groups, elsewhere=900))).rows) == MOST_ROWS


def test_a_run_without_a_difference_is_called_suspicious_as_rarely_as_promised() -> None:
    """Of a thousand runs of twenty slices whose cases all pass alike, five in a hundred may tell of some slice."""
    dice, told = Random(7), 0
    for _ in range(1000):
        passes = [sum(dice.random() < 0.85 for _ in range(10)) for _ in range(20)]
        found = rest_tests(run(*((str(at), Tally(k, 10 - k)) for at, k in enumerate(passes))))
        told += any(test.adjusted is not None and test.adjusted <= 0.05 for test in found)
    assert told / 1000 <= 0.06


def test_a_missing_case_never_makes_a_slice_more_suspicious() -> None:
    for passed, failed in product(range(5), range(5)):
        base = rest_tests(run(("a", Tally(passed, failed)), ("b", Tally(30, 6))))[0].p
        here = rest_tests(run(("a", Tally(passed, failed, 1)), ("b", Tally(30, 6))))[0].p
        there = rest_tests(run(("a", Tally(passed, failed)), ("b", Tally(30, 6, 1))))[0].p
        assert here >= base - 1e-12 or passed + failed == 0
        assert there >= base - 1e-12 or passed + failed == 0
