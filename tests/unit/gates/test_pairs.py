from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakes.compared import compared
from oloproof.errors import UsageError
from oloproof.gates import decide
from oloproof.model.decision import (
    Decision,
    Equivalence,
    MaxNewFailures,
    NoBaseline,
    NonInferiority,
    PairFinding,
    Policy,
    Rule,
    Superiority,
)
from oloproof.model.measured import Measured, Quantile, Rate
from oloproof.model.tally import Distribution, PairTable, Tally

MEASURED = Measured(
    1000, (Rate("right", Tally(900, 100)), Quantile("steps", "agent_steps", "0.5", "steps", Distribution()))
)


def decided(rule: Rule, table: PairTable | None, name: str = "right", **policy: object) -> Decision:
    comparison = None if table is None else compared(table, name)
    return decide(MEASURED, Policy(rules=(rule,), **policy), comparison=comparison)[0]


def terms(**keys: object) -> dict[str, object]:
    return {"id": "r", "metric": "right"} | keys


BETTER = PairTable(both_pass=80, fixed=40, broken=20, both_fail=20)  # [.030865, .218064]
WORSE = PairTable(both_pass=59, fixed=6, broken=16, both_fail=80)  # [-.124023, -.005433]
SAME = PairTable(both_pass=85, fixed=5, broken=5, both_fail=5)  # [-.070221, .070221]


@pytest.mark.parametrize(
    ("rule", "table", "state", "reason"),
    [
        (Superiority(**terms()), BETTER, "PASS", "difference_above_zero"),
        (Superiority(**terms()), WORSE, "FAIL", "difference_not_above_zero"),
        (Superiority(**terms()), SAME, "INSUFFICIENT_EVIDENCE", "difference_overlaps_margin"),
        (NonInferiority(**terms(margin="0")), BETTER, "PASS", "difference_within_margin"),
        (NonInferiority(**terms(margin="0.0703")), SAME, "PASS", "difference_within_margin"),
        (NonInferiority(**terms(margin="0.0702")), SAME, "INSUFFICIENT_EVIDENCE", "difference_overlaps_margin"),
        (NonInferiority(**terms(margin="0.005")), WORSE, "FAIL", "difference_beyond_margin"),
        (Equivalence(**terms(margin="0.08")), SAME, "PASS", "difference_within_margin"),
        (Equivalence(**terms(margin="0.03")), BETTER, "FAIL", "difference_beyond_margin"),
        (Equivalence(**terms(margin="0.1")), BETTER, "INSUFFICIENT_EVIDENCE", "difference_overlaps_margin"),
        (MaxNewFailures(**terms(max_new_failures=20)), BETTER, "PASS", "new_failures_within_limit"),
        (MaxNewFailures(**terms(max_new_failures=19)), BETTER, "FAIL", "new_failures_exceed_limit"),
        (
            MaxNewFailures(**terms(max_new_failures=0)),
            PairTable(both_pass=9, was_pass=1),
            "INSUFFICIENT_EVIDENCE",
            "missing_could_hide_new_failures",
        ),
        (
            MaxNewFailures(**terms(max_new_failures=0)),
            PairTable(both_pass=9, was_fail=1),
            "PASS",
            "new_failures_within_limit",
        ),
    ],
)
def test_rules_on_pairs(rule: Rule, table: PairTable, state: str, reason: str) -> None:
    decision = decided(rule, table)
    assert (decision.state, decision.reason) == (state, reason)
    assert isinstance(decision.finding, PairFinding)
    assert decision.blocking == (state != "PASS")


@pytest.mark.parametrize("kind", [Superiority, NonInferiority, Equivalence, MaxNewFailures])
def test_without_a_baseline_nothing_passes(kind: type) -> None:
    rule = kind(
        **terms(
            **{"margin": "1"} if kind in (NonInferiority, Equivalence) else {},
            **{"max_new_failures": 9} if kind is MaxNewFailures else {},
        )
    )
    for decision in (decided(rule, None), decided(rule, BETTER, name="another")):
        assert (decision.state, decision.reason, decision.blocking) == ("INSUFFICIENT_EVIDENCE", "no_baseline", True)
        assert isinstance(decision.finding, NoBaseline)


def test_the_policys_demands_hold_back_all_but_what_is_broken() -> None:
    rule = MaxNewFailures(**terms(max_new_failures=0, min_cases=100))
    assert decided(rule, PairTable(both_pass=9)).reason == "below_min_cases"
    assert decided(rule, PairTable(both_pass=9, broken=1)).reason == "new_failures_exceed_limit"
    few = NonInferiority(**terms(margin="1", max_missing="0.1"))
    assert decided(few, PairTable(both_pass=8, was_fail=2)).reason == "missing_exceeds_policy"


def test_pairs_of_which_nothing_is_known_pass_nothing() -> None:
    for rule in (NonInferiority(**terms(margin="1")), MaxNewFailures(**terms(max_new_failures=5))):
        assert decided(rule, PairTable(both_missing=3)).reason == "no_observation"


def test_a_quantile_has_no_pairs() -> None:
    with pytest.raises(UsageError, match="compares pass rates"):
        decided(Superiority(id="r", metric="steps"), BETTER)


tables = st.builds(PairTable, *[st.integers(0, 12)] * 9)
margins = st.sampled_from(["0", "0.05", "0.2", "0.5"])


@given(tables, margins, st.integers(0, 8))
@settings(deadline=None, max_examples=100)
def test_losing_a_passing_pair_never_makes_a_rule_pass(table: PairTable, margin: str, limit: int) -> None:
    """A pair that passed twice and whose candidate's verdict goes missing."""
    if not table.both_pass:
        return
    cells = list(table.cells)
    cells[0] -= 1
    cells[6] += 1
    for rule in (
        Superiority(**terms()),
        NonInferiority(**terms(margin=margin)),
        Equivalence(**terms(margin=margin)),
        MaxNewFailures(**terms(max_new_failures=limit)),
    ):
        if decided(rule, PairTable(*cells)).state == "PASS":
            assert decided(rule, table).state == "PASS"
