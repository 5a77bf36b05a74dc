from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from golden.specimens import support
from oloproof.model.decision import (
    Decision,
    Equivalence,
    Finding,
    IntervalThreshold,
    NonInferiority,
    PairFinding,
    QuantileFinding,
    RateFinding,
    Rule,
    Superiority,
)
from oloproof.model.tally import PairTable, Tally
from oloproof.reports.settling import Settling, settling_document, settling_in_words, settling_of
from oloproof.reports.words import Subject, subject


def about(finding: Finding, rule: Rule, *, metric: str = "m", reason: Any = "interval_overlaps_threshold") -> Subject:
    decision = Decision(
        rule="r", metric=metric, state="INSUFFICIENT_EVIDENCE", reason=reason, blocking=True, finding=finding
    )
    return replace(subject(support(), decision), rule=rule)


def rate(passed: int, failed: int, missing: int = 0) -> RateFinding:
    return RateFinding(tally=Tally(passed, failed, missing), lower=0.0, upper=1.0)


def threshold(metric: str = "m", **fields: Any) -> IntervalThreshold:
    return IntervalThreshold(id="r", metric=metric, **fields)


def on_pairs(table: PairTable, kind: Any = "non_inferiority") -> PairFinding:
    return PairFinding(kind=kind, table=table, lower=-1.0, upper=1.0)


def test_a_minimum() -> None:
    subject = about(rate(33, 7), threshold(min="0.8"))
    assert settling_of(subject) == Settling(unit="cases", all_pass=28, all_fail=9, likely=2550)
    assert settling_in_words(subject) == (
        "more cases that would settle it: 28 if all pass, 9 if all fail;"
        " a fresh run of about 2,590 likely settles it at the rate observed"
    )


def test_a_maximum_is_settled_by_the_same_numbers_the_other_way_round() -> None:
    assert settling_of(about(rate(7, 33), threshold(max="0.2"))) == Settling(
        unit="cases", all_pass=9, all_fail=28, likely=2550
    )


def test_a_quantile() -> None:
    finding = QuantileFinding(observed=39, missing=1, maximum=12.0)
    subject = about(finding, threshold("steps_p95", max="12"), metric="steps_p95")
    assert "settle it: 70 if all keep to the bound, 7 if none does" in settling_in_words(subject)
    found = settling_of(subject)
    assert found is not None
    assert settling_document(found) == {"all_pass": 70, "all_fail": 7, "likely": 70}


def test_pairs() -> None:
    table, reason = PairTable(both_pass=83, fixed=10, broken=8, both_fail=19), "difference_overlaps_margin"
    no_worse = NonInferiority(id="r", metric="m", margin="0.05")
    found = settling_of(about(on_pairs(table), no_worse, reason=reason))
    assert found == Settling(unit="pairs", all_pass=17, all_fail=21, likely=197)
    same = about(on_pairs(table), Equivalence(id="r", metric="m", margin="0.05"), reason=reason)
    assert "if the runs agree" in settling_in_words(same)
    better = about(on_pairs(table), Superiority(id="r", metric="m"), reason=reason)
    assert "if all are fixed" in settling_in_words(better)


def test_where_no_number_helps_none_is_given() -> None:
    at_the_bound = about(rate(90, 10), threshold(min="0.9"))
    assert settling_in_words(at_the_bound).endswith(
        "no number within reach is likely to settle it at the rate observed"
    )
    certain = about(rate(10, 1), threshold(min="1"))
    assert "if all pass" not in settling_in_words(certain)


def test_a_settled_rule_or_one_with_two_bounds_says_nothing() -> None:
    assert settling_in_words(about(rate(33, 7), threshold(min="0.3"), reason="lower_bound_meets_minimum")) == ""
    assert settling_of(about(rate(33, 7), threshold(min="0.8", max="0.9"))) is None
    both = about(QuantileFinding(observed=39, missing=1), threshold("steps_p95", min="1", max="12"), metric="steps_p95")
    assert settling_of(both) is None
