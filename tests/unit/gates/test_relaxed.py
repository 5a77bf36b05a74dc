"""What counts as asking for less, and what does not."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from oloproof.gates import decide
from oloproof.gates.relaxed import relaxations
from oloproof.model.decision import (
    Equivalence,
    IntervalThreshold,
    MaxNewFailures,
    NonInferiority,
    ObservedCount,
    Policy,
    Rule,
    Superiority,
)
from oloproof.model.measured import Measured, Rate
from oloproof.model.stopping import EarlyStopping, Stopping
from oloproof.model.tally import Tally
from oloproof.stats import proportion


def policy(*rules: Rule, **fields: Any) -> Policy:
    return Policy(rules=rules, **fields)


def threshold(**fields: Any) -> IntervalThreshold:
    return IntervalThreshold(**({"id": "r", "metric": "right"} | fields))


def told(now: Policy | None, was: Policy) -> list[tuple[str | None, str | None, str, str]]:
    return [(each.rule, each.key, each.now, each.was) for each in relaxations(now, was)]


RULES: list[tuple[Rule, dict[str, Any], str, str, str]] = [
    (threshold(min="0.9"), {"min": "0.80"}, "min", "0.80", "0.9"),
    (threshold(min="0.9", max="1"), {"min": None}, "min", "none", "0.9"),
    (threshold(max="0.1"), {"max": "0.2"}, "max", "0.2", "0.1"),
    (threshold(min="0.1", max="0.2"), {"max": None}, "max", "none", "0.2"),
    (threshold(min="0.9", min_cases=50), {"min_cases": 40}, "min_cases", "40", "50"),
    (threshold(min="0.9", max_missing="0.1"), {"max_missing": "0.2"}, "max_missing", "0.2", "0.1"),
    (threshold(min="0.9", max_missing="0.1"), {"max_missing": None}, "max_missing", "none", "0.1"),
    (
        threshold(min="0.9", requires_manual_review=True),
        {"requires_manual_review": False},
        "requires_manual_review",
        "false",
        "true",
    ),
    (threshold(min="0.9"), {"metric": "easier"}, "metric", "easier", "right"),
    (ObservedCount(id="r", metric="right", max_failures=0), {"max_failures": 1}, "max_failures", "1", "0"),
    (NonInferiority(id="r", metric="right", margin="0.02"), {"margin": "0.05"}, "margin", "0.05", "0.02"),
    (Equivalence(id="r", metric="right", margin="0.02"), {"margin": "0.05"}, "margin", "0.05", "0.02"),
    (
        MaxNewFailures(id="r", metric="right", max_new_failures=0),
        {"max_new_failures": 2},
        "max_new_failures",
        "2",
        "0",
    ),
]

NEW = MaxNewFailures(id="r", metric="right", max_new_failures=0)
RULES += [
    (NEW, {"confirm": 3}, "confirm", "3", "none"),
    (replace(NEW, confirm=3), {"confirm": 1}, "confirm", "1", "3"),
]


@pytest.mark.parametrize(("was", "change", "key", "now_text", "was_text"), RULES)
def test_a_rule_that_asks_for_less(was: Rule, change: dict[str, Any], key: str, now_text: str, was_text: str) -> None:
    now = replace(was, **change)
    assert told(policy(now), policy(was)) == [("r", key, now_text, was_text)]
    if key != "metric":  # and the other way round it asks for more
        assert told(policy(was), policy(now)) == []


def test_the_same_policy_and_the_same_numbers_written_otherwise() -> None:
    was = policy(threshold(min="0.9", max_missing="0.10"))
    assert told(was, was) == []
    assert told(policy(threshold(min="0.90", max_missing="0.1")), was) == []


def test_a_rule_of_another_kind() -> None:
    was, now = Superiority(id="r", metric="right"), NonInferiority(id="r", metric="right", margin="0.5")
    assert told(policy(now), policy(was)) == [("r", "kind", "non_inferiority", "superiority")]
    count = ObservedCount(id="r", metric="right", max_failures=9)
    assert told(policy(count), policy(threshold(min="0.9"))) == [("r", "kind", "observed_count", "interval_threshold")]


def test_a_rule_that_is_gone_and_one_that_only_has_another_name() -> None:
    was = policy(threshold(min="0.9"), threshold(id="other", metric="other", min="0.5"))
    assert [each.gone for each in relaxations(policy(was.rules[1]), was)] == [True]
    renamed = policy(replace(was.rules[0], id="floor"), was.rules[1])
    assert told(renamed, was) == []
    assert len(told(policy(replace(was.rules[0], id="floor", min="0.8"), was.rules[1]), was)) == 1


def test_no_policy_at_all() -> None:
    (found,) = relaxations(None, policy(threshold(min="0.9")))
    assert (found.rule, found.gone, found.was) == (None, True, "with 1 rule")


def test_how_everything_is_decided() -> None:
    rule = threshold(min="0.9")
    was = policy(rule, confidence_level=0.95, interval_method="exact", accept_changed_cases=("a",))
    now = policy(
        rule,
        confidence_level=0.9,
        interval_method="wilson",
        block_on=("FAIL",),
        warn_on=("INSUFFICIENT_EVIDENCE",),
        accept_changed_cases=("a", "b"),
    )
    assert told(now, was) == [
        (None, "confidence_level", "0.9", "0.95"),
        (None, "interval_method", "wilson", "exact"),
        (None, "block_on", "INSUFFICIENT_EVIDENCE is a warning", "it blocked"),
        (None, "accept_changed_cases", "it accepts 'b'", "it did not"),
    ]
    assert told(was, now) == [(None, "interval_method", "exact", "wilson")]


def test_either_interval_method_lets_something_pass_that_the_other_does_not() -> None:
    assert proportion.interval(72, 0, 0, method="exact")[0] >= 0.95 > proportion.interval(72, 0, 0)[0]
    assert proportion.interval(16, 0, 0)[0] >= 0.8 > proportion.interval(16, 0, 0, method="exact")[0]


UNBLOCKED: dict[str, Any] = {"block_on": ("FAIL",), "warn_on": ("INSUFFICIENT_EVIDENCE",)}


@pytest.mark.parametrize(
    ("change", "key", "now_text", "was_text"),
    [
        ({"min_cases": 10_000}, "min_cases", "10000", "50"),
        ({"max_missing": "0.01"}, "max_missing", "0.01", "0.1"),
    ],
)
def test_where_undecided_rules_pass_more_evidence_is_fewer_failures(
    change: dict[str, Any], key: str, now_text: str, was_text: str
) -> None:
    was = threshold(min="0.9", min_cases=50, max_missing="0.1")
    now = replace(was, **change)
    assert told(policy(now, **UNBLOCKED), policy(was, **UNBLOCKED)) == [("r", key, now_text, was_text)]
    assert told(policy(now), policy(was)) == []
    count = ObservedCount(id="r", metric="right", max_failures=0)  # which fails on whatever there is
    assert told(policy(replace(count, **change), **UNBLOCKED), policy(count, **UNBLOCKED)) == []


def test_where_undecided_rules_pass_a_higher_level_is_fewer_failures() -> None:
    was = policy(threshold(min="0.9"), **UNBLOCKED)
    assert told(replace(was, confidence_level=0.999), was) == [(None, "confidence_level", "0.999", "0.95")]


def test_where_undecided_rules_pass_a_new_rule_is_a_new_way_to_pass() -> None:
    rule, easy = threshold(min="0.9"), threshold(id="easy", min="0")
    ((name, key, _, was_text),) = told(policy(rule, easy, **UNBLOCKED), policy(rule, **UNBLOCKED))
    assert (name, key, was_text) == ("easy", None, "there was no such rule")
    assert told(policy(rule, easy), policy(rule)) == []
    assert told(policy(replace(rule, id="renamed"), **UNBLOCKED), policy(rule, **UNBLOCKED)) == []


def test_where_undecided_rules_pass_a_rule_that_waits_for_a_person_must_not_come_to_be_undecided() -> None:
    waits = threshold(min="0.8", requires_manual_review=True)
    lenient = policy(waits, block_on=("FAIL", "MANUAL_REVIEW"))
    stricter = replace(lenient, rules=(replace(waits, min="0.9", min_cases=9),))
    assert told(stricter, lenient) == [("r", "min_cases", "9", "1"), ("r", "min", "0.9", "0.8")]
    strict = replace(lenient, block_on=("FAIL", "MANUAL_REVIEW", "INSUFFICIENT_EVIDENCE"))
    assert told(replace(stricter, block_on=strict.block_on), strict) == []


def test_a_new_rule_beside_one_that_waits_and_does_not_block_is_a_new_way_to_pass() -> None:
    waits = threshold(min="0.8", requires_manual_review=True)
    lenient = policy(waits, block_on=("FAIL", "INSUFFICIENT_EVIDENCE"))
    new = replace(lenient, rules=(waits, ObservedCount(id="new", metric="right", max_failures=0)))
    text = "a PASS of it alone is enough where the others wait for a review"
    assert told(new, lenient) == [("new", None, text, "there was no such rule")]
    assert told(replace(new, block_on=("FAIL",)), replace(lenient, rules=(threshold(min="0.8"),)))[0][1] == "block_on"


def test_evidence_that_may_settle_a_rule_now() -> None:
    rule, hybrid = threshold(min="0.9"), EarlyStopping(method="hybrid", rules=("r",))
    was = policy(rule, early_stopping=EarlyStopping())
    now_text = "evidence may settle 'r' before all cases ran"
    assert told(replace(was, early_stopping=hybrid), was) == [(None, "early_stopping", now_text, "it could not")]
    assert told(was, replace(was, early_stopping=None)) == []  # what is certain changes no verdict


def test_evidence_that_may_settle_a_rule_no_more() -> None:
    """254 of 300 passes are enough at 95 %, and are not at the 96 % that are left beside evidence."""
    rule, hybrid = threshold(min="0.8"), EarlyStopping(method="hybrid", rules=("r",))
    was = policy(rule, early_stopping=hybrid)
    now_text = "all cases settle 'r' at the whole confidence_level"
    was_text = "a part of it was set aside for evidence"
    assert told(replace(was, early_stopping=None), was) == [(None, "early_stopping", now_text, was_text)]
    other = policy(threshold(id="other", min="0.8"), early_stopping=None)
    assert all(key != "early_stopping" for _, key, _, _ in told(other, was))
    measured = Measured(300, (Rate("right", Tally(254, 46)),))
    for stopping, state in ((None, "PASS"), (Stopping(seed=1, method="hybrid", rules=("r",)), "INSUFFICIENT_EVIDENCE")):
        (decision,) = decide(measured, policy(rule), stopping=stopping)
        assert decision.state == state


def test_a_review_that_does_not_block_matters_where_a_rule_asks_for_one() -> None:
    plain, reviewed = threshold(min="0.9"), threshold(min="0.9", requires_manual_review=True)
    blocking = ("FAIL", "INSUFFICIENT_EVIDENCE")
    assert told(policy(plain, block_on=blocking), policy(plain)) == []
    assert told(policy(reviewed, block_on=blocking), policy(reviewed)) == [
        (None, "block_on", "MANUAL_REVIEW does not block", "it blocked")
    ]


def test_many_accepted_cases_are_cut() -> None:
    rule = threshold(min="0.9")
    (found,) = relaxations(policy(rule, accept_changed_cases=tuple(f"c{at}" for at in range(15))), policy(rule))
    assert found.now.endswith("'c9' and 5 more")
