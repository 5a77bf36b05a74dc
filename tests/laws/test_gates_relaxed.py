"""What lets through what did not pass before is told: single changes of small policies, on all of some evidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product

import pytest
from msgspec.structs import replace

from fakes.compared import compared
from oloproof.gates import decide, verdict
from oloproof.gates.relaxed import relaxations
from oloproof.model.decision import (
    Decision,
    Equivalence,
    IntervalThreshold,
    MaxNewFailures,
    NonInferiority,
    ObservedCount,
    Policy,
    Rule,
    State,
    Superiority,
)
from oloproof.model.measured import Measured, Rate
from oloproof.model.tally import PairTable, Tally

RULES: tuple[Rule, ...] = (
    IntervalThreshold(id="r", metric="a", min="0.5"),
    IntervalThreshold(id="r", metric="a", max="0.5"),
    ObservedCount(id="r", metric="a", max_failures=1),
    NonInferiority(id="r", metric="a", margin="0.4"),
    Equivalence(id="r", metric="a", margin="0.4"),
    Superiority(id="r", metric="a"),
    MaxNewFailures(id="r", metric="a", max_new_failures=1),
)
OTHER = ObservedCount(id="other", metric="b", max_failures=0)
BLOCKING: tuple[tuple[State, ...], ...] = (
    ("FAIL", "INSUFFICIENT_EVIDENCE", "MANUAL_REVIEW"),
    ("FAIL", "INSUFFICIENT_EVIDENCE"),
    ("FAIL", "MANUAL_REVIEW"),
    ("FAIL",),
)
VALUES = {
    "min": ["0.3", "0.5", "0.7"],
    "max": ["0.3", "0.5", "0.7"],
    "margin": ["0.2", "0.4", "0.6"],
    "max_failures": [0, 2],
    "max_new_failures": [0, 2],
    "min_cases": [1, 5],
    "max_missing": [None, "0", "0.4"],
    "requires_manual_review": [False, True],
}
TALLIES = [Tally(9), Tally(0, 9), Tally(6, 3), Tally(5, 1, 3), Tally(3, 0, 1), Tally(0, 0, 2), Tally(1, 2), Tally()]
TABLES = [
    PairTable(),
    PairTable(both_pass=9),
    PairTable(both_pass=9, fixed=9),
    PairTable(broken=3),
    PairTable(both_pass=20, broken=1),
    PairTable(both_pass=4, now_fail=2),
    PairTable(both_pass=2, broken=2, was_pass=2),
]


def changes(base: Policy) -> Iterator[Policy]:
    """The policies that differ from ``base`` in one thing."""
    rule = base.rules[0]
    for key, values in VALUES.items():
        if hasattr(rule, key):
            yield from (replace(base, rules=(replace(rule, **{key: value}), *base.rules[1:])) for value in values)
    yield from (replace(base, block_on=states) for states in BLOCKING)
    yield from (replace(base, confidence_level=level) for level in (0.8, 0.99))
    yield replace(base, interval_method="exact")
    yield replace(base, rules=(*base.rules, replace(OTHER, id="new")))
    yield replace(base, rules=base.rules[1:])


@cache
def decided(rule: Rule, policy: Policy, evidence: int) -> Decision:
    """The decision on a rule alone; a policy without its rules says how."""
    tally, other, table = EVIDENCE[evidence]
    measured = Measured(9, (Rate("a", tally), Rate("b", other)), (), 5)
    return decide(measured, replace(policy, rules=(rule,)), comparison=compared(table, "a"))[0]


EVIDENCE = [
    *((tally, other, PairTable(both_pass=9)) for tally, other in product(TALLIES, (Tally(9), Tally(0, 0, 9)))),
    *((Tally(9), other, table) for table, other in product(TABLES, (Tally(9), Tally(0, 0, 9)))),
]


def allowed(policy: Policy) -> list[bool]:
    """Whether each evidence is let through."""
    how = replace(policy, rules=())
    return [
        verdict([decided(rule, how, at) for rule in policy.rules], policy).exit_code == 0 for at in range(len(EVIDENCE))
    ]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
@pytest.mark.parametrize("reviewed", [False, True])
def test_what_is_let_through_by_a_change_is_told(rule: Rule, reviewed: bool) -> None:
    rest: Sequence[tuple[Rule, ...]] = ((), (OTHER,))
    rule = replace(rule, requires_manual_review=reviewed)
    for others, states in product(rest, BLOCKING):
        base = Policy(rules=(rule, *others), block_on=states)
        before = allowed(base)
        for policy in changes(base):
            if not relaxations(policy, base):
                assert all(was or not now for was, now in zip(before, allowed(policy), strict=True)), (policy, base)
