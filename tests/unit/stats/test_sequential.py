from __future__ import annotations

from fractions import Fraction

import pytest

from fakes.bounds import boundaries
from oloproof.stats.sequential import Performance, Stopping, Turn, curtailed, hybrid, performance, turns

T80 = Fraction("0.8")


def test_curtailment_has_the_boundaries_of_the_full_run() -> None:
    rule, full = curtailed(1000, T80), boundaries(1000, T80)
    assert (rule.pass_from, rule.fail_to) == (full.pass_from, full.fail_to) == (825, 775)
    assert [rule.state(passed, 0, 0) for passed in (824, 825)] == [None, "PASS"]
    assert [rule.state(0, failed, 0) for failed in (224, 225)] == [None, "FAIL"]


def test_missing_cases_settle_nothing() -> None:
    assert curtailed(1000, T80).state(800, 0, 200) is None
    assert hybrid(1000, T80).state(0, 0, 1000) is None


def test_the_hybrid_splits_the_error() -> None:
    rule = hybrid(1000, T80)
    assert rule == Stopping(1000, T80, 826, 774, early=0.005)
    assert hybrid(1000, T80, level=0.9).early == 0.01


def test_the_hybrid_stops_on_evidence() -> None:
    rule = hybrid(1000, T80)
    assert [rule.state(passed, 0, 0) for passed in (32, 33)] == [None, "PASS"]
    assert rule.state(33, 0, 1) is None


def test_evidence_says_fail_only_from_ten_cases_on() -> None:
    rule = hybrid(1000, T80)
    assert [rule.state(0, failed, 0) for failed in (5, 9, 10)] == [None, None, "FAIL"]
    assert [rule.state(0, failed, 0, min_cases_to_fail=1) for failed in (4, 5)] == [None, "FAIL"]
    # What is certain needs no evidence.
    assert curtailed(4, Fraction(1)).state(0, 1, 0) == "FAIL"


@pytest.mark.parametrize("threshold", [Fraction(0), Fraction(1)])
def test_at_the_ends_the_hybrid_is_curtailment(threshold: Fraction) -> None:
    assert hybrid(300, threshold) == curtailed(300, threshold)


def test_a_rule_that_no_count_settles_never_stops() -> None:
    rule = curtailed(3, T80, method="exact")
    assert rule.pass_from is None
    assert [rule.state(passed, 3 - passed, 0) for passed in range(4)] == ["FAIL", None, None, None]


def test_turns() -> None:
    rule = curtailed(4, Fraction(1))
    assert turns(rule) == [Turn(1, None, 0), Turn(2, None, 1), Turn(3, None, 2), Turn(4, None, 3)]
    first = next(turn for turn in turns(hybrid(200, T80)) if turn.pass_from is not None)
    assert first == Turn(33, 33, 17)


def test_performance() -> None:
    # One failure settles it: half of the runs end after one case, a quarter after two.
    assert performance(curtailed(2, Fraction(1)), truth=0.5) == Performance(passes=0.0, fails=0.75, cases=1.5)
    assert performance(curtailed(1000, T80), truth=1.0).cases == 825
